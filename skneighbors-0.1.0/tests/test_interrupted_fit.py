"""What is left of a fit that did not run to its end."""

import itertools
import threading

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV

from skneighbors import NONAClassifier, NONARegressor, Recipe
from skneighbors._training.optim import AdamW
from skneighbors._training.trainer import Trainer

INTERRUPTED = (
    "Training interrupted; the weights of epoch [1-3], the best one judged in 3 epochs, are kept"
)
SMALL = NONARegressor(max_iter=6, n_estimators=1, hidden_layer_sizes=4, random_state=0)


@pytest.fixture
def interrupted_epochs(monkeypatch):
    """Epochs, counted over all fits, in which the user interrupts."""
    numbers, count, epoch = set(), itertools.count(1), Trainer.epoch

    def interrupted(self, *args):
        if next(count) in numbers:
            raise KeyboardInterrupt
        return epoch(self, *args)

    monkeypatch.setattr(Trainer, "epoch", interrupted)
    return numbers


@pytest.fixture(params=[(0, 1, False), (1, 1, False), (0, 2, False), (0, 2, True)], ids=str)
def manner(request, auto, thread_count):
    """Verbosity, number of networks, and whether they are trained apart, in threads."""
    auto(parallel=request.param[2])
    thread_count(2)
    return request.param


def test_keyboard_interrupt_keeps_the_best_epoch(
    estimator_class, X, y, X_test, interrupted_epochs, manner
):
    (verbose, n_estimators, apart), n_threads = manner, threading.active_count()
    settings = dict(max_iter=50, n_estimators=n_estimators, early_stopping=False, random_state=0)
    interrupted_epochs |= {7 if apart else 4}  # members apart have epochs of their own
    with pytest.warns(UserWarning, match=INTERRUPTED) as warned:
        model = estimator_class(verbose=verbose, **settings).fit(X, y)
    assert warned[0].filename == __file__
    assert model.n_iter_ == 3
    assert threading.active_count() <= n_threads + verbose  # tqdm's own
    assert model.best_iter_ == 1 + np.argmin(model.loss_curve_)
    assert np.isfinite(model.predict(X_test)).all()


def test_keyboard_interrupt_before_the_first_epoch_is_raised(estimator_class, X, y, monkeypatch):
    def interrupt(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(AdamW, "step", interrupt)
    model = estimator_class(max_iter=2)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    with pytest.raises(NotFittedError):
        model.predict(X)


def _break_step(monkeypatch, number):
    """Put a NaN into the network's weights at the given step of the optimizer."""
    step, count = AdamW.step, iter(range(1, 10**9))

    def broken(self, *args, **kwargs):
        step(self, *args, **kwargs)
        if next(count) == number:
            with torch.no_grad():
                self.parameters[0].fill_(torch.nan)

    monkeypatch.setattr(AdamW, "step", broken)


@pytest.mark.parametrize("early_stopping", [False, True])
def test_loss_that_turns_non_finite_keeps_the_last_good_weights(
    estimator_class, X, y, X_test, monkeypatch, early_stopping
):
    settings = dict(max_iter=9, random_state=0, recipe=Recipe(learning_rate_schedule="constant"))
    settings["early_stopping"] = early_stopping
    _break_step(monkeypatch, 4)  # one step an epoch
    said = "not finite in epoch 4.* weights of epoch [1-3]"
    with pytest.warns(ConvergenceWarning, match=said) as warned:
        model = estimator_class(**settings).fit(X, y)
    assert warned[0].filename == __file__
    assert model.n_iter_ == 3
    assert np.isfinite(model.loss_curve_).all()
    assert np.isfinite(model.predict(X_test)).all()


def test_loss_that_is_never_finite_raises(estimator_class, X, y, monkeypatch):
    _break_step(monkeypatch, 1)
    model = estimator_class(early_stopping=True)
    with pytest.raises(FloatingPointError, match=r"not finite in epoch 1 .*learning_rate_init"):
        model.fit(X, y)
    with pytest.raises(NotFittedError):
        model.predict(X)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("learning_rate_init", [1e2, 1e3, 1e8, 1e30])
def test_weights_that_predict_nan_are_not_kept(estimator_class, learning_rate_init):
    X = np.random.RandomState(0).normal(size=(60, 4))
    model = estimator_class(max_iter=30, learning_rate_init=learning_rate_init, random_state=0)
    try:
        model.fit(X, X.sum(1))
    except FloatingPointError:
        with pytest.raises(NotFittedError):
            model.predict(X)
    else:
        assert learning_rate_init < 1e30
        assert np.isfinite(model.predict(X)).all()


def test_attributes_are_set_where_all_of_a_fit_has_worked(X, y, monkeypatch):
    table, labels = pd.DataFrame(X).rename(columns=str), np.where(y > 14, "high", "low")
    model = NONAClassifier(max_iter=2, n_estimators=1, blend=None).fit(table, y > 10)
    before = vars(model).copy()

    def fail(*args):
        raise RuntimeError("amid the training")

    with monkeypatch.context() as patch:
        patch.setattr(AdamW, "step", fail)
        with pytest.raises(RuntimeError, match="amid the training"):
            model.fit(X[:, :4], labels)
    assert vars(model).keys() == before.keys()
    assert all(value is before[name] for name, value in vars(model).items())
    model.fit(X[:, :4], labels)
    assert before.keys() - vars(model).keys() == {"feature_names_in_"}
    assert (model.n_features_in_, list(model.classes_)) == (4, ["high", "low"])


def test_each_interrupt_ends_one_fit_of_a_search(X, y, interrupted_epochs):
    interrupted_epochs |= {4, 9}  # the fourth epoch of the first fit, a later one of the second
    search = GridSearchCV(SMALL, {"softstep": ["s1", "s2"]}, cv=2)
    with pytest.warns(UserWarning, match="Training interrupted") as warned:
        search.fit(X, y)
    assert len(warned) == 2
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
