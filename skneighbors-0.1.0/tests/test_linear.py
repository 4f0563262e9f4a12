"""Linear models: what they are given of numbers and categories, and what they make of it."""

import warnings

import numpy as np
import pandas as pd
import pytest
from mixed import every_part_weighs
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from skneighbors import NONAClassifier, NONARegressor
from skneighbors._blend import LINEAR, LinearFeatures, linear
from skneighbors._blend.base import BlendData, BlendSettings

N = 240
N_CATEGORIES = np.array([0, 6, 0, 0, 90, 0])
LOSSES = ["squared_error", "log_loss"]
QUICK = dict(blend="linear", max_iter=2, hidden_layer_sizes=(8,), n_estimators=2, random_state=0)


def make_data(loss, n=N, n_values=3, seed=0):
    """Numbers of any size with gaps, few categories and many, weights, and folds of groups."""
    rng = np.random.RandomState(seed)
    X = np.column_stack([rng.normal(size=n), rng.randint(6, size=n), 1e300 * rng.normal(size=n)])
    X = np.column_stack([X, np.full(n, 0.1), rng.randint(90, size=n) ** 2 // 90, X[:, 0] ** 3])
    values = X[:, [0]] * [1.0, -1, 0][:n_values] + (X[:, [1]] == 2) + rng.normal(size=(n, n_values))
    if loss == "log_loss":
        values = np.eye(n_values)[values.argmax(axis=1)]
    X[rng.uniform(size=X.shape) < 0.05] = np.nan
    X[rng.uniform(size=n) < 0.05, 4] = -1  # as unknown ones are read
    X[:, 3] = np.where(np.arange(n) == 7, np.nan, 0.1)
    groups = np.arange(n) // 4
    return BlendData(X, values, rng.randint(1, 4, n) / 1.0, groups, N_CATEGORIES), groups % 5


def fit(data, folds, loss, n_threads=1):
    settings = BlendSettings(1, np.random.RandomState(0), n_threads)
    return LINEAR[loss].fit(data, folds, settings)


def encode(X, weight, n_categories, Z):
    """Encode Z by what X says, a column at a time."""
    numbers, flags, counts = [], [], {}
    for j, (x, z) in enumerate(zip(X.T, Z.T, strict=True)):
        if n_categories[j]:
            known = [int(value) if value >= 0 else n_categories[j] for value in x]
            for category, own in zip(known, weight, strict=True):
                counts[j, category] = counts.get((j, category), 0) + own
            continue
        present, column = ~np.isnan(x), np.zeros(len(z))
        if not present.all():
            flags.append(np.isnan(z))
        if present.any():
            order = np.argsort(x[present])
            x, own = x[present][order], weight[present][order]
            reached = own.cumsum() / own.sum()
            low, high = (x[np.argmax(reached >= level)] for level in (0.002, 0.998))
            unit = max(abs(low), abs(high)) or 1.0  # so that no square overflows
            x, z = (part.clip(low, high) / unit for part in (x, z))
            mean = np.average(x, weights=own)
            scale = np.sqrt(np.average((x - mean) ** 2, weights=own))
            column = np.nan_to_num((z - mean) / scale) if low < high else column
        numbers.append(column)
    larger = {own: sum(other >= own for other in counts.values()) for own in counts.values()}
    most = [place for place, own in counts.items() if larger[own] <= 500]
    one_hot = [
        np.where(Z[:, j] >= 0, Z[:, j], n_categories[j]) == category
        for j, category in sorted(most)
        if counts[j, category] >= 5
    ]
    return np.stack([*numbers, *flags, *one_hot], axis=1).astype(float)


def check_encoding(X, weight, n_categories, Z):
    found = LinearFeatures.fit(X, weight, n_categories).transform(Z)
    assert_allclose(found, encode(X, weight, n_categories, Z), rtol=1e-9, atol=1e-9)
    return found


@pytest.mark.parametrize("n", [2, 9, N, 2000])
def test_what_is_encoded(n):
    data, _ = make_data("squared_error", n)
    others = make_data("squared_error", seed=1)[0].X
    others[:2] = [np.full(6, np.nan), [1e308, 5, -1.7e308, 1.0, 89, 3.0]]
    for weight in (np.ones(n), data.weight):
        for Z in (data.X, others, others[:0]):
            check_encoding(data.X, weight, N_CATEGORIES, Z)


def test_numbers_of_any_size_and_columns_of_none():
    large = np.finfo(float).max
    X = np.tile([-large, large, 0.0, 1e-300, -3e-300, 1e16 + 2, np.nan], (7, 1)).T
    X = np.stack([np.roll(X[:, j], j) for j in range(7)], axis=1)
    X[:, 0], X[:, 1], X[:, 2] = np.nan, 1e308, [large, -large] * 3 + [large]
    found = check_encoding(X, np.ones(7), np.zeros(7, dtype=int), X)
    assert (found[:, :2] == 0).all()  # without any, and constant
    assert_allclose(found[:2, 2], np.array([3, -4]) / np.sqrt(12))


def test_categories_from_five_rows_on_and_the_most_frequent():
    n_each = np.array([4, 5, 6] * 220)
    X = np.repeat(np.arange(660.0), n_each)[:, None]
    unseen = np.array([[660.0], [np.nan], [-1.0]])
    found = check_encoding(X, np.ones(len(X)), np.array([661]), np.concatenate([X, unseen]))
    assert found.shape == (len(X) + 3, 440)
    assert not found[-3:].any()  # nor is one that is missing known in these rows
    heavy = np.repeat(1.0 + (np.arange(660) % 3 == 0), n_each)  # then four rows are eight
    found = check_encoding(X, heavy, np.array([661]), X)
    assert found.shape[1] == 440  # of 660, of which 220 would be too many


@pytest.mark.parametrize("n_values", [1, 2])
def test_coefficients_solve_the_normal_equations(n_values):
    data, _ = make_data("squared_error", n_values=n_values)
    weight = data.weight / data.weight.mean()
    X = encode(data.X, data.weight, N_CATEGORIES, data.X)
    means = [np.average(part, axis=0, weights=weight) for part in (X, data.y)]
    products = (X - means[0]).T * weight
    models = LINEAR["squared_error"].fit_path(data)
    for alpha, model in zip(10 ** np.linspace(-1, 4, 11), models, strict=True):
        matrix = products @ (X - means[0]) + alpha * np.eye(X.shape[1])
        expected = np.linalg.solve(matrix, products @ (data.y - means[1]))
        assert_allclose(model.coef, expected.T, rtol=1e-7, atol=1e-10)
        y_hat = (X - means[0]) @ expected + means[1]
        assert_allclose(model.predict(data.X), y_hat, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_probabilities_leave_no_gradient(n_classes):
    data, _ = make_data("log_loss", n_values=n_classes)
    weight = data.weight / data.weight.mean()
    X = encode(data.X, data.weight, N_CATEGORIES, data.X)
    factor = 2 if n_classes == 2 else 1  # as of one difference of two
    for C, model in zip((0.003, 0.03, 0.3, 3.0), LINEAR["log_loss"].fit_path(data), strict=True):
        found = model.predict(data.X)
        assert_allclose(found, softmax(X @ model.coef.T + model.intercept, axis=1), rtol=1e-7)
        errors = weight / N * (found - data.y).T
        gradient = errors @ X + factor * model.coef / (C * N)
        assert_allclose(np.column_stack([gradient, errors.sum(axis=1)]), 0, atol=2e-4)
        theirs = LogisticRegression(C=C, tol=1e-8, max_iter=1000)
        theirs.fit(X, data.y.argmax(axis=1), weight)
        assert_allclose(found, theirs.predict_proba(X), atol=0.01)


def test_a_class_missing_from_a_fold_is_not_predicted_there():
    data, folds = make_data("log_loss")
    data = data._replace(y=np.eye(3)[np.where(folds == 0, 2, folds % 2)])
    models, out_of_fold = fit(data, folds, "log_loss")
    assert (out_of_fold[:, folds == 0, 2] == 0).all()
    assert (out_of_fold[:, folds > 0, 2] > 0).all()
    assert all((model.predict(data.X) > 0).all() for model in models)
    two = data._replace(y=np.eye(3)[folds % 2])
    _, out_of_fold = fit(two, folds % 2, "log_loss")
    assert_array_equal(out_of_fold, np.tile(two.y[:, [1, 0, 2]], (4, 1, 1)))


@pytest.mark.parametrize("n_threads", [1, 2])
def test_nothing_warns_of_regressions_cut_short(monkeypatch, n_threads):
    monkeypatch.setattr(linear, "_MAX_STEPS", 1)
    data, folds = make_data("log_loss")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit(data, folds, "log_loss", n_threads)
        NONAClassifier(n_jobs=n_threads, **QUICK).fit(data.X, data.y.argmax(axis=1))


@pytest.mark.parametrize("loss", LOSSES)
def test_the_number_of_threads_and_what_all_rows_weigh_have_no_say(loss):
    data, folds = make_data(loss)
    # Larger ones are more samples, so that more categories are known.
    data = data._replace(weight=data.weight / data.weight.mean())
    models, expected = fit(data, folds, loss)
    for n_threads, size in ((2, 1.0), (2, 2.0**-20), (1, 2.0**-9)):
        weighed = data._replace(weight=size * data.weight)
        others, out_of_fold = fit(weighed, folds, loss, n_threads)
        assert_array_equal(out_of_fold, expected)
        for model, other in zip(models, others, strict=True):
            assert_array_equal(other.predict(data.X), model.predict(data.X))


def test_nor_have_the_threads_of_linear_algebra(monkeypatch):
    """Of a product so large that OpenBLAS shares it."""
    monkeypatch.setattr(linear, "_STRENGTHS", (1.0,))
    X, n = np.random.RandomState(0).normal(size=(3000, 200)), np.arange(3000)
    data, predicted = BlendData(X, X[:, :1] ** 3, 1.0 + n % 3, n, np.zeros(200, dtype=int)), []
    for n_threads in (1, 2):
        with threadpool_limits(n_threads, "blas"):
            predicted.append(fit(data, 0 * n, "squared_error")[0][0].predict(X))
    assert_array_equal(*predicted)


@pytest.mark.parametrize("loss", LOSSES)
def test_rows_are_predicted_by_what_has_not_seen_their_group(loss):
    data, folds = make_data(loss)
    own = data.group == 7
    changed = data._replace(y=np.where(own[:, None], np.roll(data.y, 1, axis=1), data.y))
    (models, before), (_, after) = (fit(given, folds, loss) for given in (data, changed))
    assert before.shape == (len(models), N, 3)
    is_same = folds == folds[own][0]
    assert_array_equal(after[:, is_same], before[:, is_same])
    assert (np.abs(after - before).max(axis=2) > 0)[:, ~is_same].all()
    models, out_of_fold = fit(data, 0 * folds, loss)  # of one fold there are no others
    assert_allclose(out_of_fold, [model.predict(data.X) for model in models], atol=1e-12)


@pytest.mark.parametrize("loss", LOSSES)
def test_rows_alone_many_rows_and_none(loss):
    data, folds = make_data(loss)
    for model in fit(data, folds, loss)[0]:
        many = np.tile(data.X, (20, 1))  # more than are predicted at a time
        y_hat = model.predict(many)
        assert_allclose(y_hat, np.tile(y_hat[:N], (20, 1)), rtol=1e-7)
        for i in range(0, N, 40):
            assert_allclose(model.predict(data.X[[i]]), y_hat[[i]], rtol=1e-7)
        assert model.predict(data.X[:0]).shape == (0, 3)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(("name", "value"), [("_MAX_NUMBERS", 5000), ("_MAX_PRODUCTS", 3e6)])
def test_wide_tables_are_fitted_to_fewer_rows(loss, name, value, monkeypatch, noted):
    data, folds = make_data(loss)
    monkeypatch.setattr(linear, name, value)
    rows = noted(LinearFeatures, "fit", lambda _, X, *others: X)
    models, out_of_fold = fit(data, folds, loss)
    sizes = [len(X) for X in rows]
    assert max(sizes) < 60
    assert max(sizes) - min(sizes) < 2
    place = np.flatnonzero((data.X[:, None, 0] == rows[-1][:, 0]).any(axis=1))
    assert place[-1] > 0.8 * N  # drawn from all
    assert np.isfinite(out_of_fold).all()
    assert np.isfinite(models[0].predict(data.X)).all()


@pytest.mark.parametrize("loss", LOSSES)
def test_fewer_rows_of_rows_in_turn_hold_all_kinds(loss, monkeypatch):
    """Two periods of each person: every second row would be of the same one."""
    n, rng = 2000, np.random.RandomState(0)
    X = np.column_stack([np.arange(n) // 2, np.arange(n) % 2, rng.normal(size=n)])
    y = np.column_stack([X[:, 1] == 0, X[:, 1] == 1]) + 0.0
    data = BlendData(X, y, np.ones(n), np.arange(n) // 2, np.zeros(3, dtype=int))
    monkeypatch.setattr(linear, "_MAX_NUMBERS", n * 3 / 2)
    models, _ = fit(data, data.group % 5, loss)
    assert np.abs(models[0 if loss == "squared_error" else -1].predict(X) - y).max() < 0.1


def test_little_time_leaves_few_rows(noted):
    data, folds = make_data("log_loss", n=2000)
    rows = noted(LinearFeatures, "fit", lambda _, X, *others: len(X))
    for seconds in (1e9, 1.0, -1.0):
        LINEAR["log_loss"].fit(data, folds, BlendSettings(1, None, 1, seconds))
    assert rows[5] == 2000
    assert 20 < rows[11] < 400
    assert rows[17] == 1


@pytest.mark.parametrize("loss", LOSSES)
def test_without_any_column_constants_are_left(loss):
    data, folds = make_data(loss)
    own = np.arange(N)[:, None] * 1.0  # categories of a row each
    alone = data._replace(X=own, n_categories=np.array([N]))
    models, out_of_fold = fit(alone, folds, loss)
    mean = np.average(data.y, axis=0, weights=data.weight)
    for model in models:
        assert model.coef.shape == (3, 0)
        assert_allclose(model.predict(own), np.tile(mean, (N, 1)), atol=1e-3)
    assert np.isfinite(out_of_fold).all()


@pytest.mark.parametrize("kind", [NONARegressor, NONAClassifier])
def test_categories_of_many_equal_samples_have_a_column(kind):
    """Rows that are equal in all become one, of many samples."""
    town = np.arange(4000) % 20
    y = (np.arange(4000) // 20 % 10 < town / 2).astype(int)
    model = kind(**QUICK).fit(pd.DataFrame({"town": town.astype(str)}), y)
    if model.blend_ is not None:
        assert model.blend_.parts["linear"].coef.shape[1] == 20
    alone = pd.DataFrame({"name": pd.Categorical(np.arange(60))})
    assert np.isfinite(kind(**QUICK).fit(alone, y[:60]).score(alone, y[:60]))


def columns_of(features):
    """Which column each encoded one is of."""
    counts = features.n_categories
    numbers, coded = np.flatnonzero(counts == 0), np.flatnonzero(counts)
    of_places = np.repeat(coded, counts[coded] + 1)
    return np.concatenate([numbers, numbers[features.flagged], of_places[features.categories]])


@pytest.mark.parametrize("n_numbers", [3, 14])  # of 14 orders are drawn
@pytest.mark.parametrize("n_targets", [1, 2])
def test_differences_by_column_are_those_of_the_coefficients(n_numbers, n_targets):
    rng = np.random.RandomState(0)
    X = pd.DataFrame(rng.normal(size=(120, n_numbers))).add_prefix("z")
    X["town"], X["age"] = rng.choice([*"abc", None], 120), rng.normal(size=120)
    X.loc[::5, "age"] = np.nan
    y = X[["z0", "z1"]].to_numpy() * [3, -40] + (X[["town"]] == "a").to_numpy()
    model = NONARegressor(trend=None, n_neighbors=4, **QUICK)
    with every_part_weighs():
        model.fit(X, y[:, 0] if n_targets == 1 else y)
    core, why = model._model, model.explain(X[:6], by_column=True)
    line, rows = core.blended_model.parts["linear"], core.numbering.row_of[why.indices]
    encoded = line.features.transform(core.reader.expand(core.matrix))
    of_queries = encoded[core.numbering.row_of[:6]]
    parts = line.coef * (of_queries[:, None] - encoded[rows])[:, :, None]
    parts *= model.blend_weight_ * core.task.scale[:, None]
    names, found = columns_of(line.features), why.by_column
    assert np.bincount(names)[core.reader.columns.index("age")] == 2  # the number and its flag
    for j, name in enumerate(core.reader.columns):
        expected = parts[..., names == j].sum(axis=-1)
        own = found.differences[:, :, found.columns.index(name)].reshape(expected.shape)
        assert_allclose(own, expected, rtol=0, atol=1e-9)
