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


NAMED = {
    "text": (TEXT, "text, such as 'red'"),
    "digits": (DIGITS, "text, such as '0'"),
    "times": (TIMES, "dates, times or durations.*days since"),
    "days": (DAYS, "dates, times or durations"),
    "times of day": ([datetime.time(i) for i in range(N)], "dates, times or durations"),
    "durations": ((TIMES - TIMES[0]).astype("m8[ms]"), "dates, times or durations"),
    "categories": (pd.Categorical(DIGITS), "text, such as '0'"),
    "text of pandas": (pd.Series(DIGITS, dtype="string"), "text, such as '0'"),
    "a mixture": (pd.Series([None, 1, *TEXT[2:]], dtype=object), "text, such as 'red'"),
    "in a zone": (pd.date_range("2020", periods=N, tz="UTC"), "dates, times or durations"),
    "NaT": (pd.Series([pd.NaT, *DAYS[1:]]), "dates, times or durations"),
    "durations of pandas": (pd.to_timedelta(NUMBERS, unit="D"), "dates, times or durations"),
    "categories of polars": (pl.Series(TEXT, dtype=pl.Categorical), "text, such as 'red'"),
    "text of polars": (pl.Series(DIGITS), "text, such as '0'"),
    "days of polars": (pl.Series(DAYS), "dates, times or durations"),
    "enum": (pl.Series(TEXT, dtype=pl.Enum(["red", "blue"])), "text, such as 'red'"),
    "durations of polars": (pl.Series([datetime.timedelta(1)] * N), "dates, times or durations"),
}


@pytest.mark.parametrize("name", NAMED)
def test_a_column_is_named(name):
    values, what = NAMED[name]
    frame = pl.DataFrame if isinstance(values, pl.Series) else pd.DataFrame
    X = frame({"a": NUMBERS, "color of it": values, "other text": TEXT})
    with pytest.raises(ValueError, match=f"Column 'color of it' of X holds {what}"):
        fit_extractor(X)
    with pytest.raises(ValueError, match=f"Column 'color of it' of y holds {what}"):
        fit(NUMBERS.reshape(-1, 1), X)
    y = values if isinstance(values, pl.Series | np.ndarray | list) else pd.Series(values)
    with pytest.raises(ValueError, match=f"^y holds {what}"):
        fit(NUMBERS.reshape(-1, 1), y)


def test_names_of_columns_need_not_be_text():
    y = pd.DataFrame({"a": NUMBERS, ("b", 2): TIMES, 1: DIGITS})
    with pytest.raises(ValueError, match=r"^Column \('b', 2\) of y holds dates"):
        fit(NUMBERS.reshape(-1, 1), y)


def test_text_in_y_is_classes_or_numbers():
    with pytest.raises(ValueError, match=r"y must be numeric.* use a classifier.*to_numeric"):
        fit(NUMBERS.reshape(-1, 1), DIGITS)


@pytest.mark.parametrize("values", [TEXT, DIGITS, TIMES, DAYS])
@pytest.mark.parametrize("as_list", [False, True])
def test_arrays_and_lists(values, as_list):
    X = [[value] for value in values] if as_list else np.array(values)[:, None]
    with pytest.raises(ValueError, match=r"^X holds (text|dates)"):
        fit_extractor(X)
    model = fit(NUMBERS.reshape(-1, 1))
    y = list(values) if as_list else np.array(values)
    for take in (fit, model.append):
        with pytest.raises(ValueError, match=r"^y holds (text|dates)"):
            take(NUMBERS.reshape(-1, 1), y)


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


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA])
def test_gaps(missing):
    y, X = np.array([*NUMBERS[:-1], missing], dtype=object), NUMBERS.reshape(-1, 1)
    for own in (y, y.tolist()):
        with pytest.raises(ValueError, match="contains NaN"):
            fit(X, own)
    with pytest.raises(ValueError, match="contains NaN"):
        fit_extractor(y.reshape(-1, 1))
    with pytest.raises(ValueError, match="contains NaN"):
        fit(X).append(X, y)
    table = pd.DataFrame({"a": NUMBERS, "b": pd.Series(y, dtype=object)})
    with pytest.raises(ValueError, match=r"^Column 'b' of X contains NaN, None or NA"):
        fit_extractor(table)
    with pytest.raises(ValueError, match=r"^Column 'b' of y contains NaN, None or NA"):
        fit(X, table)


def test_numbers_in_lists_and_in_decimals():
    expected = fit(NUMBERS.reshape(-1, 1)).predict(NUMBERS.reshape(-1, 1))
    decimals = np.array([Decimal(value) for value in NUMBERS])
    for X, y in [
        (NUMBERS.reshape(-1, 1).tolist(), NUMBERS.tolist()),
        (decimals.reshape(-1, 1), decimals),
    ]:
        assert_array_equal(fit(X, y).predict(X), expected)
