"""Targets, and features for an extractor: text, times and gaps are refused, by their column."""

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
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
    "text": (TEXT, "'red', of type 'str'"),
    "digits": (DIGITS, "'0', of type 'str'"),
    "times": (TIMES, ".*; it must hold numbers. .* days since"),
    "days": (DAYS, "(Time|np.time|date)"),
    "times of day": ([datetime.time(i) for i in range(N)], "(Time|np.time|date)"),
    "durations": ((TIMES - TIMES[0]).astype("m8[ms]"), "(Time|np.time|date)"),
    "categories": (pd.Categorical(DIGITS), "'0', of type 'str'"),
    "text of pandas": (pd.Series(DIGITS, dtype="string"), "'0', of type 'str'"),
    "a mixture": (pd.Series([None, 1, *TEXT[2:]], dtype=object), "'red', of type 'str'"),
    "in a zone": (pd.date_range("2020", periods=N, tz="UTC"), "(Time|np.time|date)"),
    "NaT": (pd.Series([pd.NaT, *DAYS[1:]]), "(Time|np.time|date)"),
    "durations of pandas": (pd.to_timedelta(NUMBERS, unit="D"), "(Time|np.time|date)"),
    "categories of polars": (pl.Series(TEXT, dtype=pl.Categorical), "'red', of type 'str'"),
    "text of polars": (pl.Series(DIGITS), "'0', of type 'str'"),
    "days of polars": (pl.Series(DAYS), "(Time|np.time|date)"),
    "enum": (pl.Series(TEXT, dtype=pl.Enum(["red", "blue"])), "'red', of type 'str'"),
    "durations of polars": (pl.Series([datetime.timedelta(1)] * N), "(Time|np.time|date)"),
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
    with pytest.raises(ValueError, match=r"^Column \('b', 2\) of y holds Timestamp"):
        fit(NUMBERS.reshape(-1, 1), y)


def test_text_in_y_is_classes_or_numbers():
    with pytest.raises(ValueError, match=r"y holds '0'.* use a classifier.*to_numeric"):
        fit(NUMBERS.reshape(-1, 1), DIGITS)


@pytest.mark.parametrize("values", [TEXT, DIGITS, TIMES, DAYS])
@pytest.mark.parametrize("as_list", [False, True])
def test_arrays_and_lists(values, as_list):
    X = [[value] for value in values] if as_list else np.array(values)[:, None]
    with pytest.raises(ValueError, match=r"^X holds .*; it must hold numbers"):
        fit_extractor(X)
    model = fit(NUMBERS.reshape(-1, 1))
    y = list(values) if as_list else np.array(values)
    for take in (fit, model.append):
        with pytest.raises(ValueError, match=r"^y holds .*; it must hold numbers"):
            take(NUMBERS.reshape(-1, 1), y)


@pytest.mark.parametrize("kind", [tuple, np.array])
def test_bytes_and_numbers_among_text(kind):
    for values, message in (
        ([b"1"] * N, "holds b'1', of type 'bytes'"),
        (["1", *NUMBERS[1:]], "holds '1', of type 'str'"),
    ):
        with pytest.raises(ValueError, match=f"^X {message}"):
            fit_extractor(kind([(value,) for value in values]))
        with pytest.raises(ValueError, match=f"^y {message}"):
            fit(NUMBERS.reshape(-1, 1), kind(values))


@pytest.mark.parametrize("method", ["predict", "transform", "explain", "novelty"])
def test_queries_of_an_extractor(method):
    model = fit_extractor(pd.DataFrame({"a": NUMBERS}))
    with pytest.raises(ValueError, match="Column 'a' of X holds 'red'"):
        getattr(model, method)(pd.DataFrame({"a": TEXT}))
    with pytest.raises(ValueError, match=r"Column 'a' of X holds .*Timestamp"):
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
    quarters, decimals = np.arange(N) / 4, [Decimal(i) / 4 for i in range(N)]
    expected = fit(quarters.reshape(-1, 1), quarters).predict(quarters.reshape(-1, 1))
    frames = [pl.DataFrame({"a": decimals}), pa.table({"a": decimals})]
    for X, y in [
        (quarters.reshape(-1, 1).tolist(), quarters.tolist()),
        *((X, X["a"]) for X in frames),
    ]:
        assert_array_equal(fit(X, y).predict(X), expected)
    with pytest.raises(ValueError, match=r"^y holds Decimal\('0'\), of type 'Decimal'"):
        fit(quarters.reshape(-1, 1), decimals)
