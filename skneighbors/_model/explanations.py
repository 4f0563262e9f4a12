"""Explanations of predictions: the training samples behind them, each adjusted to the query."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .._utils.printing import PART_WORDS, Printed, by_target, named, percent, same_decimals

if TYPE_CHECKING:
    import pandas as pd

# Printed are tables of at most so many queries, with at most so many rows.
_N_QUERIES, N_ROWS = 10, 10
# Beside a query stand the values of at most so many rows, in at most so many columns.
_N_BESIDE, _N_COLUMNS = 5, 8
_LEARNED = "Neighbors are the nearest training rows, by what the networks learned"
_ROWS = {
    True: f"{_LEARNED} and by the columns\nthemselves; weights sum to 100 %.",
    False: f"{_LEARNED}; weights sum to 100 %.",
}
_AGREEMENT = (
    "Of the {} rows of largest weight the networks, each alone, have {:.0f} % in common: about as\n"
    "many of them a fit with another random_state would name again."
)
_ALONE = "Neighbors have no weight here: {} alone predict."
_ADJUSTED = "Adjusted = target + trend(query) - trend(row); the trend is learned from all rows."
_PARTS = "Below the neighbors stands what is averaged with them, learned from all rows."
_BY_COLUMN = (
    'By column: "=" is the query\'s value; the difference is how much more the trend and the\n'
    "blended model predict for the query than for all neighbors due to the column. Columns that\n"
    "say the same share it, and large parts may cancel."
)


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
class ExplainedQueries(Printed):
    """Base of explanations: the neighbors of each query, and differences by column.

    Subclasses have `_describe`, which returns titles and cells of a query's tables.
    """

    indices: np.ndarray
    labels: np.ndarray
    weights: np.ndarray
    targets: np.ndarray
    neighbors_weight: float
    parts: dict
    part_weights: dict
    counts: np.ndarray
    agreement: np.ndarray
    likeness: float
    query_labels: np.ndarray
    by_column: ColumnDifferences | None = None

    def __len__(self) -> int:
        return len(self.weights)

    def importances(self) -> dict:
        """Mean absolute difference by each column, over the queries.

        Returns
        -------
        importances : dict
            From names of columns, in the order of X, to means of the absolute differences, rows by
            their weights: a float, or an ndarray of shape (n_targets,).

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

    def _check_by_column(self, name):
        if self.by_column is None:
            raise ValueError(f"{name} needs explain(X, by_column=True).")

    def _neighbors(self):
        """Columns of a frame of the neighbors."""
        queries = np.repeat(self.query_labels, self.weights.shape[1])
        return {"query": queries, "row": self.labels.ravel(), "weight": self.weights.ravel()}

    def _tables(self):
        shown = range(min(len(self), _N_QUERIES))
        return [table for i in shown for table in self._describe(i)]

    def _list_notes(self, facts, by_column):
        """Count the queries not shown, say what neighbors are, and explain differences."""
        n_others = len(self) - _N_QUERIES
        notes = [f"... and {n_others} more queries"] if n_others > 0 else []
        described = [_ROWS[self.likeness > 0], self._describe_agreement(), *facts]
        if not self.neighbors_weight:
            names = [PART_WORDS[name] for name, weight in self.part_weights.items() if weight]
            described.append(_ALONE.format(" and ".join(names)))
        notes.append("\n".join(filter(None, described)))
        return notes if self.by_column is None or by_column is None else [*notes, by_column]

    def _describe_agreement(self):
        """Say in words how many rows another seed would name; None if that is not known."""
        n_named = min(_N_BESIDE, self.weights.shape[1])
        if n_named < 2 or np.isnan(self.agreement).all():
            return None
        return _AGREEMENT.format(n_named, 100 * np.nanmean(self.agreement))

    def _name(self, i, place):
        """Name a neighbor of a query."""
        return named(self.labels[i, place], self.counts[i, place])

    def _describe_columns(self, i, write, target=slice(None)):
        """Table with a query and its first rows side by side; none if no column differs."""
        found, beside = self.by_column, range(min(_N_BESIDE, self.weights.shape[1]))
        if found is None or not np.any(found.differences[i]):
            return []
        parts = found.differences[i].reshape(*found.row_values.shape[1:], -1)[..., target]
        differences = np.tensordot(self.weights[i], parts, 1)
        sizes = self.weights[i] @ np.abs(parts).sum(2)
        largest = np.argsort(-sizes, kind="stable")[:_N_COLUMNS]
        cells = [["column", "query", *(self._name(i, place) for place in beside), "difference"]]
        for column in largest:
            query = found.query_values[i, column]
            values = [found.row_values[i, place, column] for place in beside]
            values = ["=" if value == query else _show(value) for value in values]
            name = str(found.columns[column])
            cells.append([name, _show(query), *values, write(differences[column], "+")])
        others = np.delete(differences, largest, axis=0)
        if n_others := np.count_nonzero(np.delete(sizes, largest)):
            blank = [""] * (len(cells[0]) - 2)
            cells.append([f"{n_others} more", *blank, write(others.sum(axis=0), "+")])
        return [("By column, the nearest rows beside the query", cells)]


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Explanation(ExplainedQueries):
    """Predictions as weighted means of adjusted targets; made by ``explain``.

    A prediction rests on its nearest rows, its neighbors. The target of each is adjusted by the
    difference of the trend between the query and the row, as an appraiser does. Their mean is
    averaged with the parts of the blended model: for every query ``neighbors_weight * (weights *
    adjusted_targets).sum(axis=1) + clipping``, plus ``part_weights[name] * parts[name]`` for each
    part, is `prediction`. Printed, it is a table for each query, with weights in the prediction;
    :meth:`to_frame` makes a DataFrame of the neighbors.

    Attributes
    ----------
    prediction : ndarray of shape (n_queries,) or (n_queries, n_targets)
        What the estimator predicts.
    indices : int ndarray of shape (n_queries, n_neighbors)
        Rows of the X given to ``fit``, the largest weights first; of those that are equal in X
        and y, which count as one, the first. Rows appended later are numbered on from there.
    labels : ndarray of shape (n_queries, n_neighbors)
        Their labels in the index of the DataFrame, if X was one with an index; else `indices`.
    weights : ndarray of shape (n_queries, n_neighbors)
        Their weights, largest first, which sum to 1: the mean over the networks.
    targets : ndarray of shape (n_queries, n_neighbors) or (n_queries, n_neighbors, n_targets)
        Their targets.
    adjustments : ndarray of the shape of `targets`
        By how much the trend is higher for the query than for the row; 0 without one.
    clipping : ndarray of the shape of `prediction`
        What is added where the mean would lie more than a tenth of the targets' range beyond
        it; 0 elsewhere.
    is_adjusted : bool
        Whether there is a trend, which adjusts targets.
    neighbors_weight : float
        Weight of the neighbors in a prediction; the parts of the blended model have the rest.
    parts : dict of ndarrays of the shape of `prediction`
        What each part of the blended model predicts, "boosting" and "linear", if it has any weight.
    part_weights : dict of str to float
        Weights of these in a prediction.
    counts : int ndarray of shape (n_queries, n_neighbors)
        How many training samples, equal in X and y, each row stands for.
    agreement : ndarray of shape (n_queries,)
        Share of the five rows of the largest weight (of all, if `n_neighbors` is smaller), by one
        network alone, that another network names, too: an estimate of how many another
        `random_state` would name. NaN with one network.
    likeness : float
        Strength of :ref:`likeness <likeness>` in the distance.
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
    adjustments: np.ndarray
    clipping: np.ndarray
    is_adjusted: bool

    @property
    def adjusted_targets(self) -> np.ndarray:
        """Targets plus adjustments.

        Returns
        -------
        adjusted_targets : ndarray of the shape of `targets`

        Examples
        --------
        >>> from sklearn.datasets import make_friedman1
        >>> from skneighbors import NONARegressor
        >>> X, y = make_friedman1(n_samples=100, random_state=0)
        >>> model = NONARegressor(max_iter=5, random_state=0).fit(X[:80], y[:80])
        >>> model.explain(X[80:]).adjusted_targets.shape
        (20, 20)
        """
        return self.targets + self.adjustments

    def to_frame(self, by_column: bool = False) -> pd.DataFrame:
        """Arrange the neighbors as a DataFrame, one row for each.

        Parameters
        ----------
        by_column : bool, default=False
            Whether to add the difference by each column, as ``difference by NAME``.

        Returns
        -------
        frame : pandas.DataFrame
            Of columns query, row (their labels), weight (in the prediction, where the blended model
            has the rest), target, adjustment and adjusted, the last three with the number of the
            target behind their name if there are several.

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
        ['query', 'row', 'weight', 'target', 'adjustment', 'adjusted']
        """
        import pandas as pd

        columns = self._neighbors()
        columns["weight"] = self.neighbors_weight * columns["weight"]
        for k, suffix in by_target(self.prediction):
            columns[f"target{suffix}"] = self.targets[k].ravel()
            columns[f"adjustment{suffix}"] = self.adjustments[k].ravel()
            columns[f"adjusted{suffix}"] = self.adjusted_targets[k].ravel()
        if by_column:
            self._check_by_column("to_frame(by_column=True)")
            for k, suffix in by_target(self.prediction):
                by_column = self.by_column.differences[k].reshape(self.weights.size, -1)
                for name, values in zip(self.by_column.columns, by_column.T, strict=True):
                    columns[f"difference{suffix} by {name}"] = values
        return pd.DataFrame(columns)

    def _notes(self):
        facts = _ADJUSTED if self.is_adjusted else None, _PARTS if self.parts else None
        return self._list_notes(facts, _BY_COLUMN if self.is_adjusted or self.parts else None)

    def _describe(self, i):
        """Titles and cells of one query's tables."""
        write = same_decimals(self.prediction[i], self.targets[i])
        weights = self.neighbors_weight * self.weights[i]
        shown = min(N_ROWS, np.count_nonzero(self.weights[i]))
        n_others = len(weights) - shown
        if n_others == 1:  # itself as short as a line for others
            shown, n_others = shown + 1, 0

        def numbers(pick):
            target, adjustment, adjusted = (
                pick(part[i]) for part in (self.targets, self.adjustments, self.adjusted_targets)
            )
            return write(target), write(adjustment, "+"), write(adjusted)

        cells = [["row", "weight", "target", "adjustment", "adjusted"]]
        for place in range(shown):
            own = numbers(lambda part, place=place: part[place])
            cells.append([self._name(i, place), percent(weights[place]), *own])
        if n_others:
            rest, own = weights[shown:], [""] * 3
            if rest.any():
                own = numbers(lambda part: np.average(part[shown:], axis=0, weights=rest))
            cells.append([f"{n_others} more, mean", percent(rest.sum()), *own])
        for name, part in self.parts.items():
            weight = percent(self.part_weights[name])
            cells.append([PART_WORDS[name], weight, "", "", write(part[i])])
        if np.any(self.clipping[i]):
            clipping = write(self.clipping[i], "+")
            cells.append(["clipped to the range of targets", "", "", "", clipping])
        cells.append(["prediction", "100 %", "", "", write(self.prediction[i])])
        if not self.is_adjusted:  # adjusted targets are the targets
            cells = [["row", "weight", "target"], *([*row[:2], row[-1]] for row in cells[1:])]
        title = f"Query {self.query_labels[i]}: prediction {write(self.prediction[i])}"
        return [(title, cells), *self._describe_columns(i, write)]


def _show(value):
    """Write a value of a column, short."""
    if value is None:
        return "missing"
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    return text if len(text) <= 20 else f"{text[:17]}..."
