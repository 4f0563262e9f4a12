"""A fit in so many seconds: what it leaves out, what stays as it is, and what it says."""

import time
import warnings
from contextlib import nullcontext

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import make_friedman1
from sklearn.exceptions import ConvergenceWarning

from skneighbors import NONARegressor, Recipe
from skneighbors._blend import boosting
from skneighbors._blend.base import BlendData, BlendSettings
from skneighbors._training.loop import Training
from skneighbors._training.optim import AdamW
from skneighbors._training.pace import Pace
from skneighbors._training.trainer import Trainer

X, y = make_friedman1(n_samples=160, random_state=0)
QUICK = dict(hidden_layer_sizes=8, n_estimators=1, random_state=0)
NO_TREES = QUICK | dict(blend=None)


class FakeTime:
    """Seconds that pass by steps of the optimizer alone, and by hand."""

    def __init__(self, step):
        self.now, self.step = 0.0, step
        self.n_steps = 0

    def __call__(self):
        return self.now

    def count(self):
        self.n_steps += 1
        self.now += self.step


@pytest.fixture(autouse=True, scope="module")
def small_defaults():
    """Leave the defaults as users have them."""


@pytest.fixture
def fake_time(monkeypatch):
    fake, step = FakeTime(step=1.0), AdamW.step

    def counted(optimizer, learning_rate):
        fake.count()
        return step(optimizer, learning_rate)

    monkeypatch.setattr(time, "monotonic", fake)
    monkeypatch.setattr(AdamW, "step", counted)
    return fake


@pytest.fixture
def rates(noted):
    """Learning rates of all steps."""
    return noted(Pace, "learning_rate", lambda rate, *_: rate)


IN_ORDER = {"time": np.arange(len(X))}


@pytest.fixture
def overfits(auto, monkeypatch):
    """Let the early-stopping check find overfitting as soon as it is due."""
    auto(len(X), min_steps=1, first_check=2)
    monkeypatch.setattr(Training, "_overfits", lambda *args: True)


@pytest.mark.parametrize("kwargs", [{}, IN_ORDER], ids=["random", "time"])
def test_a_limit_that_a_fit_does_not_reach_changes_nothing(
    estimator_class, fake_time, overfits, kwargs
):
    params = NO_TREES | dict(max_iter=126, batch_size=32)
    model = estimator_class(**params).fit(X, y, **kwargs)
    needed = fake_time.now
    assert model.n_iter_ == 6
    assert needed > 5 * model.n_iter_  # the networks were trained again
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for more in (1.0, 3.0):
            limit = more * needed + 2 * 5  # steps of an epoch
            limited = estimator_class(max_time=limit, **params).fit(X, y, **kwargs)
            assert limited.loss_curve_ == model.loss_curve_
            assert_array_equal(limited.predict(X), model.predict(X))
            assert limited.plan_.max_iter == 126


@pytest.mark.parametrize("kwargs", [{}, IN_ORDER], ids=["random", "time"])
def test_all_epochs_are_kept_and_end_in_time(fake_time, rates, auto, kwargs):
    auto(last_cycle_from_r2=-np.inf, overfitting_in_standard_errors=np.inf)
    params, n_batches = NO_TREES | dict(max_iter=63, batch_size=64), 2 if kwargs else 3
    free, n_epochs = NONARegressor(**params).fit(X, y, **kwargs), []
    for epochs in (3.0, 11.0, 26.0, 42.0):
        start = fake_time.now
        max_time = n_batches * (epochs + 1) * (2 if kwargs else 1)
        model = NONARegressor(max_time=max_time, **params)
        with pytest.warns(ConvergenceWarning, match=r"left time for \d+ of 63 epochs"):
            model.fit(X, y, **kwargs)
        assert fake_time.now - start <= max_time
        assert model.n_iter_ <= epochs + 1
        assert model.plan_.max_iter == 63
        n_epochs.append(model.n_iter_)
        if not kwargs:
            assert model.n_iter_ - 1 < (fake_time.now - start) / n_batches <= model.n_iter_
            assert rates[-1] < 0.2 * max(rates)
        # Up to the last cycle that there was time for, it is the same fit.
        *_, same, _ = (end for end in (0, 0, 1, 3, 7, 15, 31) if end < model.n_iter_)
        assert model.loss_curve_[:same] == free.loss_curve_[:same]
    assert n_epochs == sorted(set(n_epochs))


@pytest.mark.parametrize("max_time", [40.0, 100.0])
def test_the_early_stopping_check_stays_on_at_every_length(fake_time, overfits, max_time):
    model = NONARegressor(max_iter=126, max_time=max_time, batch_size=32, **NO_TREES)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    assert model.n_iter_ == 6  # the end of a cycle


def test_a_training_again_is_as_much_shorter_as_there_is_time(fake_time, overfits, rates):
    params = NO_TREES | dict(max_iter=126, batch_size=32)
    free = NONARegressor(**params).fit(X, y)
    n_again = fake_time.n_steps - 5 * free.n_iter_
    counts = []
    for share in (1.5, 0.8, 0.3):
        fake_time.now, fake_time.n_steps = 0.0, 0
        rates.clear()
        limit = 5 * free.n_iter_ + share * n_again + 1
        model = NONARegressor(max_time=limit, **params)
        with (
            nullcontext()
            if share > 0.5
            else pytest.warns(
                ConvergenceWarning, match="left time for no training on validation rows"
            )
        ):
            model.fit(X, y)
        assert model.n_iter_ == free.n_iter_
        counts.append((fake_time.n_steps - 5 * free.n_iter_) / n_again)
        assert fake_time.now <= limit + 1
    assert counts == [1, pytest.approx(0.8, abs=0.3), 0]


@pytest.mark.parametrize("n_threads", [1, 2])
def test_an_epoch_that_there_is_no_time_for_is_cut_where_the_rate_has_fallen(
    fake_time, rates, auto, thread_count, n_threads
):
    auto(parallel=True)
    thread_count(n_threads)
    params = NO_TREES | dict(max_iter=50, batch_size=4, n_estimators=2)
    model = NONARegressor(max_time=120.0, **params)
    with pytest.warns(ConvergenceWarning, match="left time for 1 of 50 epochs"):
        model.fit(X, y)
    assert fake_time.n_steps <= 62 < 2 * 50  # about half of the time
    assert model.n_iter_ == model.best_iter_ == 1
    if n_threads == 1:  # else another thread may have taken the last seconds
        assert rates[-1] < 0.2 * max(rates)
    assert len(model.loss_curve_) == 1


def test_members_that_take_turns_do_not_count_the_search_of_others(
    fake_time, auto, thread_count, monkeypatch
):
    auto(parallel=True)
    thread_count(1)
    find_near, calls = Trainer._find_near, []

    def slow(trainer):
        calls.append(trainer)
        fake_time.now += 30.0
        find_near(trainer)

    monkeypatch.setattr(Trainer, "_find_near", slow)
    recipe = Recipe(context_neighbors=2, context_size=8)
    params = NO_TREES | dict(max_iter=31, batch_size=4, n_estimators=2, recipe=recipe)
    with pytest.warns(ConvergenceWarning, match="left time for"):
        model = NONARegressor(max_time=400.0, **params).fit(X, y)
    assert len(calls) > 2
    assert model.n_iter_ > 1


@pytest.mark.parametrize("blend", ["auto", None])
@pytest.mark.parametrize("early_stopping", [True, False])
def test_without_time_a_step_is_taken(estimator_class, fake_time, blend, early_stopping):
    if blend == "auto" and not early_stopping:
        blend = None
    # Without likeness, by which neighbors predict well before any training.
    recipe = Recipe(likeness=0.0)
    params = QUICK | dict(blend=blend, early_stopping=early_stopping, recipe=recipe)
    with pytest.warns(ConvergenceWarning, match="max_time=1e-09 left time for 1 of"):
        model = estimator_class(max_time=1e-9, **params).fit(X, y)
    assert model.n_iter_ == model.best_iter_ == fake_time.n_steps == 1
    assert np.isfinite(model.predict(X)).all()
    if blend == "auto":
        assert model.blend_weight_ > 0.5


def test_iterations_of_trees_follow_the_time(monkeypatch):
    # A bag takes ten seconds, and each iteration another: 30 seconds with 20 of them.
    fake = FakeTime(step=0.0)

    class Bag:
        @staticmethod
        def grow(data, seed, stages, loss):
            fake.now += 10.0 + stages[-1]
            yield Bag

        predict = staticmethod(len)

    monkeypatch.setattr(time, "monotonic", fake)
    monkeypatch.setattr("skneighbors._blend.boosting.Bag", Bag)

    def count(seconds, n_threads=1):
        n_categories = np.zeros(X.shape[1], dtype=int)
        parts = X, y[:, None], np.ones(len(X)), np.arange(len(X)), n_categories
        settings = BlendSettings(100, None, n_threads, 2 * seconds)
        return boosting.count_affordable(BlendData(*parts), "squared_error", settings)

    assert count(5 * 300.0) == 100
    assert count(5 * 60.0) == 40
    assert count(3 * 60.0, n_threads=2) == 40
    assert count(0.1) == 1


@pytest.mark.parametrize(("blend", "n_iter"), [("auto", 19), ("auto", 20), ("boosting", 19)])
def test_trees_of_few_iterations_are_left_out_beside_a_linear_model(monkeypatch, blend, n_iter):
    monkeypatch.setattr("skneighbors._blend.mixture.count_affordable", lambda *args: n_iter)
    model = NONARegressor(blend=blend, max_iter=1, max_time=1e6, **QUICK)
    is_left_out = (blend, n_iter) == ("auto", 19)
    n_left = 0 if is_left_out else n_iter
    with pytest.warns(ConvergenceWarning, match=f"left time for {n_left} of 100 iterations"):
        model.fit(X, y)
    assert ("boosting" in model.blend_.parts) != is_left_out


def test_few_iterations_learn_as_much():
    few = NONARegressor(blend="boosting", max_iter=1, recipe=Recipe(boosting_iter=5), **QUICK)
    (bags,) = few.fit(X, y).blend_.parts["boosting"].bags
    assert all(len(bag.trees.value) == 5 for bag in bags)
    assert few.blend_.predict(X).std() > 0.8  # of standardized targets; .5 by a rate of 0.15
