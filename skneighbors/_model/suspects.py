"""Label errors: rows whose targets are unlike their predictions from the other rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from .._utils.device import CPU
from .._utils.printing import Printed, by_target, same_decimals
from .residuals import stand_ins

if TYPE_CHECKING:
    import pandas as pd

# Neighbors that are named of each row, and rows that are printed.
_N_NEIGHBORS, _N_SHOWN = 5, 20
_NOTE = (
    "expected is what a row's neighbors, those of the largest weights named, predict without it;\n"
    "score is how many times as far off it is as they are themselves, on average. A high score is\n"
    "no proof: a row may be rare and right."
)


@dataclass(frozen=True, eq=False, repr=False)
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
    >>> X, y = make_friedman1(n_samples=90, random_state=0)
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
    interval: np.ndarray
    neighbors: list
    neighbor_labels: list

    def __len__(self) -> int:
        return len(self.indices)

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
        import pandas as pd

        columns = {"row": self.labels, "score": self.scores}
        for k, suffix in by_target(self.targets):
            columns[f"target{suffix}"] = self.targets[k]
            columns[f"expected{suffix}"] = self.expected[k]
            columns[f"low{suffix}"] = self.interval[..., 0][k]
            columns[f"high{suffix}"] = self.interval[..., 1][k]
        columns["neighbors"] = [list(labels) for labels in self.neighbor_labels]
        return pd.DataFrame(columns)

    def _notes(self):
        n_others = len(self) - _N_SHOWN
        return [*([f"... and {n_others} more rows"] if n_others > 0 else []), _NOTE]

    def _tables(self):
        """Title and cells of the table."""
        write = same_decimals(self.targets, self.expected)
        cells = [["row", "score", "target", "expected", "low", "high", "neighbors"]]
        for i in range(min(len(self), _N_SHOWN)):
            ends = self.interval[i, ..., 0], self.interval[i, ..., 1]
            numbers = map(write, (self.targets[i], self.expected[i], *ends))
            named = ", ".join(map(str, self.neighbor_labels[i]))
            cells.append([str(self.labels[i]), f"{self.scores[i]:.1f}", *numbers, named])
        return [("Rows whose targets look wrong, the most suspect first", cells)]


@torch.no_grad()
def find_suspects(model, search, n_rows, confidence_level):
    """Find suspects; see the estimators.

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
    bank = model.bank.to(search.device)
    check_comparable(bank)
    group, targets = bank.rows.group, bank.rows.targets
    residuals = model.residuals(bank, search.n_neighbors)
    y_hat = predict_left_out(bank, search, residuals.left_out)
    every = torch.arange(len(bank), device=CPU)
    known = stand_ins(group.cpu(), every, residuals.left_out.rows)
    spread = residuals.spread(bank.rows, known)
    scores = ((targets - y_hat).abs() / spread).amax(1).cpu().numpy()
    worst = np.lexsort([model.samples, -scores])[:n_rows]
    width = residuals.factor(confidence_level).numpy() * spread.cpu().numpy()[worst]
    y_hat, back = y_hat.cpu().numpy()[worst], model.task.inverse_transform
    return Suspects(
        **name_rows(model, bank, search, worst),
        scores=scores[worst],
        targets=back(targets.cpu().numpy()[worst]),
        expected=back(y_hat),
        interval=np.stack([back(y_hat - width), back(y_hat + width)], axis=-1),
    )


def check_comparable(bank):
    """Raise ValueError if there are no rows to compare rows with."""
    if not bank.rows.group.any():
        raise ValueError(
            "suspects compares rows with others; a single one, or a single group, is left."
        )


def predict_left_out(bank, search, known):
    """Predict all rows (N, k), each without itself and its group; `known` is by exact search."""
    rows = bank.rows
    if search.algorithm == "auto" and len(known.rows) == len(bank):
        y_hat = known.y_hat.to(rows.z.device)
    else:
        every = torch.arange(len(bank), device=rows.z.device)
        means = bank.average(rows, search.n_neighbors, search.algorithm, every)
        y_hat = bank.complete(rows.z, means, rows.blended)
    return y_hat.clamp(*bank.limits_left_out())


def name_rows(model, bank, search, rows):
    """Numbers and labels of rows (n,), and of those of the largest weights for each."""
    name, indices = model.numbering.name, model.samples[rows]
    neighbors = [model.samples[found] for found in _largest_weights(bank, search, rows)]
    return dict(
        indices=indices,
        labels=name(indices),
        neighbors=neighbors,
        neighbor_labels=[name(part) for part in neighbors],
    )


def _largest_weights(bank, search, rows):
    """Rows of the largest weights in the prediction of each of `rows` (n,) without itself."""
    self_index = torch.from_numpy(rows).to(bank.rows.z.device)
    parts = bank.attend(
        bank.rows.select(self_index),
        lambda near: [part[:, :_N_NEIGHBORS] for part in near.by_weight()[:2]],
        search.n_neighbors,
        search.algorithm,
        self_index,
    )
    weights, found = (torch.cat(part).cpu().numpy() for part in zip(*parts, strict=True))
    return [found[i][weights[i] > 0] for i in range(len(found))]
