"""Where the package is meant to be extended: another target, another blended part or similarity.

All are defined here, and run through fit and all that is asked of it. ``tests/columns`` has another
kind of column.
"""

import copy
import math
import pickle
import re
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from explained import differences_of, predicted_by
from mixed import every_part_weighs
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.metrics import mean_poisson_deviance, r2_score

from skneighbors import NONARegressor, Recipe, SoftStepKNNRegressor, load
from skneighbors._blend import PARTS
from skneighbors._blend.base import PartFit
from skneighbors._io import ESTIMATORS
from skneighbors._task import Regression
from skneighbors._utils.arrays import Stored, array_field
from skneighbors.nn import similarity
from skneighbors.nn._scaling import coincidence
from skneighbors.nn._similarity import SIMILARITIES, Similarity

N, K = 240, 9
QUICK = dict(n_neighbors=K, hidden_layer_sizes=(16,), n_estimators=2, max_iter=25, random_state=0)


class LogCounts(Regression):
    """Counts, averaged as logarithms."""

    @classmethod
    def check(cls, y):
        y = super().check(y)
        if (y < 0).any():
            raise ValueError("y holds counts below 0.")
        return y

    forward = staticmethod(np.log1p)

    @staticmethod
    def backward(y):
        return np.expm1(np.maximum(y, 0))  # a trend may lead below none


class Counts(NONARegressor):
    _task_class = LogCounts


class SoftCounts(SoftStepKNNRegressor):
    _task_class = LogCounts


def make_counts(n_targets=1, seed=0, n=N):
    """Counts of some five to some hundred, some of them none."""
    rng = np.random.RandomState(seed)
    X = rng.uniform(-1, 1, size=(n, 3))
    rate = np.exp(3 + 1.5 * X[:, [0]] + np.sin(3 * X[:, [1]])) * (X[:, [2]] > -0.9)
    y = rng.poisson(np.repeat(rate, n_targets, axis=1)).astype(float)
    return X, y[:, 0] if n_targets == 1 else y


@pytest.fixture(scope="module", params=[Counts, SoftCounts])
def kind(request):
    return request.param


@pytest.fixture(scope="module", params=[1, 2], ids=["one target", "two targets"])
def n_targets(request):
    return request.param


@pytest.fixture(scope="module")
def fitted(kind, n_targets):
    X, y = make_counts(n_targets)
    with every_part_weighs():
        return kind(**QUICK | dict(random_state=1)).fit(X, y)


@pytest.fixture
def model(fitted):
    """Fitted estimator; a copy, that may be changed."""
    return copy.deepcopy(fitted)


def assert_neighbors_make_the_prediction(model, X, y):
    """Logarithms of the counts `y` of all samples, adjusted, averaged and cut off."""
    y_hat, why = model.predict(X), model.explain(X)
    means = predicted_by(why) + why.clipping
    assert_allclose(why.prediction, means, rtol=0, atol=1e-9)
    assert_allclose(np.log1p(y_hat), np.maximum(means, 0), rtol=0, atol=1e-9)
    assert_allclose(why.targets, np.log1p(y[why.indices]), rtol=0, atol=1e-9)
    assert_allclose(why.weights.sum(1), 1)


def test_counts_are_predicted(model, n_targets):
    X, y = make_counts(n_targets, seed=1)
    y_hat = model.predict(X)
    assert y_hat.shape == y.shape
    assert (y_hat >= 0).all()
    assert r2_score(y, y_hat) > 0.3
    assert r2_score(np.log1p(y), np.log1p(y_hat)) > 0.3
    assert_allclose(model.predict(X[:1]), y_hat[:1], rtol=1e-7)
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.predict(X), y_hat)


@pytest.mark.filterwarnings("ignore:There are no validation rows")
def test_suspects_are_counts(model, n_targets):
    _, y = make_counts(n_targets)
    suspects = model.suspects(len(y))
    assert_allclose(suspects.targets, y[suspects.indices], atol=1e-9)
    low, high = np.moveaxis(suspects.interval, -1, 0)
    assert (low >= 0).all()
    assert ((low <= suspects.expected) & (suspects.expected <= high)).all()


def test_neighbors_are_logarithms(model, n_targets):
    X, y = make_counts(n_targets)
    queries = np.concatenate([make_counts(seed=1)[0][:20], 5 * X[:3]])
    assert_neighbors_make_the_prediction(model, queries, y)
    why = model.explain(queries)
    own = model.explain(queries, by_column=True).by_column.differences
    assert_allclose(own.sum(2), differences_of(model, why), rtol=0, atol=1e-9)


def test_the_blended_model_takes_logarithms(fitted, n_targets):
    assert len(fitted.blend_.parts) == 2
    X, y = make_counts(n_targets)
    standardized = (np.log1p(y) - np.log1p(y).mean(0)) / np.log1p(y).std(0)
    assert r2_score(standardized, fitted.blend_.predict(X)) > 0.3


def test_intervals_of_counts(model, n_targets):
    X, y = make_counts(n_targets, seed=1)
    y_hat, std = model.predict(X, return_std=True)
    assert (std >= 0).all()
    inner, outer = (model.predict_interval(X, level) for level in (0.5, 0.9))
    assert outer.shape == (*y.shape, 2)
    low, high = outer[..., 0], outer[..., 1]
    assert ((low >= 0) & (low <= inner[..., 0]) & (inner[..., 0] <= y_hat)).all()
    assert ((y_hat <= inner[..., 1]) & (inner[..., 1] <= high)).all()
    assert 0.8 < np.mean((low <= y) & (y <= high)) < 0.98
    # The middle is the prediction where they are averaged.
    inside = low > 0
    middle = (np.log1p(low) + np.log1p(high)) / 2
    assert_allclose(middle[inside], np.log1p(y_hat)[inside], atol=1e-9)
    quantiles = model.predict_quantiles(X, [0.1, 0.5, 0.9])
    assert (quantiles >= 0).all()
    assert (np.diff(quantiles) >= 0).all()
    # Some 36 validation rows leave a standard deviation of 0.05.
    assert 0.65 < np.mean((quantiles[..., 0] <= y) & (y <= quantiles[..., 2])) < 0.95


def test_counts_join_and_leave(model, n_targets):
    (X, y), (X_more, y_more) = make_counts(n_targets), make_counts(n_targets, seed=2, n=50)
    queries, before = make_counts(seed=1)[0][:20], model.predict(X[:20])
    model.append(X_more, y_more)
    together = np.concatenate([y, y_more])
    assert_neighbors_make_the_prediction(model, queries, together)
    assert np.isin(model.kneighbors(X_more, 1)[1].ravel(), np.arange(N, N + 50)).all()
    low, high = np.moveaxis(model.predict_interval(queries, 0.5), -1, 0)
    y_hat = model.predict(queries)
    assert ((low >= 0) & (low <= y_hat) & (y_hat <= high)).all()
    model.forget(np.arange(N))
    assert_neighbors_make_the_prediction(model, queries, together)
    assert (model.kneighbors(queries)[1] >= N).all()
    model.append(X, y).forget(np.arange(N, N + 50))
    assert_allclose(model.predict(X[:20]), before, rtol=1e-6)


def test_no_counts(model, n_targets):
    X, y = make_counts(n_targets, n=60)
    wrong = y.copy()
    wrong[3] = -1
    unfitted = type(model)(**QUICK)
    for call in (
        lambda: unfitted.fit(X, wrong),
        lambda: unfitted.fit(X, y, X_val=X, y_val=wrong),
        lambda: model.append(X, wrong),
    ):
        with pytest.raises(ValueError, match="y holds counts below 0"):
            call()
    assert len(model._model.numbering) == N


@dataclass(frozen=True, eq=False)
class Poisson(Regression):
    """Counts whose loss is the deviance of a Poisson distribution; nothing blends by it."""

    loss_name = "poisson"
    score_name = "gain in deviance"

    def losses(self, y_hat, y):
        scale, mean = (torch.from_numpy(part).to(y_hat) for part in (self.scale, self.mean))
        mu, y = ((part * scale + mean).clamp(min=1e-3) for part in (y_hat, y))
        return 2 * (torch.xlogy(y, y / mu) - y + mu).mean(-1)


class PoissonNONA(NONARegressor):
    _task_class = Poisson


def test_a_task_with_a_loss_of_its_own(monkeypatch, tmp_path):
    monkeypatch.setitem(ESTIMATORS, "PoissonNONA", PoissonNONA)
    (X, y), (X_test, y_test) = make_counts(), make_counts(seed=1)
    model = PoissonNONA(**QUICK).fit(X, y)
    assert model.plan_.parts == ()
    y_hat = model.predict(X_test).clip(1e-3)
    constant = np.full(N, y.mean())
    assert mean_poisson_deviance(y_test, y_hat) < 0.5 * mean_poisson_deviance(y_test, constant)
    model.save(tmp_path / "model")
    assert_array_equal(load(tmp_path / "model").predict(X_test), model.predict(X_test))


@dataclass(frozen=True, eq=False)
class Nearest(Stored):
    """The mean of the values of some rows, those nearest by all columns."""

    X: np.ndarray = array_field("float64", "rows q")
    values: np.ndarray = array_field("float64", "rows k")

    @classmethod
    def fit(cls, data, folds, settings):
        out_of_fold = np.empty((1, *data.y.shape))
        for fold in range(folds.max() + 1):
            others = data.select(folds != fold)
            out_of_fold[0, folds == fold] = cls(others.X, others.y).predict(data.X[folds == fold])
        return PartFit([cls(data.X, data.y)], out_of_fold)

    def predict(self, X):
        near = cdist(X, self.X).argsort(axis=1)[:, :10]
        return self.values[near].mean(axis=1)


def test_another_part_of_the_blended_model(monkeypatch, tmp_path):
    monkeypatch.setitem(PARTS, "nearest", {"squared_error": Nearest})
    (X, y), (X_test, _) = make_rows(), make_rows(seed=1)
    with every_part_weighs():
        model = NONARegressor(blend="nearest", **QUICK).fit(X, y)
    y_hat, why = model.predict(X_test), model.explain(X_test[:3], by_column=True)
    assert repr(model.blend_) == "1.00 nearest"
    assert r2_score(y, model.blend_.predict(X) * y.std() + y.mean()) > 0.7
    assert_allclose(predicted_by(why) + why.clipping, y_hat[:3], atol=1e-9)
    assert_allclose(why.by_column.differences.sum(2), differences_of(model, why), atol=1e-9)
    assert re.search(r"\nnearest +50.0 %", str(why))
    model.save(tmp_path / "model")
    assert_array_equal(load(tmp_path / "model").predict(X_test), y_hat)
    with pytest.raises(ValueError, match="'blend' parameter of NONARegressor must be"):
        NONARegressor(blend="farthest").fit(X, y)


class Chebyshev(Similarity):
    """Minus the largest difference of a coordinate."""

    p = math.inf

    def __call__(self, z, z_n):
        distances = torch.cdist(z, z_n, p=math.inf)
        scale = z.abs().amax(-1).unsqueeze(-1) + z_n.abs().amax(-1).unsqueeze(-2)
        return -distances.masked_fill(distances <= coincidence(z.dtype) * scale, 0)

    def compare(self, z, z_n, rows):
        differences = (z_n[rows] - z.unsqueeze(1)).abs().amax(-1)
        bound = coincidence(z.dtype) * 2 * z.abs().amax(-1).unsqueeze(1)
        differences.masked_fill_(differences <= bound, 0)
        return differences.neg().permute(2, 0, 1), differences.amax(-1)


DISTANCES = {
    "chebyshev": lambda a, b: cdist(a, b, "chebyshev"),
    "l2": cdist,
    "l1": lambda a, b: cdist(a, b, "cityblock"),
    "cosine": lambda a, b: cdist(a, b, "cosine"),
    "dot": lambda a, b: -a @ b.T / a.shape[1],
}


@pytest.fixture(params=["chebyshev"])
def metric(request, monkeypatch):
    """Name of a similarity that is there now."""
    monkeypatch.setitem(SIMILARITIES, "chebyshev", Chebyshev())
    return request.param


def make_rows(seed=0, n=N):
    """Rows of which some are equal."""
    rng = np.random.RandomState(seed)
    X = rng.uniform(-1, 1, size=(n, 3))
    y = np.sin(3 * X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=n)
    X[n // 2 : n // 2 + 3], y[n // 2 : n // 2 + 3] = X[0], y[0]
    return X, y


@pytest.fixture
def by_metric(estimator_class, metric):
    return estimator_class(similarity=metric, blend=None, **QUICK).fit(*make_rows())


@pytest.fixture
def learned(by_metric):
    """The same, in which likeness has no say."""
    return clone(by_metric).set_params(recipe=Recipe(likeness=0)).fit(*make_rows())


def assert_nearest(model, metric, X, samples_left):
    """Neighbors of X are those that SciPy finds among the embeddings of the samples left."""
    every, _ = make_rows()
    every = np.concatenate([every, make_rows(seed=2, n=60)[0]])
    distances = DISTANCES[metric](model.transform(X), model.transform(every[samples_left]))
    expected = np.sort(distances, axis=1)
    for k in (1, K, len(samples_left)):
        found, rows = model.kneighbors(X, k)
        assert_allclose(found, expected[:, :k], rtol=1e-9, atol=1e-9)
        place = np.searchsorted(samples_left, rows)
        assert_array_equal(samples_left[place], rows)
        own = np.take_along_axis(distances, place, axis=1)
        assert_allclose(own, found, rtol=1e-9, atol=1e-9)
        assert (np.diff(np.sort(rows, axis=1), axis=1) > 0).all()


@pytest.mark.parametrize("n_queries", [40, 2000])  # which engines of their own answer
def test_neighbors_by_another_similarity(learned, metric, n_queries):
    X, _ = make_rows(seed=1, n=n_queries)
    assert_nearest(learned, metric, X, np.arange(N))
    Z = learned.transform(make_rows()[0])
    distances = DISTANCES[metric](Z, Z) + np.where(np.eye(N) > 0, np.inf, 0)
    found, rows = learned.kneighbors()
    assert_allclose(found, np.sort(distances, axis=1)[:, :K], rtol=1e-9, atol=1e-9)
    assert (rows != np.arange(N)[:, None]).all()


def test_predictions_by_another_similarity(by_metric, metric):
    (X, y), (X_train, y_train) = make_rows(seed=1), make_rows()
    y_hat = by_metric.predict(X)
    assert r2_score(y, y_hat) > 0.6
    assert_allclose(by_metric.predict(X[:5]), y_hat[:5], rtol=1e-9)
    why = by_metric.explain(X)
    means = np.einsum("nk,nk->n", why.weights, why.adjusted_targets) + why.clipping
    assert_allclose(means, y_hat, rtol=0, atol=1e-9)
    assert_allclose(why.targets, y_train[why.indices])
    low, high = by_metric.predict_interval(X).T
    assert ((low < y_hat) & (y_hat < high)).all()
    assert 0.8 < np.mean((low <= y) & (y <= high)) < 1
    assert by_metric.novelty(50 * X).min() > by_metric.novelty(X_train).mean()


@pytest.mark.parametrize("metric", DISTANCES, indirect=True)
def test_rows_join_and_leave_by_any_similarity(learned, metric):
    X, X_more, y_more = make_rows(seed=1, n=40)[0], *make_rows(seed=2, n=60)
    before = learned.predict(X)
    learned.append(X_more, y_more)
    assert np.abs(learned.predict(X) - before).max() > 1e-6
    learned.forget(np.arange(5, 100))
    assert_nearest(learned, metric, X, np.setdiff1d(np.arange(N + 60), np.arange(5, 100)))
    learned.append(*(part[5:100] for part in make_rows())).forget(np.arange(N, N + 60))
    assert_allclose(learned.predict(X), before, rtol=1e-6)


def test_a_similarity_that_coincides(metric):
    z = torch.randn(7, 4, dtype=torch.float64, requires_grad=True)
    s = similarity(z, z[[0, 3, 3]], metric)
    assert_allclose(s[[0, 3, 3], [0, 1, 2]].detach(), 0)
    assert_allclose(-s.detach(), DISTANCES[metric](z.detach(), z.detach()[[0, 3, 3]]))
    s.sum().backward()
    assert z.grad.isfinite().all()


@pytest.mark.parametrize("algorithm", ["ivf", "hnsw"])
def test_indices_that_cannot_search_by_a_similarity(by_metric, metric, algorithm):
    X, y = make_rows()
    message = f"algorithm='{algorithm}' cannot search by similarity='chebyshev'"
    for call in (by_metric.predict, lambda X: by_metric.fit(X, y)):
        by_metric.set_params(algorithm=algorithm)
        with pytest.raises(ValueError, match=message):
            call(X)
