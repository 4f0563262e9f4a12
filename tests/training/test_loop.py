"""The training loop by itself."""

import contextlib
import itertools
import math

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import ttest_rel
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import mean_squared_error
from skneighbors._columns import EnsembleSplit, LabelledRows
from skneighbors._training.schedule import TrainingSettings, learning_rate_factor
from skneighbors._validation import (
    EpochResult,
    has_harmed,
    overfits,
    weigh_kinds,
    weighted_mse,
)
from skneighbors._training.optim import AdamW

from skneighbors import _schedule, _training
from skneighbors._network import NeighborNetwork
from skneighbors._training import train_network
from skneighbors.nn import NONA, MLPEmbedder


def train(max_iter=10, validate=True, report=None, n_members=1, **settings):
    torch.manual_seed(0)
    X = torch.randn(120, 2)
    y = torch.sin(X[:, :1]) * X[:, 1:]
    network = NeighborNetwork(
        None,
        [MLPEmbedder(2, (16,), 4) for _ in range(n_members)],
        [NONA(4, temperature=1.0) for _ in range(n_members)],
    )
    values = dict(
        max_iter=max_iter,
        batch_size=32,
        context_size=64,
        context_neighbors=None,
        learning_rate="constant",
        learning_rate_init=1e-2,
        weight_decay=0.0,
        ema_decay=None,
        n_iter_no_change=None,
        tol=0.0,
    )
    orders = [torch.randperm(120) for _ in range(n_members)]
    rows, held_out = torch.stack(orders).split([90, 30], dim=1)
    history = train_network(
        network,
        LabelledRows(X, y, None),
        EnsembleSplit(rows, held_out if validate else None),
        TrainingSettings(**{**values, **settings}),
        torch.Generator().manual_seed(0),
        report,
    )
    with torch.no_grad():
        y_hat = network.head(network.embed(X[held_out]), network.embed(X[rows]), y[rows])
        variance = y[held_out].var(1, correction=0).squeeze(1)
        scores = 1 - weighted_mse(y[held_out], y_hat, None) / variance
    return network, history, scores.mean()


def test_the_best_epoch_is_kept():
    best = []
    for learning_rate_init in (0.1, 0.3, 1.0):
        network, history, score = train(max_iter=30, learning_rate_init=learning_rate_init)
        assert len(history.losses) == len(history.scores) == 30
        assert history.best_epoch == 1 + np.argmax(history.scores)
        assert_allclose(score, max(history.scores), rtol=1e-4)
        assert not network.training
        best.append(history.best_epoch)
    # The rates are too high for the last epoch to be the best every time.
    assert min(best) < 30


def test_moving_average_of_the_weights(monkeypatch):
    seen, step = [], AdamW.step

    def recording(self, *args, **kwargs):
        step(self, *args, **kwargs)
        seen.append(self.vectors[0].detach().clone())

    monkeypatch.setattr(AdamW, "step", recording)
    network, _, _ = train(max_iter=10, validate=False, ema_decay=0.8)
    expected = seen[0]
    for n_steps, weights in enumerate(seen[1:], start=1):
        decay = min(0.8, n_steps / (n_steps + 9))
        expected = decay * expected + (1 - decay) * weights
    assert len(seen) == 30
    averaged = torch.nn.utils.parameters_to_vector(network.parameters())
    assert_allclose(averaged.detach(), expected, rtol=1e-4, atol=1e-6)


def test_training_lowers_the_loss():
    _, history, score = train(max_iter=30)
    assert history.losses[-1] < 0.5 * history.losses[0]
    assert score > 0.3


def test_without_validation_the_epoch_of_lowest_loss_is_kept():
    best = []
    for learning_rate_init in (1.0, 3.0, 10.0):
        _, history, _ = train(validate=False, max_iter=30, learning_rate_init=learning_rate_init)
        assert history.best_epoch == 1 + np.argmin(history.losses)
        assert history.scores == []
        best.append(history.best_epoch)
    # The rates are too high for the last epoch to be the best every time.
    assert min(best) < 30


def test_stops_without_gain():
    for validate in (False, True):
        _, history, _ = train(max_iter=100, validate=validate, n_iter_no_change=3, tol=100.0)
        assert len(history.losses) == 4


def test_a_gain_above_tol_goes_on():
    _, history, _ = train(max_iter=40, validate=False, n_iter_no_change=5, tol=1e-3)
    _, patient, _ = train(max_iter=40, validate=False)
    reference, stalled, n_epochs = math.inf, 0, 0
    for loss in patient.losses:
        n_epochs, stalled = n_epochs + 1, stalled + 1
        if loss < reference - 1e-3:
            reference, stalled = loss, 0
        if stalled == 5:
            break
    assert n_epochs > 6
    assert history.losses == patient.losses[:n_epochs]


def test_interrupt_before_any_epoch_is_complete_is_raised(monkeypatch):
    def interrupt(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(NeighborNetwork, "forward", interrupt)
    with pytest.raises(KeyboardInterrupt):
        train()


def test_report_sees_every_epoch():
    seen = []
    _, history, _ = train(report=lambda loss, score, _: seen.append((loss, score)))
    assert seen == list(zip(history.losses, history.scores, strict=True))


def interrupt_at(epoch, error):
    count = itertools.count(1)

    def report(loss, score, on_all):
        if next(count) == epoch:
            raise error

    return report


def test_interrupt_keeps_the_best_epoch():
    _, history, score = train(report=interrupt_at(4, KeyboardInterrupt))
    assert history.interrupted
    assert len(history.scores) == 4
    assert_allclose(score, max(history.scores), rtol=1e-4)


def test_other_errors_are_raised():
    with pytest.raises(RuntimeError, match="of the report"):
        train(report=interrupt_at(2, RuntimeError("of the report")))


def test_loss_that_turns_non_finite(monkeypatch):
    forward, count = NeighborNetwork.forward, itertools.count(1)

    def breaking(self, *args):
        y_hat = forward(self, *args)
        return y_hat * torch.nan if next(count) > 3 * 5 else y_hat  # 3 steps an epoch

    monkeypatch.setattr(NeighborNetwork, "forward", breaking)
    with pytest.warns(ConvergenceWarning, match=r"not finite in epoch 6.*weights of epoch"):
        network, history, score = train()
    assert len(history.losses) == 5
    assert_allclose(score, max(history.scores), rtol=1e-4)
    assert all(parameter.isfinite().all() for parameter in network.parameters())


@pytest.mark.parametrize("validate", [False, True])
def test_loss_that_is_never_finite(validate):
    with pytest.raises(FloatingPointError, match="not finite in epoch 1"):
        train(validate=validate, learning_rate_init=1e38)


def test_best_epoch_among_those_validated(monkeypatch):
    monkeypatch.setattr(_schedule, "_N_VALIDATIONS", 5)
    monkeypatch.setattr(_schedule, "_RESOLUTION", 1)
    _, history, score = train(max_iter=31, learning_rate_init=0.3)
    assert len(history.losses) == 31
    epochs = [1, 2, 3, 4, 5, 6, 7, 14, 21, 28, 31]
    assert history.validated_epochs == epochs
    assert len(history.scores) == len(epochs)
    assert history.best_epoch == epochs[int(np.argmax(history.scores))]
    assert_allclose(score, max(history.scores), rtol=1e-4)


def test_epochs_of_a_high_learning_rate_are_never_the_best():
    _, history, score = train(max_iter=64, learning_rate="cycles")
    assert len(history.losses) == 64
    epochs = history.validated_epochs
    rates = [learning_rate_factor("cycles", epoch / 64) for epoch in epochs]
    assert max(rates[1:]) <= 0.5
    assert epochs[0] == 1
    assert epochs[-1] == 64
    assert len(history.scores) == len(epochs) < 40
    assert history.best_epoch == epochs[int(np.argmax(history.scores))]
    assert_allclose(score, max(history.scores), rtol=1e-4)


def test_interrupt_between_validations_keeps_the_best_validated_epoch():
    epoch = 45  # near the peak of the last cycle
    _, history, score = train(
        max_iter=64, learning_rate="cycles", report=interrupt_at(epoch, KeyboardInterrupt)
    )
    assert history.interrupted
    assert len(history.losses) == epoch
    assert history.best_epoch < epoch - 5
    assert_allclose(score, max(history.scores), rtol=1e-4)


def tensors(*arrays):
    return [None if a is None else torch.tensor(a, dtype=torch.float64) for a in arrays]


def result(errors, weight=None):
    weight = None if weight is None else weight[None]
    return EpochResult(0.0, float(errors.mean()), 0.0, *tensors(errors[None], weight))


def test_harm_must_exceed_the_standard_error():
    rng = np.random.RandomState(0)
    best = rng.uniform(size=50)
    for shift in np.linspace(-1, 1, 41):
        now = best + shift * 0.1 + 0.3 * rng.normal(size=50)
        t = ttest_rel(now, best).statistic * np.sqrt(50 / 49)  # of n, not n - 1
        assert has_harmed(result(now), result(best)) == (t > 1)
    assert not has_harmed(result(best), result(best))


def test_harm_does_not_depend_on_the_size_of_low_weights():
    rng = np.random.RandomState(0)
    for _ in range(40):
        best, now = rng.uniform(size=(2, 30))
        weight = rng.uniform(size=30)
        assert has_harmed(result(now), result(best)) == has_harmed(
            result(now, np.full(30, 1e-3)), result(best, np.full(30, 1e-3))
        )
        assert has_harmed(result(now, weight), result(best, weight)) == has_harmed(
            result(now, weight / 100), result(best, weight / 100)
        )


def test_harm_of_weighted_rows_is_that_of_copies():
    rng = np.random.RandomState(0)
    for _ in range(40):
        best, now = rng.uniform(size=(2, 9))
        weight = rng.randint(1, 4, size=9)
        copies = has_harmed(result(now.repeat(weight)), result(best.repeat(weight)))
        assert has_harmed(result(now, weight), result(best, weight)) == copies


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_results", [1, 2])
def test_kinds_of_members_weigh_by_their_errors(weighted, n_results):
    errors = np.random.RandomState(0).uniform(size=(n_results, 6, 9))
    weight = np.random.RandomState(1).uniform(size=errors.shape) if weighted else None
    mse = np.average(errors, axis=2, weights=weight).reshape(3 * n_results, 2).mean(1)
    weights = weight if weighted else [None] * n_results
    results = [
        EpochResult(0.0, 0.0, 0.0, *tensors(*own)) for own in zip(errors, weights, strict=True)
    ]
    assert_allclose(weigh_kinds(results, 3), mse**-1 / (mse**-1).sum())
    assert weigh_kinds([EpochResult(0.0, 0.0)], 1).tolist() == [1.0]


def test_shares_of_kinds_without_errors():
    for errors, expected in [((0.0, 0.0), (0.5, 0.5)), ((0.0, 1.0), (1, 0)), ((1e-60, 1), (1, 0))]:
        now = EpochResult(0.0, 0.0, 0.0, torch.tensor(errors).unsqueeze(1))
        assert_allclose(weigh_kinds([now], 2), expected, atol=1e-9)


@pytest.fixture
def counts_of_rows(monkeypatch):
    """How many rows were trained on, one entry for each time that changed."""
    seen, make = [], _training.ContextSampler

    def recording(n_rows, *args):
        seen.append(n_rows)
        return make(n_rows, *args)

    monkeypatch.setattr(_training, "ContextSampler", recording)
    return seen


FINISH = dict(max_iter=30, stop_if_harmful=True, join_validation=True, repeat_on_all=True)


@pytest.mark.parametrize(("harmed", "least"), [(False, -9), (True, -9), (False, 1)])
def test_validation_rows_join_the_last_cycle_if_it_is_safe(
    monkeypatch, counts_of_rows, harmed, least
):
    monkeypatch.setattr(_training, "has_harmed", lambda now, best: harmed)
    monkeypatch.setattr(_training, "_MUCH_NOISE", -9)
    monkeypatch.setattr(_training, "_SOME_NOISE", least)
    _, history, _ = train(**FINISH)
    assert len(history.losses) == 30
    if harmed or least == 1:
        assert counts_of_rows == [90]
        assert len(history.scores) == 30
        assert history.best_epoch == 1 + np.argmax(history.scores) > 14
    else:
        assert counts_of_rows == [90, 120]
        assert len(history.scores) == 14
        assert history.best_epoch == 30
    assert history.judged.score == max(history.scores)


def harm_noisy_targets(monkeypatch):
    monkeypatch.setattr(_training, "has_harmed", lambda now, best: True)
    monkeypatch.setattr(_training, "overfits", lambda now: True)
    monkeypatch.setattr(_training, "_MUCH_NOISE", 1)
    monkeypatch.setattr(_training, "_SOME_NOISE", 1)


def test_harm_with_some_noise_ends_a_training_after_the_third_cycle(monkeypatch):
    harm_noisy_targets(monkeypatch)
    monkeypatch.setattr(_training, "_MUCH_NOISE", -9)
    _, history, _ = train(**FINISH)
    assert len(history.losses) == 14  # 7 / 15 of 30


def test_harm_without_overfitting_ends_nothing_and_joins_nothing(monkeypatch, counts_of_rows):
    harm_noisy_targets(monkeypatch)
    monkeypatch.setattr(_training, "overfits", lambda now: False)
    monkeypatch.setattr(_training, "_SOME_NOISE", -9)
    _, history, _ = train(**FINISH | dict(repeat_on_all=False))
    assert len(history.losses) == len(history.scores) == 30
    assert counts_of_rows == [90]


@pytest.mark.parametrize(("loss", "expected"), [(0.0, True), (0.74, True), (0.76, False)])
def test_overfits_if_the_loss_is_well_below_the_validation_error(loss, expected):
    assert overfits(EpochResult(10 * loss, 10.0, 0.5)) == expected


def test_harm_ends_a_training_which_is_repeated_on_all_rows(monkeypatch, counts_of_rows):
    harm_noisy_targets(monkeypatch)
    n_epochs, epoch = [], _training._Trainer.epoch

    def recording(self, validated):
        n_epochs.append(self.n_epochs)
        return epoch(self, validated)

    monkeypatch.setattr(_training._Trainer, "epoch", recording)
    network, history, score = train(**FINISH, learning_rate_init=0.1)
    assert len(history.losses) == len(history.scores) == 6  # 3 / 15 of 30
    assert history.best_epoch == 1 + np.argmax(history.scores)
    assert counts_of_rows == [90, 120]
    # Three batches an epoch have become four.
    again = list(range(round(history.best_epoch * 3 / 4)))
    assert n_epochs == [*range(6), *again]
    assert score != pytest.approx(max(history.scores), rel=1e-3)
    assert not network.training


@pytest.mark.parametrize(
    ("best", "repeats", "again"), [(14, True, True), (14, False, False), (15, True, False)]
)
def test_a_best_epoch_before_the_last_cycle_is_repeated_on_all_rows(
    monkeypatch, counts_of_rows, best, repeats, again
):
    monkeypatch.setattr(_training, "has_harmed", lambda now, best: False)
    monkeypatch.setattr(_training, "_SOME_NOISE", 1)
    errors = iter([1.0] * (best - 1) + [0.0] + [1.0] * 30)
    epoch = _training._Team.epoch

    def made_up(self, validated):
        return epoch(self, validated)._replace(error=next(errors))

    monkeypatch.setattr(_training._Team, "epoch", made_up)
    _, history, _ = train(**FINISH | dict(repeat_on_all=repeats))
    assert history.best_epoch == best
    assert counts_of_rows == ([90, 120] if again else [90])


@pytest.mark.parametrize("fault", [KeyboardInterrupt, None])
def test_fault_on_all_rows_leaves_the_weights_of_the_best_epoch(monkeypatch, fault):
    harm_noisy_targets(monkeypatch)
    forward = NeighborNetwork.forward
    breaks = []

    def breaking(self, X, *args):
        if breaks:
            if fault:
                raise fault
            return forward(self, X, *args) * torch.nan
        return forward(self, X, *args)

    train_on_all = _training._train_on_all

    def recording(*args):
        breaks.append(True)
        return train_on_all(*args)

    monkeypatch.setattr(NeighborNetwork, "forward", breaking)
    monkeypatch.setattr(_training, "_train_on_all", recording)
    said = contextlib.nullcontext()
    if not fault:
        said = pytest.warns(ConvergenceWarning, match="training stopped and the weights")
    with said:
        network, history, score = train(**FINISH)
    assert breaks
    assert history.harmed
    assert history.interrupted == (fault is KeyboardInterrupt)
    assert_allclose(score, max(history.scores), rtol=1e-4)
    assert not network.training


def test_weights_after_the_rows_joined_are_those_of_the_last_epoch(monkeypatch):
    monkeypatch.setattr(_training, "has_harmed", lambda now, best: False)
    monkeypatch.setattr(_training, "_SOME_NOISE", -9)
    kept, epoch = [], _training._Team.epoch

    def recording(self, validated):
        outcome = epoch(self, validated)
        kept.append(self.trainers[0].result_weights.vectors[0].detach().clone())
        return outcome

    monkeypatch.setattr(_training._Team, "epoch", recording)
    network, _, _ = train(**FINISH)
    assert_array_equal(torch.cat([p.detach().flatten() for p in network.parameters()]), kept[-1])


def test_interrupted_after_the_rows_joined_the_best_validated_epoch_is_kept(monkeypatch):
    monkeypatch.setattr(_training, "has_harmed", lambda now, best: False)
    monkeypatch.setattr(_training, "_SOME_NOISE", -9)
    epochs = iter(range(20))

    def report(loss, score, on_all):
        if next(epochs) == 19:
            raise KeyboardInterrupt

    _, history, _ = train(**FINISH, report=report)
    assert history.interrupted
    assert len(history.losses) == 20
    assert history.best_epoch == 1 + np.argmax(history.scores) <= 14


def test_weighted_mse():
    rng = np.random.RandomState(0)
    y, y_hat, weight = rng.normal(size=(9, 2)), rng.normal(size=(9, 2)), rng.uniform(size=9)
    mse = weighted_mse(*map(torch.from_numpy, (y, y_hat, weight)))
    assert mse.item() == pytest.approx(mean_squared_error(y, y_hat, sample_weight=weight))
    unweighted = weighted_mse(torch.from_numpy(y), torch.from_numpy(y_hat), None)
    assert unweighted.item() == pytest.approx(mean_squared_error(y, y_hat))
