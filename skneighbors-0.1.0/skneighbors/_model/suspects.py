"""Label errors: rows whose targets are unlike their predictions from the other rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain
from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np
import torch

from .._task import Task
from .._utils.printing import Printed, by_target
from .residuals import stand_ins

if TYPE_CHECKING:
    import pandas as pd

# Neighbors that are named of each row, and rows that are printed.
_N_NEIGHBORS, _N_SHOWN = 5, 20
_NOTE = (
    "expected is what a row's neighbors, those of the largest weights named, predict without it; "
    "score is {}. A high score is no proof: a row may be rare and right."
)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Suspects(Printed):
    """Likely label errors: training samples whose targets look wrong, the most suspect first.

    Made by ``suspects``. Printed, it is a table; :meth:`to_frame` makes a DataFrame of it.

    Attributes
    ----------
    indices : int ndarray of shape (n_rows,)
        Rows of the X given to ``fit``; of those that are equal in X and y, which count as one,
        the first. Rows appended later are numbered on from there.
    labels : ndarray of shape (n_rows,)
        Their labels in the index of the DataFrame, if X was one with an index; else `indices`.
    scores : ndarray of shape (n_rows,)
        How far each target is from what is expected, divided by the mean absolute residual of
        the row's neighbors; of several targets the largest. For classes, the probability of
        `expected` less that of the row's class. Descending.
    targets : ndarray of shape (n_rows,) or (n_rows, n_targets)
        Their targets: numbers, or labels of classes.
    expected : ndarray of the shape of `targets`
        Predictions of each row without itself as a neighbor; of classes, the most probable other
        one.
    interval : ndarray of shape (n_rows, 2) or (n_rows, n_targets, 2), or None
        Lower and upper ends of intervals around `expected`, as ``predict_interval`` makes them.
        None for classes.
    probabilities : ndarray of shape (n_rows, n_classes) or None
        Of all classes, without the row itself. None for numbers.
    neighbors : list of int ndarray
        Of each row, those of the largest weights in `expected`, the largest first, at most five;
        numbered like `indices`.
    neighbor_labels : list of ndarray
        Their labels.

    See Also
    --------
    skneighbors.NONARegressor.suspects : Finds suspects.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from skneighbors import NONARegressor
    >>> X, y = make_friedman1(n_samples=150, random_state=0)
    >>> y[17] += 15
    >>> suspects = NONARegressor(max_iter=30, random_state=0).fit(X, y).suspects(n_rows=5)
    >>> suspects.scores.shape
    (5,)
    >>> low, high = suspects.interval[0]
    >>> bool(low <= y[17] <= high)
    False
    """

    indices: np.ndarray
    labels: np.ndarray
    scores: np.ndarray
    targets: np.ndarray
    expected: np.ndarray
    neighbors: list
    neighbor_labels: list
    interval: np.ndarray | None = None
    probabilities: np.ndarray | None = None
    _task: Task

    def __len__(self) -> int:
        return len(self.indices)

    def to_frame(self) -> pd.DataFrame:
        """Arrange the rows as a DataFrame.

        Returns
        -------
        frame : pandas.DataFrame
            Of columns row (labels), score, then target, expected, low and high, with the number of
            the target behind their name if there are several, or class and expected, and at last
            neighbors (lists of labels).

        Raises
        ------
        ImportError
            If pandas is missing.

        Examples
        --------
        >>> from sklearn.datasets import make_friedman1
        >>> from skneighbors import NONARegressor
        >>> X, y = make_friedman1(n_samples=90, random_state=0)
        >>> model = NONARegressor(max_iter=5, random_state=0).fit(X, y)
        >>> list(model.suspects().to_frame())
        ['row', 'score', 'target', 'expected', 'low', 'high', 'neighbors']
        """
        import pandas as pd

        columns = {"row": self.labels, "score": self.scores}
        for k, suffix in by_target(self.targets):
            columns |= {f"{name}{suffix}": values[k] for name, values in self._compared().items()}
        return pd.DataFrame(columns | {"neighbors": list(map(list, self.neighbor_labels))})

    def _compared(self):
        """Arrays that are shown beside each other, by name."""
        columns = {self._task.target_word: self.targets, "expected": self.expected}
        if self.interval is not None:
            columns |= {"low": self.interval[..., 0], "high": self.interval[..., 1]}
        return columns

    def _notes(self):
        n_others, note = len(self) - _N_SHOWN, fill(_NOTE.format(self._task.score_note), 92)
        return [f"... and {n_others} more rows", note] if n_others > 0 else [note]

    def _tables(self):
        """Title and cells of the table."""
        task, columns = self._task, self._compared()
        cells = [["row", "score", *columns, "neighbors"]]
        write = task.writer(self.targets, self.expected)
        for i in range(min(len(self), _N_SHOWN)):
            own = [write(values[i]) for values in columns.values()]
            score = format(self.scores[i], task.score_style)
            neighbors = ", ".join(map(str, self.neighbor_labels[i]))
            cells.append([str(self.labels[i]), score, *own, neighbors])
        return [(task.suspects_title, cells)]


@torch.no_grad()
def find_suspects(model, search, n_rows, confidence_level=None):
    """Find the rows whose targets differ most from their predictions; see the estimators.

    Parameters
    ----------
    model : Model
    search : Search
    n_rows : int
    confidence_level : float, default=None
        Of intervals, where there are any.

    Returns
    -------
    suspects : Suspects
    """
    bank = model.bank.to(search.device, search.algorithm)
    task, spread, reach, group = model.task, None, None, bank.rows.group
    if not group.any():
        raise ValueError(
            "suspects compares rows with others; a single one, or a single group, is left."
        )
    residuals = model.residuals(bank, search.n_neighbors)
    y_hat = _predict_left_out(bank, residuals, search)
    if task.has_spread:
        every = torch.arange(len(bank), device=group.device)
        known = stand_ins(group, every, residuals.rows.to(group.device))
        spread = residuals.spread(replace(bank.rows, self_index=known)).cpu().numpy()
        reach = residuals.scores.exceeded(confidence_level).numpy() * spread
    found = task.suspect(bank.rows.targets.cpu().numpy(), y_hat.cpu().numpy(), spread, reach)
    scores = found["scores"]
    worst = np.lexsort([model.samples, -scores])[:n_rows]
    worst = worst[scores[worst] > -np.inf]
    neighbors = _find_neighbors(model, bank, search, worst)
    return Suspects(
        _task=task,
        indices=model.samples[worst],
        labels=model.numbering.name(model.samples[worst]),
        neighbors=neighbors,
        neighbor_labels=list(map(model.numbering.name, neighbors)),
        **{name: values[worst] for name, values in found.items()},
    )


def _predict_left_out(bank, residuals, search):
    """Predict all rows of the bank (N, k), each without itself and its group."""
    rows = bank.rows
    if len(residuals.rows) == len(bank):
        y_hat = residuals.y_hat.to(rows.z.device)
    else:
        every = torch.arange(len(bank), device=rows.z.device)
        y_hat = bank.predict_left_out(every, search.n_neighbors)
    return y_hat.clamp(*bank.limits_left_out())


def _find_neighbors(model, bank, search, worst):
    """Find the samples of the largest weights for each of some rows of the bank."""

    def find(near):
        weights, rows, _ = near.by_weight()
        both = zip(weights.cpu().numpy(), rows.cpu().numpy(), strict=True)
        return [model.samples[own[:_N_NEIGHBORS][w[:_N_NEIGHBORS] > 0]] for w, own in both]

    left_out = bank.rows.leave_out(torch.from_numpy(worst).to(bank.rows.z.device))
    return list(chain(*bank.attend(left_out, find, search.n_neighbors)))
