"""Months, weekdays and hours of dates reach the networks and trees, and count as their column."""

import numpy as np
import pandas as pd
import pytest
from explained import differences_of
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import r2_score

from skneighbors import load
from skneighbors._columns.base import LearningRows
from skneighbors._columns.dates import Dates

N = 500
MOMENTS = pd.Series(pd.date_range("1955-03-01 05:00", periods=N, freq="29h"))
DAYS = (MOMENTS - pd.Timestamp(0)).to_numpy() / np.timedelta64(1, "D")


def learn(X):
    rows = LearningRows(X, np.array([False]), np.zeros((len(X), 1)), np.ones(len(X)))
    return Dates().learn(X, rows)[0]


def test_parts_are_those_of_pandas():
    X = DAYS[:, None].copy()
    X[7] = np.nan
    of_pandas = MOMENTS.dt.month, MOMENTS.dt.day_of_week, MOMENTS.dt.hour
    expected = np.column_stack(of_pandas).astype(float)
    expected[7] = np.nan
    kind = learn(X)
    assert kind.parts == ("month", "weekday", "hour")
    assert_array_equal(kind.features(X).columns, X)
    assert_array_equal(kind.features(X).parts, expected)
    assert learn(np.floor(X[:3])).parts == ("weekday",)
    assert learn(X[7:8]).parts == ()


@pytest.mark.parametrize("as_text", [False, True])
def test_a_weekday_is_learned_and_explained_as_its_date(estimator_class, as_text, tmp_path):
    rng = np.random.RandomState(0)
    days = pd.Series(pd.date_range("2020-01-01", periods=N)).sample(frac=1, random_state=0)
    y = 3.0 * (days.dt.day_of_week >= 5) + 0.1 * rng.normal(size=N)
    X = pd.DataFrame({"day": days.dt.strftime("%d/%m/%Y") if as_text else days, "x": y * 0})
    model = estimator_class(n_neighbors=9, max_iter=60, n_estimators=1, random_state=0)
    model.fit(X[:400], y[:400])
    assert r2_score(y[400:], model.predict(X[400:])) > 0.5
    why = model.explain(X[400:405], by_column=True)
    assert why.by_column.columns == ["day", "x"]
    assert_allclose(why.by_column.differences.sum(2), differences_of(model, why), atol=1e-9)
    model.save(tmp_path / "model")
    assert_array_equal(load(tmp_path / "model").predict(X), model.predict(X))
