"""Single values as JSON and back, by a list of kinds: dates, durations, intervals and the like."""

from datetime import date, datetime, time, timedelta
from operator import methodcaller
from uuid import UUID

import numpy as np

SCALARS = (bool, int, float, str, type(None))
_to_iso = methodcaller("isoformat")


def _of_pandas(name):
    """Whether a value is of a type of pandas, which need not be installed."""

    def is_it(value):
        kind = type(value)
        return kind.__name__ == name and kind.__module__.partition(".")[0] == "pandas"

    return is_it


def _of(*kinds):
    return lambda value: isinstance(value, kinds)


def _pandas():
    try:
        import pandas
    except ImportError as error:
        raise ImportError("It holds values of pandas, such as intervals: install it.") from error
    return pandas


def _write_numpys_time(value):
    return [value.dtype.str, int(value.view(np.int64))]


def _read_numpys_time(parts):
    dtype, count = np.dtype(parts[0]), np.int64(parts[1])
    if dtype.kind not in "mM":
        raise ValueError(f"{dtype} is no dtype of times")
    return count.view(dtype)


def _write_interval(value):
    return [write_scalar(value.left), write_scalar(value.right), value.closed]


def _read_interval(parts):
    pandas, (*ends, closed) = _pandas(), parts
    ends = [read_scalar(end) if isinstance(end, dict) else end for end in ends]
    for kind, make in ((datetime, pandas.Timestamp), (timedelta, pandas.Timedelta)):
        ends = [make(end) if isinstance(end, kind) else end for end in ends]
    return pandas.Interval(*ends, closed)


# For each tag: whether a value is of the kind, to JSON, and back. The first kind is taken that
# gives back an equal value of the same hash: pandas is needed only for values without an equal in
# the standard library.
_KINDS = {
    "NaT": (_of_pandas("NaTType"), lambda _: None, lambda _: _pandas().NaT),
    "NA": (_of_pandas("NAType"), lambda _: None, lambda _: _pandas().NA),
    "bytes": (_of(bytes), bytes.hex, bytes.fromhex),
    "date": (_of(date), date.isoformat, date.fromisoformat),
    "datetime": (_of(datetime), datetime.isoformat, datetime.fromisoformat),
    "time": (_of(time), time.isoformat, time.fromisoformat),
    "timedelta": (
        _of(timedelta),
        lambda value: [value.days, value.seconds, value.microseconds],
        lambda parts: timedelta(*parts),
    ),
    "uuid": (_of(UUID), str, UUID),
    "numpy": (_of(np.datetime64, np.timedelta64), _write_numpys_time, _read_numpys_time),
    "Interval": (_of_pandas("Interval"), _write_interval, _read_interval),
    "Period": (
        _of_pandas("Period"),
        lambda value: [value.ordinal, value.freqstr],
        lambda parts: _pandas().Period(ordinal=parts[0], freq=parts[1]),
    ),
    "Timedelta": (_of_pandas("Timedelta"), _to_iso, lambda text: _pandas().Timedelta(text)),
    "Timestamp": (_of_pandas("Timestamp"), _to_iso, lambda text: _pandas().Timestamp(text)),
}


def write_scalar(value):
    """Write a value as JSON, which :func:`read_scalar` reads.

    Parameters
    ----------
    value : object

    Returns
    -------
    node : object
        A scalar of JSON, or a dict of a kind's tag; None for what is of no kind, or does not
        come back equal.
    """
    if isinstance(value, np.generic) and value.dtype.kind not in "mM":
        value = value.item()
    if type(value) in SCALARS:
        return value
    for tag, (is_it, write, read) in _KINDS.items():
        if is_it(value):
            content = write(value)
            if _is_same(read(content), value):
                return {tag: content}
    return None


def _is_same(value, other):
    return value is other or bool(value == other and hash(value) == hash(other))


def is_scalar(tag):
    """Whether a tag is that of a kind of single values."""
    return tag in _KINDS


def read_scalar(node):
    """Read what :func:`write_scalar` has written as a dict of a tag.

    Raises
    ------
    AttributeError, KeyError, TypeError, ValueError
        If it is nothing that would have been written.
    ImportError
        If it is a value of pandas, which is not installed.
    """
    ((tag, content),) = node.items()
    return _KINDS[tag][2](content)
