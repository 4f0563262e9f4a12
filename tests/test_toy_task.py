"""Another kind of prediction, two classes, which the package does not know."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import ClassifierMixin

from skneighbors._base import BaseNeighborEstimator
from skneighbors._columns import EnsembleSplit
from skneighbors._model import Model
from skneighbors._nona import NONARegressor
from skneighbors._task import Task


@dataclass(frozen=True, eq=False)
class TwoClasses(Task):
    """Classes 0 and 1, whose values are their shares."""

    n_values = 2
    score_name = "gain in log loss"

    @classmethod
    def check(cls, y):
        y = np.asarray(y, dtype=np.float64)
        if not np.isin(y, (0, 1)).all():
            raise ValueError("y must hold 0 and 1.")
        return y

    @classmethod
    def fit(cls, y, sample_weight, ndim):
        return cls()

    def check_more(self, y, n_samples):
        return self.check(y).reshape(n_samples, 1)

    def transform(self, y):
        return np.concatenate([1 - y, y], axis=1)

    def inverse_transform(self, values):
        return values

    on_scale = differences_on_scale = inverse_transform

    @staticmethod
    def losses(y_hat, y):
        return -(y * y_hat.clamp(min=1e-6).log()).sum(-1)

    @staticmethod
    def limits(low, high):
        return torch.stack([torch.zeros_like(low), torch.ones_like(high)])

    @staticmethod
    def strata(y):
        return y[:, 0].astype(np.int64)


class ToyClassifier(ClassifierMixin, BaseNeighborEstimator):
    _parameter_constraints = NONARegressor()._parameter_constraints
    _head_class, _task_class = NONARegressor._head_class, TwoClasses

    def __init__(self, trend=None, max_iter=12, random_state=0, blend="auto"):
        given = NONARegressor(
            trend=trend, max_iter=max_iter, random_state=random_state, blend=blend
        )
        vars(self).update(given.get_params(deep=False))

    def predict_proba(self, X):
        return self._call(Model.predict, X)

    def predict(self, X):
        return self.predict_proba(X).argmax(1)


def make_moons(n=300, seed=0):
    rng = np.random.RandomState(seed)
    X = rng.uniform(-1, 1, size=(n, 2))
    return X, (X[:, 1] > np.sin(3 * X[:, 0]) / 2).astype(int)


@pytest.fixture(scope="module")
def toy():
    return ToyClassifier().fit(*make_moons())


def test_probabilities(toy):
    X, y = make_moons(seed=1)
    shares = toy.predict_proba(X)
    assert ((shares >= 0) & (shares <= 1)).all()
    assert_allclose(shares.sum(1), 1)
    assert toy.score(X, y) > 0.9
    assert toy.plan_.params["blend"] is None


def test_explanations_are_shares_of_the_rows(toy):
    X, y = make_moons()
    why, shares = toy.explain(X[:9]), toy.predict_proba(X[:9])
    assert not why.is_adjusted
    assert_allclose(np.einsum("nk,nkc->nc", why.weights, why.targets), shares, atol=1e-9)
    assert_array_equal(why.targets[..., 1], y[why.indices])


def test_samples_join_and_are_validated_by_log_loss(toy):
    X, y = make_moons(seed=2)
    before = toy._model
    assert (toy.append(X[:5], y[:5]).kneighbors(X[:5], 1)[1].ravel() >= 300).all()
    assert len(toy.novelty(X)) == len(X)
    toy._model = before
    with pytest.raises(ValueError, match="y must hold 0 and 1"):
        toy.append(X[:1], [2])
    with pytest.raises(ValueError, match="blend='boosting' needs"):
        ToyClassifier(blend="boosting").fit(*make_moons())
    assert max(toy.validation_scores_) > 0.5  # of the loss of the classes' shares


def test_validation_rows_hold_each_class_in_proportion():
    strata = np.repeat([0, 1, 2], [80, 19, 1])
    split = EnsembleSplit.draw(100, 20, 5, np.random.RandomState(0), strata)
    for rows in split.validation.numpy():
        assert_allclose(np.bincount(strata[rows], minlength=3), [16, 4, 0], atol=1)
        assert 99 not in rows
