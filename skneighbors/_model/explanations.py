"""Explanations of predictions: the training samples behind them, each adjusted to the query."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

import numpy as np

from .._task import Task
from .._utils.printing import N_ROWS, Printed, by_target, part_words, percent

if TYPE_CHECKING:
    import pandas as pd

# Printed are tables of at most so many queries.
_N_QUERIES = 10
# Beside a query stand the values of at most so many rows, in at most so many columns.
_N_BESIDE, _N_COLUMNS = 5, 8
_NEAREST = "Neighbors are the nearest training rows, by what the networks learned{}."
_AGREEMENT = (
    "Of the {} rows of largest weight the networks, each alone, have {:.0f} % in common: averaged\n"
    "over many queries, a fit with another random_state would name about as many again."
)
_ADJUSTED = "Adjusted = target + trend(query) - trend(row); the trend is learned from all rows."
_BOUNDED = "A target far from all others is adjusted to lie among them."
_ALONE = "Neighbors have no weight here: all is predicted by the {}."


@dataclass(frozen=True, eq=False)
class ColumnDifferences:
    """How much more is predicted for a query than for a row, by the columns they differ in.

    Compared is the mean of the trend and the blended model, by their weights in a prediction. The
    parts are its Shapley values, with the row as the background; columns that are equal have 0.
    Made by ``explain(X, by_column=True)``.

    Attributes
    ----------
    columns : list of length n_columns
        Names, in the order of X; without columns that had no value in ``fit``.
    query_values : object ndarray of shape (n_queries, n_columns)
        Values of the queries as they were read: numbers, categories, dates; None for missing
        values.
    row_values : object ndarray of shape (n_queries, n_neighbors, n_columns)
        Values of the rows.
    differences : ndarray of shape (n_queries, n_neighbors, n_columns) or \
            (n_queries, n_neighbors, n_columns, n_targets)
        Part of each column. Without a blended model they sum to the adjustments.
    """

    columns: list
    query_values: np.ndarray
    row_values: np.ndarray
    differences: np.ndarray

    def __repr__(self):
        n_queries, n_rows, n_columns = self.row_values.shape
        return f"<differences of {n_queries} queries to {n_rows} rows by {n_columns} columns>"


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Explanation(Printed):
    """Predictions as weighted means of what their neighbors have; made by ``explain``.

    A prediction rests on its nearest rows, its neighbors. Where there is a trend, the target of
    each is adjusted by the difference of the trend between the query and the row, as an appraiser
    does. Their mean is averaged with the parts of the blended model: for every query
    ``neighbors_weight * (weights * adjusted_targets).sum(axis=1) + clipping``, plus
    ``part_weights[name] * parts[name]`` for each part, is `prediction`. For classes it is the
    weights of the neighbors of a class, ``(weights * (targets == label)).sum(axis=1)``, that make
    its probability in this way. Printed, it is a table or two for each query; :meth:`to_frame`
    makes a DataFrame of the neighbors.

    Attributes
    ----------
    prediction : ndarray of shape (n_queries,), (n_queries, n_targets) or (n_queries, n_classes)
        What the estimator predicts; for classes, their probabilities.
    classes : ndarray of shape (n_classes,) or None
        Labels of the classes; None for numbers.
    indices : int ndarray of shape (n_queries, n_neighbors)
        Rows of the X given to ``fit``, the largest weights first; of those that are equal in X
        and y, which count as one, the first. Rows appended later are numbered on from there.
    labels : ndarray of shape (n_queries, n_neighbors)
        Their labels in the index of the DataFrame, if X was one with an index; else `indices`.
    weights : ndarray of shape (n_queries, n_neighbors)
        Their weights, largest first, which sum to 1: the mean over the networks.
    targets : ndarray of shape (n_queries, n_neighbors) or (n_queries, n_neighbors, n_targets)
        Their targets: numbers, or labels of classes.
    adjustments : ndarray of the shape of `targets` or None
        By how much the trend is higher for the query than for the row; 0 without one. Those of
        targets far from all others bound them, too. None for classes.
    clipping : ndarray of the shape of `prediction` or None
        What is added where the mean would lie more than a tenth of the targets' range beyond
        it; 0 elsewhere. None for classes.
    is_adjusted : bool
        Whether there is a trend, which adjusts targets.
    neighbors_weight : float
        Weight of the neighbors in a prediction; the parts have the rest.
    parts : dict of ndarrays of the shape of `prediction`
        What each part of the blended model predicts, "boosting" and "linear", if it has any weight;
        for classes also their "frequencies".
    part_weights : dict of str to float
        Weights of these in a prediction.
    counts : int ndarray of shape (n_queries, n_neighbors)
        How many training samples, equal in X and y, each row stands for.
    agreement : ndarray of shape (n_queries,) or None
        Share of the five rows of the largest weight (of all, if `n_neighbors` is smaller), by one
        network alone, that another network names, too: an estimate of how many another
        `random_state` would name. None if there is a single network.
    likeness : float
        Strength of :ref:`likeness <likeness>` in the distance; 0 if the learned distance alone
        chose the rows.
    query_labels : ndarray of shape (n_queries,)
        Labels of the queries; their numbers if X has no index.
    by_column : ColumnDifferences or None
        Differences by column, after ``explain(X, by_column=True)``.

    See Also
    --------
    skneighbors.NONARegressor.explain : Explains predictions.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from skneighbors import NONARegressor
    >>> X, y = make_friedman1(n_samples=100, random_state=0)
    >>> model = NONARegressor(n_neighbors=20, max_iter=5, random_state=0).fit(X[:80], y[:80])
    >>> why = model.explain(X[80:82])
    >>> why.indices.shape
    (2, 20)
    >>> mean = why.neighbors_weight * (why.weights * why.adjusted_targets).sum(axis=1)
    >>> for name, predicted in why.parts.items():
    ...     mean += why.part_weights[name] * predicted
    >>> bool(abs(mean + why.clipping - model.predict(X[80:82])).max() < 1e-9)
    True
    """

    prediction: np.ndarray
    indices: np.ndarray
    labels: np.ndarray
    weights: np.ndarray
    targets: np.ndarray
    adjustments: np.ndarray | None
    clipping: np.ndarray | None
    is_adjusted: bool
    neighbors_weight: float
    parts: dict
    part_weights: dict
    counts: np.ndarray
    agreement: np.ndarray | None
    likeness: float
    query_labels: np.ndarray
    by_column: ColumnDifferences | None = None
    classes: np.ndarray | None = None
    _task: Task

    def __len__(self) -> int:
        return len(self.weights)

    @property
    def adjusted_targets(self) -> np.ndarray | None:
        """Targets plus adjustments; None for classes.

        Returns
        -------
        adjusted_targets : ndarray of the shape of `targets` or None

        Examples
        --------
        >>> from sklearn.datasets import make_friedman1
        >>> from skneighbors import NONARegressor
        >>> X, y = make_friedman1(n_samples=100, random_state=0)
        >>> model = NONARegressor(max_iter=5, random_state=0).fit(X[:80], y[:80])
        >>> model.explain(X[80:]).adjusted_targets.shape
        (20, 20)
        """
        return None if self.adjustments is None else self.targets + self.adjustments

    def importances(self) -> dict:
        """Mean absolute difference by each column, over the queries.

        Returns
        -------
        importances : dict
            From names of columns, in the order of X, to means of the absolute differences, rows by
            their weights: a float, or an ndarray of shape (n_targets,) or (n_classes,).

        Raises
        ------
        ValueError
            If there are no differences by column.

        Examples
        --------
        >>> from sklearn.datasets import make_friedman1
        >>> from skneighbors import NONARegressor
        >>> X, y = make_friedman1(n_samples=100, random_state=0)
        >>> model = NONARegressor(n_neighbors=5, max_iter=5, random_state=0).fit(X[:80], y[:80])
        >>> list(model.explain(X[80:83], by_column=True).importances())
        ['x0', 'x1', 'x2', 'x3', 'x4', 'x5', 'x6', 'x7', 'x8', 'x9']
        """
        self._check_by_column("importances")
        sizes = np.abs(self.by_column.differences)
        means = np.einsum("nk,nk...->...", self.weights, sizes) / len(self)
        values = means.tolist() if means.ndim == 1 else means
        return dict(zip(self.by_column.columns, values, strict=True))

    def to_frame(self, by_column: bool = False) -> pd.DataFrame:
        """Arrange the neighbors as a DataFrame, one row for each.

        Parameters
        ----------
        by_column : bool, default=False
            Whether to add the difference by each column, as ``difference by NAME``.

        Returns
        -------
        frame : pandas.DataFrame
            Of columns query, row (their labels), weight (among the neighbors of a query, where
            they sum to 1) and share (of the prediction, where the parts have the rest). Then
            target, adjustment and adjusted, with the number of the target behind their name if
            there are several; or class.

        Raises
        ------
        ImportError
            If pandas is missing.
        ValueError
            If there are no differences by column, and `by_column` is True.

        Examples
        --------
        >>> from sklearn.datasets import make_friedman1
        >>> from skneighbors import NONARegressor
        >>> X, y = make_friedman1(n_samples=100, random_state=0)
        >>> model = NONARegressor(max_iter=5, random_state=0).fit(X[:80], y[:80])
        >>> list(model.explain(X[80:]).to_frame())
        ['query', 'row', 'weight', 'share', 'target', 'adjustment', 'adjusted']
        """
        import pandas as pd

        weight = self.weights.ravel()
        columns = {
            "query": np.repeat(self.query_labels, self.weights.shape[1]),
            "row": self.labels.ravel(),
            "weight": weight,
            "share": self.neighbors_weight * weight,
        }
        own = {self._task.target_word: self.targets}
        if self.adjustments is not None:
            own |= {"adjustment": self.adjustments, "adjusted": self.adjusted_targets}
        for k, suffix in by_target(self.targets[:, 0]):
            columns |= {f"{name}{suffix}": values[k].ravel() for name, values in own.items()}
        if by_column:
            self._check_by_column("to_frame(by_column=True)")
            for k, suffix in by_target(self.prediction, self.classes):
                differences = self.by_column.differences[k].reshape(weight.size, -1)
                for name, values in zip(self.by_column.columns, differences.T, strict=True):
                    columns[f"difference{suffix} by {name}"] = values
        return pd.DataFrame(columns)

    def _made_of(self):
        """Say how much of a prediction neighbors and parts make; nothing if there are no parts."""
        weights = {"neighbors": self.neighbors_weight} | self.part_weights
        shares = ", ".join(f"{percent(w)} {part_words(name)}" for name, w in weights.items())
        return f" ({shares})" if self.parts else ""

    def _check_by_column(self, name):
        if self.by_column is None:
            raise ValueError(f"{name} needs explain(X, by_column=True).")

    def _tables(self):
        tables, made_of = [], self._made_of()
        for i in range(min(len(self), _N_QUERIES)):
            near = zip(self.labels[i, : N_ROWS + 1], self.counts[i], strict=False)
            names = [str(label) if n == 1 else f"{label} (x{n})" for label, n in near]
            (title, cells), *others = self._task.describe(self, i, names)
            title = f"Query {self.query_labels[i]}: {title}{made_of}"
            tables += [(title, cells), *others, *self._describe_columns(i, names)]
        return tables

    def _notes(self):
        """Count the queries not shown, say what neighbors are, and explain differences."""
        n_others = len(self) - _N_QUERIES
        notes = [f"... and {n_others} more queries"] if n_others > 0 else []
        n_named = min(_N_BESIDE, self.weights.shape[1])
        facts = [_NEAREST.format(" and by the columns\nthemselves" * (self.likeness > 0))]
        if self.agreement is not None and n_named > 1:
            facts.append(_AGREEMENT.format(n_named, 100 * np.mean(self.agreement)))
        facts += [_ADJUSTED] * self.is_adjusted + [_BOUNDED] * (self._task.bounds is not None)
        facts += [self._task.parts_note] * bool(self.parts)
        if not self.neighbors_weight:
            names = [part_words(name) for name, weight in self.part_weights.items() if weight]
            facts.append(_ALONE.format(" and the ".join(names)))
        notes.append("\n".join(facts))
        if self.by_column is not None and np.any(self.by_column.differences):
            notes.append(self._task.by_column_note)
        return notes

    def _describe_columns(self, i, names):
        """Table with a query and its first rows side by side; none if no column differs."""
        found, beside = self.by_column, names[:_N_BESIDE]
        if found is None or not np.any(found.differences[i]):
            return []
        write, compared = self._task.describe_differences(self, i)
        parts = found.differences[i].reshape(*found.row_values.shape[1:], -1)[..., compared]
        differences = np.tensordot(self.weights[i], parts, 1)
        sizes = self.weights[i] @ np.abs(parts).sum(2)
        largest = np.argsort(-np.abs(differences).sum(1), kind="stable")[:_N_COLUMNS]
        cells = [["column", "query", *beside, "difference"]]
        for column in largest:
            query = found.query_values[i, column]
            values = found.row_values[i, : len(beside), column]
            values = ["=" if value == query else _show(value) for value in values]
            name = str(found.columns[column])
            cells.append([name, _show(query), *values, write(differences[column], "+")])
        others = np.delete(differences, largest, axis=0)
        if n_others := np.count_nonzero(np.delete(sizes, largest)):
            blank = [""] * (len(cells[0]) - 2)
            cells.append([f"{n_others} more", *blank, write(others.sum(axis=0), "+")])
        return [("By column, the nearest rows beside the query", cells)]


def _show(value):
    """Write a value of a column, short."""
    if value is None:
        return "missing"
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    if isinstance(value, datetime):
        text = text.removesuffix(" 00:00:00")
    return text if len(text) <= 20 else f"{text[:17]}..."
