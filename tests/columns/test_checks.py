"""Text, times and gaps are refused by the name of their column, never turned into numbers."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest

from skneighbors import NONARegressor

N = 20
NUMBERS = np.random.RandomState(0).normal(size=N)
TEXT = ["red", "blue"] * (N // 2)
DIGITS = [str(i) for i in range(N)]
DAYS = [datetime.date(2020, 1, 1) + datetime.timedelta(i) for i in range(N)]
TIMES = np.datetime64("2020-01-01") + np.arange(N)


def fit(X, y=NUMBERS):
    return NONARegressor(max_iter=1, n_estimators=1, hidden_layer_sizes=4).fit(X, y)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize(
    ("values", "what"),
    [
        (TEXT, "text, such as 'red'.*OneHotEncoder"),
        (DIGITS, "text, such as '0'"),
        (TIMES, "dates, times or durations.*days since"),
        (DAYS, "dates, times or durations"),
    ],
)
def test_a_column_is_named(frame, values, what):
    X = frame({"a": NUMBERS, "colour of it": values})
    with pytest.raises(ValueError, match=f"Column 'colour of it' of X holds {what}"):
        fit(X)
    with pytest.raises(ValueError, match=f"Column 'colour of it' of y holds {what}"):
        fit(NUMBERS.reshape(-1, 1), X)


@pytest.mark.parametrize("values", [TEXT, DIGITS, TIMES, DAYS])
@pytest.mark.parametrize("as_list", [False, True])
def test_arrays_and_lists(values, as_list):
    X = [[value] for value in values] if as_list else np.array(values)[:, None]
    with pytest.raises(ValueError, match="X holds (text|dates)"):
        fit(X)
    y = list(values) if as_list else np.array(values)
    with pytest.raises(ValueError, match="y holds (text|dates)"):
        fit(NUMBERS.reshape(-1, 1), y)
    with pytest.raises(ValueError, match="y holds (text|dates)"):
        fit(NUMBERS.reshape(-1, 1)).append(NUMBERS.reshape(-1, 1), y)


def test_queries():
    model = fit(pd.DataFrame({"a": NUMBERS}))
    with pytest.raises(ValueError, match="Column 'a' of X holds text"):
        model.predict(pd.DataFrame({"a": TEXT}))


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA])
def test_targets_that_are_missing(missing):
    y = np.array([*NUMBERS[:-1], missing], dtype=object)
    with pytest.raises(ValueError, match="contains NaN"):
        fit(NUMBERS.reshape(-1, 1), y)
    with pytest.raises(ValueError, match="contains NaN"):
        fit(y.reshape(-1, 1))
    with pytest.raises(ValueError, match="contains NaN"):
        fit(NUMBERS.reshape(-1, 1)).append(NUMBERS.reshape(-1, 1), y)


@pytest.mark.parametrize("dtype", [object, "float32", "Int64", "boolean"])
def test_numbers_of_any_type_are_numbers(dtype):
    numbers = np.arange(N) % 2
    X = pd.DataFrame({"a": pd.Series(numbers).astype(dtype), "b": NUMBERS})
    expected = fit(np.column_stack([numbers, NUMBERS]))
    model = fit(X)
    assert np.isfinite(model.predict(X)).all()
    assert expected.n_features_in_ == model.n_features_in_
