"""Text that stands for numbers, dates or durations is read as these would be."""

import warnings
from collections import Counter
from datetime import datetime, timedelta, timezone

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from reading import kinds_of, read

from skneighbors import ColumnWarning, NONARegressor
from skneighbors._columns import Table
from skneighbors._columns.categories import find_quantity

N = 60
rng = np.random.RandomState(0)
NUMBERS = rng.normal(size=N).round(3) * 1000
DAYS = pd.date_range("1931-01-01", periods=N, freq="437D")
MOMENTS = pd.date_range("2021-01-01", periods=N, freq="37h 7min 13s")
OF_DAY = MOMENTS - MOMENTS.normalize()
MINUTES = pd.to_timedelta(np.arange(N) * 37, unit="min")

# Text, and what it stands for.
READ = {
    "numbers": ([f"{x:.3f}" for x in NUMBERS], NUMBERS),
    "missing": ([None if i == 3 else "?" if i % 7 == 0 else f" {i} " for i in range(N)], None),
    "thousands": ([f"{x:,.2f}" for x in NUMBERS], NUMBERS.round(2)),
    "thousands apart": ([f"{x:,.1f}".replace(",", " ") for x in NUMBERS], NUMBERS.round(1)),
    "decimal commas": ([f"{x:.1f}".replace(".", ",") for x in NUMBERS], NUMBERS.round(1)),
    "in dollars": ([f"-${-x:.2f}" if x < 0 else f"${x:.2f}" for x in NUMBERS], NUMBERS.round(2)),
    "in euros": ([f"{i},50 €" for i in range(N)], np.arange(N) + 0.5),
    "percent": ([f"{i} %" for i in range(N)], np.arange(N)),
    "a unit": ([f"{i}kg" for i in range(N)], np.arange(N)),
    "exponents": ([f"{x:e}" for x in NUMBERS], NUMBERS),
    "ISO days": (DAYS.strftime("%Y-%m-%d"), DAYS),
    "German days": (DAYS.strftime("%d.%m.%Y"), DAYS),
    "American days": (DAYS.strftime("%m/%d/%Y"), DAYS),
    "English days": (DAYS.strftime("%d %B %Y"), DAYS),
    "named days": (DAYS.strftime("%B %d, %Y"), DAYS),
    "months": (DAYS.strftime("%Y-%m"), DAYS.to_period("M").to_timestamp()),
    "short years": (MOMENTS.strftime("%d-%b-%y"), MOMENTS.normalize()),
    "moments": (MOMENTS.strftime("%Y-%m-%dT%H:%M:%SZ"), MOMENTS),
    "half days": (MOMENTS.strftime("%m/%d/%Y %I:%M:%S %p"), MOMENTS),
    "times of day": (MOMENTS.strftime("%H:%M:%S"), OF_DAY),
    "times of half a day": (MOMENTS.strftime("%I:%M:%S %p"), OF_DAY),
    "minutes": ([f"{i * 37 // 60}:{i * 37 % 60:02d}" for i in range(N)], MINUTES),
    "hours and minutes": ([f"{i * 37 // 60}h {i * 37 % 60}m" for i in range(N)], MINUTES),
    "durations of pandas": ((MINUTES - MINUTES[9]).astype(str), MINUTES - MINUTES[9]),
}
READ["missing"] = READ["missing"][0], [np.nan if i % 7 == 0 or i == 3 else i for i in range(N)]

NOT_READ = {
    "codes": [f"0{i}" for i in range(N)],
    "telephones": [f"+4930{i:06d}" for i in range(N)],
    "seasons": [f"{1980 + i % 30}-{(81 + i % 30) % 100:02d}" for i in range(N)],
    "long numbers": [f"{10**17 + i}" for i in range(N)],
    "minutes with and without hours": ["59:30", "1:02:45"] * (N // 2),
    "sizes": [f"{i} {'M' if i % 2 else 'S'}" for i in range(N)],
    "addresses": [f"{i:02d}:{i:02d}:10:4F" for i in range(N)],
    "several units": [f"{i} {'kg' if i % 2 else 'lb'}" for i in range(N)],
    "versions": [f"{i % 4}.{i % 3}.1" for i in range(N)],
    "names": [f"no {i}" for i in range(N)],
    "two orders": ["13/01/2020", "01/13/2020"] * (N // 2),
    "long text": ["1" * 10**6, "2" * 10**6] * (N // 2),
    "codes with a name": [f"SKU 0{i:03d}" for i in range(N)],
    "other scripts": ["١٢", "שלום", "😀"] * (N // 3),
}


@pytest.mark.parametrize("name", READ)
def test_text_is_read_as_what_it_stands_for(name):
    text, typed = READ[name]
    frame = pd.DataFrame({"x": NUMBERS, "a": text})
    expected = read(pd.DataFrame({"x": NUMBERS, "a": typed}))[1]
    for X in (frame, frame.astype({"a": object}), pl.from_pandas(frame)):
        reader, matrix = read(X)
        np.testing.assert_allclose(matrix, expected, rtol=1e-12)
        assert reader.kinds[0].how is not None
    # Both may be given to a fitted estimator, whichever it was fitted to.
    as_typed, _ = read(pd.DataFrame({"x": NUMBERS, "a": text}))
    table = Table.of(pd.DataFrame({"x": NUMBERS, "a": typed}))
    np.testing.assert_allclose(as_typed.read(table), expected, rtol=1e-12)


@pytest.mark.parametrize("name", [*NOT_READ, *READ])
def test_text_that_stays_categories(name):
    X = pd.DataFrame({"a": NOT_READ[name] if name in NOT_READ else READ[name][0]})
    assert kinds_of(X.astype("category")) == kinds_of(X, ["a"]) == ["categories"]
    assert name in READ or kinds_of(X) == ["categories"]


def test_cells_that_cannot_be_read_are_missing_and_named():
    X = pd.DataFrame({"a": [f"{i}.5" for i in range(N)], "b": NUMBERS})
    X.loc[[3, 5], "a"] = "a lot"
    X.loc[7, "a"] = "n/a"
    model = NONARegressor(max_iter=1, hidden_layer_sizes=4, n_estimators=1)
    match = r"Column 'a' of X is read as numbers.*'a lot' count as missing \(2 of 60\)"
    with pytest.warns(ColumnWarning, match=match):
        model.fit(X, NUMBERS)
    columns = model.columns_
    assert columns.names == ["a", "b"]
    assert (columns.n_missing, columns.n_unread) == ([1, 0], [2, 0])
    assert columns.examples[0] == "'0.5'"
    assert columns.to_frame()["read as"].tolist() == ["numbers, decimal point", "numbers"]
    assert "a lot" not in str(columns)
    assert columns._repr_html_().count("<tr>") == 3
    with pytest.warns(
        ColumnWarning, match=r"such as 'none of it' count as missing \(1 of 1\). Convert"
    ):
        y_hat = model.predict(X[:1].assign(a="none of it"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert_array_equal(model.predict(X[:1].assign(a=np.nan)), y_hat)
    with pytest.raises(
        ValueError, match=r"Column 'b' of X holds text.*in fit it held numbers.*to_numeric"
    ):
        model.predict(X.assign(b="a lot"))


def test_rows_without_weight_say_nothing_of_the_reading():
    X = pd.DataFrame({"a": [f"{i},5" for i in range(N)] + ["word"] * N})
    y, weight = np.arange(2.0 * N), np.repeat([1.0, 0.0], N)
    model = NONARegressor(max_iter=1, hidden_layer_sizes=4, n_estimators=1)
    with pytest.warns(ColumnWarning, match="count as missing"):
        model.fit(X, y, sample_weight=weight)
    alone = NONARegressor(max_iter=1, hidden_layer_sizes=4, n_estimators=1).fit(X[:N], y[:N])
    assert model.columns_.read_as == alone.columns_.read_as == ["numbers, decimal comma"]


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["0,500", "0,750", "1,250"], [0.5, 0.75, 1.25]),
        (["950", "1,250"], [950, 1250]),
        (["€ 950", "€ 1.250"], [950, 1250]),
        (["9.853", "1.250"], [9.853, 1.25]),
        (["€ 9.853", "€ 1.250"], [9853, 1250]),
        (["9.853 kg", "1.250 kg"], [9.853, 1.25]),
        (["1250", "1.250"], [1250, 1.25]),
        (["1e400", "1", "2"] * 20, None),
        (["01/02/2024 10:00:00.000", "03/04/2024 11:00:00.000"], "dates, month first"),
        (["01.02.2024 10:00", "03.04.2024 11:00"], "dates, day first"),
        (["2.10.12", "3.4.11"], "dates, day first"),
        (["3. Sept. 2012", "1 December 2015"], "dates, months by name"),
        (["Marathon 2020", "Mayflower 2019", "Decathlon 2021"], None),
        (["50 min"] * 97 + ["1 h 10 min"] * 3, [50 / 1440] * 97 + [70 / 1440] * 3),
        (["10 M", "12 S"] * 40 + ["2 for 1"], None),
    ],
)
def test_cells_that_could_mislead(cells, expected):
    reading = find_quantity(Counter(cells))
    if isinstance(expected, str):
        assert reading.describe() == expected
        assert reading.is_assumed == ("month first" in expected or "2.10.12" in cells)
    else:
        assert (reading and list(map(reading.parse, cells))) == expected


def test_the_year_may_stand_first_in_any_column_of_dates():
    reading = find_quantity(Counter([f"{day}.03.2021" for day in range(10, 32)]))
    assert reading.how == "day"
    assert reading.parse("2021-03-05") == reading.parse("05.03.2021")


def test_clocks_of_more_than_a_day_are_doubted():
    assert not find_quantity(Counter(["14:35", "23:59"])).is_assumed
    assert find_quantity(Counter(["14:35", "28:27"])).is_assumed
    assert find_quantity(Counter(["14:35", "28:27"])).show("28:27") == "1 day, 4:27:00"


def test_time_as_text():
    X = pd.DataFrame({"day": DAYS.strftime("%d.%m.%Y"), "x": NUMBERS})
    typed = X.assign(day=DAYS)
    params = dict(max_iter=2, hidden_layer_sizes=4, n_estimators=1, random_state=0)
    expected = NONARegressor(**params).fit(typed, NUMBERS, time=DAYS).predict(typed)
    for time in (X["day"], X["day"].tolist()):
        assert_array_equal(NONARegressor(**params).fit(X, NUMBERS, time=time).predict(X), expected)
    wrong = ["soon", *X["day"][1:]]
    with pytest.raises(ValueError, match="time holds 'soon' beside dates, day first"):
        NONARegressor(**params).fit(X, NUMBERS, time=wrong)


@given(
    st.lists(st.floats(-1e12, 1e12).map(lambda x: round(x, 2)), min_size=1),
    st.sampled_from([",", " ", "'", ""]),
)
def test_numbers_come_back(numbers, separator):
    cells = [f"{x:,.2f}".replace(",", separator) for x in numbers]
    reading = find_quantity(Counter(cells))
    assert list(map(reading.parse, cells)) == numbers
    swapped = [cell.translate(str.maketrans(",.", ".,")) for cell in cells]
    reading = find_quantity(Counter(swapped))
    assert list(map(reading.parse, swapped)) == numbers


@given(st.lists(st.timedeltas(timedelta(-(10**5)), timedelta(10**5)), min_size=1))
def test_durations_come_back(durations):
    cells = list(map(str, durations))
    reading = find_quantity(Counter(cells))
    days = [duration / timedelta(days=1) for duration in durations]
    assert list(map(reading.parse, cells)) == pytest.approx(days, abs=1e-9)


@given(
    st.lists(st.datetimes(datetime(1000, 1, 1), datetime(9990, 1, 1)), min_size=1),
    st.sampled_from(["%Y-%m-%d %H:%M:%S.%f", "%d %B %Y %H:%M:%S.%f", "%b %d, %Y, %I:%M:%S.%f %p"]),
    st.integers(-14 * 60, 14 * 60),
)
def test_moments_come_back(moments, style, minutes):
    zone = timezone(timedelta(minutes=minutes))
    cells = [
        moment.strftime(style) + moment.replace(tzinfo=zone).strftime("%z") for moment in moments
    ]
    reading = find_quantity(Counter(cells))
    for moment, cell in zip(moments, cells, strict=True):
        days = (moment - timedelta(minutes=minutes) - datetime(1970, 1, 1)) / timedelta(days=1)
        assert reading.parse(cell) == pytest.approx(days, abs=1e-9)
