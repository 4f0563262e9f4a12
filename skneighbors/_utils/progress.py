"""Progress of a training, by a bar or lines."""

import sys
import time
from contextlib import contextmanager

_SECONDS_BETWEEN_LINES = 5.0
_BAR = (
    "{l_bar}{bar}| epoch {n_fmt} of at most {total_fmt} "
    "[{elapsed}, at most {remaining} left{postfix}]"
)


@contextmanager
def progress_bar(verbose, n_epochs):
    """Show a tqdm bar or, without `tqdm`, lines; yields its reporter, or None.

    Parameters
    ----------
    verbose : bool or int
        Whether to show any.
    n_epochs : int
        How many there will be at most.

    Yields
    ------
    report : callable or None
        To be called as ``report(loss, score, on_all, n_epochs)`` after every epoch; `score`
        may be None, `on_all` says whether all rows are trained on, `n_epochs` how many
        there will be at most, by what is known then.
    """
    if not verbose:
        yield None
        return
    try:
        from tqdm.auto import tqdm
    except ImportError:
        tqdm = _Lines

    with tqdm(total=n_epochs, unit="epoch", bar_format=_BAR) as bar:
        shown, scores = {}, []

        def report(loss, score, on_all, n_epochs):
            bar.total = n_epochs
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
        bar.total = bar.n  # fewer where training stops early
        bar.refresh()


class _Lines:
    """What :func:`progress_bar` uses of a tqdm bar, in lines every few seconds."""

    def __init__(self, total, unit, bar_format):
        self.total, self.n = total, 0
        self._unit, self._description, self._shown = unit, "", {}
        self._start = self._last = time.monotonic()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        pass

    def set_description(self, description, refresh):
        self._description = f"{description}: "

    def set_postfix(self, shown, refresh):
        self._shown = shown

    def update(self):
        self.n += 1
        if time.monotonic() - self._last >= _SECONDS_BETWEEN_LINES:
            self.refresh()

    def refresh(self):
        self._last = time.monotonic()
        elapsed = self._last - self._start
        left = elapsed * max(0, self.total - self.n) / max(1, self.n)
        done = f"{self._description}{self._unit} {self.n} of at most {self.total}"
        line = f"{done}, at most {left:.0f} s left"
        shown = "".join(f", {name}={value}" for name, value in self._shown.items())
        print(line + shown, file=sys.stderr, flush=True)
