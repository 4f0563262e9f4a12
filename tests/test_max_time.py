"""A fit in so many seconds: what it leaves out and says of that, and that it can be repeated."""

import time
import warnings

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.datasets import make_friedman1
from sklearn.exceptions import ConvergenceWarning

from skneighbors import NONARegressor, Recipe
from skneighbors._blend import BaggedBoosting
from skneighbors._network import NeighborNetwork
from skneighbors._training.loop import Training
from skneighbors._training.stopping import Budget, Unaffordable
from skneighbors._utils.clock import Clock

X, y = make_friedman1(n_samples=160, random_state=0)
QUICK = dict(hidden_layer_sizes=8, embedding_dim=4, n_estimators=1, random_state=0)
NO_TREES = QUICK | dict(blend=None)


class FakeTime:
    """Seconds that pass by being asked for, or by hand."""

    def __init__(self, step):
        self.now, self.step = 0.0, step

    def __call__(self):
        self.now += self.step
        return self.now


@pytest.fixture
def fake_time(monkeypatch):
    fake = FakeTime(step=0.01)
    monkeypatch.setattr(time, "monotonic", fake)
    return fake


@pytest.mark.parametrize("sharpens", [False, True])
@pytest.mark.parametrize("learns", [False, True])
def test_enough_time_changes_nothing(estimator_class, auto, sharpens, learns):
    auto(len(X), sharpen_when_validated=sharpens)
    params = QUICK | dict(max_iter=4, learning_rate_init=1e-2 if learns else 1e-30)
    model = estimator_class(**params).fit(X, y)
    timed = estimator_class(max_time=1e6, **params).fit(X, y)
    assert timed.best_iter_ == model.best_iter_ > 0
    assert_array_equal(timed.predict(X), model.predict(X))
    assert timed.plan_.max_iter == 4
    assert timed.plan_.recipe.boosting_iter == model.plan_.recipe.boosting_iter


@pytest.mark.parametrize("kwargs", [{}, {"time": np.arange(len(X))}], ids=["random", "time"])
def test_fewer_epochs_can_be_repeated_without_a_limit(estimator_class, fake_time, kwargs):
    model = estimator_class(max_iter=400, max_time=5.0, **NO_TREES)
    with pytest.warns(ConvergenceWarning, match=r"max_time=5\.0 left time for \d+ epochs instead"):
        model.fit(X, y, **kwargs)
    assert fake_time.now < 5.5
    assert 10 < model.n_iter_ == model.plan_.max_iter < 300
    assert model.plan_.params["max_time"] is None
    again = estimator_class(**model.plan_.params).fit(X, y, **kwargs)
    assert again.loss_curve_ == model.loss_curve_
    assert_array_equal(again.predict(X), model.predict(X))


def test_more_time_gives_more_epochs(fake_time):
    n_epochs = []
    for max_time in (3.0, 6.0, 12.0):
        model = NONARegressor(max_iter=1000, max_time=max_time, **NO_TREES)
        with pytest.warns(ConvergenceWarning):
            n_epochs.append(model.fit(X, y).n_iter_)
    assert n_epochs == sorted(set(n_epochs))


def test_a_fit_that_has_become_slow_keeps_its_best_epoch(fake_time, monkeypatch):
    check = Budget.check

    def check_and_slow_down(budget, epoch):
        check(budget, epoch)
        if epoch == 20:
            fake_time.step = 1.0

    monkeypatch.setattr(Budget, "check", check_and_slow_down)
    model = NONARegressor(max_iter=30, max_time=3.0, **NO_TREES)
    with pytest.warns(ConvergenceWarning, match="no more than 2[0-9] of 30 epochs"):
        model.fit(X, y)
    assert 0 < model.best_iter_ <= model.n_iter_ < 30
    assert model.score(X, y) > 0


@pytest.mark.parametrize("blend", ["auto", None])
@pytest.mark.parametrize("early_stopping", [True, False])
def test_without_time_the_second_model_predicts(estimator_class, blend, early_stopping):
    if blend == "auto" and not early_stopping:
        blend = None
    params = QUICK | dict(blend=blend, early_stopping=early_stopping)
    with pytest.warns(ConvergenceWarning, match="max_time=1e-09 left time for no more than 0 of"):
        model = estimator_class(max_time=1e-9, **params).fit(X, y)
    assert model.n_iter_ == model.best_iter_ == 0
    assert np.isfinite(model.predict(X)).all()
    if blend == "auto":
        assert model.blend_weight_ > 0.5
        assert model.plan_.recipe.boosting_iter == 1


def test_no_warning_if_little_is_cut(fake_time):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        NONARegressor(max_iter=4, max_time=100.0, **NO_TREES).fit(X, y)


class Slow(RegressorMixin, BaseEstimator):
    """Takes an hour to fit."""

    clock = None

    def fit(self, X, y):
        self.mean_ = np.mean(y)
        Slow.clock.now += 3600.0
        return self

    def predict(self, X):
        return np.full(len(X), self.mean_)


def test_the_time_of_a_model_of_the_users_does_not_count(fake_time):
    Slow.clock = fake_time
    model = NONARegressor(max_iter=4, max_time=60.0, **QUICK | dict(blend=Slow())).fit(X, y)
    assert fake_time.now > 3600
    assert model.n_iter_ == 4


def test_iterations_of_trees_follow_the_time(monkeypatch):
    # A bag takes ten seconds, and each iteration another.
    fake = FakeTime(step=0.0)

    class Bag:
        @staticmethod
        def fit(*args):
            fake.now += 10.0 + args[-2]
            return Bag

        predict = staticmethod(len)

    monkeypatch.setattr(time, "monotonic", fake)
    monkeypatch.setattr("skneighbors._blend.boosting.Bag", Bag)

    def count(seconds, n_threads=1):
        n_levels = np.zeros(X.shape[1], dtype=int)
        weight = np.ones(len(X))
        return BaggedBoosting.count_affordable(
            X, y[:, None], weight, n_levels, 100, seconds, n_threads
        )

    assert count(5 * 300.0) == 100
    assert count(5 * 61.0) == 30
    assert count(3 * 61.0, n_threads=2) == 30
    assert count(0.1) == 1


def test_few_iterations_learn_as_much():
    few = NONARegressor(max_iter=1, recipe=Recipe(boosting_iter=5), **QUICK).fit(X, y)
    (bags,) = few.blend_.bags
    assert all(len(bag.trees.sizes) == 5 for bag in bags)
    assert few.blend_.predict(X).std() > 0.8  # of standardised targets; .5 by a rate of 0.15


class Plan:
    max_iter, always_refits = 100, False


def test_a_budget_is_checked_once_a_tenth_of_the_time_has_passed(fake_time):
    fake_time.step = 0.0
    budget = Budget(Clock(50.0), Plan)
    fake_time.now = 4.0
    budget.check(1)
    fake_time.now = 6.0
    with pytest.raises(Unaffordable) as told:  # of 22 more epochs, in 44 seconds
        budget.check(3)
    assert told.value.params == {"max_iter": int(0.8 * 22)}
    budget.check(4)


def test_wide_networks_that_there_is_no_time_for_make_way(monkeypatch, fake_time):
    embed = NeighborNetwork.embed

    def embed_slowly(network, *args):
        if len(network.embedder.layers) > 1:
            fake_time.now += 1.0
        return embed(network, *args)

    monkeypatch.setattr(NeighborNetwork, "embed", embed_slowly)
    params = NO_TREES | dict(max_iter=3, blend=None)
    with pytest.warns(ConvergenceWarning, match="left time for networks without hidden layers"):
        model = NONARegressor(max_time=15.0, **params).fit(X, y)
    assert model.plan_.hidden_layer_sizes == ()
    assert model.n_iter_ == 3
    again = NONARegressor(**model.plan_.params).fit(X, y)
    assert_array_equal(again.predict(X), model.predict(X))


def test_no_time_to_train_anew_is_told(fake_time, monkeypatch):
    refit = Training._refit

    def refit_slowly(training, network):
        fake_time.step = 10.0
        return refit(training, network)

    monkeypatch.setattr(Training, "_refit", refit_slowly)
    model = NONARegressor(max_iter=4, max_time=20.0, **NO_TREES)
    with pytest.warns(ConvergenceWarning, match="left time for no training on rows held out"):
        model.fit(X, y, time=np.arange(len(X)))
    assert model.n_iter_ == 4
