"""Likeness in the columns, beside the learned distance, in all that an estimator does."""

import numpy as np
import pandas as pd
import pytest
import torch
from explained import differences_of, predicted_by
from numpy.testing import assert_allclose, assert_array_equal

from skneighbors import PAPER, NONARegressor, Recipe, load

QUICK = dict(max_iter=8, hidden_layer_sizes=(16,), random_state=0)
ALIKE = Recipe(likeness=2.0)


def make_table(n, seed=0):
    """Noisy targets of a table; several columns say the same of them."""
    rng = np.random.default_rng(seed)
    city, size = rng.choice(["Graz", "Linz", "Wien"], size=n), rng.normal(size=n)
    X = pd.DataFrame({"city": pd.Categorical(city), "size": size, "age": rng.normal(size=n)})
    X["rooms"] = np.where(rng.random(n) < 0.2, np.nan, size + 0.3 * rng.normal(size=n))
    return X, (city == "Wien") + X["size"].to_numpy() + rng.normal(size=n)


@pytest.fixture(scope="module")
def table():
    X, y = make_table(400)
    return X[:300], X[300:], y[:300], y[300:]


@pytest.fixture(params=[0.0, 2.0, "calibrated"], scope="module")
def model(request, table):
    X, _, y, _ = table
    return NONARegressor(recipe=Recipe(likeness=request.param), n_neighbors=9, **QUICK).fit(X, y)


def gower(model, X, rows):
    """Gower's distances of rows of X and rows of the table that it was fitted to."""
    X = pd.concat([rows, X])
    ranks = {
        name: X[name].map(lambda v, c=rows[name]: _rank(v, c)) for name in ("size", "age", "rooms")
    }
    codes = X["city"].cat.codes.to_numpy()
    total = (codes[:, None] != codes) * 1.0
    for column in ranks.values():
        a = column.to_numpy(float)
        differ = np.abs(a[:, None] - a)
        missing = np.isnan(a)
        differ[missing[:, None] != missing] = 1
        differ[missing[:, None] & missing] = 0
        total += differ
    return total[len(rows) :, : len(rows)] / 4


def _rank(value, column):
    known = column.dropna()
    return np.nan if np.isnan(value) else ((known < value).mean() + (known <= value).mean()) / 2


def test_neighbors_are_those_of_both_distances(table):
    X, X_test, y, _ = table
    model = NONARegressor(recipe=ALIKE, n_neighbors=9, **QUICK).fit(X, y)
    r = np.linalg.norm(model.transform(X_test)[:, None] - model.transform(X), axis=2)
    near = r.argsort(axis=1, kind="stable")[:, :200]  # candidates
    r, g = (np.take_along_axis(part, near, axis=1) for part in (r, gower(model, X_test, X)))
    expected = r + 2 * r[:, 79:80] * g / np.sort(g, axis=1)[:, 79:80]
    nearest = expected.argsort(axis=1, kind="stable")[:, :9]
    distances, rows = model.kneighbors(X_test)
    assert_array_equal(rows, np.take_along_axis(near, nearest, axis=1))
    assert_allclose(distances, np.take_along_axis(expected, nearest, axis=1), rtol=1e-9)
    assert_array_equal(np.sort(model.explain(X_test).indices), np.sort(rows))


def test_more_likeness_makes_neighbors_more_alike(table):
    X, X_test, y, _ = table
    means = []
    for likeness in (0.0, 1.0, 8.0):
        model = NONARegressor(recipe=Recipe(likeness=likeness), n_neighbors=5, **QUICK).fit(X, y)
        rows = model.kneighbors(X_test, return_distance=False)
        means.append(np.take_along_axis(gower(model, X_test, X), rows, axis=1).mean())
        assert model.likeness_ == likeness
    assert means[0] > means[1] > means[2]


def test_explanations_add_up(model, table):
    why = model.explain(table[1], by_column=True)
    assert_allclose(predicted_by(why) + why.clipping, model.predict(table[1]), rtol=1e-9)
    assert_allclose(why.by_column.differences.sum(2), differences_of(model, why), atol=1e-9)


def test_rows_that_join_and_leave(model, table, tmp_path):
    _, X_test, _, y_test = table
    model.save(tmp_path / "model")
    joined = load(tmp_path / "model").append(X_test, y_test)
    assert_allclose(joined.forget(np.arange(300, 400)).predict(X_test), model.predict(X_test))


def test_residuals_after_an_append_are_those_of_a_fresh_start(table, tmp_path):
    X, X_test, y, y_test = table
    model = NONARegressor(recipe=ALIKE, n_neighbors=9, **QUICK).fit(X, y)
    model.predict_interval(X_test)  # so that residuals are known
    model.append(X_test[:3], y_test[:3])
    model.save(tmp_path / "model")
    fresh = load(tmp_path / "model")
    assert_allclose(model.predict_interval(X_test), fresh.predict_interval(X_test), rtol=1e-9)


def test_the_torch_module_is_the_learned_part_alone(table):
    X, X_test, y, _ = table
    settings = dict(blend=None, n_neighbors=9, n_estimators=1, **QUICK)
    alike, learned = (
        NONARegressor(recipe=Recipe(likeness=likeness, temperature="learned"), **settings).fit(X, y)
        for likeness in (2.0, 0.0)
    )
    with torch.no_grad():
        z, y_hat = alike.network_(alike.prepare(X_test))
    assert_allclose(z, learned.transform(X_test), rtol=1e-9)
    same = learned._model.task.inverse_transform(y_hat.numpy())
    assert not np.allclose(alike.predict(X_test), same)
    assert_allclose(learned.predict(X_test), same, rtol=1e-9)


def test_training_rows_are_not_their_own_neighbors(model):
    suspects = model.suspects(n_rows=300)
    assert all(
        row not in near for row, near in zip(suspects.indices, suspects.neighbors, strict=True)
    )


def test_noise_lets_likeness_rule_and_smooth_targets_do_not():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(400, 4))
    smooth = np.sin(3 * X[:, 0]) + X[:, 1] ** 2
    params = dict(blend=None, random_state=0, max_iter=80)
    strengths = [
        NONARegressor(**params).fit(X, y).likeness_ for y in (smooth, rng.normal(size=400))
    ]
    assert strengths[0] < 1 < strengths[1]


@pytest.mark.parametrize(
    "params",
    [
        dict(n_neighbors=None),
        dict(similarity="dot"),
        dict(feature_extractor=lambda: torch.nn.Linear(4, 4)),
        dict(early_stopping=False, blend=None),
        PAPER | dict(max_iter=8),
    ],
    ids=["all rows", "dot", "extractor", "no validation rows", "paper"],
)
def test_where_it_has_no_say(params):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 4)).astype(np.float32), rng.normal(size=60)
    model = NONARegressor(**QUICK | params).fit(X, y)
    assert model.likeness_ == 0
    assert model.plan_.recipe.likeness == 0
    assert model._model.likeness_encoder is None


@pytest.mark.parametrize(
    ("likeness", "params", "message"),
    [
        (1.0, dict(similarity="dot"), "likeness=1.0 cannot be used with similarity='dot'"),
        (1.0, dict(n_neighbors=None), "likeness=1.0 cannot be used with n_neighbors=None"),
        (
            "calibrated",
            dict(early_stopping=False),
            "must not be False with recipe.likeness='calibrated'",
        ),
    ],
)
def test_where_it_cannot_be(likeness, params, message, table):
    X, _, y, _ = table
    with pytest.raises(ValueError, match=message):
        NONARegressor(recipe=Recipe(likeness=likeness), **QUICK | params).fit(X, y)
