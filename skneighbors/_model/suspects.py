"""Label errors: rows whose targets are unlike their predictions from the other rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import torch

from .._utils.printing import Printed, by_target, same_decimals
from .residuals import stand_ins

if TYPE_CHECKING:
    import pandas as pd

# Neighbors that are named of each row, and rows that are printed.
_N_NEIGHBORS, _N_SHOWN = 5, 20


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class LikelyErrors(Printed):
    """Base of suspects.

    Subclasses have a title, the names of the columns between score and neighbors, and a note, and
    `_describe`, which makes the cells of rows in these columns.
    """

    _title: ClassVar[str]
    _between: ClassVar[tuple]
    _note: ClassVar[str]
    _score_style: ClassVar[str] = ".1f"

    indices: np.ndarray
    labels: np.ndarray
    scores: np.ndarray
    targets: np.ndarray
    expected: np.ndarray
    neighbors: list
    neighbor_labels: list

    def __len__(self) -> int:
        return len(self.indices)

    def _frame(self, between):
        """Make a DataFrame with columns between score and neighbors."""
        import pandas as pd

        first, last = {"row": self.labels, "score": self.scores}, map(list, self.neighbor_labels)
        return pd.DataFrame({**first, **between, "neighbors": list(last)})

    def _notes(self):
        n_others = len(self) - _N_SHOWN
        return [f"... and {n_others} more rows", self._note] if n_others > 0 else [self._note]

    def _tables(self):
        """Title and cells of the table."""
        cells = [["row", "score", *self._between, "neighbors"]]
        for i, between in enumerate(self._describe(range(min(len(self), _N_SHOWN)))):
            score = format(self.scores[i], self._score_style)
            neighbors = ", ".join(map(str, self.neighbor_labels[i]))
            cells.append([str(self.labels[i]), score, *between, neighbors])
        return [(self._title, cells)]


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Suspects(LikelyErrors):
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
        the row's neighbors; of several targets the largest. Descending.
    targets : ndarray of shape (n_rows,) or (n_rows, n_targets)
        Their targets.
    expected : ndarray of the shape of `targets`
        Predictions of each row without itself as a neighbor.
    interval : ndarray of shape (n_rows, 2) or (n_rows, n_targets, 2)
        Lower and upper ends of intervals around `expected`, as ``predict_interval`` makes them.
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

    interval: np.ndarray

    _title = "Rows whose targets look wrong, the most suspect first"
    _between = "target", "expected", "low", "high"
    _note = (
        "expected is what a row's neighbors, those of the largest weights named, predict without "
        "it;\nscore is how many times as far off it is as they are themselves, on average. A high "
        "score is\nno proof: a row may be rare and right."
    )

    def to_frame(self) -> pd.DataFrame:
        """Arrange the rows as a DataFrame.

        Returns
        -------
        frame : pandas.DataFrame
            Of columns row (labels), score, target, expected, low, high and neighbors (lists of
            labels); target to high with the number of the target behind their name if there are
            several.

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
        columns = {}
        for k, suffix in by_target(self.targets):
            low, high = self.interval[..., 0][k], self.interval[..., 1][k]
            parts = self.targets[k], self.expected[k], low, high
            names = [f"{name}{suffix}" for name in self._between]
            columns |= dict(zip(names, parts, strict=True))
        return self._frame(columns)

    def _describe(self, rows):
        write = same_decimals(self.targets, self.expected)
        parts = self.targets, self.expected, self.interval[..., 0], self.interval[..., 1]
        return [[write(part[i]) for part in parts] for i in rows]


@torch.no_grad()
def find_suspects(model, search, n_rows, confidence_level):
    """Find the rows whose targets differ most from their predictions; see the estimators.

    Parameters
    ----------
    model : Model
    search : Search
    n_rows : int
    confidence_level : float

    Returns
    -------
    suspects : Suspects
    """
    bank, residuals, y_hat = predict_left_out(model, search)
    group, targets = bank.rows.group, bank.rows.targets
    every, known = torch.arange(len(bank), device=group.device), residuals.rows
    known = stand_ins(group, every, known.to(group.device))
    spread = residuals.spread(replace(bank.rows, self_index=known))
    scores = ((targets - y_hat).abs() / spread).amax(1).cpu().numpy()
    worst, found = name_worst(model, bank, search, scores, n_rows)
    width = residuals.factor(confidence_level).numpy() * spread.cpu().numpy()[worst]
    y_hat, back = y_hat.cpu().numpy()[worst], model.task.inverse_transform
    return Suspects(
        **found,
        targets=back(targets.cpu().numpy()[worst]),
        expected=back(y_hat),
        interval=np.stack([back(y_hat - width), back(y_hat + width)], axis=-1),
    )


def predict_left_out(model, search):
    """Predict all rows of the bank, each without itself and its group.

    Returns
    -------
    bank : NeighborBank
        On the device of the search.
    residuals : ResidualDistribution
    y_hat : Tensor of shape (N, k)

    Raises
    ------
    ValueError
        If there are no rows to compare rows with.
    """
    bank = model.bank.to(search.device)
    rows = bank.rows
    if not rows.group.any():
        raise ValueError(
            "suspects compares rows with others; a single one, or a single group, is left."
        )
    residuals = model.residuals(bank, search.n_neighbors)
    if search.algorithm == "auto" and len(residuals.rows) == len(bank):  # by exact search
        y_hat = residuals.y_hat.to(rows.z.device)
    else:
        every = rows.leave_out(torch.arange(len(bank), device=rows.z.device))
        means = bank.average(every, search.n_neighbors, search.algorithm)
        y_hat = bank.complete(rows.z, means, rows.blended)
    return bank, residuals, y_hat.clamp(*bank.limits_left_out())


def name_worst(model, bank, search, scores, n_rows):
    """Rows (n,) of the highest scores, and their names and those of their neighbors."""
    worst, name = np.lexsort([model.samples, -scores])[:n_rows], model.numbering.name

    def find(near):
        weights, rows, _ = near.by_weight()
        both = zip(weights.cpu().numpy(), rows.cpu().numpy(), strict=True)
        return [model.samples[own[:_N_NEIGHBORS][w[:_N_NEIGHBORS] > 0]] for w, own in both]

    left_out = bank.rows.leave_out(torch.from_numpy(worst).to(bank.rows.z.device))
    found = bank.attend(left_out, find, search.n_neighbors, search.algorithm)
    neighbors = list(chain.from_iterable(found))
    return worst, dict(
        scores=scores[worst],
        indices=model.samples[worst],
        labels=name(model.samples[worst]),
        neighbors=neighbors,
        neighbor_labels=list(map(name, neighbors)),
    )
