"""Likeness in the columns, beside the learned distance, in all that an estimator does."""

import numpy as np
import pandas as pd
import pytest
import torch
from explained import differences_of, predicted_by
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist

from skneighbors import PAPER, NONARegressor, Recipe, load
from skneighbors._columns import LikenessEncoder, Table
from skneighbors._utils.blocks import sample_rows

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


def points_of(model, X):
    """Points of rows by their columns."""
    fitted = model._model
    return fitted.likeness_encoder.transform(fitted.reader, fitted.reader.read(Table.of(X)))


@pytest.mark.parametrize("similarity", ["l2", "l1"])
@pytest.mark.parametrize("n_neighbors", [9, None])
def test_neighbors_are_those_of_both_distances(table, similarity, n_neighbors):
    X, X_test, y, _ = table
    params = dict(recipe=ALIKE, n_neighbors=n_neighbors, similarity=similarity, n_estimators=2)
    model = NONARegressor(**params, **QUICK).fit(X, y)
    metric = {"l2": "euclidean", "l1": "cityblock"}[similarity]
    z, z_test = (model.transform(part) for part in (X, X_test))
    g = cdist(points_of(model, X_test).astype(float), points_of(model, X), metric)
    members = (np.split(part, 2, axis=1) for part in (z_test, z))
    r = [cdist(*own, metric) for own in zip(*members, strict=True)]
    order = model._model.samples  # as the rows of the bank
    units = [_typical(own, metric) for own in np.split(z[order], 2, axis=1)]
    scales = 2 * np.array(units) / _typical(points_of(model, X)[order], metric)
    p = {"l2": 2, "l1": 1}[similarity]
    expected = np.linalg.norm(np.stack([*r, np.linalg.norm(scales, p) * g]), p, axis=0)
    distances, rows = model.kneighbors(X_test, 9)
    assert_array_equal(rows, expected.argsort(axis=1, kind="stable")[:, :9])
    assert_allclose(distances, np.sort(expected, axis=1)[:, :9], rtol=1e-6)
    if n_neighbors:
        assert_array_equal(np.sort(model.explain(X_test).indices), np.sort(rows))
    # The weights are those of a head that is given each member's similarities.
    head, n = model.network_.head.double(), n_neighbors or len(X)
    s = torch.from_numpy(-np.linalg.norm(np.stack([r, scales[:, None, None] * g]), p, axis=0))
    near = torch.from_numpy(expected.argsort(axis=1, kind="stable")[:, :n]).expand(2, -1, -1)
    q, total = torch.from_numpy(np.stack(np.split(z_test, 2, axis=1))), torch.tensor([[[300.0]]])
    weights = head.weights_of(q, s.gather(2, near), total=total)
    weights = torch.zeros_like(s).scatter(2, near, weights).mean(0)
    assert_allclose(model.neighbor_weights(X_test).toarray(), weights.detach(), atol=1e-6)


def _typical(points, metric):
    rows = sample_rows(len(points), 128)
    of_80th = np.sort(cdist(points[rows], points, metric), axis=1)[:, 79]
    return np.quantile(of_80th, 0.5, method="lower")


def test_more_likeness_makes_neighbors_more_alike(table):
    X, X_test, y, _ = table
    means = []
    for likeness in (0.0, 1.0, 8.0):
        model = NONARegressor(recipe=Recipe(likeness=likeness), n_neighbors=5, **QUICK).fit(X, y)
        rows = model.kneighbors(X_test, return_distance=False)
        reader = model._model.reader
        encoder = LikenessEncoder.fit(reader, model._model.matrix, np.ones(len(X)))
        points = (encoder.transform(reader, reader.read(Table.of(part))) for part in (X_test, X))
        means.append(np.take_along_axis(cdist(*points), rows, axis=1).mean())
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
        dict(similarity="dot"),
        dict(similarity="cosine"),
        dict(feature_extractor=lambda: torch.nn.Linear(4, 4)),
        dict(early_stopping=False, blend=None),
        PAPER | dict(max_iter=8),
    ],
    ids=["dot", "cosine", "extractor", "no validation rows", "paper"],
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
