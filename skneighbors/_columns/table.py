"""A user's table read column by column: numbers, times, and lists of what else it holds."""

import datetime
from dataclasses import dataclass
from decimal import Decimal
from numbers import Real

import narwhals as nw
import numpy as np
from sklearn.utils.validation import check_array

NUMBERS = "numbers"
CATEGORIES = "categories"
TIMES = "dates"
DURATIONS = "durations"
NOTHING = "nothing"

EPOCH, _DAY = np.datetime64("1970-01-01", "us"), np.timedelta64(1, "D")


@dataclass(frozen=True, eq=False)
class Table:
    """What a user may give as X: a DataFrame of any library, an array or nested lists.

    Attributes
    ----------
    data : narwhals.DataFrame or ndarray of shape (n_samples, n_columns)
    names : list or None
    declared : list
        What each column holds by its dtype: NUMBERS, CATEGORIES, TIMES or DURATIONS; None if
        that does not say.
    """

    data: object
    names: list | None
    declared: list

    @classmethod
    def of(cls, X):
        """Table of X; None if it has not two dimensions, or is sparse.

        Raises
        ------
        TypeError
            If X is a lazy frame.
        ValueError
            If columns share a name.
        """
        refuse_lazy(X, "X")
        try:
            frame = nw.from_native(X, eager_only=True, pass_through=True)
        except nw.exceptions.DuplicateError as error:
            raise ValueError(f"Each column of X must have a name of its own. {error}") from error
        if isinstance(frame, nw.DataFrame):
            return cls(frame, frame.columns, [_declared(dtype) for dtype in frame.schema.values()])
        if hasattr(X, "tocsr"):
            return None
        try:
            array = np.asarray(X)
            if array.dtype.kind in "US":  # of a list that may hold numbers, too
                array = np.asarray(X, dtype=object)
        except ValueError:  # ragged
            return None
        if array.ndim != 2:
            return None
        declared = {"m": DURATIONS, "M": TIMES, "b": CATEGORIES, "O": None}.get(
            array.dtype.kind, NUMBERS
        )
        return cls(array, None, [declared] * array.shape[1])

    def describe(self, j):
        """Name a column, for messages."""
        return f"Column {j if self.names is None else self.names[j]!r} of X"

    def kind(self, j):
        """Find what a column holds, by its dtype, or its values if that does not say.

        Returns
        -------
        kind : NUMBERS, CATEGORIES, TIMES, DURATIONS or NOTHING
            NOTHING if all its values are missing and its dtype does not say.

        Raises
        ------
        ValueError
            If it holds nothing of these.
        """
        return self.declared[j] or _kind_of(self.values(j), self.describe(j))

    def values(self, j):
        """Values of a column, as a list."""
        column = self.data[:, j]
        return column.tolist() if self.names is None else column.to_list()

    def numbers(self, columns):
        """Columns of numbers, to float64; gaps are NaN. May be the table's own array."""
        is_numeric = np.array([self.declared[j] == NUMBERS for j in columns], dtype=bool)
        declared = [j for j in columns if self.declared[j] == NUMBERS]
        if declared:
            data = self.data if len(declared) == self.data.shape[1] else self.data[:, declared]
            numbers = check_array(
                nw.to_native(data, pass_through=True),
                dtype=np.float64,
                ensure_all_finite=False,
                ensure_min_samples=0,
                input_name="X",
            )
            if is_numeric.all():
                return numbers
        out = np.empty((len(self.data), len(columns)))
        if declared:
            out[:, is_numeric] = numbers
        for i in np.flatnonzero(~is_numeric):
            out[:, i] = _as_floats(self.values(columns[i]), self.describe(columns[i]))
        return out

    def days(self, j):
        """Read times of a column as days since 1970, UTC, and durations as days; gaps are NaN."""
        times = self.data[:, j]
        if self.names is not None:
            if times.dtype == nw.Datetime and times.dtype.time_zone is not None:
                times = times.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
            times = times.to_numpy()
        try:
            return (times - EPOCH if times.dtype.kind == "M" else times) / _DAY
        except TypeError as error:  # months and years
            raise ValueError(f"{self.describe(j)} holds no days: {error}") from error

    def is_missing(self, j):
        """Whether a column has no value at all."""
        return all(map(is_missing, self.values(j)))


def refuse_lazy(data, name):
    """Raise TypeError for a frame that holds no values yet."""
    if hasattr(data, "collect") and not hasattr(data, "__array__"):
        raise TypeError(f"{name} is a {type(data).__name__}: collect it first.")


def find_labels(X):
    """Labels of the rows of X, an ndarray, if it is a frame with an index; else None."""
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    index = nw.maybe_get_index(frame) if isinstance(frame, nw.DataFrame) else None
    if index is None:
        return None
    labels = index.to_numpy()
    return labels if labels.dtype.kind in "iu" else index.astype(object).to_numpy()


# Types of values that stand for none.
_GAPS = ("NoneType", "NAType", "NaTType")


def is_missing(value):
    """Whether a value is None, NaN, NaT or NA."""
    return type(value).__name__ in _GAPS or value != value


def _declared(dtype):
    if dtype.is_numeric():
        return NUMBERS
    if dtype in (nw.Date, nw.Datetime):
        return TIMES
    if dtype == nw.Duration:
        return DURATIONS
    return CATEGORIES if dtype in (nw.Boolean, nw.Categorical, nw.Enum, nw.String) else None


def _kind_of(values, name):
    """Kind of a column by its values: numbers, levels that are text or bool, or nothing."""
    present = {own for own in set(map(type, values)) if own.__name__ not in _GAPS}
    if not present or (present == {float} and all(map(is_missing, values))):
        return NOTHING
    if all(issubclass(own, Real | Decimal) and own is not bool for own in present):
        return NUMBERS
    check_levels(values, name)
    return CATEGORIES


def check_levels(values, name):
    """Raise ValueError if a column has levels that are neither text, numbers nor bool."""
    allowed = (str, bool, np.bool_, Real, Decimal)
    for value in values:
        if not (isinstance(value, allowed) or is_missing(value)):
            raise ValueError(f"{name} holds {_describe(value)}.")


def _describe(value):
    if isinstance(value, datetime.time):
        return f"times of day, such as {value!r}: convert them to numbers, for instance hours"
    if isinstance(value, datetime.date | datetime.timedelta):
        return (
            f"dates or durations as objects, such as {value!r}: convert them to a dtype of their "
            "own, for instance with pandas.to_datetime, or to numbers"
        )
    return (
        f"{value!r}, of type {type(value).__name__!r}: a column may hold numbers, text, bools, "
        "dates and durations. Convert it to one of these, for instance with astype(str)"
    )


def _as_floats(values, name):
    try:
        return [np.nan if is_missing(value) else float(value) for value in values]
    except OverflowError as error:
        raise ValueError(f"{name} holds a number beyond float64: {error}") from error
