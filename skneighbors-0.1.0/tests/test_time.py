"""Later rows: what is held out by time, what is fitted then, and how it gets there."""

import datetime

import numpy as np
import pandas as pd
import pytest
import sklearn
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.model_selection import (
    GridSearchCV,
    TimeSeriesSplit,
    cross_validate,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skneighbors import ColumnWarning, NONARegressor, Recipe
from skneighbors._columns.checks import check_time
from skneighbors._training import EnsembleSplit

QUICK = dict(max_iter=3, hidden_layer_sizes=(16,), n_estimators=2, blend=None, random_state=0)
N = 120


@pytest.fixture(scope="module")
def table():
    rng = np.random.RandomState(0)
    X = pd.DataFrame({"a": rng.normal(size=N), "b": rng.choice(["x", "y"], size=N)})
    X["date"] = pd.Timestamp("2025-01-01") + pd.to_timedelta(rng.permutation(N) // 2, unit="D")
    return X, (X["a"] + (X["b"] == "x") + 0.1 * rng.normal(size=N)).to_numpy()


def held_out_of(model):
    """Samples whose residuals are known of networks that had held them out."""
    return model._model.samples[model._model.validation.rows.numpy()]


def test_the_last_fifth_is_held_out_and_fitted_in_the_end(estimator_class, table):
    X, y = table
    model = estimator_class(**QUICK).fit(X, y, time=X["date"])
    latest = np.argsort(-X["date"].to_numpy().astype(int), kind="stable")[: N // 5]
    assert set(held_out_of(model)) == set(latest)
    assert model.plan_.n_validation == N // 5
    assert "complete" in model.plan_.schedule.refits_after
    assert_array_equal(model.kneighbors(X, 1, return_distance=False).ravel(), np.arange(N))
    # Networks, too, are fitted to all: without `refit` they are not.
    without = estimator_class(recipe=Recipe(refit=False), **QUICK).fit(X, y, time=X["date"])
    assert set(held_out_of(without)) == set(latest)
    assert not np.allclose(without.transform(X), model.transform(X))


def test_what_names_a_time_has_no_say(table):
    X, _ = table
    days = (X["date"] - X["date"].min()).dt.days
    dates = [datetime.date(2000, 1, 1) + datetime.timedelta(days=own) for own in days.tolist()]
    others = X["date"], X["date"].dt.tz_localize("Asia/Tokyo"), -1000 + 0.5 * days.to_numpy(), dates
    for time in others:
        assert_array_equal(check_time(time, np.ones(N)), days)


def test_rows_without_a_time_are_trained_on(table):
    X, y = table
    time = np.arange(N, dtype=float)
    time[100:] = np.nan
    model = NONARegressor(**QUICK).fit(X, y, time=time)
    assert set(held_out_of(model)) == set(range(80, 100))


def test_equal_rows_count_as_of_the_last_time(table):
    X, y = table
    twice, time = np.append(np.arange(N), [0, 1, 2]), np.append(np.arange(N), [N, 3, np.nan])
    model = NONARegressor(**QUICK).fit(X.iloc[twice], y[twice], time=time)
    assert 0 in held_out_of(model)
    assert not {1, 2} & set(held_out_of(model))
    # A time of a row without weight is none.
    weight = np.where(np.arange(N + 3) == N, 0.0, 1.0)
    model = NONARegressor(**QUICK).fit(X.iloc[twice], y[twice], weight, time=time)
    assert 0 not in held_out_of(model)


@pytest.mark.parametrize("share", [0.1, 0.2, 0.5])
def test_the_split_keeps_times_whole(share):
    rng = np.random.RandomState(0)
    for n_times in (2, 3, 30):
        time = np.floor(n_times * rng.uniform(size=100) ** 2)
        time[:2] = [0, n_times - 1]
        time[rng.randint(2, 100, size=10)] = np.nan
        split = EnsembleSplit.draw_last(time, share, 100, 3, rng)
        train, validation = (part.numpy() for part in split)
        assert (train == train[0]).all()
        assert (validation == validation[0]).all()
        assert_array_equal(np.sort(np.append(train[0], validation[0])), np.arange(100))
        first = time[validation[0]].min()
        assert np.nanmax(time[train[0]]) < first
        # No other time is nearer to the share.
        present = np.sort(time[~np.isnan(time)])
        n_late = [(present >= own).sum() for own in np.unique(present)[1:]]
        far = np.abs(np.array(n_late) - share * len(present))
        assert abs(len(validation[0]) - share * len(present)) == pytest.approx(far.min())


def test_each_member_validates_by_some_of_many_late_rows():
    rng = np.random.RandomState(0)
    split = EnsembleSplit.draw_last(np.arange(1000.0), 0.2, 50, 2, rng)
    assert split.train.shape == (2, 800)
    assert split.validation.shape == (2, 50)
    assert split.validation.min() >= 800
    assert not (split.validation[0] == split.validation[1]).all()
    with pytest.raises(ValueError, match="more than half of the rows at the last time; 190 of 200"):
        EnsembleSplit.draw_last(np.repeat([0.0, 1.0], [10, 190]), 0.2, 50, 2, rng)


@pytest.mark.parametrize("n_members", [1, 3])
@pytest.mark.parametrize("n_groups", [3, 8, 40])
def test_later_rows_of_drawn_groups_validate(n_groups, n_members):
    rng = np.random.RandomState(0)
    groups = np.append(np.arange(n_groups), rng.randint(n_groups, size=400))
    time = rng.randint(25, size=len(groups)).astype(float)
    time[rng.randint(len(groups), size=20)] = np.nan
    split = EnsembleSplit.draw_last(time, 0.2, 30, n_members, rng, groups)
    plain = EnsembleSplit.draw_last(time, 0.2, len(time), 1, rng)
    last = plain.validation[0].numpy()
    assert split.train.shape[0] == split.validation.shape[0] == n_members
    assert split.validation.shape[1] <= 30
    drawn = []
    for train, held_out in zip(*map(np.asarray, split), strict=True):
        assert set(held_out) <= set(last)
        assert not set(train) & set(last)
        assert not set(groups[train]) & set(groups[held_out])
        assert len(set(groups[train])) >= 2
        assert len(train) >= 0.3 * len(groups)
        drawn.append(set(groups[held_out]))
    if n_groups == 40:
        assert 1 / 8 < np.mean([len(own) / n_groups for own in drawn]) < 1 / 3
        assert len(set.union(*drawn)) == sum(map(len, drawn))  # other ones for each


def test_groups_that_only_come_late_cost_no_training_rows():
    time = np.repeat([0.0, 1.0], [60, 20])
    groups = np.append(np.arange(60) % 3, 3 + np.arange(20) // 5)
    split = EnsembleSplit.draw_last(time, 0.25, 99, 2, np.random.RandomState(0), groups)
    assert_array_equal(split.train, np.tile(np.arange(60), (2, 1)))
    assert split.validation.shape == (2, 5)


@pytest.mark.parametrize("groups", [np.arange(40) % 2, np.arange(40) // 20, np.arange(40) // 32])
def test_too_few_groups_to_hold_out_later_rows_of(groups):
    message = "if time is given, with rows in its last part.* give groups or time alone"
    with pytest.raises(ValueError, match=message):
        EnsembleSplit.draw_last(np.arange(40.0), 0.2, 99, 2, np.random.RandomState(0), groups)


def test_new_groups_later_on(estimator_class):
    """No later row, and no other row of its group, has trained what predicts a row held out."""
    rng = np.random.RandomState(0)
    shop, week = np.repeat(np.arange(20), 12), np.tile(np.arange(12), 20)
    X = np.column_stack([rng.normal(size=20)[shop], week, rng.normal(size=240)])
    y = rng.normal(size=20)[shop] + X[:, 2]
    model = estimator_class(recipe=Recipe(boosting_iter=3), **QUICK | {"blend": "boosting"})
    model.fit(X, y, groups=shop, time=week)
    held_out = held_out_of(model)
    assert set(week[held_out]) == {10, 11}
    assert 4 <= len(set(shop[held_out])) <= 10
    assert "complete" in model.plan_.schedule.refits_after
    # Intervals count groups, and training leaves whole ones out.
    bank = model._model.bank
    assert len(bank.rows.group.unique()) == 20
    assert model._model.n_validation == len(set(shop[held_out]))
    assert np.isfinite(model.predict_interval(X[:3], 0.5)).all()
    again = estimator_class(**model.plan_.params).fit(X, y, groups=shop, time=week)
    assert_array_equal(again.predict(X), model.predict(X))


@pytest.mark.parametrize(
    ("time", "message"),
    [
        ("date", r"time must have one entry for each of 120 samples; got 'date'\."),
        (["x", "y"] * 60, "time must hold numbers, dates or times; it holds categories or text"),
        (np.full(N, np.nan), "time must hold at least 2 different .* got 0"),
        (pd.Series([pd.NaT] * N), "time must hold at least 2 different .* got 0"),
        (np.ones(N), "time must hold at least 2 different .* got 1"),
        (np.where(np.arange(N) == 7, np.inf, 1.0), "time contains infinity"),
        ([1, "x"] * 60, "time"),
        ([f"{i // 60}:{i % 60:02d}" for i in range(N)], "time holds times of day"),
        (7, r"time must have one entry for each of 120 samples; got an array of shape \(\)"),
    ],
)
def test_what_is_no_time_is_named(table, time, message):
    X, y = table
    with pytest.raises(ValueError, match=message):
        NONARegressor(**QUICK).fit(X, y, time=time)


def test_times_of_rows_without_weight_need_not_be_read(table):
    X, y = table
    counted = np.arange(N) < 90
    X = X.assign(date=np.where(counted, X.date.dt.strftime("%Y-%m-%d"), "soon"))
    days = ["2020-01-02", "2020-02-01", "2021-01-01", "soon"]
    assert_array_equal(check_time(days, np.r_[1, 1, 1, 0])[:3], [0, 1, 2])
    with pytest.warns(ColumnWarning, match="count as missing"):
        model = NONARegressor(**QUICK).fit(X, y, time=X["date"], sample_weight=counted * 1.0)
    alone = NONARegressor(**QUICK).fit(X[:90], y[:90], time=X["date"][:90])
    assert_array_equal(model.predict(X[:90]), alone.predict(X[:90]))


def test_text_as_times_that_could_be_read_otherwise_is_named():
    days = ["01/02/2024", "02/02/2024", "01/03/2024", "02/03/2024"]
    with pytest.warns(ColumnWarning, match="time is read as dates, month first"):
        assert_array_equal(check_time(days, np.ones(4)), [0, 2, 1, 3])


def test_what_does_not_go_with_a_time(table):
    X, y = table
    model = NONARegressor(**QUICK)
    with pytest.raises(ValueError, match="time cannot be given with X_val: each says which"):
        model.fit(X, y, time=X["date"], X_val=X[:9], y_val=y[:9])
    with pytest.raises(ValueError, match="early_stopping must not be False with time"):
        clone(model).set_params(early_stopping=False).fit(X, y, time=X["date"])
    with pytest.raises(ValueError, match=r"validation_fraction must be at most 0\.5 with time"):
        clone(model).set_params(validation_fraction=0.6).fit(X, y, time=X["date"])
    small = NONARegressor(**QUICK).fit(X[:30], y[:30], time=X["date"][:30])  # held out though few
    assert len(held_out_of(small)) == 6


@pytest.mark.parametrize("routed", [False, True])
def test_it_reaches_the_fits_of_searches_and_pipelines(table, routed):
    X, y = table
    X, time = X[["a"]].assign(day=np.arange(N)), np.arange(N)
    with sklearn.config_context(enable_metadata_routing=routed):
        model = NONARegressor(**QUICK)
        model = model.set_fit_request(time=True) if routed else model
        search = GridSearchCV(model, {"softstep": [None, "s2"]}, cv=TimeSeriesSplit(2))
        pipeline, given = make_pipeline(StandardScaler(), model), {"time": time}
        fits = [
            search.fit(X, y, **given).best_estimator_,
            pipeline.fit(X, y, **given if routed else {"nonaregressor__time": time})[-1],
            *cross_validate(
                model, X, y, cv=TimeSeriesSplit(2), params=given, return_estimator=True
            )["estimator"],
        ]
    for own, n in zip(fits, (N, N, 40, 80), strict=True):
        assert set(held_out_of(own)) == set(range(n - n // 5, n))
