"""Single values as JSON: what is written comes back equal, or is not written."""

import enum
import json
from datetime import timedelta, timezone
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skneighbors._archive.scalars import read_scalar, write_scalar


class Size(str, enum.Enum):
    SMALL = "s"


class Floor(enum.IntEnum):
    FIRST = 1


class Color(enum.Enum):
    RED = 1


ZONES = st.none() | st.integers(-1439, 1439).map(lambda own: timezone(timedelta(minutes=own)))
NANOSECONDS = st.integers(-(2**62), 2**62)
TIMES = NANOSECONDS.map(pd.Timestamp)
KINDS = {
    "JSON's": st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    "bytes": st.binary(),
    "dates": st.dates(),
    "moments": st.datetimes(timezones=ZONES),
    "times of day": st.times(timezones=ZONES),
    "durations": st.timedeltas(),
    "UUIDs": st.uuids(),
    "NumPy's": st.sampled_from(
        [np.float32(0.1), np.int8(3), np.bool_(True), np.str_("a"), np.bytes_(b"a"), np.float16(2)]
    ),
    "NumPy's times": st.builds(
        lambda count, unit, kind: np.int64(count).view(f"{kind}8[{unit}]"),
        st.integers(-(2**40), 2**40),
        st.sampled_from(["Y", "D", "7D", "s", "us", "ns", "as"]),
        st.sampled_from("mM"),
    ),
    "pandas' times": TIMES,
    "pandas' durations": NANOSECONDS.map(pd.Timedelta),
    "periods": st.builds(
        lambda ordinal, freq: pd.Period(ordinal=ordinal, freq=freq),
        st.integers(-500, 500),
        st.sampled_from(["Y", "Y-MAR", "Q", "M", "W-TUE", "D", "h", "3h", "ns"]),
    ),
    "intervals": st.builds(
        lambda start, length, closed: pd.Interval(start, start + length, closed),
        st.integers(-(2**40), 2**40) | st.floats(0, 1e9),
        st.integers(0, 9),
        st.sampled_from(["left", "right", "both", "neither"]),
    ),
    "intervals of times": st.builds(
        lambda start, length: pd.Interval(start, start + length),
        TIMES | TIMES.map(lambda own: own.tz_localize("UTC")) | NANOSECONDS.map(pd.Timedelta),
        st.integers(0, 2**40).map(pd.Timedelta),
    ),
}


def back(value):
    node = json.loads(json.dumps(write_scalar(value)))
    return read_scalar(node) if isinstance(node, dict) else node


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=30)
@given(data=st.data())
def test_what_is_written_comes_back_equal_and_is_written_alike(kind, data):
    value = data.draw(KINDS[kind])
    again = back(value)
    assert again == value
    assert hash(again) == hash(value)
    assert json.dumps(write_scalar(again)) == json.dumps(write_scalar(value))


@pytest.mark.parametrize("value", [pd.NaT, pd.NA], ids=repr)
def test_what_stands_for_none_comes_back(value):
    assert back(value) is value


NO_KINDS = [
    Color.RED,
    Size.SMALL,
    Floor.FIRST,
    Decimal(1),
    1j,
    frozenset([1]),
    np.longdouble(1),
    object(),
    print,
    [1],
    {"a": 1},
]


@pytest.mark.parametrize("value", NO_KINDS, ids=lambda own: type(own).__name__)
def test_what_is_of_no_kind_is_not_written(value):
    assert write_scalar(value) is None


@pytest.mark.parametrize(
    "node", [{"numpy": ["O", 1]}, {"run": "x"}, {"date": 3}, {"timedelta": [1] * 9}, {"uuid": ""}]
)
def test_what_was_never_written_is_refused(node):
    with pytest.raises((AttributeError, KeyError, TypeError, ValueError)):
        read_scalar(node)
