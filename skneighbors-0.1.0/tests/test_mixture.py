"""The blended model as a mean of parts, whose weights out-of-fold predictions choose."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skneighbors import NONAClassifier, NONARegressor
from skneighbors._blend import Mixture
from skneighbors._blend.mixture import Candidates
from skneighbors._task import Classification, Regression

QUICK = dict(max_iter=3, hidden_layer_sizes=(16,), n_estimators=2, random_state=0)


def make_predictions(k, is_classes):
    """Values (n, k), weights, and predictions by one model of trees and three of lines."""
    rng = np.random.RandomState(k)
    weight = rng.randint(1, 4, size=60).astype(float)
    if is_classes:
        task = Classification(np.full(k, 1 / k), np.arange(k))
        y = np.eye(k)[rng.randint(k, size=60)]
        known = np.array([0.3, 0.1, 0.3, 0.2])[:, None, None]
        trees, *lines = known * y + (1 - known) * rng.dirichlet(np.ones(k), size=(4, 60))
        return task, y, weight, trees[None], np.array(lines)
    task, (y, *noise) = Regression(np.zeros(k), np.ones(k), 2), rng.normal(size=(5, 60, k))
    trees, *lines = y + np.array([1.0, 3.0, 0.8, 2.0])[:, None, None] * noise
    return task, y, weight, trees[None], np.array(lines)


def loss_of(y, y_hat, weight, is_classes):
    if is_classes:
        of_rows = -np.log((y * (0.95 * y_hat + 0.05 / y.shape[1])).sum(axis=1))
    else:
        of_rows = ((y - y_hat) ** 2).mean(axis=1)
    return of_rows @ weight


@pytest.mark.parametrize("is_classes", [False, True])
@pytest.mark.parametrize("k", [2, 3])
def test_models_and_weights_have_the_lowest_loss(k, is_classes):
    task, y, weight, trees, lines = make_predictions(k, is_classes)
    judged = Candidates(y, weight, {"boosting": trees, "linear": lines})
    places, weights = judged.choose(task)
    losses = [loss_of(y, line, weight, is_classes) for line in lines]
    assert places == {"boosting": 0, "linear": np.argmin(losses)}
    steps, line = np.linspace(0, 1, 51), lines[np.argmin(losses)]
    mixed = [loss_of(y, (1 - s) * trees[0] + s * line, weight, is_classes) for s in steps]
    best = steps[np.argmin(mixed)]
    assert 0.1 < best < 0.9
    assert weights == {"boosting": pytest.approx(1 - best), "linear": pytest.approx(best)}


def test_a_part_without_weight_is_left_out():
    y = np.arange(8.0)[:, None]
    for right, wrong in [("boosting", "linear"), ("linear", "boosting")]:
        predicted = dict(sorted({right: y[None], wrong: y[None] + 1}.items()))
        judged = Candidates(y, np.ones(8), predicted)
        assert judged.choose(Regression(np.zeros(1), np.ones(1), 1))[1] == {right: 1.0}


def test_a_single_part_has_all_weight():
    y = np.arange(8.0)[:, None]
    judged = Candidates(y, np.ones(8), {"linear": np.stack([y + 2, y + 1])})
    task = Regression(np.zeros(1), np.ones(1), 1)
    assert judged.choose(task) == ({"linear": 1}, {"linear": 1.0})


class Part:
    def __init__(self, value):
        self.value = value

    def predict(self, X):
        return np.full((len(X), 1), self.value)


def test_a_mixture_is_the_mean_of_its_parts():
    parts = {"boosting": Part(1.0), "linear": Part(5.0)}
    mixture = Mixture({"boosting": 0.25, "linear": 0.75}, parts)
    assert_array_equal(mixture.predict(np.zeros((2, 3))), [[4.0], [4.0]])
    assert repr(mixture) == "0.25 boosting + 0.75 linear"


@pytest.fixture
def judged(noted):
    """What the parts of a fit were judged by, once it has happened."""
    return noted(Candidates, "choose", lambda _, own, task: own)


@pytest.mark.parametrize("given", ["nothing", "groups", "time", "both", "X_val"])
def test_who_chooses_the_weights(given, judged):
    """All rows out of fold; or validation rows, by models that know nothing as late."""
    rng = np.random.RandomState(0)
    X, y, number = rng.normal(size=(200, 3)), rng.normal(size=200), np.arange(200)
    params = {
        "nothing": {},
        "groups": {"groups": number // 4},
        "time": {"time": number},
        "both": {"groups": rng.permutation(number) // 4, "time": number},
        "X_val": {"X_val": X[:7] + 1, "y_val": y[:7] + 1},
    }
    model = NONARegressor(**QUICK).fit(X, y, **params[given])
    (found,) = judged
    values = found.y.ravel() * y.std() + y.mean()
    assert found.predicted.keys() == {"boosting", "linear"}
    if given == "X_val":
        assert_allclose(np.sort(values), np.sort(y[:7] + 1))
    elif given in ("nothing", "groups"):
        assert_allclose(np.sort(values), np.sort(y))
    else:
        assert len(values) == 2 * model.plan_.n_validation
        assert np.isin(values.round(9), y[-40:].round(9)).all()


def test_late_rows_are_predicted_by_models_of_earlier_ones(judged):
    """A level that moves: a model that had seen rows as late would know it."""
    rng = np.random.RandomState(0)
    X, time = rng.normal(size=(300, 3)), np.arange(300)
    y = X[:, 0] + 10.0 * (time >= 240)
    NONARegressor(**QUICK).fit(np.column_stack([X, time >= 240]), y, time=time)
    (found,) = judged
    for predicted in found.predicted.values():
        assert (predicted[0] < found.y.min()).all()


def test_noise_ends_at_the_frequencies():
    ratios = []
    for seed in range(3):
        rng = np.random.RandomState(seed)
        X, y = rng.normal(size=(2300, 5)), rng.choice(["a", "b"], size=2300, p=[0.7, 0.3])
        model = NONAClassifier(**QUICK).fit(X[:300], y[:300])
        constant = (y[:300] == "a").mean()
        p = model.predict_proba(X[300:])[:, 0]
        losses = [-np.log(np.where(y[300:] == "a", q, 1 - q)).mean() for q in (p, constant)]
        ratios.append(losses[0] / losses[1])
    assert np.mean(ratios) < 1.01
