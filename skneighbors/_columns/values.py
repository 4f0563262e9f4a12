"""Single values of any library: what they are, which are the same, how messages show them."""

from datetime import date, datetime, time, timedelta
from decimal import Decimal
from numbers import Integral

import numpy as np

NUMBERS = "numbers"
TEXT = "text"
BOOLS = "bools"
TIMES = "dates"
DURATIONS = "durations"
OTHERS = "others"

# Names of the types of missing values, as pandas need not be installed.
_MISSING = ("NoneType", "NAType", "NaTType", "MaskedConstant")
_MAY_BE_NAN = (float, np.floating, np.datetime64, np.timedelta64)
_LONGEST = 60
EPOCH = datetime(1970, 1, 1)
_A_DAY = {"D": 1, "h": 24, "m": 1440}
_A_DAY |= {unit: 86_400 * 1000**i for i, unit in enumerate(["s", "ms", "us", "ns", "ps"])}


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
