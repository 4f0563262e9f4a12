"""Targets, and features for an extractor: text, times and gaps are refused, by their column."""

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from numpy.testing import assert_array_equal

from skneighbors import NONARegressor

N = 20
NUMBERS = np.random.RandomState(0).normal(size=N)
TEXT = ["red", "blue"] * (N // 2)
DIGITS = [str(i) for i in range(N)]
DAYS = [datetime.date(2020, 1, 1) + datetime.timedelta(i) for i in range(N)]
TIMES = np.datetime64("2020-01-01") + np.arange(N)


def make_model(**params):
    return NONARegressor(max_iter=1, n_estimators=1, hidden_layer_sizes=4, random_state=0, **params)


def fit(X, y=NUMBERS):
    return make_model().fit(X, y)


def fit_extractor(X):
    return make_model(feature_extractor=torch.nn.Identity).fit(X, NUMBERS)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize(
    ("values", "what"),
    [
        (TEXT, "text, such as 'red'"),
        (DIGITS, "text, such as '0'"),
        (TIMES, "dates, times or durations.*days since"),
        (DAYS, "dates, times or durations"),
        ([datetime.datetime(2020, 1, 1, i) for i in range(N)], "dates, times or durations"),
        ([datetime.time(i) for i in range(N)], "dates, times or durations"),
        ((TIMES - TIMES[0]).astype("timedelta64[ms]"), "dates, times or durations"),
    ],
)
def test_a_column_is_named(frame, values, what):
    X = frame({"a": NUMBERS, "color of it": values})
    with pytest.raises(ValueError, match=f"Column 'color of it' of X holds {what}"):
        fit_extractor(X)
    with pytest.raises(ValueError, match=f"Column 'color of it' of y holds {what}"):
        fit(NUMBERS.reshape(-1, 1), X)


@pytest.mark.parametrize(
    ("values", "what"),
    [
        (pd.Categorical(TEXT), "text, such as 'red'"),
        (pd.Categorical(DIGITS), "text, such as '0'"),
        (pd.Series(DIGITS, dtype="string"), "text, such as '0'"),
        (pd.Series([None, 1, *TEXT[2:]], dtype=object), "text, such as 'red'"),
        (pd.date_range("2020", periods=N, tz="UTC"), "dates, times or durations"),
        (pd.Series([pd.NaT, *pd.date_range("2020", periods=N - 1)]), "dates, times or durations"),
        (pd.to_timedelta(NUMBERS, unit="D"), "dates, times or durations"),
        (pl.Series(TEXT, dtype=pl.Categorical), "text, such as 'red'"),
        (pl.Series(TEXT, dtype=pl.Enum(["red", "blue"])), "text, such as 'red'"),
        (pl.Series([datetime.timedelta(i) for i in range(N)]), "dates, times or durations"),
    ],
)
def test_columns_of_types_of_their_own(values, what):
    frame = pl.DataFrame if isinstance(values, pl.Series) else pd.DataFrame
    with pytest.raises(ValueError, match=f"Column 'b' of X holds {what}"):
        fit_extractor(frame({"a": NUMBERS, "b": values}))
    y = values if isinstance(values, pl.Series) else pd.Series(values, name="b")
    with pytest.raises(ValueError, match=f"^y holds {what}"):
        fit(NUMBERS.reshape(-1, 1), y)


def test_the_first_of_several_columns_is_named():
    y = pd.DataFrame({"a": NUMBERS, 1: DIGITS, ("b", 2): TIMES})
    with pytest.raises(ValueError, match=r"^Column 1 of y holds text"):
        fit(NUMBERS.reshape(-1, 1), y)
    with pytest.raises(ValueError, match=r"^Column \('b', 2\) of y holds dates"):
        fit(NUMBERS.reshape(-1, 1), y.drop(columns=1))


def test_text_in_y_is_classes_or_numbers():
    advice = r"y must be numeric.* use a classifier.*to_numeric"
    for y in (TEXT, DIGITS):
        with pytest.raises(ValueError, match=advice):
            fit(NUMBERS.reshape(-1, 1), y)


def test_nothing_is_learned_of_what_is_refused():
    model = make_model()
    with pytest.raises(ValueError, match="y holds text"):
        model.fit(pd.DataFrame({"a": NUMBERS}), TEXT)
    assert not hasattr(model, "n_features_in_")
    assert not hasattr(model, "feature_names_in_")


@pytest.mark.parametrize("values", [TEXT, DIGITS, TIMES, DAYS])
@pytest.mark.parametrize("as_list", [False, True])
def test_arrays_and_lists(values, as_list):
    X = [[value] for value in values] if as_list else np.array(values)[:, None]
    with pytest.raises(ValueError, match=r"^X holds (text|dates)"):
        fit_extractor(X)
    y = list(values) if as_list else np.array(values)
    with pytest.raises(ValueError, match=r"^y holds (text|dates)"):
        fit(NUMBERS.reshape(-1, 1), y)
    with pytest.raises(ValueError, match=r"^y holds (text|dates)"):
        fit(NUMBERS.reshape(-1, 1)).append(NUMBERS.reshape(-1, 1), y)


@pytest.mark.parametrize("kind", [tuple, np.array])
def test_bytes_and_numbers_among_text(kind):
    for values in ([b"1"] * N, ["1", *NUMBERS[1:]]):
        with pytest.raises(ValueError, match=r"^X holds text"):
            fit_extractor(kind([(value,) for value in values]))
        with pytest.raises(ValueError, match=r"^y holds text"):
            fit(NUMBERS.reshape(-1, 1), kind(values))


@pytest.mark.parametrize("method", ["predict", "transform", "explain", "novelty"])
def test_queries_of_an_extractor(method):
    model = fit_extractor(pd.DataFrame({"a": NUMBERS}))
    with pytest.raises(ValueError, match="Column 'a' of X holds text"):
        getattr(model, method)(pd.DataFrame({"a": TEXT}))
    with pytest.raises(ValueError, match="Column 'a' of X holds dates"):
        getattr(model, method)(pd.DataFrame({"a": TIMES}))


def test_rows_to_append():
    model = fit(pd.DataFrame({"a": NUMBERS}))
    before = model.predict(pd.DataFrame({"a": NUMBERS}))
    with pytest.raises(ValueError, match="Column 'price' of y holds text"):
        model.append(pd.DataFrame({"a": NUMBERS}), pd.DataFrame({"price": DIGITS}))
    assert_array_equal(model.predict(pd.DataFrame({"a": NUMBERS})), before)


@pytest.mark.parametrize("missing", [None, pd.NA])
def test_a_column_with_gaps_is_named(missing):
    X = pd.DataFrame({"a": NUMBERS, "b": pd.Series([*NUMBERS[:-1], missing], dtype=object)})
    with pytest.raises(ValueError, match=r"^Column 'b' of X contains NaN, None or NA"):
        fit_extractor(X)
    with pytest.raises(ValueError, match=r"^Column 'b' of y contains NaN, None or NA"):
        fit(NUMBERS.reshape(-1, 1), X)


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA])
def test_gaps(missing):
    y = np.array([*NUMBERS[:-1], missing], dtype=object)
    with pytest.raises(ValueError, match="contains NaN"):
        fit(NUMBERS.reshape(-1, 1), y)
    with pytest.raises(ValueError, match="contains NaN"):
        fit(NUMBERS.reshape(-1, 1), y.tolist())
    with pytest.raises(ValueError, match="contains NaN"):
        fit_extractor(y.reshape(-1, 1))
    with pytest.raises(ValueError, match="contains NaN"):
        fit(NUMBERS.reshape(-1, 1)).append(NUMBERS.reshape(-1, 1), y)


def test_numbers_in_lists_and_in_decimals():
    expected = fit(NUMBERS.reshape(-1, 1)).predict(NUMBERS.reshape(-1, 1))
    decimals = np.array([Decimal(value) for value in NUMBERS])
    for X, y in [
        (NUMBERS.reshape(-1, 1).tolist(), NUMBERS.tolist()),
        (decimals.reshape(-1, 1), decimals),
    ]:
        assert_array_equal(fit(X, y).predict(X), expected)
