"""The progress bar of a fit."""

from contextlib import contextmanager


@contextmanager
def progress_bar(verbose, n_epochs):
    """Open a tqdm bar; yields its reporter, or None."""
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
        shown = {}

        def report(loss, score):
            shown["loss"] = f"{loss:.4g}"
            if score is not None:  # else the last one stays
                shown["validation_r2"] = f"{score:.4f}"
            bar.set_postfix(shown, refresh=False)
            bar.update()

        yield report
