"""Progress of a training: a bar by tqdm, or a line now and then; and the time that a fit has."""

import math
import sys
import time
from contextlib import contextmanager

_SECONDS_BETWEEN_LINES = 5.0
_ON_ALL = "on all rows"
_BAR = (
    "{l_bar}{bar}| epoch {n_fmt} of at most {total_fmt} "
    "[{elapsed}, at most {remaining} left{postfix}]"
)


@contextmanager
def show_progress(verbose, n_epochs, score_name):
    """Show a tqdm bar or, without `tqdm`, lines; yields their reporter.

    Parameters
    ----------
    verbose : bool or int
        Whether to show any.
    n_epochs : int
        How many there will be at most.
    score_name : str
        What the validation score is.

    Yields
    ------
    report : callable
        To be called as ``report(loss, score, on_all, n_epochs)`` after every epoch; `score`
        may be None, `on_all` says whether all rows are trained on, `n_epochs` how many
        there will be at most, by what is known then.
    """
    if not verbose:
        yield lambda loss, score, on_all, n_epochs: None
        return
    try:
        from tqdm.auto import tqdm
    except ImportError:
        display = _lines()
    else:
        display = _bar(tqdm, n_epochs)
    best = -math.inf
    with display as show:

        def report(loss, score, on_all, n_epochs):
            nonlocal best
            results = f"loss={loss:.4g}"
            if score is not None:
                best = max(best, score)
                results += f", validation {score_name}={score:.4f}"
            if best > -math.inf:
                results += f", best={best:.4f}"
            show(results, on_all, n_epochs)

        yield report


@contextmanager
def _bar(tqdm, n_epochs):
    """Yield a function that shows the results of an epoch in a bar."""
    with tqdm(total=n_epochs, unit="epoch", bar_format=_BAR) as bar:

        def show(results, on_all, n_epochs):
            bar.total = n_epochs
            if on_all:
                bar.set_description(_ON_ALL, refresh=False)
            bar.set_postfix_str(results, refresh=False)
            bar.update()

        yield show
        bar.total = bar.n  # fewer where training stops early
        bar.refresh()


@contextmanager
def _lines():
    """Yield a function that prints the results of an epoch every few seconds, and of the last."""
    n, start, line = 0, time.monotonic(), None
    last = start

    def show(results, on_all, n_epochs):
        nonlocal n, last, line
        n, now = n + 1, time.monotonic()
        left = (now - start) * (n_epochs - n) / n
        line = f"epoch {n} of at most {n_epochs}, at most {left:.0f} s left, {results}"
        line = f"{_ON_ALL}: {line}" if on_all else line
        if now - last >= _SECONDS_BETWEEN_LINES:
            _print(line)
            last, line = now, None

    yield show
    if line is not None:
        _print(line)


def _print(line):
    print(line, file=sys.stderr, flush=True)


class Clock:
    """Tells how many seconds of a fit are left.

    Parameters
    ----------
    max_time : float or None, default=None
        Seconds from now on; None: endless.
    """

    def __init__(self, max_time=None):
        self._end = math.inf if max_time is None else time.monotonic() + float(max_time)

    def left(self):
        """Seconds left; below 0 if more have passed."""
        return self._end if self._end == math.inf else self._end - time.monotonic()
