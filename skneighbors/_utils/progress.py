"""The progress bar of a fit."""

from contextlib import contextmanager


@contextmanager
def progress_bar(verbose, n_epochs):
    """Open a tqdm bar; yields its reporter, or None.

    Parameters
    ----------
    verbose : bool or int
        Whether to show a bar.
    n_epochs : int

    Yields
    ------
    report : callable or None
        To be called as ``report(loss, score, on_all)`` after every epoch; `score`
        may be None, `on_all` says whether no row is held out any more.

    Raises
    ------
    ImportError
        If a bar is asked for and `tqdm` is missing.
    """
    if not verbose:
        yield None
        return
    try:
        from tqdm.auto import tqdm
    except ImportError as error:
        raise ImportError(
            "verbose=1 needs tqdm for its progress bar: pip install 'skneighbors[progress]', "
            "or set verbose=0."
        ) from error

    with tqdm(total=n_epochs, unit="epoch") as bar:
        shown, scores = {}, []

        def report(loss, score, on_all):
            shown["loss"] = f"{loss:.4g}"
            shown.pop("validation_r2", None)  # not of this epoch
            if score is not None:
                scores.append(score)
                shown.update(validation_r2=f"{score:.4f}", best=f"{max(scores):.4f}")
            if on_all:
                bar.set_description("on all rows", refresh=False)
            bar.set_postfix(shown, refresh=False)
            bar.update()

        yield report
        bar.total = bar.n  # fewer where training stops early, more where it is repeated
        bar.refresh()
