"""A second training, with dropout, where one without has harmed."""

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from skneighbors._attempts import train_attempts
from skneighbors._training.optim import AdamW

from skneighbors import NONARegressor, _base, _nona, _training, Recipe

WITH = _base._DROPOUT


def trainer(harmed=True, interrupted=False, fault=None):
    """Trainings that come to this, the second to a fault if one is given, and their dropouts."""
    dropouts = []

    def train(dropout):
        dropouts.append(dropout)
        if fault is not None and len(dropouts) == 2:
            raise fault
        history = _training.TrainingHistory(harmed=harmed, interrupted=interrupted)
        return history, f"network {len(dropouts)}"

    return train, dropouts


def test_harm_is_followed_by_a_second_attempt():
    train, dropouts = trainer()
    first, second = train_attempts(train, 0.0, WITH)
    assert dropouts == [first.dropout, second.dropout] == [0.0, WITH]
    assert [first.network, second.network] == ["network 1", "network 2"]
    assert not second.history.interrupted


@pytest.mark.parametrize(
    ("state", "more_dropout"),
    [(dict(harmed=False), WITH), (dict(interrupted=True), WITH), (dict(), None)],
)
def test_one_attempt_is_enough(state, more_dropout):
    train, dropouts = trainer(**state)
    (only,) = train_attempts(train, 0.0, more_dropout)
    assert only.network == "network 1"
    assert dropouts == [0.0]


@pytest.mark.parametrize("fault", [FloatingPointError, KeyboardInterrupt])
def test_a_second_attempt_that_fails_leaves_the_first(fault):
    train, dropouts = trainer(fault=fault)
    (first,) = train_attempts(train, 0.0, WITH)
    assert first.network == "network 1"
    assert first.history.interrupted == (fault is KeyboardInterrupt)
    assert dropouts == [0.0, WITH]


@pytest.fixture
def harmful(monkeypatch):
    """Trainings of 30 epochs that harm as soon as it is asked; the dropouts of each so far."""
    monkeypatch.setattr(_base, "_MIN_EPOCHS", 30)
    monkeypatch.setattr(_nona, "_LEAST_EPOCHS", 30)
    monkeypatch.setattr(_base, "_MIN_STEPS", 30)
    monkeypatch.setattr(_training, "has_harmed", lambda now, best: True)
    monkeypatch.setattr(_training, "overfits", lambda now: True)
    monkeypatch.setattr(_training, "_MUCH_NOISE", 2)
    train, made = _base.train_network, []

    def counting(network, *args):
        made.append([m.p for m in network.modules() if isinstance(m, torch.nn.Dropout)])
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


def networks_alone(model, X):
    """Predictions of each network by itself, (m, n)."""
    shares, alone = model._fitted.bank.member_weight.clone(), []
    for i in range(len(shares)):
        model._fitted.bank.member_weight = torch.eye(len(shares), dtype=torch.float64)[i]
        alone.append(model.predict(X))
    model._fitted.bank.member_weight = shares
    return np.stack(alone)


@pytest.mark.parametrize("n_estimators", [1, 2])
def test_a_training_that_harms_is_followed_by_one_with_dropout(
    estimator_class, noisy, harmful, n_estimators
):
    X, X_test, y = noisy
    settings = SMALL | dict(random_state=0, n_estimators=n_estimators)
    model = estimator_class(**settings).fit(X, y)
    dropouts, networks = harmful[:], 4 if estimator_class is NONARegressor else 2
    assert dropouts == [[], [WITH]]
    assert len(model.loss_curve_) == 6  # 3 / 15 of 30
    n_first = networks * n_estimators // 2
    assert_array_equal(model.dropout_, np.repeat([0.0, WITH], n_first))
    assert model.transform(X_test).shape == (len(X_test), 2 * n_first * 4)

    # The first are those of a fit without dropout.
    without = estimator_class(recipe=Recipe(dropout=0.0), **settings).fit(X, y)
    assert_array_equal(without.dropout_, np.zeros(n_first))
    assert without.loss_curve_ == model.loss_curve_
    alone = networks_alone(model, X_test)
    assert_allclose(alone[:n_first], networks_alone(without, X_test), rtol=1e-12)
    first, second = np.split(model.estimator_weights_, 2)
    assert_allclose(first / first.sum(), without.estimator_weights_)
    assert first.sum() + second.sum() == pytest.approx(1)
    assert not np.isclose(first.sum(), 0.5)
    assert_allclose(model.predict(X_test), model.estimator_weights_ @ alone)

    again = estimator_class(**settings).fit(X, y)
    assert_array_equal(model.predict(X_test), again.predict(X_test))


def test_feature_extractors_of_both_trainings_are_kept(estimator_class, noisy, harmful):
    X, X_test, y = noisy

    def extractor():
        return torch.nn.Linear(10, 3)

    model = estimator_class(feature_extractor=extractor, random_state=0, **SMALL).fit(X, y)
    n_networks = len(model.dropout_)
    assert len(model._fitted.bank.network.feature_extractors) == n_networks
    alone = networks_alone(model, X_test)
    assert len(np.unique(alone[:, 0])) == n_networks
    assert_allclose(model.predict(X_test), model.estimator_weights_ @ alone)


def test_the_second_training_is_interrupted_alone(noisy, harmful, monkeypatch):
    X, X_test, y = noisy
    without = NONARegressor(random_state=0, recipe=Recipe(dropout=0.0), **SMALL).fit(X, y)
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
    assert_array_equal(model.dropout_, without.dropout_)
    assert len(harmful) == 3
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
    assert set(model.dropout_) == {0.1 if case == "dropout given" else 0.0}
    assert len(model.loss_curve_) == (30 if case == "no harm" else 6)
