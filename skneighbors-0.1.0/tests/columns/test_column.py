"""Single values: which are the same, what they are, how long they are in messages."""

import datetime
from datetime import date, timedelta, timezone
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from skneighbors._columns.column import (
    DURATIONS,
    TIMES,
    as_categories,
    as_moments,
    days,
    is_missing,
    show,
)

TOKYO = timezone(timedelta(hours=9))
NOON = datetime.datetime(2020, 5, 1, 12)
# Each line is one value in many types.
SAME = {
    "a": ["a", np.str_("a")],
    "a tenth": [0.1, np.float64(0.1), np.float32(0.1), float(np.float32(0.1)), Decimal("0.1")],
    "a half": [0.5, np.float16(0.5), Decimal("0.50")],
    "one": [1, 1.0, np.int8(1), np.uint64(1), Decimal(1), True, np.True_, np.float32(1)],
    "many": [2**53 + 1, np.int64(2**53 + 1), Decimal(2**53 + 1)],
    "noon": [
        NOON,
        NOON.replace(tzinfo=timezone.utc),
        NOON.replace(hour=21, tzinfo=TOKYO),
        np.datetime64(NOON),
        np.datetime64(NOON, "ns"),
        np.datetime64(NOON, "h"),
        pd.Timestamp(NOON),
        pd.Timestamp(NOON, tz="America/Argentina/Buenos_Aires").tz_convert("UTC")
        - timedelta(hours=3),
    ],
    "a day": [date(2020, 5, 1), np.datetime64("2020-05-01"), pd.Timestamp(2020, 5, 1)],
    "a month": [np.datetime64("2020-05"), pd.Timestamp(2020, 5, 1)],
    "an hour": [timedelta(hours=1), np.timedelta64(60, "m"), pd.Timedelta("1h")],
    "none": [None, np.nan, float("nan"), np.float32("nan"), pd.NA, pd.NaT],
    "no time": [np.datetime64("NaT"), np.timedelta64("NaT", "ns")],
}


@pytest.mark.parametrize("name", SAME)
def test_the_same_value_is_one_level(name):
    values = SAME[name]
    for order in (values, values[::-1]):
        assert len(set(as_categories(order))) == 1
    assert {as_categories([value])[0] for value in values} == set(as_categories(values))


def test_other_values_are_other_levels():
    values = [0.1, 0.1 + 1e-16, 0.1 + 1e-9, 0.1 + 1e-8, "0.1", 1, "1", 1e300, -1e300]
    values += [2**53, 2**53 + 1, 123456792, 123456790, 16777217]
    values += [NOON, NOON + timedelta(microseconds=1), timedelta(1)]
    assert len(set(as_categories(values))) == len(values)
    finer = pd.Timestamp(NOON).as_unit("ns") + pd.Timedelta(1, "ns")
    assert len(set(as_categories([finer, NOON]))) == 2
    assert as_categories([datetime.datetime.min.replace(tzinfo=TOKYO)]) != [datetime.datetime.min]


@given(st.floats(width=32, allow_nan=False))
def test_numbers_of_single_and_double_precision(number):
    (level,) = set(as_categories([np.float32(number), number]))
    assert np.float32(level) == np.float32(number)


@given(st.integers(-(10**6), 10**6), st.integers(0, 4))
def test_short_decimals_in_single_precision(digits, places):
    short = float(f"{digits}e-{places}")
    assert len(set(as_categories([short, np.float32(short)]))) == 1


def days_of(values, sort=TIMES):
    return days(as_moments(values, sort))


UNITS = ["D", "h", "m", "s", "ms", "us", "ns"]


@given(st.datetimes(datetime.datetime(1700, 1, 1), datetime.datetime(2200, 1, 1)))
def test_days_are_the_same_bits_in_every_unit(moment):
    (expected,) = days_of([moment])
    assert abs(expected - (moment - datetime.datetime(1970, 1, 1)) / timedelta(1)) < 1e-10
    others = [np.datetime64(moment, "ns"), np.datetime64(moment, "us"), pd.Timestamp(moment)]
    others += [moment.replace(tzinfo=timezone.utc), moment.replace(tzinfo=timezone.utc)]
    assert set(days_of(others)) == {expected}
    for unit in UNITS:
        coarse = np.datetime64(moment, unit)
        assert set(days(np.array([coarse, coarse], f">M8[{unit}]"))) == set(
            days_of([coarse.astype("M8[us]").item()])
        )


@given(st.timedeltas(timedelta(-(10**8)), timedelta(10**8)))  # as far as microseconds reach
def test_days_of_durations(duration):
    (expected,) = days_of([duration], DURATIONS)
    assert abs(expected - duration / timedelta(1)) <= 1e-15 * max(1, abs(expected))
    if abs(duration) < timedelta(10**5):
        others = [np.timedelta64(duration), pd.Timedelta(duration)]
        assert set(days_of(others, DURATIONS)) == {expected}


def test_days_of_other_units():
    months = np.array(["2020-01", "NaT", "1969-12"], "M8[M]")
    assert_array_equal(days(months), [18262, np.nan, -31])
    assert_array_equal(days(np.array([1, 4], "m8[W]")), [7, 28])
    assert_array_equal(days(np.array([1, -4], "m8[36h]")), [1.5, -6])
    assert_array_equal(days(np.array([43_200 * 10**12], "m8[ps]")), [0.5])
    assert_array_equal(days(np.array([10**18], "m8[as]")), [1 / 86_400])
    assert_array_equal(days(np.array(["20000000-01-01"], "M8[s]")) > 7e9, [True])
    for unit in ("m8[Y]", "m8[M]", "m8"):
        with pytest.raises(ValueError, match="have no fixed length"):
            days(np.array([1], unit))


def test_days_without_bounds():
    values = [datetime.datetime.min.replace(tzinfo=TOKYO), datetime.datetime.max, date.max]
    assert np.isfinite(days_of(values)).all()
    with pytest.raises(ValueError, match="too far apart for the finest of their units"):
        days_of([*values, np.datetime64(1, "ns")])


def test_times_of_day():
    times = [datetime.time(6), datetime.time(6, tzinfo=timezone.utc)]
    assert as_categories(times) == times
    assert_array_equal(days_of([datetime.time(18), None], DURATIONS), [0.75, np.nan])
    assert_array_equal(days_of([None], DURATIONS), [np.nan])


class _Unkind:
    def __repr__(self):
        raise RuntimeError

    def __eq__(self, other):
        raise RuntimeError

    __hash__ = None


@pytest.mark.parametrize(
    "value",
    ["a" * 10**6, {"a": "b" * 10**6}, np.ones((10, 10)), 10**10_000, _Unkind(), [[]] * 1000, "ä\n"],
    ids=["text", "dict", "array", "digits", "unkind", "list", "line"],
)
def test_what_messages_show_is_short(value):
    assert 0 < len(show(value)) <= 60
    assert "\n" not in show(value)
    assert not is_missing(value)
