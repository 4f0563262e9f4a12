"""Single values of any library: what they are, which are the same, how messages show them."""

from datetime import date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from numbers import Integral, Real

import numpy as np

NUMBERS = "numbers"
TEXT = "text"
BOOLS = "bools"
TIMES = "dates"
DURATIONS = "durations"
CLOCK_TIMES = "times of day"
OTHERS = "others"

# Names of the types of missing values, as pandas need not be installed.
_MISSING = ("NoneType", "NAType", "NaTType", "MaskedConstant")
_MAY_BE_NAN = (float, np.floating, Decimal, np.datetime64, np.timedelta64)
_PLAIN = (datetime, timedelta)
_LONGEST = 60
EPOCH = datetime(1970, 1, 1)
_A_DAY = {"D": 1, "h": 24, "m": 1440}
_A_DAY |= {unit: 86_400 * 1000**i for i, unit in enumerate(["s", "ms", "us", "ns", "ps"])}
_ATTOSECONDS_A_DAY = 86_400 * 10**18


def is_missing(value):
    """Whether a value is None, NaN, NaT, NA or masked."""
    if isinstance(value, Decimal):
        return value.is_nan()  # a signalling one does not compare
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
    if issubclass(kind, str):
        return TEXT
    if issubclass(kind, bool | np.bool_):
        return BOOLS
    if issubclass(kind, timedelta | np.timedelta64):
        return DURATIONS
    if issubclass(kind, Real | Decimal):
        return NUMBERS
    if issubclass(kind, date | np.datetime64) or kind.__name__ == "Period":
        return TIMES
    return CLOCK_TIMES if issubclass(kind, time) else OTHERS


def as_categories(values):
    """Make categories of values: the same for the same value of any type, None for a missing value.

    Raises
    ------
    TypeError
        If a value has no hash.
    """
    if set(map(type, values)) <= {str, bool, int, type(None)}:
        return values
    known = {}

    def find(value):
        key = type(value), value  # not all types compare with each other
        category = known.get(key, known)
        if category is known:
            category = known[key] = _category_of(value)
        return category

    return [
        value if type(value) is str else None if is_missing(value) else find(value)
        for value in values
    ]


def _category_of(value):
    sort = _sort_of(type(value))
    if sort == TEXT:
        return str.__str__(value)  # of an enum's member, too
    if isinstance(value, np.bool_):
        return value.item()
    if sort == NUMBERS:
        return _category_of_number(value)
    return _category_of_time(value) if sort in (TIMES, DURATIONS) else value


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


def _category_of_time(value):
    """Make a datetime in UTC or a timedelta; a value finer or beyond these stays as it is."""
    moment = _as_numpys(value)
    if isinstance(moment, np.generic):
        with np.errstate(over="ignore"):
            category = moment.astype(f"{moment.dtype.kind}8[us]")
        is_same = category == moment and isinstance(category.item(), _PLAIN)
        return category.item() if is_same else value
    try:
        return EPOCH + _since_epoch(value) if isinstance(value, date) else value
    except OverflowError:
        return value


def days(times):
    """Days of an array of times, since 1970, or of durations; missing values are NaN.

    Whole days and the rest of a day are divided apart, so that rounding does not depend on
    the unit.

    Raises
    ------
    ValueError
        If they are months or years, whose lengths differ.
    """
    kind, unit = times.dtype.kind, _unit_of_fixed_length(times.dtype)
    unit = unit if unit in _A_DAY else "ps" if unit in ("fs", "as") else "D"
    counts = times.astype(f"{kind}8[{unit}]").astype(np.int64)
    whole, rest = np.divmod(counts, _A_DAY[unit])
    return np.where(np.isnat(times), np.nan, whole + rest / _A_DAY[unit])


def _unit_of_fixed_length(dtype):
    unit, _ = np.datetime_data(dtype)
    if dtype.kind == "m" and unit in ("Y", "M", "generic"):
        raise ValueError(f"units of {unit!r} have no fixed length")
    return unit


def days_of_objects(values):
    """Days of times or durations as objects; a time without a zone counts as UTC.

    Raises
    ------
    ValueError
        If one has no number of days.
    """
    return np.array([np.nan if is_missing(value) else _days_of(value) for value in values])


def _days_of(value):
    value = _as_numpys(value)
    if isinstance(value, np.generic):
        _unit_of_fixed_length(value.dtype)
    if isinstance(value, time) and value.tzinfo is not None:
        raise ValueError(f"{show(value)} has a time zone, but no date")
    whole, rest = divmod(as_exact(value), _ATTOSECONDS_A_DAY)
    return whole + rest / _ATTOSECONDS_A_DAY


def _as_numpys(value):
    """NumPy's time, in UTC, for one of pandas; a period is its start."""
    value = value.start_time if type(value).__name__ == "Period" else value
    return getattr(value, "asm8", value)


def _since_epoch(value):
    """Duration since 1970, in UTC, of a date or datetime, and of a time of day since midnight.

    A duration stays as it is.
    """
    if isinstance(value, time):
        return datetime.combine(EPOCH, value.replace(tzinfo=None)) - EPOCH
    if isinstance(value, datetime):
        return value.replace(tzinfo=None) - EPOCH - (value.utcoffset() or timedelta())
    return datetime.combine(value, time()) - EPOCH if isinstance(value, date) else value


def as_exact(value):
    """Make a number of a number, a time or a duration that no other of its kind equals.

    Ints and fractions, which Python compares exactly; of times attoseconds, in UTC.
    """
    value = _as_numpys(value)
    if isinstance(value, np.datetime64 | np.timedelta64):
        return _attoseconds(value)
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real | Decimal):
        return float(value) if isinstance(value, float | np.floating) else Fraction(value)
    return _since_epoch(value) // timedelta(microseconds=1) * 10**12


def _attoseconds(moment):
    """Count the attoseconds of one of NumPy's times since 1970, or of its durations."""
    unit, step = np.datetime_data(moment.dtype)
    if unit in ("fs", "as"):
        return int(moment.astype(np.int64)) * step * (1000 if unit == "fs" else 1)
    if unit not in _A_DAY:
        moment, unit, step = moment.astype(f"{moment.dtype.kind}8[D]"), "D", 1
    return int(moment.astype(np.int64)) * step * (_ATTOSECONDS_A_DAY // _A_DAY[unit])
