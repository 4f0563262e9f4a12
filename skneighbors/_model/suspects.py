"""Rows whose targets are unlike what the other rows say of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from .._utils.device import CPU
from .printing import by_target, html_note, html_table, same_decimals, text_table
from .residuals import ResidualDistribution, stand_ins

if TYPE_CHECKING:
    import pandas as pd

# Comparables that are named of each row, and rows that are printed.
_N_COMPARABLES, _N_SHOWN = 5, 20
_NOTE = (
    "expected is what a row's comparables, the heaviest of which are named, say without it; score\n"
    "is how many times as far off it is as they are themselves, in the mean. A high score is no\n"
    "proof: a row may be rare and right."
)


@dataclass(frozen=True, eq=False)
class Suspects:
    """Labelled rows whose targets look wrong, the most suspect first; made by ``suspects``.

    Printed, it is a table; :meth:`to_frame` makes a DataFrame of it.

    Attributes
    ----------
    samples : int ndarray of shape (n_rows,)
        Rows of the X given to ``fit``; of those that are equal in X and y, which count as one,
        the first. Rows appended later are numbered on from there.
    labels : ndarray of shape (n_rows,)
        Their labels in the index of the DataFrame, if X was one with an index; else `samples`.
    scores : ndarray of shape (n_rows,)
        How far each target is from what is expected, divided by the mean absolute residual of
        the row's comparables; of several targets the largest. Descending.
    targets : ndarray of shape (n_rows,) or (n_rows, n_targets)
        Their targets.
    expected : ndarray of the shape of `targets`
        Predictions of each row without itself as a neighbour.
    interval : ndarray of shape (n_rows, 2) or (n_rows, n_targets, 2)
        Lower and upper ends of intervals around `expected`, as ``predict_interval`` makes them.
    comparables : list of int ndarray
        Of each row, the neighbours that weigh most in `expected`, the heaviest first, at most
        five; numbered like `samples`.
    comparable_labels : list of ndarray
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

    samples: np.ndarray
    labels: np.ndarray
    scores: np.ndarray
    targets: np.ndarray
    expected: np.ndarray
    interval: np.ndarray
    comparables: list
    comparable_labels: list

    def __len__(self) -> int:
        return len(self.samples)

    def to_frame(self) -> pd.DataFrame:
        """Arrange the rows as a DataFrame.

        Returns
        -------
        frame : pandas.DataFrame
            Of columns row (labels), score, target, expected, low, high and comparables (lists of
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
        ['row', 'score', 'target', 'expected', 'low', 'high', 'comparables']
        """
        import pandas as pd

        columns = {"row": self.labels, "score": self.scores}
        for k, suffix in by_target(self.targets):
            columns[f"target{suffix}"] = self.targets[k]
            columns[f"expected{suffix}"] = self.expected[k]
            columns[f"low{suffix}"] = self.interval[..., 0][k]
            columns[f"high{suffix}"] = self.interval[..., 1][k]
        columns["comparables"] = [list(labels) for labels in self.comparable_labels]
        return pd.DataFrame(columns)

    def __str__(self) -> str:
        return "\n\n".join([text_table(*self._table()), *self._notes()])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return "".join([html_table(*self._table()), *map(html_note, self._notes())])

    def _notes(self):
        n_others = len(self) - _N_SHOWN
        return [*([f"... and {n_others} more rows"] if n_others > 0 else []), _NOTE]

    def _table(self):
        """Title and cells."""
        write = same_decimals(self.targets, self.expected)
        cells = [["row", "score", "target", "expected", "low", "high", "comparables"]]
        for i in range(min(len(self), _N_SHOWN)):
            ends = self.interval[i, ..., 0], self.interval[i, ..., 1]
            numbers = map(write, (self.targets[i], self.expected[i], *ends))
            named = ", ".join(map(str, self.comparable_labels[i]))
            cells.append([str(self.labels[i]), f"{self.scores[i]:.1f}", *numbers, named])
        return "Rows whose targets look wrong, the most suspect first", cells


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
    if not bank.group.any():
        raise ValueError(
            "suspects compares rows with others; a single one, or a single group, is left."
        )
    residuals = ResidualDistribution.of(bank, search.n_neighbors)
    y_hat = _predict_left_out(bank, search, residuals.left_out)
    group, rows = bank.group.cpu(), torch.arange(len(bank), device=CPU)
    spread = residuals.spread(bank.z_n, stand_ins(group, rows, residuals.left_out.rows))
    scores = ((bank.targets - y_hat).abs() / spread).amax(1).cpu().numpy()
    worst = np.lexsort([model.samples, -scores])[:n_rows]
    width = residuals.factor(confidence_level).numpy() * spread.cpu().numpy()[worst]
    y_hat, back = y_hat.cpu().numpy()[worst], model.target.inverse_transform
    samples, name = model.samples[worst], model.numbering.name
    comparables = [model.samples[rows] for rows in _heaviest(bank, search, worst)]
    return Suspects(
        samples=samples,
        labels=name(samples),
        scores=scores[worst],
        targets=back(bank.targets.cpu().numpy()[worst]),
        expected=back(y_hat),
        interval=np.stack([back(y_hat - width), back(y_hat + width)], axis=-1),
        comparables=comparables,
        comparable_labels=[name(own) for own in comparables],
    )


def _predict_left_out(bank, search, known):
    """Predict all rows (N, k), each without itself and its group; `known` is by exact search."""
    if search.algorithm == "auto" and len(known.rows) == len(bank):
        y_hat = known.y_hat.to(bank.z_n.device)
    else:
        own = torch.arange(len(bank), device=bank.z_n.device)
        means = bank.attend(
            bank.z_n,
            lambda near: near.average(bank.values),
            search.n_neighbors,
            search.algorithm,
            own,
        )
        y_hat = bank.complete(bank.z_n, torch.cat(means), bank.left_out_blended)
    return y_hat.clamp(*bank.limits_left_out())


def _heaviest(bank, search, own):
    """Rows that weigh most in the prediction of each of `own` (n,) without itself."""
    own = torch.from_numpy(own).to(bank.z_n.device)
    parts = bank.attend(
        bank.z_n[own],
        lambda near: [part[:, :_N_COMPARABLES] for part in near.by_weight()[:2]],
        search.n_neighbors,
        search.algorithm,
        own,
    )
    weights, rows = (torch.cat(part).cpu().numpy() for part in zip(*parts, strict=True))
    return [rows[i][weights[i] > 0] for i in range(len(rows))]
