"""A column of a user's table and its values, of any library: what they are, which are equal."""

import re
from collections import Counter
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import cached_property
from itertools import compress
from numbers import Integral

import narwhals as nw
import numpy as np

NUMBERS = "numbers"
TEXT = "text"
BOOLS = "bools"
TIMES = "dates"
DURATIONS = "durations"
OTHERS = "others"
CATEGORIES = "categories"
NOTHING = "nothing"

# Names of the types of missing values, as pandas need not be installed.
_MISSING = ("NoneType", "NAType", "NaTType", "MaskedConstant")
_MAY_BE_NAN = (float, np.floating, np.datetime64, np.timedelta64)
_LONGEST = 60
EPOCH = datetime(1970, 1, 1)
_A_DAY = {"D": 1, "h": 24, "m": 1440}
_A_DAY |= {unit: 86_400 * 1000**i for i, unit in enumerate(["s", "ms", "us", "ns", "ps"])}
_ADVICE = (
    "Objects may be floats and ints, text, bools or dates, all of one kind. Convert them, such as "
    "by astype(float) to numbers, astype(str) to categories, pandas.to_datetime or to_timedelta."
)
# What kind of column objects of a sort make: no others are read, whatever a dtype may hold.
_OF_OBJECTS = {NUMBERS: NUMBERS, TEXT: CATEGORIES, BOOLS: CATEGORIES, TIMES: TIMES}
# Text that stands for a missing value.
_SAY_MISSING = {"", "-", "--", ".", "?", "na", "n/a", "#n/a", "nan", "<na>", "nat", "none", "null"}
# Longer text stands for no number, date or duration; shorter does if so many cells do.
LONGEST_NUMERAL, ENOUGH = 64, 0.95
DIGIT = re.compile(r"\d")


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
    given : bool or None
        Whether it is given as categorical; None: that is not said.
    weight : ndarray of shape (n_samples,) or None
        What each cell counts when it is found out how text is read.
    """

    data: object
    name: str
    declared: str | None
    given: bool | None = None
    weight: np.ndarray | None = None

    @cached_property
    def values(self):
        """Values, as a list."""
        if not isinstance(self.data, np.ndarray):
            return self.data.to_list()
        # NumPy's `tolist` would make integers of times.
        return list(self.data) if self.data.dtype.kind in "mM" else self.data.tolist()

    def value(self, i):
        """Value of a row."""
        return replace(self, data=self.data[i : i + 1]).values[0]

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

    @property
    def has_categories(self):
        """Whether it is of a dtype of categories, which someone has given it."""
        is_series = not isinstance(self.data, np.ndarray)
        return is_series and self.data.dtype in (nw.Categorical, nw.Enum)

    @cached_property
    def texts(self):
        """Weight of each text, if it holds text that may stand for something; else empty."""
        if self.given or not self.is_text() or self.has_categories:
            return {}
        weights = Counter()
        for cell, weight in zip(self.values, self.weight.tolist(), strict=True):
            if weight and not is_missing(cell):
                weights[cell] += weight
        return weights

    @cached_property
    def numerals(self):
        """What :func:`find_numerals` finds among the texts."""
        return find_numerals(self.texts)

    def count_texts(self, rows):
        """Count the cells of each text in some rows (n_samples,), a mask."""
        cells = compress(self.values, rows)
        return Counter(cell.strip() for cell in cells if isinstance(cell, str))

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
        """Read numbers (n_samples,), an array or a list; missing values are NaN.

        Times become days since 1970, UTC, and durations days; a time of day is the duration since
        midnight.

        Raises
        ------
        ValueError
            If they are no days, or beyond float64.
        """
        if (self.declared or next(iter(self.sorts), None)) in (TIMES, DURATIONS):
            try:
                return days(self._as_array())
            except ValueError as error:
                raise ValueError(f"{self.name} holds no days: {error}.") from error
        if self.declared and (array := self._as_array()).dtype.kind in "iuf":
            return array
        return [np.nan if is_missing(value) else self._as_float(value) for value in self.values]

    def _as_float(self, value):
        try:
            return float(value)
        except OverflowError as error:
            message = f"{self.name} holds a number beyond float64: {show(value)}."
            raise ValueError(message) from error

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

    @cached_property
    def categories(self):
        """Categories, as a list; None for missing values."""
        return [None] * len(self.data) if self.kind == NOTHING else as_categories(self.values)


def is_missing(value):
    """Whether a value is None, NaN, NaT, NA or masked."""
    if isinstance(value, _MAY_BE_NAN):
        return bool(value != value)
    return type(value).__name__ in _MISSING


def show(value):
    """Show a value in a message, in at most 60 characters."""
    try:
        text = " ".join(repr(value).split())
    except Exception:  # that of the value, or an integer of too many digits
        text = f"<{type(value).__name__}>"
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def sorts_of(values):
    """Find the sorts of values that are not missing.

    Returns
    -------
    sorts : dict
        NUMBERS, TEXT and so on, each with the first value of a type of that sort.
    """
    sorts = {}
    for kind in dict.fromkeys(map(type, values)):
        if kind.__name__ not in _MISSING:
            may_be_nan = issubclass(kind, _MAY_BE_NAN)
            for value in values:
                if type(value) is kind and not (may_be_nan and is_missing(value)):
                    sorts.setdefault(_sort_of(kind), value)
                    break
    return sorts


def _sort_of(kind):
    if kind in (str, np.str_):
        return TEXT
    if kind in (bool, np.bool_):
        return BOOLS
    if issubclass(kind, timedelta | np.timedelta64 | time):  # since midnight
        return DURATIONS
    if kind in (int, float) or issubclass(kind, np.integer | np.floating):
        return NUMBERS
    return TIMES if issubclass(kind, date | np.datetime64) else OTHERS


def as_categories(values):
    """Make categories of values, None of missing ones: the same of one value in any type."""
    if set(map(type, values)) <= {str, bool, int, type(None)}:
        return values
    others = {(type(v), v) for v in values if type(v) is not str and not is_missing(v)}
    known = {key: _category_of(key[1]) for key in others}  # not all types compare with each other
    return [v if type(v) is str else None if is_missing(v) else known[type(v), v] for v in values]


def _category_of(value):
    sort = _sort_of(type(value))
    if sort == TEXT:
        return str(value)
    if sort == BOOLS:
        return bool(value)
    if sort == NUMBERS or isinstance(value, Decimal):  # that of a dtype
        return _category_of_number(value)
    is_moment = sort in (TIMES, DURATIONS) and not isinstance(value, time)
    return _category_of_moment(value, sort) if is_moment else value


def _category_of_number(value):
    """Make an int or a float: of what single precision holds, the shortest, as 0.1."""
    if isinstance(value, Integral):
        return int(value)
    if not np.isfinite(float(value)):
        return float(value)
    if value == int(value):
        return int(value)
    value = float(value)
    with np.errstate(over="ignore"):
        single = np.float32(value)
    return float(str(single)) if float(single) == value else value


def _category_of_moment(value, sort):
    """Make a datetime in UTC or a timedelta; a value finer or beyond these stays as it is."""
    (moment,) = as_moments([value], sort)
    with np.errstate(over="ignore"):
        category = moment.astype(f"{moment.dtype.kind}8[us]")
    is_same = category == moment and isinstance(category.item(), datetime | timedelta)
    return category.item() if is_same else value


def as_moments(values, sort):
    """Array of NumPy's times, in UTC, or of its durations, for objects that are TIMES or DURATIONS.

    A time of day is the duration since midnight.

    Raises
    ------
    ValueError
        If they are too far apart for the finest of their units.
    """
    kind = "M8" if sort == TIMES else "m8"
    moments = [None if is_missing(value) else _as_moment(value) for value in values]
    array, whole = np.array(moments, dtype=kind), np.array(moments, dtype=f"{kind}[D]")
    if not np.array_equal(array.astype(f"{kind}[D]"), whole, equal_nan=True):
        raise ValueError("times are too far apart for the finest of their units")
    return array


def _as_moment(value):
    """Value without a zone, in UTC, that NumPy makes a time or a duration of."""
    if isinstance(value, time):
        return datetime.combine(EPOCH, value) - EPOCH
    if isinstance(value, datetime) and value.tzinfo is not None and not hasattr(value, "asm8"):
        offset = np.timedelta64(value.utcoffset() or timedelta())
        return np.datetime64(value.replace(tzinfo=None)) - offset
    return getattr(value, "asm8", value)  # of pandas


def days(times):
    """Days of an array of times, since 1970, or of durations; missing values are NaN.

    Whole days and the rest of a day are divided apart, so that rounding does not depend on
    the unit.

    Raises
    ------
    ValueError
        If they are months or years, whose lengths differ.
    """
    kind, (unit, _) = times.dtype.kind, np.datetime_data(times.dtype)
    if kind == "m" and unit in ("Y", "M", "generic") and not np.isnat(times).all():
        raise ValueError(f"units of {unit!r} have no fixed length")
    unit = unit if unit in _A_DAY else "ps" if unit in ("fs", "as") else "D"
    counts = times.astype(f"{kind}8[{unit}]").astype(np.int64)
    whole, rest = np.divmod(counts, _A_DAY[unit])
    return np.where(np.isnat(times), np.nan, whole + rest / _A_DAY[unit])


def says_missing(text):
    """Whether a cell of text stands for a missing value."""
    return text.strip().lower() in _SAY_MISSING


def find_numerals(texts, enough=ENOUGH):
    """Find the texts that may stand for numbers, dates or durations.

    Parameters
    ----------
    texts : dict
        From each text to its number of cells.
    enough : float, default=0.95
        Fraction of the cells that have to stand for one of these.

    Returns
    -------
    numerals : tuple of (dict, float) or None
        The texts with a digit, stripped, and the number of cells that have to stand for one; None
        if they are too few.
    """
    counts = Counter()
    for text, count in texts.items():
        if not says_missing(text):
            counts[text.strip()] += count
    needed = enough * sum(counts.values())
    found = {t: n for t, n in counts.items() if len(t) <= LONGEST_NUMERAL and DIGIT.search(t)}
    return (found, needed) if sum(found.values()) >= needed > 0 else None
