"""Text that may be meant otherwise: one warning a fit, of all such columns."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest

from skneighbors import ColumnWarning, NONARegressor

N = 40
rng = np.random.RandomState(0)
NUMBERS = rng.normal(size=N)
CITIES = rng.choice(["Graz", "Linz", "Wien", "12 b"], N)
DAYS = pd.date_range("2021-01-01", periods=N, freq="37D")

DOUBTFUL = {
    "American days or others": [f"{i % 12 + 1:02d}/{i % 9 + 1:02d}/2020" for i in range(N)],
    "thousands or decimals": [f"{i + 1},{100 + 7 * i}" for i in range(N)],
    "thousands or decimals with points": [f"{i + 1}.{100 + 7 * i}" for i in range(N)],
    "thousands beside hundreds": [f"{950 + 10 * i:,}".replace(",", ".") for i in range(N)],
    "point and comma alike": [f"{i + 1}.{100 + 7 * i}" for i in range(N - 2)] + ["1,457", ".5"],
    "units told apart by case": [f"{i % 9 + 7} {'mW' if i % 2 else 'MW'}" for i in range(N)],
    "text with a number": [f"approx. {100 + 7 * i} kg" for i in range(N)],
    "years to come": [f"{6 + i % 3:02d}/{10 + i % 9:02d}/{30 + i % 17}" for i in range(N)],
    "numbers, and a word": [str(i % 9) if i % 10 else "call us" for i in range(N)],
    "two orders": ["2020-01-13" if i % 2 else "01/13/2020" for i in range(N)],
    "two units": [f"{i % 9} {'kg' if i % 2 else 'lb'}" for i in range(N)],
    "numbers with a name": [f"id {i % 30}" for i in range(N)],
    "codes of five digits": [f"{10000 + i % 15}" for i in range(N)],
    "names of rows": [f"id {i}" for i in range(N)],
    "nearly names of rows": [f"id {max(i, 2)}" for i in range(N)],
}
CLEAR = {
    "text": CITIES,
    "missing": [None if i % 3 else "Graz" for i in range(N)],
    "words for gaps": ["n/a" if i % 3 else "?" for i in range(N)],
    "versions": [f"{i % 4}.{i % 3}.1" for i in range(N)],
    "ranges": [f"{i % 5}-{i % 5 + 1}" for i in range(N)],
    "bools": NUMBERS > 0,
    "numbers themselves": NUMBERS,
    "days themselves": DAYS,
    "numbers as text": [f"{value:.3f}" for value in NUMBERS],
    "days as text": DAYS.strftime("%d.%m.%Y"),
    "many categories": [f"{'abcde'[i % 5]}{i % 6}" for i in range(N)],
    "few numbers with a name": [f"id {i % 15}" for i in range(N)],
}


QUICK = dict(max_iter=1, hidden_layer_sizes=4, n_estimators=1, random_state=0)


def fit(X, y=NUMBERS, categorical_features="from_dtype", **fit_params):
    return NONARegressor(categorical_features=categorical_features, **QUICK).fit(X, y, **fit_params)


@pytest.mark.parametrize("name", DOUBTFUL)
def test_a_doubtful_column_is_named(name):
    frame = pd.DataFrame({"x": NUMBERS, name: DOUBTFUL[name]})
    for X in (frame, frame.astype({name: object}), pl.from_pandas(frame)):
        with pytest.warns(ColumnWarning, match=f"Column '{name}' of X") as caught:
            fit(X)
        assert len(caught) == 1
        assert caught[0].filename == __file__
    array = frame.to_numpy(dtype=object)
    with pytest.warns(ColumnWarning, match="Column 1 of X"):
        fit(array)


@pytest.mark.parametrize("name", [*DOUBTFUL, *CLEAR])
def test_columns_without_doubt(name):
    X = pd.DataFrame({"x": NUMBERS, "a": (DOUBTFUL | CLEAR)[name]})
    if name in CLEAR:
        fit(X)
        return
    fit(X.astype({"a": "category"}))
    fit(X, categorical_features=["a"])
    fit(pl.from_pandas(X).with_columns(pl.col("a").cast(pl.Categorical)))


def test_all_columns_are_in_one_warning():
    X = pd.DataFrame(DOUBTFUL | CLEAR)
    with pytest.warns(ColumnWarning) as caught:
        model = fit(X)
    assert len(caught) == 1
    for name in X:
        assert (f"Column {name!r} of X" in str(caught[0].message)) == (name in DOUBTFUL)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(X)


def test_it_is_a_user_warning_and_may_be_an_error():
    assert issubclass(ColumnWarning, UserWarning)
    model = NONARegressor(max_iter=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ColumnWarning)
        with pytest.raises(ColumnWarning):
            model.fit(pd.DataFrame({"a": DOUBTFUL["names of rows"]}), NUMBERS)
    assert not hasattr(model, "n_features_in_")


def test_rows_without_weight_say_nothing():
    counted = NUMBERS > 0
    X = pd.DataFrame({"x": NUMBERS, "a": np.where(counted, CITIES, DOUBTFUL["names of rows"])})
    model = fit(X, sample_weight=counted * 1.0)
    assert str(model.columns_) == str(fit(X[counted], NUMBERS[counted]).columns_)
    with pytest.warns(ColumnWarning):
        fit(X.assign(a=np.where(counted, "1,234", CITIES)), sample_weight=counted * 1.0)


def test_long_names_and_values_are_cut():
    X = pd.DataFrame({"x": NUMBERS, "a" * 10**5: [f"{i}" * 10**5 for i in range(N)]})
    with pytest.warns(ColumnWarning) as caught:
        fit(X)
    assert len(str(caught[0].message)) < 1000
