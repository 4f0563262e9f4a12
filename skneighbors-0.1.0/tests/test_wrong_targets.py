"""A few targets far from all others: they spoil no other prediction, and fit warns of them."""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from explained import predicted_by
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import r2_score

from skneighbors import NONARegressor, load
from skneighbors._task import Regression
from skneighbors._task.far import find_bounds, find_far

N, WRONG = 300, 7
QUICK = dict(hidden_layer_sizes=(16,), n_estimators=1, max_iter=15, blend=None, random_state=0)
SAID = "A few targets are far from all others"
quiet = pytest.mark.filterwarnings(f"ignore:{SAID}")


def make_data():
    """Rents, without noise as well."""
    rng = np.random.RandomState(0)
    X = pd.DataFrame({"area": rng.uniform(40, 140, 500), "built": rng.uniform(1950, 2020, 500)})
    X.index = [f"flat {i}" for i in range(500)]
    truth = (X.area * 12 + 4 * (X.built - 1950)).to_numpy()
    return X, truth + 40 * rng.normal(size=500), truth


X, Y, TRUTH = make_data()


def fit(kind, y, X_train=X[:N], **params):
    return kind(**QUICK | params).fit(X_train, y)


def judge(model):
    """Median error of rows that are not trained on, and mean width of intervals."""
    error = np.median(np.abs(model.predict(X[N:]) - TRUTH[N:]))
    return error, np.diff(model.predict_interval(X[N:])).mean()


@cache
def judge_right(kind, **params):
    return judge(fit(kind, Y[:N], **params))


def check(model, kind, **params):
    (error, width), (right, right_width) = judge(model), judge_right(kind, **params)
    assert error <= 2 * right
    assert width <= 3 * right_width


def spoil(rows, factor):
    y = Y[:N].copy()
    y[rows] *= factor
    return y


@quiet
@pytest.mark.parametrize("factor", [100, 1e8, -1e5])
@pytest.mark.parametrize("row", [WRONG, int(X.area[:N].argmax())])
def test_one_wrong_target_spoils_no_others(estimator_class, factor, row):
    check(fit(estimator_class, spoil(row, factor)), estimator_class)


@quiet
@pytest.mark.parametrize(
    "params", [dict(blend="auto"), dict(blend="boosting"), dict(blend="linear"), dict(trend=None)]
)
def test_whatever_predicts(params):
    check(fit(NONARegressor, spoil(WRONG, 1e6), **params), NONARegressor, **params)


@quiet
def test_a_percent_of_the_rows_with_missing_cells():
    X_train = X[:N].copy()
    X_train.iloc[WRONG, 1] = np.nan
    wrong = [WRONG, 100, 200]
    check(fit(NONARegressor, spoil(wrong, [1e3, 1e8, -100]), X_train), NONARegressor)


@quiet
@pytest.mark.parametrize("given", ["groups", "time", "sample_weight"])
def test_with_what_else_fit_is_given(given):
    values = {"groups": np.arange(N) % 100, "time": np.arange(N), "sample_weight": np.full(N, 2.0)}
    fits = [
        NONARegressor(**QUICK).fit(X[:N], y, **{given: values[given]})
        for y in (Y[:N], spoil(N - 1, 1e8))
    ]
    (right, right_width), (error, width) = map(judge, fits)
    assert error <= 2 * right
    assert width <= 3 * right_width


@quiet
def test_a_wrong_target_of_a_given_validation_set(estimator_class):
    y, n = spoil(N - 1, 1e8), N - 100
    fits = [
        estimator_class(**QUICK).fit(X[:n], y[:n], X_val=X[n:N], y_val=own[n:])
        for own in (Y[:N], y)
    ]
    (right, right_width), (error, width) = map(judge, fits)
    assert error <= 2 * right
    assert width <= 3 * right_width
    assert max(fits[1].validation_scores_) > 0.5


@quiet
def test_other_targets_stay_as_they_are():
    both = np.column_stack([Y[:N], -Y[:N]])
    wrong = both.copy()
    wrong[WRONG, 0] *= 1e8
    right, spoiled = fit(NONARegressor, both), fit(NONARegressor, wrong)
    error = np.abs(spoiled.predict(X[N:]) - np.column_stack([TRUTH, -TRUTH])[N:])
    right_error = np.abs(right.predict(X[N:]) - np.column_stack([TRUTH, -TRUTH])[N:])
    assert (np.median(error, axis=0) <= 2 * np.median(right_error, axis=0)).all()
    bank = spoiled._model.bank
    assert_array_equal(bank.bounded[:, 1], bank.rows.targets[:, 1])


def test_the_row_is_shown_with_its_target(estimator_class, tmp_path):
    y = spoil(WRONG, 1e8)
    with pytest.warns(UserWarning, match=SAID):
        model = fit(estimator_class, y)
    suspects = model.suspects(1)
    assert suspects.labels == ["flat 7"]
    assert_allclose(suspects.targets, y[[WRONG]])
    assert abs(suspects.expected - TRUTH[WRONG]) < 500
    near = X.iloc[[WRONG]]
    why = model.explain(near)
    (place,) = np.flatnonzero(why.indices[0] == WRONG)
    assert_allclose(why.targets[0, place], y[WRONG])
    assert why.adjusted_targets[0, place] < 3000
    assert_allclose(predicted_by(why) + why.clipping, model.predict(near), rtol=1e-4)
    assert "target far from all others" in str(why)
    assert_allclose(model.score(X[:N], y), r2_score(y, model.predict(X[:N])))
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert_array_equal(again.predict(X[N:]), model.predict(X[N:]))
    assert again.suspects(1).targets == suspects.targets
    _, predicted = model.network_(model.prepare(X[N:]))
    assert predicted.abs().max() < 10


@quiet
def test_appended_rows(estimator_class):
    right = fit(estimator_class, Y[:N])
    before = right.predict(X[N:])
    y = np.where(np.arange(N, 500) == 400, 1e9, Y[N:])
    model = fit(estimator_class, Y[:N]).append(X[N:], y)
    ordinary = fit(estimator_class, Y[:N]).append(X[N:], Y[N:])
    error, usual = (np.abs(own.predict(X[N:]) - TRUTH[N:]) for own in (model, ordinary))
    assert np.median(error) <= 2 * np.median(usual)
    assert error.max() < 1500
    assert model.suspects(1).indices == [400]
    assert_allclose(model.suspects(1).targets, 1e9)
    model.forget(np.arange(N, 500))
    assert_allclose(model.predict(X[N:]), before)
    model.append(X[:20], np.full(20, 1e9))  # more than a percent are not few
    assert model.predict(X[:20]).max() > 1e7


def test_bounds_follow_the_rows():
    task = Regression.fit(Y[:N, None], np.ones(N), 1)
    values = task.transform(np.append(Y[:N], [1e9, -1e9])[:, None])
    bounds = task.bounding(values, np.ones(N + 2)).bounds
    assert_allclose(bounds.ravel(), [values[:N].min(), values[:N].max()])
    assert task.bounding(values[:N], np.ones(N)).bounds is None
    with pytest.raises(ValueError, match="y spans more than float64 can hold"):
        Regression.fit(np.append(1e-100 * Y[:N], 1e300)[:, None], np.ones(N + 1), 1)


def test_fit_warns_and_says_what_to_do():
    X_train = np.arange(N)[:, None]
    rng = np.random.RandomState(0)
    quick = NONARegressor(**QUICK | dict(max_iter=1))
    with pytest.warns(UserWarning, match=r"1e\+09 in row 7\. .*`suspects`.*TransformedTarget"):
        quick.fit(X_train, np.where(np.arange(N) == 7, 1e9, Y[:N]))
    two = np.column_stack([Y[:N], rng.normal(size=N)])
    two[[3, 9], 1] = 1e6, -1e6
    with pytest.warns(UserWarning, match=SAID) as seen:
        quick.fit(X_train, two)
    (message,) = [str(own.message) for own in seen if SAID in str(own.message)]
    assert "y: 1e+06 in row 3, -1e+06 in row 9." in message
    assert "logarithm" not in message


HEAVY = np.exp(2.5 * np.random.RandomState(0).normal(size=2000))
COUNTS = np.random.RandomState(0).poisson(0.3, size=1000).astype(float)
FAR = {
    "one": (np.append(Y[:N], 1e5), 1),
    "a percent": (np.append(Y[: N - 3], [-1e5, 1e8, 1e9]), 3),
    "more than a percent": (np.append(Y[:N], np.full(4, 1e9)), 0),
    "not far": (np.append(Y[:N], np.median(Y[:N]) + 9 * np.ptp(Y[:N]) / 2), 0),
    "no gap": (np.append(Y[:N], [7e3, 3e4, 8e4]), 0),
    "counts": (np.append(COUNTS, 999), 1),
    "few that differ": (np.append(np.zeros(N), [3.0, 5.0]), 0),
    "rounding": (np.append(1 + 1e-16 * (np.arange(N) % 9), 1.1), 0),
    "a heavy tail": (HEAVY, 0),
    "one of few": (np.append(Y[:90], 1e9), 1),
    "two of few": (np.append(Y[:90], [1e9, 1e9]), 0),
    "too few rows": (np.append(Y[:18], 1e9), 0),
}


@pytest.mark.parametrize("name", FAR)
def test_what_is_far(name):
    y, n_far = FAR[name]
    order = np.random.RandomState(1).permutation(len(y))
    bounds = find_bounds(y[order, None], np.ones(len(y)))
    others = y[: len(y) - n_far]
    ends = [others.min(), others.max()] if n_far else [-np.inf, np.inf]
    assert_array_equal(bounds.ravel(), ends)


def test_one_row_of_much_weight_is_not_few():
    y, weight = np.append(Y[:24], 1e9)[:, None], np.ones(25)
    assert find_far(y, weight)[0].sum() == 1
    weight[-1] = 10
    assert not find_far(y, weight)[0].any()


def test_weights_are_counts():
    y, weight = np.append(Y[:200], [1e9, 2e9])[:, None], np.ones(202)
    assert find_far(y, weight)[0].ravel().nonzero()[0].tolist() == [200, 201]
    weight[-1] = 2
    assert not find_far(y, weight)[0].any()
    assert not find_far(np.append(y, y[-1:], axis=0), np.ones(203))[0].any()


def test_what_holds_the_variation():
    y = np.column_stack([np.append(HEAVY[:300], 1e5), np.append(Y[:N], 0), np.ones(N + 1)])
    assert np.argwhere(find_far(y, np.ones(N + 1))[1]).tolist() == [[N, 0]]
    six = np.append(np.zeros(900), np.ones(6))[:, None]
    assert not find_far(six, np.ones(906)).any()
    assert find_far(six[:-1], np.ones(905))[1].sum() == 5


def test_tables_without_far_targets_are_as_they_were():
    task = Regression.fit(Y[:N, None], np.ones(N), 1)
    assert task.bounds is None
    model = NONARegressor(**QUICK | dict(max_iter=1)).fit(X[:N], Y[:N])
    assert model._model.bank.bounded is model._model.bank.rows.targets
