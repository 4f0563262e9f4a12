"""By which columns rows can be held out, and which rows go together."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral

import numpy as np
from sklearn.model_selection import GroupKFold

from .._columns import (
    CATEGORIES,
    NUMBERS,
    TIMES,
    ColumnWarning,
    find_last,
    read_values,
    show,
)

# Each fit leaves a fifth of the rows out, however they are chosen.
N_FOLDS = 5
# Of all columns so many are shown unless they are named.
_MAX_COLUMNS = 8


@dataclass(frozen=True, eq=False)
class HoldOutColumn:
    """A column, or an array that is none, by which rows are held out.

    Attributes
    ----------
    name : str
    description : str
        For messages.
    kind : str
        CATEGORIES, or what has an order: NUMBERS, TIMES or DURATIONS.
    values : ndarray of shape (n_samples,)
        Float64; NaN for gaps, whose rows are never held out.
    are_times_as_text : bool, default=False
        Whether an array holds text that says dates.
    """

    name: str
    description: str
    kind: str
    values: np.ndarray
    are_times_as_text: bool = False

    @cached_property
    def present(self):
        """Rows with a value."""
        return np.flatnonzero(~np.isnan(self.values))

    @cached_property
    def codes(self):
        """Numbers, from 0, of the values of the rows that have one."""
        return np.unique(self.values[self.present], return_inverse=True)[1].ravel()

    @property
    def n_values(self):
        """Number of distinct values."""
        return int(self.codes.max(initial=-1)) + 1

    @property
    def all_differ(self):
        """Whether no value repeats."""
        return self.n_values == len(self.present)

    def draw_value_folds(self, random_state):
        """Divide the rows into folds of about as many, all rows of a value in one.

        Returns
        -------
        folds : list of int ndarray
            Empty where no value repeats, as at random, or there is but one.
        """
        if self.n_values < 2 or self.all_differ:
            return []
        # GroupKFold draws nothing where it balances the folds.
        groups = random_state.permutation(self.n_values)[self.codes]
        folds = GroupKFold(min(N_FOLDS, self.n_values)).split(groups, groups=groups)
        return [self.present[test] for _, test in folds]

    def find_last_fifth(self):
        """Find the rows of the largest values, as near to a fifth as whole values allow.

        Returns
        -------
        folds : list of int ndarray
            One, or none if there is no order or a single value.
        """
        if self.kind == CATEGORIES or self.n_values < 2:
            return []
        return [find_last(self.values, 1 / N_FOLDS)]

    def check(self):
        """Raise ValueError if there is nothing to hold out."""
        if self.n_values < 2:
            value = "no value" if self.n_values == 0 else "one value alone"
            raise ValueError(f"{self.description} has {value}: there is nothing to hold out.")
        if self.all_differ and self.kind == CATEGORIES:
            raise ValueError(
                f"{self.description} has another category in each row: to hold its values out is "
                "to hold rows out at random. Of dates as text, pandas.to_datetime makes times."
            )


def find_columns(columns, table, reader, matrix):
    """Find the columns that `columns` names, or those that may say which rows belong together.

    Parameters
    ----------
    columns : list, dict or None
        See :meth:`HoldOutDisplay.from_data`.
    table : Table
    reader : TableReader
    matrix : ndarray of shape (n_samples, n_features)
        What it has read.

    Returns
    -------
    columns : list of HoldOutColumn

    Raises
    ------
    ValueError, TypeError
        If there is none, or one that can't be held out.
    """
    if isinstance(columns, Mapping):
        found = [_read_array(name, values, len(matrix)) for name, values in columns.items()]
    elif columns is None:
        return _choose([_take(j, table, reader, matrix) for j in range(len(reader.kinds))])
    elif isinstance(columns, str) or not hasattr(columns, "__len__"):
        raise TypeError(
            "columns must be a list of columns of X, or a dict of arrays by name; got "
            f"{show(columns)}."
        )
    else:
        places = [_place(name, table) for name in columns]
        if len(set(places)) < len(places):
            raise ValueError(f"columns must name each column once; got {show(list(columns))}.")
        found = [_take(j, table, reader, matrix) for j in places]
    if not found:
        raise ValueError("columns is empty: name one, or leave it None.")
    for column in found:
        if column.are_times_as_text:
            warnings.warn(
                f"{column.description} holds dates or times as text, which have no last fifth. "
                "Convert them, for instance with pandas.to_datetime.",
                ColumnWarning,
                stacklevel=3,
            )
        column.check()
    return found


def _place(name, table):
    """Find the position of a column of X by its name or position."""
    n_columns = table.data.shape[1]
    if table.names is not None and name in table.names:
        return table.names.index(name)
    is_position = isinstance(name, Integral) and not isinstance(name, bool)
    if is_position and 0 <= name < n_columns:
        return int(name)
    raise ValueError(
        f"columns names {show(name)}, which is no column of X: give names, or positions from 0 to "
        f"{n_columns - 1}. Give what is no column of X as an array: columns={{name: array}}."
    )


def _take(j, table, reader, matrix):
    """Take a column of the table by its position."""
    name = f"x{j}" if table.names is None else str(table.names[j])
    values = matrix[:, reader.order.index(j)]
    return HoldOutColumn(name, table.describe(j), reader.kinds[j], values)


def _read_array(name, values, n_samples):
    """Read an array as a column is read."""
    description = f"columns[{show(name)}]"
    return HoldOutColumn(str(name), description, *read_values(values, n_samples, description))


def _choose(columns):
    """Choose those columns that may say which rows belong together or come later."""
    found = [column for column in columns if _may_group(column)]
    if not found:
        raise ValueError(
            f"X has no column of dates, categories or whole numbers with {N_FOLDS} values or more "
            "that repeat. Name columns of X, columns=[name], or give an array, "
            "columns={name: array}."
        )
    if len(found) <= _MAX_COLUMNS:
        return found
    # What has more values is the likelier to name what rows belong to.
    first = sorted(found, key=lambda column: (column.kind != TIMES, -column.n_values))
    chosen = set(first[:_MAX_COLUMNS])
    warnings.warn(
        f"{len(found)} columns of X can be held out; shown are dates and those with the most "
        f"values, {_MAX_COLUMNS} in all. Name others by columns=[name].",
        stacklevel=4,
    )
    return [column for column in found if column in chosen]


def _may_group(column):
    """Whether a column, mostly filled, holds dates, or categories or whole numbers that repeat."""
    if column.n_values < N_FOLDS or 2 * len(column.present) < len(column.values):
        return False
    if column.kind == TIMES:
        return True
    values = column.values[column.present]
    is_whole = column.kind == NUMBERS and (values == np.floor(values)).all()
    return (column.kind == CATEGORIES or is_whole) and 2 * column.n_values <= len(values)
