"""Both estimators on a CUDA device."""

import pickle

import pytest
import torch
from numpy.testing import assert_allclose

from skneighbors import Recipe

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]


def test_fits_on_the_gpu_and_predicts_the_same_on_both(estimator_class, X, y, X_test, y_test):
    model = estimator_class(device="cuda", max_iter=60, random_state=0).fit(X, y)
    assert model.score(X_test, y_test) > 0.7
    there = model.predict(X_test)
    here = pickle.loads(pickle.dumps(model)).set_params(device="cpu")
    assert here._model.bank.rows.z.device.type == "cpu"
    assert_allclose(here.predict(X_test), there, rtol=1e-8)
    there, here = (own.set_params(n_neighbors=None).predict(X_test) for own in (model, here))
    assert_allclose(here, there, rtol=1e-8)


def test_global_random_state_of_the_gpu_is_untouched(estimator_class, X, y):
    before = torch.cuda.get_rng_state()
    estimator_class(device="cuda", max_iter=2, recipe=Recipe(dropout=0.1), random_state=0).fit(X, y)
    assert torch.equal(before, torch.cuda.get_rng_state())


def test_weights_and_several_targets_on_the_gpu(estimator_class, X, y, X_test):
    Y, weight = torch.stack([torch.tensor(y), -torch.tensor(y)], 1).numpy(), y
    model = estimator_class(device="cuda", max_iter=3).fit(X, Y, sample_weight=weight)
    assert model.predict(X_test).shape == (len(X_test), 2)
    explanation = model.explain(X_test)
    assert explanation.adjustments.shape == (len(X_test), model.n_neighbors, 2)
    assert_allclose(explanation.prediction, model.predict(X_test), rtol=1e-9)


def test_how_sure_and_how_far_on_the_gpu(estimator_class, X, y, X_test):
    model = estimator_class(device="cuda", max_iter=3, random_state=0).fit(X, y)
    here = pickle.loads(pickle.dumps(model)).set_params(device="cpu")
    for method in ("predict_quantiles", "predict_interval", "novelty", "effective_n_neighbors"):
        there = getattr(model, method)(X_test)
        assert_allclose(getattr(here, method)(X_test), there, rtol=1e-6, atol=1e-9)
    assert_allclose(here.predict(X_test, return_std=True), model.predict(X_test, return_std=True))
    assert_allclose(here.suspects().scores, model.suspects().scores, rtol=1e-6)
    assert_allclose(here.kneighbors(X_test)[0], model.kneighbors(X_test)[0])
