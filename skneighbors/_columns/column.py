"""A column of a user's table: what it holds, as numbers, days or categories."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .values import (
    BOOLS,
    CLOCK_TIMES,
    DURATIONS,
    NUMBERS,
    OTHERS,
    TEXT,
    TIMES,
    as_categories,
    as_exact,
    days,
    days_of_objects,
    is_missing,
    show,
    sorts_of,
)

CATEGORIES = "categories"
TEXTS = "texts"
NOTHING = "nothing"

# What makes numbers, dates or durations of text.
CONVERTED = {
    NUMBERS: "pandas.to_numeric(..., errors='coerce')",
    TIMES: "pandas.to_datetime(..., errors='coerce')",
    DURATIONS: "pandas.to_timedelta(..., errors='coerce') of hh:mm:ss",
}
# Kinds of columns that are named otherwise than the sort of their values.
_KINDS = {TEXT: CATEGORIES, BOOLS: CATEGORIES, CLOCK_TIMES: DURATIONS}


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

    def check(self):
        """Raise ValueError for values that no column may hold, unless its dtype allows them."""
        if not self.declared and OTHERS in self.sorts:
            value = self.sorts[OTHERS]
            raise ValueError(
                f"{self.name} holds {show(value)}, of type {type(value).__name__!r}: a column may "
                "hold numbers, text, bools, dates, times of day and durations. Convert it to one "
                "of these, for instance with astype(str)."
            )

    @cached_property
    def kind(self):
        """Kind of the column, by its dtype, or by its values if that does not say.

        NUMBERS, CATEGORIES, TIMES or DURATIONS; NOTHING if all values are missing.

        Raises
        ------
        ValueError
            If it holds nothing of these, or more than one.
        """
        if self.declared:
            return self.declared
        self.check()
        if not self.sorts:
            return NOTHING
        kinds = {_KINDS.get(sort, sort): sort for sort in self.sorts}
        if len(kinds) > 1:
            found = (f"{sort} such as {show(self.sorts[sort])}" for sort in sorted(self.sorts))
            advice = "Make all of one kind"
            others = kinds.keys() - {CATEGORIES}
            if len(others) == 1 and CLOCK_TIMES not in self.sorts:
                advice += f", for instance with {CONVERTED[others.pop()]}"
            if not kinds.keys() & {TIMES, DURATIONS}:
                advice += ", or name it in categorical_features"
            raise ValueError(f"{self.name} holds {' beside '.join(found)}. {advice}.")
        return next(iter(kinds))

    def is_text(self):
        """Whether all values present are text."""
        return self.declared in (CATEGORIES, None) and self.sorts.keys() == {TEXT}

    def is_missing(self):
        """Whether all values are missing."""
        return not self.sorts

    def example(self):
        """Show a value; text, if there is any."""
        return show(self.sorts.get(TEXT, next(iter(self.sorts.values()))))

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
        if isinstance(self.data, np.ndarray):
            return self.data
        native = self.data.to_native()
        dtype = getattr(native, "dtype", None)
        if hasattr(dtype, "tz"):  # pandas', in any zone, of which narwhals knows some
            return np.asarray(native, dtype=f"M8[{dtype.unit}]")
        # Through narwhals alone this takes four times as long.
        return native.to_numpy() if isinstance(dtype, np.dtype) else self.data.to_numpy()

    def days(self):
        """Read times as days since 1970, UTC, and durations as days; missing values are NaN.

        A time of day is the duration since midnight.

        Raises
        ------
        ValueError
            If they are no days.
        """
        try:
            if self.declared:
                array = self._as_array()
                if array.dtype.kind in "mM":
                    return days(array)
            return days_of_objects(self.values)
        except (ValueError, OverflowError) as error:
            raise ValueError(f"{self.name} holds no days: {error}.") from error

    def ranks(self):
        """Rank numbers, times or durations (n_samples,), equal ones alike; NaN where missing.

        Values are distinguished that float64 does not: large integers, nanoseconds.
        """
        array = self._as_exact_array()
        if array is None:
            values = [None if is_missing(value) else as_exact(value) for value in self.values]
            ordered = sorted(set(values).difference([None]))
            rank_of = {value: rank for rank, value in enumerate(ordered)}
            return np.array([rank_of.get(value, np.nan) for value in values])
        ranks, present = np.full(len(array), np.nan), array == array
        ranks[present] = np.unique(array[present], return_inverse=True)[1]
        return ranks

    def _as_exact_array(self):
        """Array of NumPy's numbers or times; None if that would round some of them."""
        if self.declared not in (NUMBERS, TIMES, DURATIONS):
            return None
        array = self._as_array()
        # Integers become floats if some are missing.
        is_rounded = array.dtype.kind == "f" and self.data is not array
        is_rounded = is_rounded and self.data.dtype.is_integer()
        return array if array.dtype.kind in "iufmM" and not is_rounded else None

    def categories(self):
        """Read categories, as a list; None for missing values.

        Those of a dtype of categories may be anything.

        Raises
        ------
        ValueError
            If a value can be no category.
        """
        self.check()
        try:
            return as_categories(self.values)
        except TypeError as error:
            value = self.sorts[OTHERS]
            raise ValueError(
                f"{self.name} holds {show(value)}, of type {type(value).__name__!r}, which can be "
                "no category."
            ) from error
