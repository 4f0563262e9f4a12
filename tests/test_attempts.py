"""A second training, with dropout, where one without has harmed."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from numpy.testing import assert_array_equal

from skneighbors import NONARegressor, _base, _nona, _training
from skneighbors._attempts import train_attempts
from skneighbors._weights import AdamW

WITH = _base._DROPOUT


def trainer(harmed=True, interrupted=False, errors=(2.0, 1.0), fault=None):
    """Trainings that come to this, the second to a fault if one is given, and their dropouts."""
    dropouts = []

    def train(dropout):
        dropouts.append(dropout)
        if fault is not None and len(dropouts) == 2:
            raise fault
        judged = SimpleNamespace(error=errors[len(dropouts) - 1])
        history = _training.TrainingHistory(
            losses=[1.0], best_epoch=1, judged=judged, harmed=harmed, interrupted=interrupted
        )
        return history, f"network {len(dropouts)}"

    return train, dropouts


@pytest.mark.parametrize("errors", [(2.0, 1.0), (1.0, 2.0)])
def test_the_better_of_two_attempts_is_kept(errors):
    train, dropouts = trainer(errors=errors)
    dropout, history, network = train_attempts(train, 0.0, WITH)
    assert dropouts == [0.0, WITH]
    best = int(np.argmin(errors))
    assert (dropout, network) == (dropouts[best], f"network {best + 1}")
    assert history.judged.error == min(errors)


@pytest.mark.parametrize(
    ("state", "more_dropout"),
    [
        (dict(harmed=False), WITH),
        (dict(interrupted=True), WITH),
        (dict(), None),
    ],
)
def test_one_attempt_is_enough(state, more_dropout):
    train, dropouts = trainer(**state)
    assert train_attempts(train, 0.0, more_dropout).network == "network 1"
    assert dropouts == [0.0]


def test_a_second_attempt_that_fails_leaves_the_first():
    train, dropouts = trainer(fault=FloatingPointError("not finite"))
    assert train_attempts(train, 0.0, WITH).network == "network 1"
    assert dropouts == [0.0, WITH]


@pytest.mark.parametrize("errors", [(2.0, 1.0), (1.0, 2.0)])
@pytest.mark.parametrize("after_an_epoch", [False, True])
def test_an_interrupt_of_the_second_attempt_is_told(errors, after_an_epoch):
    fault = None if after_an_epoch else KeyboardInterrupt
    train, dropouts = trainer(errors=errors, fault=fault)

    def interrupted(dropout):
        history, network = train(dropout)
        history.interrupted = len(dropouts) == 2
        return history, network

    _, history, network = train_attempts(interrupted, 0.0, WITH)
    assert history.interrupted
    second_is_better = after_an_epoch and errors[1] < errors[0]
    assert network == ("network 2" if second_is_better else "network 1")


@pytest.fixture
def harmful(monkeypatch):
    """Trainings of 30 epochs that harm as soon as it is asked; how many there were so far."""
    monkeypatch.setattr(_base, "_MIN_EPOCHS", 30)
    monkeypatch.setattr(_nona, "_LEAST_EPOCHS", 30)
    monkeypatch.setattr(_base, "_MIN_STEPS", 30)
    monkeypatch.setattr(_training, "has_harmed", lambda now, best: True)
    monkeypatch.setattr(_training, "overfits", lambda now: True)
    monkeypatch.setattr(_training, "_MUCH_NOISE", 2)
    train, made = _base.train_network, []

    def counting(network, *args):
        made.append(network)
        return train(network, *args)

    monkeypatch.setattr(_base, "train_network", counting)
    return made


@pytest.fixture
def noisy():
    rng = np.random.RandomState(0)
    X = rng.normal(size=(200, 10))
    y = X[:, 0] + rng.normal(size=200)
    return X[:120], X[120:], y[:120]


SMALL = dict(hidden_layer_sizes=32, embedding_dim=4, n_estimators=1)


@pytest.mark.parametrize("seed", range(3))
def test_a_training_that_harms_is_followed_by_one_with_dropout(
    estimator_class, noisy, harmful, seed
):
    X, X_test, y = noisy
    model = estimator_class(random_state=seed, **SMALL).fit(X, y)
    assert [len(model.loss_curve_), len(harmful)] == [6, 2]  # 3 / 15 of 30
    rates = [
        [m.p for m in network.modules() if isinstance(m, torch.nn.Dropout)] for network in harmful
    ]
    assert rates == [[], [WITH]]
    without = estimator_class(random_state=seed, dropout=0.0, **SMALL).fit(X, y)
    assert len(harmful) == 3
    best, other = max(model.validation_scores_), max(without.validation_scores_)
    assert (model.dropout_, without.dropout_) == (WITH if best > other else 0.0, 0.0)
    assert best >= other
    same = np.array_equal(model.predict(X_test), without.predict(X_test))
    assert same == (model.dropout_ == 0.0)
    again = estimator_class(random_state=seed, **SMALL).fit(X, y)
    assert_array_equal(model.predict(X_test), again.predict(X_test))


def test_the_second_training_is_interrupted_alone(noisy, harmful, monkeypatch):
    X, X_test, y = noisy
    without = NONARegressor(random_state=0, dropout=0.0, **SMALL).fit(X, y)
    step = AdamW.step

    def breaking(self, *args):
        if len(harmful) == 3:
            raise KeyboardInterrupt
        step(self, *args)

    monkeypatch.setattr(AdamW, "step", breaking)
    kept = f"weights of epoch {without.best_iter_}, the best one judged in 6 epochs, are kept"
    with pytest.warns(UserWarning, match=kept) as warned:
        model = NONARegressor(random_state=0, **SMALL).fit(X, y)
    assert warned[0].filename == __file__
    assert (model.dropout_, len(harmful)) == (0.0, 3)
    assert_array_equal(model.predict(X_test), without.predict(X_test))


@pytest.mark.parametrize("case", ["no hidden layers", "many rows", "dropout given", "no harm"])
def test_one_training_where_another_has_no_cause(
    estimator_class, noisy, harmful, monkeypatch, case
):
    X, _, y = noisy
    settings = SMALL | dict(random_state=0)
    if case == "no hidden layers":
        settings["hidden_layer_sizes"] = ()
    if case == "many rows":
        monkeypatch.setattr(_base, "_FEW_ROWS", len(X))
    if case == "dropout given":
        settings["dropout"] = 0.1
    if case == "no harm":
        monkeypatch.setattr(_training, "overfits", lambda now: False)
    model = estimator_class(**settings).fit(X, y)
    assert len(harmful) == 1
    assert model.dropout_ == (0.1 if case == "dropout given" else 0.0)
    assert len(model.loss_curve_) == (30 if case == "no harm" else 6)
