"""Bags of boosted trees, and the means of targets that they are given of categories."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingRegressor

from skneighbors._blend import BaggedBoosting, CategoryEncoder, Trees
from skneighbors._blend import trees as growing
from skneighbors._blend.base import N_FOLDS, BlendData, BlendSettings, draw_folds
from skneighbors._blend.boosting import find_columns
from skneighbors._blend.trees import TreeNodes
from skneighbors._utils.sklearn_private import read_boosting

N_CATEGORIES = np.array([0, 5, 0, 300])
N_PRIOR = 10


@pytest.fixture(scope="module")
def table():
    """Numbers, few categories and many, missing values in all; y depends on each."""
    rng = np.random.RandomState(0)
    n = 600
    X = np.column_stack([rng.normal(size=n), rng.randint(5, size=n), rng.normal(size=n)])
    X = np.column_stack([X, rng.randint(300, size=n) ** 2 // 300])
    effects = rng.normal(size=300)
    y = X[:, 0] + (X[:, 1] == 2) + effects[X[:, 3].astype(int)] + 0.1 * rng.normal(size=n)
    X[rng.uniform(size=X.shape) < 0.05] = np.nan
    return X, (y - y.mean()) / y.std(), rng.randint(1, 4, size=n).astype(float)


def fit(X, y, weight=None, groups=None, n_categories=N_CATEGORIES, seed=0, n_iter=20, n_threads=1):
    weight, y = np.ones(len(X)) if weight is None else weight, y.reshape(len(X), -1)
    random_state = np.random.RandomState(seed)
    groups = np.arange(len(X)) if groups is None else groups
    data = BlendData(X, y, weight, groups, n_categories)
    folds = draw_folds(groups, N_FOLDS, random_state)
    settings = BlendSettings(n_iter, random_state, n_threads)
    [model], [out_of_fold] = BaggedBoosting.fit(data, folds, settings)
    return model, out_of_fold


def encode(X, y, n_categories):
    n, random_state = len(X), np.random.RandomState(0)
    return CategoryEncoder.fit_transform(
        X, y, np.ones(n), np.arange(n), np.array([n_categories]), random_state
    )


def mean_of(y, weight, prior):
    return (np.sum(weight * y) + N_PRIOR * prior) / (weight.sum() + N_PRIOR)


def test_means_of_training_rows_are_of_other_folds(table):
    X, y, weight = table
    groups = np.arange(len(X)) // 3
    encoder, encoded = CategoryEncoder.fit_transform(
        X, y, weight, groups, N_CATEGORIES, np.random.RandomState(5)
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
    # Codes tell categories apart, and missing ones have none.
    assert_array_equal(np.isnan(now[:, 0]), np.isnan(X[:, 1]))
    assert len({*zip(X[:, 1], now[:, 0], strict=True)} - {(np.nan, np.nan)}) >= 5
    assert len(np.unique(now[~np.isnan(now[:, 0]), 0])) == 5


def test_categories_without_rows_are_as_the_mean_of_all():
    X, y = np.array([[0.0], [0.0], [1.0], [1.0]]), np.array([0.0, 1.0, 4.0, 7.0])
    encoder, _ = encode(X, y, 3)
    code, mean, count = encoder.transform(np.array([[2.0], [np.nan]])).T
    assert np.isnan(code).all()
    assert_allclose(mean, 3.0)
    assert_array_equal(count, 0)


def test_of_categories_of_one_weight_all_or_none_have_codes():
    for n_each in (1, 3):
        X = np.repeat(np.arange(300.0), n_each)[:, None]
        y = np.random.RandomState(0).normal(size=len(X))
        assert np.isnan(encode(X, y, 300)[1][:, 0]).all()
        X[:50] = 0
        assert (encode(X, y, 300)[1][:50, 0] == 0).all()


@pytest.mark.parametrize("n_categories", [0, 2])
def test_trees_as_arrays_predict_bitwise_the_same(table, n_categories):
    X, y, weight = table
    X = X[:, [1, 3, 0, 2]]
    X[:, 1] %= 250
    X[:5, 2:] = np.inf, -np.inf  # which are beyond all thresholds, and not missing
    fitted = HistGradientBoostingRegressor(
        categorical_features=np.arange(4) < n_categories, max_iter=30, random_state=0
    ).fit(X[5:], y[5:], weight[5:])
    baseline, trees = read_boosting(fitted)
    trees = Trees.of(baseline, [TreeNodes(**nodes) for nodes in trees])
    finite, y_hat = slice(5, None), fitted.predict(X[5:])
    assert_array_equal(trees.predict(X)[finite], y_hat)
    for rows in (slice(5, 6), slice(8, 11), slice(200, 327), slice(200, 328), slice(0)):
        assert_array_equal(trees.predict(X[rows]), trees.predict(X)[rows])


def test_a_tree_has_as_many_leaves_as_a_mask_has_bits():
    X = np.arange(400.0)[:, None]
    for n_leaves in (1, 2, 31, 32, 33):
        fitted = HistGradientBoostingRegressor(
            max_leaf_nodes=max(2, n_leaves), min_samples_leaf=1, max_iter=2
        ).fit(X, X.ravel() % 40 if n_leaves > 1 else np.ones(400))
        baseline, trees = read_boosting(fitted)
        trees = [TreeNodes(**nodes) for nodes in trees]
        if n_leaves == 33:
            with pytest.raises(ValueError, match="33 leaves"):
                Trees.of(baseline, trees)
        else:
            ours = Trees.of(baseline, trees)
            assert ours.value.shape == (2, n_leaves)
            assert_array_equal(ours.predict(X), fitted.predict(X))


def test_a_row_is_predicted_by_the_bag_that_it_is_not_in(table, monkeypatch):
    # Of the same number of iterations, which all rows choose.
    monkeypatch.setattr("skneighbors._blend.boosting._STAGES", (1,))
    X, y, weight = table
    fitted, out_of_fold = fit(X, y, weight)
    parts = np.array([bag.predict(X) for bag in fitted.bags[0]])
    place = np.abs(parts - out_of_fold.ravel()).argmin(0)
    assert_array_equal(parts[place, np.arange(len(X))], out_of_fold.ravel())
    assert_allclose(np.bincount(place), len(X) / 5)
    assert_allclose(fitted.predict(X).ravel(), parts.mean(0))
    # A target that changes by much in one row leaves its own prediction as it was.
    row = 17
    changed = np.where(np.arange(len(X)) == row, 1e3, y)
    again, others = fit(X, changed, weight)
    assert others[row] == out_of_fold[row]
    assert again.predict(X[[row]]) > 10 * np.abs(y).max()


def test_rows_of_a_group_are_out_of_the_same_bag(table):
    X, _, _ = table
    groups = np.arange(len(X)) // 10
    y = np.random.RandomState(0).normal(size=60)[groups]
    own = np.column_stack([X, groups])
    n_categories = np.append(N_CATEGORIES, 60)
    errors = [
        np.mean((fit(own, y, groups=given, n_categories=n_categories)[1].ravel() - y) ** 2)
        for given in (None, groups)
    ]
    assert errors[0] < 0.5 * y.var()
    assert errors[1] > 0.9 * y.var()


def test_means_inside_a_bag_are_of_other_groups(table, monkeypatch):
    X, y, _ = table
    groups, noted = np.arange(len(X)) // 10, []
    fit_transform = CategoryEncoder.fit_transform

    def note(*args):
        noted.append((args[3], fit_transform(*args)[1]))
        return fit_transform(*args[:-1], np.random.RandomState(0))

    monkeypatch.setattr(CategoryEncoder, "fit_transform", note)
    fit(X, y, groups=groups)
    fit(X, np.where(groups == 7, 1e3, y), groups=groups)
    for (own, before), (_, after) in zip(noted[:5], noted[5:], strict=True):
        if (own == 7).any():
            means = slice(4, 6)
            # Means of all are another, by 1000 of 48 groups, and count as ten rows.
            assert np.abs(after[own == 7, means] - before[own == 7, means]).max() < 30
            assert np.abs(after[own != 7, means] - before[own != 7, means]).max() > 100


def test_the_number_of_threads_has_no_say(table):
    X, y, weight = table
    y = np.column_stack([y, y**2])
    (one, out_one), (two, out_two) = (fit(X, y, weight, n_iter=5, n_threads=n) for n in (1, 2))
    assert_array_equal(out_one, out_two)
    assert_array_equal(one.predict(X), two.predict(X))
    for target in (0, 1):
        assert np.corrcoef(out_one[:, target], y[:, target])[0, 1] > 0.2


@pytest.mark.parametrize("size", [2.0**-20, 2.0**10])
def test_what_all_rows_weigh_has_no_say(table, size):
    X, y, weight = table
    expected, now = (fit(X, y, own, n_iter=5)[0].predict(X) for own in (weight, size * weight))
    assert_array_equal(now, expected)


def test_constant_columns_missing_values_and_few_rows():
    rng = np.random.RandomState(0)
    for n in (1, 2, 3, 7):
        X = np.column_stack([np.full(n, np.nan), np.ones(n), np.zeros(n)])
        own, out_of_fold = fit(X, rng.normal(size=n), n_categories=np.array([0, 0, 1]))
        assert np.isfinite(out_of_fold).all()
        assert np.isfinite(own.predict(X)).all()
        assert own.predict(X[:0]).shape == (0, 1)


def test_trees_end_where_more_raise_the_loss_of_rows_left_out():
    rng = np.random.RandomState(0)
    X, noise = rng.normal(size=(600, 4)), rng.normal(size=600)
    for scale, n_iter in (0.01, 50), (3.0, 13):
        own, out_of_fold = fit(X, np.sin(3 * X[:, 0]) + scale * noise, n_iter=100)
        parts = np.array([bag.predict(X) for (bags,) in [own.bags] for bag in bags])
        assert (parts == out_of_fold.T).any(axis=0).all()
        assert {len(bag.trees.value) for (bags,) in [own.bags] for bag in bags} == {n_iter}


def test_of_many_columns_those_that_correlate_most_are_taken():
    rng = np.random.RandomState(0)
    X, weight = rng.normal(size=(300, 1500)), np.ones(300)
    X[:, 1203] = np.exp(9 * X[:, 1203])
    X[:, [7, 70]] = np.nan, 1.0
    X[rng.uniform(size=X.shape) < 0.05] = np.nan
    y = np.nan_to_num(X[:, 3]) + np.nan_to_num(np.log(X[:, 1203]) / 9)
    columns = find_columns(X, y, weight)
    assert len(columns) == 1000
    assert {3, 1203} < set(columns)
    assert not {7, 70} & set(columns)
    assert (np.diff(columns) > 0).all()
    own, _ = fit(X, y, n_categories=np.zeros(1500, dtype=int), n_iter=2)
    used = {i for (bags,) in [own.bags] for bag in bags for i in bag.trees.feature.flat}
    assert {3, 1203} <= used <= set(range(1500)) - {7, 70}
    assert np.corrcoef(own.predict(X)[:, 0], y)[0, 1] > 0.8


@pytest.mark.parametrize(("n_codes", "n_bins"), [(0, 65), (1, 255)])
def test_wide_tables_have_fewer_bins_unless_they_have_codes(noted, n_codes, n_bins):
    X = np.random.RandomState(0).normal(size=(300, 500))
    X[:, :n_codes] = 0.0
    seen = noted(growing, "fit_unlogged", lambda _, kind, boosting, *data: boosting.max_bins)
    next(growing.grow(X, X[:, 1], None, n_codes, 0, [1], max_features=0.1, learning_rate=0.1))
    assert seen == [n_bins]


@pytest.mark.parametrize("how", ["missing", "renamed", "meant otherwise", "out of range"])
def test_where_trees_cannot_be_read_they_are_boosted_one_by_one(table, monkeypatch, how):
    X, y, weight = table
    data, settings = (
        (X[:200], y[:200], weight[:200]),
        dict(max_features=1.0, learning_rate=0.3),
    )

    def grow():
        *_, trees = growing.grow(*data, 0, np.random.RandomState(0), [5, 10], **settings)
        return trees.predict(X[:200])

    def read(boosting):
        if how == "missing":
            del boosting._predictors
        elif how == "renamed":
            for (tree,) in boosting._predictors:
                tree.nodes = tree.nodes.astype([("weight", float)])
        baseline, trees = read_boosting(boosting)
        if how == "out of range":
            trees[0]["feature"] += 7
        return baseline + (how == "meant otherwise"), trees

    expected = grow()
    monkeypatch.setattr(growing, "read_boosting", read)
    y_hat = grow()
    assert not np.array_equal(y_hat, expected)
    assert np.corrcoef(y_hat, expected)[0, 1] > 0.9


@pytest.mark.parametrize("n_values", [1, 2, 255, 256, 5000])
@pytest.mark.parametrize("with_missing", [False, True])
@pytest.mark.parametrize("scale", [None, 1.0, 1 / 3])
def test_thresholds_are_quantiles(n_values, with_missing, scale):
    """Or midpoints, if all are so few; a row of integer weight is so many rows."""
    rng = np.random.RandomState(n_values)
    values = np.sort(rng.normal(size=n_values))
    x = np.concatenate([values, rng.choice(values, 500)])
    weight = np.ones(len(x), dtype=int) if scale is None else rng.randint(1, 5, size=len(x))
    repeated = np.sort(np.repeat(x, weight))
    if n_values <= 255:
        expected = (values[1:] + values[:-1]) / 2
    else:
        n, k = len(repeated), np.arange(1, 255)
        low, high = repeated[-(k * n // -255) - 1], repeated[k * n // 255]
        expected = np.unique((low + high) / 2)
    order = rng.permutation(len(x))
    x, weight = x[order], None if scale is None else scale * weight[order]
    if with_missing:
        x = np.append(x, [np.nan] * 7)
        weight = None if weight is None else np.append(weight, [100.0] * 7)
    assert_allclose(growing._find_edges(x, weight), expected, rtol=1e-14)


def test_classes_boosted_one_by_one_are_scikit_learns(table, unreadable_trees):
    X, y, weight = table
    X, y = np.nan_to_num(X[:, [0]]).round(1), (y > np.median(y)).astype(float)
    settings = dict(learning_rate=0.3, max_features=1.0)
    [trees] = growing.grow(X, y, weight, 0, 0, [5], "log_loss", **settings)
    boosting = GradientBoostingClassifier(
        n_estimators=5,
        learning_rate=0.3,
        max_depth=None,
        max_leaf_nodes=31,
        min_samples_leaf=5,
        random_state=0,
    )
    boosting.fit(X, y, sample_weight=weight)
    assert_allclose(trees.predict(X), boosting.decision_function(X), rtol=1e-6)
