"""Explanations of predictions: the training samples behind them, each adjusted to the query."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .printing import by_target, html_note, html_table, same_decimals, text_table

if TYPE_CHECKING:
    import pandas as pd

# Printed are tables of at most so many queries, with at most so many rows.
_N_QUERIES, _N_ROWS = 10, 10
# Adjustments are printed by column for so many of these rows, with at most so many columns.
_N_TAKEN_APART, _N_COLUMNS = 3, 5
_ROWS = (
    "Rows are those most like the query in what the networks have learned to look at; the more\n"
    "alike, the more each network lets them weigh. "
)
_NO_TREND = _ROWS + "The prediction is the mean of the targets, by weight."
_TREND = (
    _ROWS + "The prediction is the mean of the adjusted targets, by weight.\n"
    "adjustment = f(query) - f(row), where f, the trend and the blended model, is a function of\n"
    "the columns, learned from all rows."
)
_BY_COLUMN = (
    f"Adjustments by column are those of the {_N_TAKEN_APART} largest weights; to_frame() has\n"
    "all. Columns that say the same share what it adjusts, and large parts may cancel. Where more\n"
    "than seven columns differ, parts are estimates; their sum is exact."
)


@dataclass(frozen=True, eq=False)
class ColumnAdjustments:
    """Adjustments split by the columns in which a query differs from a row.

    They are Shapley values of the trend and the blended model, with the row as the background, and
    sum to the adjustment; columns that are equal have 0. Made by ``explain(X, by_column=True)``.

    Attributes
    ----------
    columns : list of length n_columns
        Names, in the order of X; without columns that had no value in ``fit``.
    query_values : object ndarray of shape (n_queries, n_columns)
        Values of the queries as they were read: numbers, categories, dates; None for missing
        values and categories that ``fit`` has not seen.
    row_values : object ndarray of shape (n_queries, n_neighbors, n_columns)
        Values of the rows.
    adjustments : ndarray of shape (n_queries, n_neighbors, n_columns) or \
            (n_queries, n_neighbors, n_columns, n_targets)
        Part of each adjustment that is due to each column.
    """

    columns: list
    query_values: np.ndarray
    row_values: np.ndarray
    adjustments: np.ndarray

    def __repr__(self):
        n_queries, n_rows, n_columns = self.row_values.shape
        return f"<adjustments of {n_rows} rows to {n_queries} queries by {n_columns} columns>"

    def largest(self, query: int, place: int, n_columns: int = _N_COLUMNS) -> np.ndarray:
        """Columns that adjust one row most.

        Parameters
        ----------
        query, place : int
        n_columns : int, default=5

        Returns
        -------
        columns : int ndarray
            The largest adjustment first; those of 0 are left out.

        Examples
        --------
        >>> from sklearn.datasets import make_friedman1
        >>> from skneighbors import NONARegressor
        >>> X, y = make_friedman1(n_samples=100, random_state=0)
        >>> model = NONARegressor(n_neighbors=5, max_iter=5, random_state=0).fit(X[:80], y[:80])
        >>> by_column = model.explain(X[80:81], by_column=True).by_column
        >>> by_column.largest(0, 0).shape
        (5,)
        """
        sizes = np.abs(self.adjustments[query, place]).reshape(len(self.columns), -1).sum(axis=1)
        order = np.argsort(-sizes, kind="stable")[:n_columns]
        return order[sizes[order] > 0]


@dataclass(frozen=True, eq=False)
class Explanation:
    """Predictions as weighted means of adjusted targets; made by ``explain``.

    A prediction rests on its nearest rows, its neighbors. The target of each is adjusted by
    the difference of the trend and the blended model between the query and the row, as an
    appraiser does. For every query ``(weights * adjusted_targets).sum(axis=1) + clipping`` is
    `prediction`. Printed, it is a table for each query; :meth:`to_frame` makes a DataFrame of it.

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
        Their weights, largest first, which sum to 1: the mean over the networks, by
        `estimator_weights_`.
    targets : ndarray of shape (n_queries, n_neighbors) or (n_queries, n_neighbors, n_targets)
        Their targets.
    adjustments : ndarray of the shape of `targets`
        By how much the trend and the blended model, by their weights, are higher for the query
        than for the row; 0 without both.
    clipping : ndarray of the shape of `prediction`
        What is added where the mean would lie more than a tenth of the targets' range beyond
        it; 0 elsewhere.
    is_adjusted : bool
        Whether there is anything, a trend or a blended model, that adjusts targets.
    query_labels : ndarray of shape (n_queries,)
        Labels of the queries; their numbers if X has no index.
    by_column : ColumnAdjustments or None
        The adjustments by column, after ``explain(X, by_column=True)``.

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
    >>> means = (why.weights * why.adjusted_targets).sum(axis=1)
    >>> bool(abs(means + why.clipping - model.predict(X[80:82])).max() < 1e-9)
    True
    """

    prediction: np.ndarray
    indices: np.ndarray
    labels: np.ndarray
    weights: np.ndarray
    targets: np.ndarray
    adjustments: np.ndarray
    clipping: np.ndarray
    is_adjusted: bool
    query_labels: np.ndarray
    by_column: ColumnAdjustments | None = None

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

    def __len__(self) -> int:
        return len(self.prediction)

    def importances(self) -> np.ndarray:
        """Mean absolute adjustment by each column, over the queries.

        Returns
        -------
        importances : ndarray of shape (n_columns,) or (n_columns, n_targets)
            Means of the absolute adjustments, rows by their weights, in the order of
            ``by_column.columns``.

        Raises
        ------
        ValueError
            If there are no adjustments by column.

        Examples
        --------
        >>> from sklearn.datasets import make_friedman1
        >>> from skneighbors import NONARegressor
        >>> X, y = make_friedman1(n_samples=100, random_state=0)
        >>> model = NONARegressor(n_neighbors=5, max_iter=5, random_state=0).fit(X[:80], y[:80])
        >>> model.explain(X[80:83], by_column=True).importances().shape
        (10,)
        """
        if self.by_column is None:
            raise ValueError("importances needs explain(X, by_column=True).")
        sizes = np.abs(self.by_column.adjustments)
        return np.einsum("nk,nk...->...", self.weights, sizes) / len(self)

    def to_frame(self) -> pd.DataFrame:
        """Arrange the neighbors as a DataFrame, one row for each.

        Returns
        -------
        frame : pandas.DataFrame
            Of columns query, row (their labels), weight, target, adjustment and adjusted, the last
            three with the number of the target behind their name if there are several; after
            ``explain(X, by_column=True)`` the adjustment by each column, too, as
            ``adjustment by NAME``.

        Raises
        ------
        ImportError
            If pandas is missing.

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

        columns = {
            "query": np.repeat(self.query_labels, self.weights.shape[1]),
            "row": self.labels.ravel(),
            "weight": self.weights.ravel(),
        }
        for k, suffix in by_target(self.prediction):
            columns[f"target{suffix}"] = self.targets[k].ravel()
            columns[f"adjustment{suffix}"] = self.adjustments[k].ravel()
            columns[f"adjusted{suffix}"] = self.adjusted_targets[k].ravel()
        if self.by_column is not None:
            for k, suffix in by_target(self.prediction):
                by_column = self.by_column.adjustments[k].reshape(self.weights.size, -1)
                for name, values in zip(self.by_column.columns, by_column.T, strict=True):
                    columns[f"adjustment{suffix} by {name}"] = values
        return pd.DataFrame(columns)

    def __str__(self) -> str:
        tables = [text_table(title, cells) for title, cells in self._tables()]
        return "\n\n".join([*tables, *self._notes()])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        tables = [html_table(title, cells) for title, cells in self._tables()]
        return "".join([*tables, *map(html_note, self._notes())])

    def _notes(self):
        n_others = len(self) - _N_QUERIES
        notes = [f"... and {n_others} more queries"] if n_others > 0 else []
        notes.append(_TREND if self.is_adjusted else _NO_TREND)
        if self.by_column is not None:
            notes.append(_BY_COLUMN if self.is_adjusted else "So there is nothing by column.")
        return notes

    def _tables(self):
        """Titles and cells of the tables of all queries that are shown."""
        tables = []
        for i in range(min(len(self), _N_QUERIES)):
            write = same_decimals(self.prediction[i], self.targets[i])
            tables.append(self._describe(i, write))
            if self.by_column is not None and self.is_adjusted:
                for place in range(min(_N_TAKEN_APART, self.weights.shape[1])):
                    if len(self.by_column.largest(i, place)):  # not all columns are equal
                        tables.append(self._describe_columns(i, place, write))
        return tables

    def _describe(self, i, write):
        """Title and cells of one query's table."""
        shown = min(_N_ROWS, int((self.weights[i] > 0).sum()))
        n_others = self.weights.shape[1] - shown
        if n_others == 1:  # itself as short as a line for others
            shown, n_others = shown + 1, 0
        cells = [["row", "weight", "target", "adjustment", "adjusted"]]
        parts = self.labels, self.weights, self.targets, self.adjustments, self.adjusted_targets
        for label, weight, target, adjustment, adjusted in zip(
            *(part[i, :shown] for part in parts), strict=True
        ):
            numbers = write(target), write(adjustment, "+"), write(adjusted)
            cells.append([str(label), f"{weight:.3f}", *numbers])
        if n_others:
            weight = self.weights[i, shown:]
            numbers = [""] * 3
            if weight.sum():
                target, adjustment, adjusted = (
                    np.average(part[i, shown:], axis=0, weights=weight) for part in parts[2:]
                )
                numbers = write(target), write(adjustment, "+"), write(adjusted)
            cells.append([f"{n_others} more, mean", f"{weight.sum():.3f}", *numbers])
        between = ["", ""]
        if not self.is_adjusted:
            cells, between = [row[:3] for row in cells], []
        if np.any(self.clipping[i]):
            cells.append(
                ["clipped to the range of targets", "", *between, write(self.clipping[i], "+")]
            )
        cells.append(["prediction", "1.000", *between, write(self.prediction[i])])
        return f"Query {self.query_labels[i]}: prediction {write(self.prediction[i])}", cells

    def _describe_columns(self, i, place, write):
        """Title and cells of a table that says by which columns one row is adjusted."""
        found, label = self.by_column, str(self.labels[i, place])
        adjustments = found.adjustments[i, place]
        largest = found.largest(i, place)
        cells = [["column", "query", label, "adjustment"]]
        for column in largest:
            values = found.query_values[i, column], found.row_values[i, place, column]
            cells.append(
                [str(found.columns[column]), *map(_show, values), write(adjustments[column], "+")]
            )
        others = np.delete(adjustments, largest, axis=0)
        n_others = sum(map(np.any, others))
        if n_others:
            cells.append([f"{n_others} more", "", "", write(others.sum(axis=0), "+")])
        return f"{label} is adjusted by {write(self.adjustments[i, place], '+')}", cells


def _show(value):
    """Write a value of a column, short."""
    if value is None:
        return "missing"
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    return text if len(text) <= 30 else f"{text[:27]}..."
