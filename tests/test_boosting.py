"""Bags of boosted trees, and the means of targets that they are told of categories."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.ensemble import HistGradientBoostingRegressor
from skneighbors._blend.flat_trees import SideBySide

from skneighbors import NONARegressor
from skneighbors._blend import BaggedBoosting, CategoryEncoder, FlatTrees
from skneighbors._blend.target_means import draw_folds

N_LEVELS = np.array([0, 5, 0, 300])
N_PRIOR = 10


@pytest.fixture(scope="module")
def table():
    """Numbers, few levels and many, gaps in all; y depends on each."""
    rng = np.random.RandomState(0)
    n = 600
    X = np.column_stack([rng.normal(size=n), rng.randint(5, size=n), rng.normal(size=n)])
    X = np.column_stack([X, rng.randint(300, size=n) ** 2 // 300])
    effects = rng.normal(size=300)
    y = X[:, 0] + (X[:, 1] == 2) + effects[X[:, 3].astype(int)] + 0.1 * rng.normal(size=n)
    X[rng.uniform(size=X.shape) < 0.05] = np.nan
    return X, (y - y.mean()) / y.std(), rng.randint(1, 4, size=n).astype(float)


def fit(X, y, weight=None, groups=None, n_levels=N_LEVELS, seed=0, n_iter=100, **kwargs):
    weight, y = np.ones(len(X)) if weight is None else weight, y.reshape(len(X), -1)
    random_state = np.random.RandomState(seed)
    return BaggedBoosting.fit(X, y, weight, groups, n_levels, n_iter, random_state, **kwargs)


def mean_of(y, weight, prior):
    return (np.sum(weight * y) + N_PRIOR * prior) / (weight.sum() + N_PRIOR)


def test_means_of_training_rows_are_of_other_folds(table):
    X, y, weight = table
    groups = np.arange(len(X)) // 3
    encoder, encoded = CategoryEncoder.fit_transform(
        X, y, weight, groups, N_LEVELS, np.random.RandomState(5)
    )
    folds, prior = draw_folds(groups, 10, np.random.RandomState(5)), np.average(y, weights=weight)
    now = encoder.transform(X)
    assert_array_equal(encoded[:, 2:4], X[:, [0, 2]])
    for i, j in enumerate([1, 3]):
        for row in range(0, len(X), 7):
            same = np.isnan(X[:, j]) if np.isnan(X[row, j]) else X[:, j] == X[row, j]
            others = same & (folds != folds[row])
            assert_allclose(encoded[row, 4 + i], mean_of(y[others], weight[others], prior))
            assert_allclose(now[row, 4 + i], mean_of(y[same], weight[same], prior))
            assert_allclose(now[row, 6 + i], np.log(1 + weight[same].sum()))
    assert_array_equal(encoded[:, [0, 1, 2, 3, 6, 7]], now[:, [0, 1, 2, 3, 6, 7]])
    # Codes tell levels apart, and gaps have none.
    assert_array_equal(np.isnan(now[:, 0]), np.isnan(X[:, 1]))
    assert len({*zip(X[:, 1], now[:, 0], strict=True)} - {(np.nan, np.nan)}) >= 5
    assert len(np.unique(now[~np.isnan(now[:, 0]), 0])) == 5


def test_levels_without_rows_are_as_the_mean_of_all():
    X, y = np.array([[0.0], [0.0], [1.0], [1.0]]), np.array([0.0, 1.0, 4.0, 7.0])
    encoder, _ = CategoryEncoder.fit_transform(
        X, y, np.ones(4), np.arange(4), np.array([3]), np.random.RandomState(0)
    )
    code, mean, count = encoder.transform(np.array([[2.0], [np.nan]])).T
    assert np.isnan(code).all()
    assert_allclose(mean, 3.0)
    assert_array_equal(count, 0)


def test_of_levels_of_one_weight_all_or_none_have_codes():
    rng = np.random.RandomState(0)
    for n_each in (1, 3):
        X = np.repeat(np.arange(300.0), n_each)[:, None]
        y = rng.normal(size=len(X))
        _, encoded = CategoryEncoder.fit_transform(
            X, y, np.ones(len(X)), np.arange(len(X)), np.array([300]), rng
        )
        assert np.isnan(encoded[:, 0]).all()
        X[:50] = 0
        _, encoded = CategoryEncoder.fit_transform(
            X, y, np.ones(len(X)), np.arange(len(X)), np.array([300]), rng
        )
        assert (encoded[:50, 0] == 0).all()


def test_folds_share_groups_whatever_their_names():
    groups = np.random.RandomState(0).randint(17, size=200)
    folds = draw_folds(groups, 5, np.random.RandomState(1))
    assert {tuple(np.unique(folds[groups == own])) for own in groups} == {(i,) for i in range(5)}
    renamed = np.random.RandomState(2).permutation(100)[groups]
    assert_array_equal(draw_folds(renamed, 5, np.random.RandomState(1)), folds)
    assert set(draw_folds(np.array([4, 9, 4]), 5, np.random.RandomState(0))) == {0, 1}


@pytest.mark.parametrize("n_categories", [0, 2])
def test_flat_trees_predict_the_same_bits(table, n_categories):
    X, y, weight = table
    X = X[:, [1, 3, 0, 2]]
    X[:, 1] %= 250
    is_category = np.arange(4) < n_categories
    own = HistGradientBoostingRegressor(
        categorical_features=is_category, max_iter=30, random_state=0
    ).fit(X[:400], y[:400], weight[:400])
    X[400:410, 0] = 77  # codes that are not known
    trees, y_hat = FlatTrees.of(own), own.predict(X)
    assert_array_equal(trees.predict(X), y_hat)
    # By all trees at once, those of another fit beside them.
    other = own.fit(X[100:500], -y[100:500])
    side_by_side = SideBySide([FlatTrees.of(other), trees], X.shape[1])
    for row in (0, 7, *range(396, 410)):
        both = side_by_side.predict(np.concatenate([X[599], X[row]]))
        assert_array_equal(both, [other.predict(X[599:])[0], y_hat[row]])


def test_few_rows_are_predicted_with_the_same_bits(table):
    X, y, weight = table
    fitted, _ = fit(X, np.column_stack([y, -2 * y]), weight)
    y_hat = fitted.predict(X)
    for rows in (slice(1), slice(3, 6), slice(397, 405), slice(0)):
        assert_array_equal(fitted.predict(X[rows]), y_hat[rows])


def test_a_row_is_predicted_by_the_bag_that_it_is_not_in(table):
    X, y, weight = table
    fitted, out_of_bag = fit(X, y, weight)
    parts = np.array([bag.predict(X) for bag in fitted.bags[0]])
    place = np.abs(parts - out_of_bag.ravel()).argmin(0)
    assert_array_equal(parts[place, np.arange(len(X))], out_of_bag.ravel())
    assert_allclose(np.bincount(place), len(X) / 5)
    assert_allclose(fitted.predict(X).ravel(), parts.mean(0))
    # A target that changes by much in one row leaves its own prediction as it was.
    row = 17
    changed = np.where(np.arange(len(X)) == row, 1e3, y)
    again, others = fit(X, changed, weight)
    assert others[row] == out_of_bag[row]
    assert again.predict(X[[row]]) > 10 * np.abs(y).max()


def test_out_of_bag_predictions_of_noise_flatter_nobody():
    rng = np.random.RandomState(0)
    X = rng.randint(100, size=(1000, 1)).astype(float)
    y = rng.normal(size=1000)
    _, out_of_bag = fit(X, y, n_levels=np.array([100]))
    assert abs(np.corrcoef(out_of_bag.ravel(), y)[0, 1]) < 0.1


def test_rows_of_a_group_are_out_of_the_same_bag(table):
    X, _, _ = table
    groups = np.arange(len(X)) // 10
    y = np.random.RandomState(0).normal(size=60)[groups]
    own = np.column_stack([X, groups])
    n_levels = np.append(N_LEVELS, 60)
    errors = [
        np.mean((fit(own, y, groups=told, n_levels=n_levels)[1].ravel() - y) ** 2)
        for told in (None, groups)
    ]
    assert errors[0] < 0.5 * y.var()
    assert errors[1] > 0.9 * y.var()


def test_means_inside_a_bag_are_of_other_groups(table, monkeypatch):
    X, y, _ = table
    groups, told = np.arange(len(X)) // 10, []
    fit_transform = CategoryEncoder.fit_transform

    def note(*args):
        told.append((args[3], fit_transform(*args)[1]))
        return fit_transform(*args[:-1], np.random.RandomState(0))

    monkeypatch.setattr(CategoryEncoder, "fit_transform", note)
    fit(X, y, groups=groups)
    fit(X, np.where(groups == 7, 1e3, y), groups=groups)
    for (own, before), (_, after) in zip(told[:5], told[5:], strict=True):
        if (own == 7).any():
            means = slice(4, 6)
            # Means of all are another, by 1000 of 48 groups, and count as ten rows.
            assert np.abs(after[own == 7, means] - before[own == 7, means]).max() < 30
            assert np.abs(after[own != 7, means] - before[own != 7, means]).max() > 100


def test_the_number_of_threads_has_no_say(table):
    X, y, weight = table
    y = np.column_stack([y, y**2])
    (one, out_one), (two, out_two) = (fit(X, y, weight, n_threads=n) for n in (1, 2))
    assert_array_equal(out_one, out_two)
    assert_array_equal(one.predict(X), two.predict(X))
    for target in (0, 1):
        assert np.corrcoef(out_one[:, target], y[:, target])[0, 1] > 0.25


@pytest.mark.parametrize("size", [2.0**-20, 2.0**10])
def test_what_all_rows_weigh_has_no_say(table, size):
    X, y, weight = table
    expected, now = (fit(X, y, own)[0].predict(X) for own in (weight, size * weight))
    assert_array_equal(now, expected)


def test_constant_columns_gaps_and_few_rows():
    rng = np.random.RandomState(0)
    for n in (1, 2, 3, 7):
        X = np.column_stack([np.full(n, np.nan), np.ones(n), np.zeros(n)])
        own, out_of_bag = fit(X, rng.normal(size=n), n_levels=np.array([0, 0, 1]))
        assert np.isfinite(out_of_bag).all()
        assert np.isfinite(own.predict(X)).all()
        assert own.predict(X[:0]).shape == (0, 1)


@pytest.mark.parametrize("refused", ["nodes", "fields"])
def test_trees_that_cannot_be_taken_apart_predict_the_same(table, monkeypatch, refused):
    X, y, _ = table
    expected = fit(X, y)[0].predict(X)

    from sklearn.ensemble._hist_gradient_boosting import common

    if refused == "nodes":
        monkeypatch.delattr(common, "PREDICTOR_RECORD_DTYPE")
    else:
        monkeypatch.setattr(common, "PREDICTOR_RECORD_DTYPE", np.dtype([("weight", float)]))
    own, _ = fit(X, y)
    assert isinstance(own.bags[0][0].trees, HistGradientBoostingRegressor)
    assert_array_equal(own.predict(X), expected)
    model = NONARegressor(max_iter=2, hidden_layer_sizes=8, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="HistGradientBoosting"):
        model.save("nowhere")


def test_leaves_are_small_enough_for_few_rows():
    rng = np.random.RandomState(0)
    X, X_test = rng.uniform(size=(100, 2)), rng.uniform(size=(1000, 2))
    own = fit(X, np.exp(5 * X[:, 0]), n_levels=np.zeros(2, dtype=int))[0].predict(X_test).ravel()
    others = HistGradientBoostingRegressor(random_state=0).fit(X, np.exp(5 * X[:, 0]))
    errors = [np.mean((y - np.exp(5 * X_test[:, 0])) ** 2) for y in (own, others.predict(X_test))]
    assert errors[0] < 0.7 * errors[1]
