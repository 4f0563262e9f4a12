"""A column of a user's table: what it holds, as numbers, days or categories."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .values import (
    BOOLS,
    DURATIONS,
    NUMBERS,
    TEXT,
    TIMES,
    as_categories,
    as_moments,
    days,
    is_missing,
    show,
    sorts_of,
)

CATEGORIES = "categories"
TEXTS = "texts"
NOTHING = "nothing"

_ADVICE = (
    "Objects may be floats and ints, text, bools or dates, all of one kind. Convert them, such as "
    "by astype(float) to numbers, astype(str) to categories, pandas.to_datetime or to_timedelta."
)
# What kind of column objects of a sort make: no others are read, whatever a dtype may hold.
_OF_OBJECTS = {NUMBERS: NUMBERS, TEXT: CATEGORIES, BOOLS: CATEGORIES, TIMES: TIMES}


@dataclass(frozen=True, eq=False)
class Column:
    """A column as it came.

    Attributes
    ----------
    data : narwhals.Series or ndarray of shape (n_samples,)
    name : str
        For messages.
    declared : NUMBERS, CATEGORIES, TIMES, DURATIONS or None
        What it holds by its dtype; None if that does not say.
    """

    data: object
    name: str
    declared: str | None

    @cached_property
    def values(self):
        """Values, as a list."""
        if not isinstance(self.data, np.ndarray):
            return self.data.to_list()
        # NumPy's `tolist` would make integers of times.
        return list(self.data) if self.data.dtype.kind in "mM" else self.data.tolist()

    @cached_property
    def sorts(self):
        """Sorts of the values present, each with an example."""
        return sorts_of(self.values)

    @cached_property
    def kind(self):
        """Kind of the column, by its dtype, or by its values if that does not say.

        NUMBERS, CATEGORIES, TIMES or DURATIONS; NOTHING if all values are missing.

        Raises
        ------
        ValueError
            If it holds objects that are nothing of these, or of more than one sort.
        """
        if self.declared or not self.sorts:
            return self.declared or NOTHING
        first, *others = self.sorts
        other = first if first not in _OF_OBJECTS else next(iter(others), None)
        if other is not None:
            beside = "" if other == first else f", beside {show(self.sorts[first])}"
            self._refuse(other, f"{beside}. {_ADVICE}")
        return _OF_OBJECTS[first]

    def is_text(self):
        """Whether all values present are text."""
        return self.declared in (CATEGORIES, None) and self.sorts.keys() == {TEXT}

    def is_missing(self):
        """Whether all values are missing."""
        return not self.sorts

    def example(self):
        """Show a value; text, if there is any."""
        return show(self.sorts.get(TEXT, next(iter(self.sorts.values()))))

    def refuse_others(self, advice="Convert it, dates for instance to days since 1970"):
        """Raise ValueError if a value is no number."""
        others = [sort for sort in self.sorts if sort not in (NUMBERS, BOOLS)]
        if self.declared != NUMBERS and others:
            self._refuse(others[0], f"; it must hold numbers. {advice}.")

    def _refuse(self, sort, why):
        value = self.sorts[sort]
        raise ValueError(f"{self.name} holds {show(value)}, of type {type(value).__name__!r}{why}")

    def numbers(self):
        """Read numbers (n_samples,), an array or a list; missing values are NaN."""
        if self.declared:
            array = self._as_array()
            if array.dtype.kind in "iuf":
                return array
        return [np.nan if is_missing(value) else self._as_float(value) for value in self.values]

    def _as_float(self, value):
        try:
            return float(value)
        except OverflowError as error:
            raise ValueError(
                f"{self.name} holds a number beyond float64: {show(value)}."
            ) from error

    def _as_array(self):
        """Array of NumPy's numbers, times or durations, if it has such for the values."""
        if isinstance(self.data, np.ndarray):
            array = self.data
        else:
            native = self.data.to_native()
            dtype = getattr(native, "dtype", None)
            if hasattr(dtype, "tz"):  # pandas', in any zone, of which narwhals knows some
                return np.asarray(native, dtype=f"M8[{dtype.unit}]")
            # Through narwhals alone this takes four times as long.
            array = native.to_numpy() if isinstance(dtype, np.dtype) else self.data.to_numpy()
        is_moments = array.dtype.kind == "O" and self.kind in (TIMES, DURATIONS)
        return as_moments(self.values, self.kind) if is_moments else array

    def days(self):
        """Read times as days since 1970, UTC, and durations as days; missing values are NaN.

        A time of day is the duration since midnight.

        Raises
        ------
        ValueError
            If they are no days.
        """
        try:
            return days(self._as_array())
        except ValueError as error:
            raise ValueError(f"{self.name} holds no days: {error}.") from error

    def ranks(self):
        """Rank numbers, times or durations (n_samples,), equal ones alike; NaN where missing.

        Values are distinguished that float64 does not: large integers, nanoseconds.
        """
        array = self._as_array()
        # Integers become floats if some are missing.
        is_rounded = array.dtype.kind == "f" and self.data is not array
        if array.dtype.kind not in "iufmM" or (is_rounded and self.data.dtype.is_integer()):
            plain = [v.item() if isinstance(v, np.generic) else v for v in self.values]
            ordered = sorted({value for value in plain if not is_missing(value)})
            rank_of = {value: rank for rank, value in enumerate(ordered)}
            return np.array([rank_of.get(value, np.nan) for value in plain])
        ranks, present = np.full(len(array), np.nan), array == array
        ranks[present] = np.unique(array[present], return_inverse=True)[1]
        return ranks

    def categories(self):
        """Read categories, as a list; None for missing values."""
        return [None] * len(self.data) if self.kind == NOTHING else as_categories(self.values)
