"""Trees and lines whose predictions are blended with the networks'."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize_scalar

from skneighbors import NONARegressor, Recipe
from skneighbors._blend import Mixture
from skneighbors._blend.mixture import BlendFit
from skneighbors._task import Regression
from skneighbors._training.validation import ValidationResult

QUICK = dict(max_iter=3, hidden_layer_sizes=(16,), n_estimators=2, random_state=0)


@pytest.fixture(scope="module")
def data():
    """A straight line with steps, which trees and lines each learn a part of."""
    rng = np.random.RandomState(0)
    X = rng.uniform(-1, 1, size=(300, 3))
    y = 100 + 30 * X[:, 0] + 10 * (X[:, 1] > 0) + rng.normal(size=300)
    return X[:200], X[200:], y[:200], y[200:]


def networks_alone(model, X):
    """Predictions of the networks without the regressor."""
    fitted, queries, search = model._read_queries(X)
    bank, z, blended = fitted.embed_and_blend(queries, search)
    y_hat = replace(bank, blend_weight=0.0).predict(z, blended, search.n_neighbors)
    return fitted.task.inverse_transform(y_hat.numpy())


def weight_of_blended(held_out, blended):
    fit = BlendFit(Mixture({}, {}), blended[0], blended)
    k = blended.shape[2]
    return fit.with_weight(held_out, Regression(np.zeros(k), np.ones(k), 2)).weight


def held_out_of(y, y_hat, weight):
    return ValidationResult(y, y_hat, Regression.losses(y_hat, y), weight)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_targets", [1, 2])
def test_the_weight_is_the_best(weighted, n_targets):
    rng = np.random.RandomState(0)
    y, noise, second_noise = rng.normal(size=(3, 2, 40, n_targets))
    weight = 50.0 * rng.randint(1, 4, size=(2, 40)) if weighted else np.ones((2, 40))
    for size in (0.5, 1, 2, 8):
        y_hat, second = y + noise, y + size * second_noise

        def error(share, y_hat=y_hat, second=second):
            blend = (1 - share) * y_hat + share * second
            return np.average(((y - blend) ** 2).mean(-1), weights=weight)

        best = minimize_scalar(error, bounds=(0, 1), method="bounded", options={"xatol": 1e-9}).x
        parts = [torch.tensor(part, dtype=torch.float64) for part in (y, y_hat, weight, second)]
        held_out = held_out_of(parts[0], parts[1], parts[2] if weighted else None)
        assert_allclose(weight_of_blended(held_out, parts[3]), best, atol=0.0101)  # steps of .02


def test_weights_at_the_ends():
    y = torch.linspace(0, 1, 9).view(1, 9, 1)
    assert weight_of_blended(held_out_of(y, y, None), y + 1) == 0
    assert weight_of_blended(held_out_of(y, y + 1, None), y) == 1
    assert weight_of_blended(held_out_of(y, y + 1, None), y + 1) == 0


@pytest.mark.parametrize("blend", ["auto", "boosting", "linear"])
def test_the_prediction_is_the_mean_by_weights(estimator_class, data, blend):
    X, X_test, y, y_test = data
    model = estimator_class(blend=blend, **QUICK).fit(X, y)
    share = model.blend_weight_
    assert 0 < share <= 1
    weights, parts = model.blend_.weights, model.blend_.parts
    assert list(weights) == list(parts)
    assert set(parts) <= ({"boosting", "linear"} if blend == "auto" else {blend})
    assert_allclose(sum(weights.values()), 1)
    own = sum(weights[name] * part.predict(X_test) for name, part in parts.items())
    assert_allclose(model.blend_.predict(X_test), own)
    assert all(f"{weight:.2f} {name}" in repr(model.blend_) for name, weight in weights.items())
    own = own.ravel() * y.std() + y.mean()
    expected = (1 - share) * networks_alone(model, X_test).ravel() + share * own
    assert_allclose(model.predict(X_test), expected)
    alone = estimator_class(blend=None, **QUICK).fit(X, y).score(X_test, y_test)
    assert model.score(X_test, y_test) > alone - (1e-3 if blend == "auto" else 0)


@pytest.mark.slow
def test_what_does_not_help_gets_no_weight(estimator_class, data):
    X, X_test, *_ = data
    quick = dict(max_iter=80, recipe=Recipe(boosting_iter=1), random_state=0)
    model = estimator_class(blend="boosting", **quick)
    model.fit(X, X @ [3.0, -1.0, 2.0])
    assert model.plan_.parts == ("boosting",)
    assert model.blend_weight_ == 0
    assert model.blend_ is None
    assert_array_equal(model.predict(X_test), networks_alone(model, X_test).ravel())


@pytest.mark.slow
def test_which_categories_boosting_knows_says_nothing_of_their_targets():
    rng = np.random.RandomState(0)
    store = np.repeat(
        [f"store {i} of A" if i % 2 else f"B, store {i}" for i in range(400)], 10
    )  # all of one weight
    y = np.repeat(rng.normal(size=400), 10) + rng.normal(size=4000)
    X = pd.DataFrame({"store": store, "x": rng.normal(size=4000)})
    model = NONARegressor(blend="boosting", **QUICK).fit(X, y)
    unseen = pd.DataFrame({"store": "another", "x": rng.normal(size=100)})
    assert np.abs(model.predict(unseen).mean() - y.mean()) < 0.2
    ids = np.concatenate([["A"] * 200, np.repeat([f"{i} x {i}" for i in range(1000)], 3)])
    noise = pd.DataFrame({"id": ids, "x": rng.normal(size=3200)})
    # Means of all rows leave noise little to be blended with.
    model = NONARegressor(n_neighbors=None, blend="boosting", **QUICK)
    model.fit(noise, rng.normal(size=3200))
    assert model.blend_weight_ < 0.3
