"""The training loop by itself."""

import itertools
import math
import re
from dataclasses import replace

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import ttest_rel
from sklearn.metrics import mean_squared_error
from torch.nn.utils import parameters_to_vector

from skneighbors import NONARegressor, Recipe
from skneighbors._columns import EnsembleSplit, LabeledRows
from skneighbors._network import NeighborNetwork
from skneighbors._plan import make_plan
from skneighbors._task import Regression
from skneighbors._training import Runtime, TrainingData, schedule, trainer
from skneighbors._training.ensemble import ParallelTrainers
from skneighbors._training.loop import Training
from skneighbors._training.optim import AdamW
from skneighbors._training.schedule import learning_rate_factor
from skneighbors._training.stopping import OverfittingCheck, significantly_worse
from skneighbors._training.validation import EpochResult, ValidationResult, mean_over_rows
from skneighbors.nn import NONA, MLPEmbedder


def plan_for(n_samples, **fields):
    """Plan of an estimator, with other values of its fields and of its recipe's."""
    estimator = NONARegressor()
    plan = make_plan(estimator.get_params(deep=False), estimator._tables(), n_samples)
    recipe = plan.recipe.get_params()
    own = {name: fields.pop(name) for name in recipe.keys() & fields.keys()}
    return replace(plan, recipe=Recipe(**recipe | own), **fields)


def mean_error(y, y_hat, weight):
    return mean_over_rows(Regression.losses(y_hat, y), weight)


def train(max_iter=10, validate=True, report=None, n_members=1, **fields):
    torch.manual_seed(0)
    X = torch.randn(120, 2)
    y = torch.sin(X[:, :1]) * X[:, 1:]
    network = NeighborNetwork(
        None,
        [MLPEmbedder(2, (16,), 4) for _ in range(n_members)],
        [NONA(4, temperature=1.0) for _ in range(n_members)],
    )
    values = dict(
        n_neighbors=None,
        max_iter=max_iter,
        batch_size=32,
        context_size=64,
        context_neighbors=None,
        learning_rate_schedule="constant",
        learning_rate_init=1e-2,
        weight_decay=0.0,
        ema_decay=None,
        temperature="learned",
        calibrations=(),
        likenesses=(0.0,),
        check_overfitting=False,
        n_cycles=6,
        last_cycle_is_optional=False,
        last_cycle_from_r2=-np.inf,
        join_last_cycle=False,
        refits=False,
    )
    task = Regression(np.zeros(1), np.ones(1), 2)
    orders = [torch.randperm(120) for _ in range(n_members)]
    rows, held_out = torch.stack(orders).split([90, 30], dim=1)
    split = EnsembleSplit(rows, held_out if validate else None)
    runtime = Runtime(torch.Generator().manual_seed(0), None)
    history = Training(
        network,
        TrainingData(LabeledRows(X, y, None), split, task),
        plan_for(120, **values | fields),
        runtime if report is None else replace(runtime, report=report),
    ).run()
    with torch.no_grad():
        y_hat = network.head(network.embed(X[held_out]), network.embed(X[rows]), y[rows])
        variance = y[held_out].var(1, correction=0).squeeze(1)
        scores = 1 - mean_error(y[held_out], y_hat, None) / variance
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


def test_moving_average_of_the_weights(noted):
    seen = noted(AdamW, "step", lambda _, own, *args: parameters_to_vector(own.parameters).detach())
    network, _, _ = train(max_iter=10, validate=False, ema_decay=0.8)
    expected = seen[0]
    for n_steps, weights in enumerate(seen[1:], start=1):
        decay = min(0.8, n_steps / (n_steps + 9))
        expected = decay * expected + (1 - decay) * weights
    assert len(seen) == 30
    averaged = parameters_to_vector(network.parameters())
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


def test_report_sees_every_epoch():
    seen = []
    _, history, _ = train(report=lambda loss, score, *_: seen.append((loss, score)))
    assert seen == list(zip(history.losses, history.scores, strict=True))


def interrupt_at(epoch, error):
    count = itertools.count(1)

    def report(loss, score, on_all, n_epochs):
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
    network, history, score = train()
    assert re.search("not finite in epoch 6.*weights of epoch", history.fault)
    assert len(history.losses) == 5
    assert_allclose(score, max(history.scores), rtol=1e-4)
    assert all(parameter.isfinite().all() for parameter in network.parameters())


def test_best_epoch_among_those_validated(monkeypatch):
    monkeypatch.setattr(schedule, "_N_VALIDATIONS", 5)
    monkeypatch.setattr(schedule, "_RESOLUTION", 1)
    _, history, score = train(max_iter=31, learning_rate_init=0.3)
    assert len(history.losses) == 31
    epochs = [1, 2, 3, 4, 5, 6, 7, 14, 21, 28, 31]
    assert history.validated_epochs == epochs
    assert len(history.scores) == len(epochs)
    assert history.best_epoch == epochs[int(np.argmax(history.scores))]
    assert_allclose(score, max(history.scores), rtol=1e-4)


def test_epochs_of_a_high_learning_rate_are_never_the_best():
    _, history, score = train(max_iter=64, learning_rate_schedule="cycles")
    assert len(history.losses) == 64
    epochs = history.validated_epochs
    rates = [learning_rate_factor("cycles", epoch / 64, 6) for epoch in epochs]
    assert max(rates[1:]) <= 0.5
    assert epochs[0] == 1
    assert epochs[-1] == 64
    assert len(history.scores) == len(epochs) < 40
    assert history.best_epoch == epochs[int(np.argmax(history.scores))]
    assert_allclose(score, max(history.scores), rtol=1e-4)


def test_interrupt_between_validations_keeps_the_best_validated_epoch():
    epoch = 45  # near the peak of the last cycle
    _, history, score = train(
        max_iter=64, learning_rate_schedule="cycles", report=interrupt_at(epoch, KeyboardInterrupt)
    )
    assert history.interrupted
    assert len(history.losses) == epoch
    assert history.best_epoch < epoch - 5
    assert_allclose(score, max(history.scores), rtol=1e-4)


def tensors(*arrays):
    return [None if a is None else torch.tensor(a, dtype=torch.float64) for a in arrays]


def held_out(errors, weight=None):
    """Predictions with these squared errors (m, n)."""
    y, weight = tensors(np.sqrt(errors)[..., None], weight)
    y_hat = torch.zeros_like(y)
    return ValidationResult(y, y_hat, Regression.losses(y_hat, y), weight)


def result(errors, weight=None):
    weight = None if weight is None else weight[None]
    return EpochResult(0.0, float(errors.mean()), 0.0, held_out(errors[None], weight))


def test_harm_must_exceed_the_standard_error():
    rng = np.random.RandomState(0)
    best = 2 + rng.uniform(size=50)
    for shift in np.linspace(-1, 1, 41):
        now = best + shift * 0.1 + 0.3 * rng.normal(size=50)
        t = ttest_rel(now, best).statistic * np.sqrt(50 / 49)  # of n, not n - 1
        assert significantly_worse(result(now), result(best)) == (t > 1)
    assert not significantly_worse(result(best), result(best))


def test_harm_does_not_depend_on_the_size_of_low_weights():
    rng = np.random.RandomState(0)
    for _ in range(40):
        best, now = rng.uniform(size=(2, 30))
        for weight in (np.ones(30), rng.uniform(size=30)):
            harmed = [
                significantly_worse(result(now, share * weight), result(best, share * weight))
                for share in (1, 1e-2, 1e-3)
            ]
            assert len(set(harmed)) == 1


def test_a_row_is_one_draw_whatever_it_weighs():
    rng = np.random.RandomState(0)
    found = []
    for _ in range(200):
        best, now = rng.uniform(size=(2, 9))
        weight = rng.randint(1, 9, size=9)
        gain = now - best
        mean = np.average(gain, weights=weight)
        expected = mean > np.sqrt(np.sum((weight / weight.sum() * (gain - mean)) ** 2))
        found.append(expected)
        for size in (0.01, 1, 50):
            own = size * weight
            assert significantly_worse(result(now, own), result(best, own)) == expected
    assert 20 < sum(found) < 180


@pytest.fixture
def counts_of_rows(noted):
    """How many rows were trained on, one entry for each time that changed."""
    return noted(trainer, "ContextSampler", lambda _, n_rows, *args: n_rows)


ALWAYS, NEVER = -1e9, 1e9  # standard errors by which an error must exceed the best
FINISH = dict(
    max_iter=30,
    check_overfitting=True,
    early_check_below_r2=-9.0,
    join_last_cycle=True,
    refits=True,
)
SAFE = FINISH | dict(overfitting_in_standard_errors=NEVER)
HARMFUL = FINISH | dict(overfitting_in_standard_errors=ALWAYS, learning_rate_init=0.1)


@pytest.mark.parametrize("joins", [False, True])
def test_rows_held_out_join_the_last_cycle_where_training_has_not_harmed(counts_of_rows, joins):
    _, history, _ = train(**SAFE | dict(join_last_cycle=joins))
    assert len(history.losses) == 30
    assert counts_of_rows == ([90, 120] if joins else [90])
    assert len(history.scores) == (15 if joins else 30)  # 31 / 63 of 30
    assert history.best_epoch == (30 if joins else 1 + np.argmax(history.scores))
    assert history.best_before_refit.score == max(history.scores)


def test_harm_ends_a_training_which_is_repeated_on_all_rows(noted, counts_of_rows):
    n_epochs = noted(trainer.Trainer, "epoch", lambda _, own: own.n_epochs)
    network, history, score = train(**HARMFUL)
    assert len(history.losses) == len(history.scores) == 15
    assert history.best_epoch == 1 + np.argmax(history.scores) < 15
    assert counts_of_rows == [90, 120]
    # Three batches an epoch have become four.
    again = round(history.best_epoch * 3 / 4)
    assert n_epochs == [*range(15), *range(again)]
    assert score != pytest.approx(max(history.scores), rel=1e-3)
    assert not network.training


@pytest.mark.parametrize(
    ("epoch", "limit"),
    [(1, 0.85), (2, -9), (3, 0.85), (6, -9), (7, 0.85), (8, -9), (14, -9), (15, 9), (16, -9)],
)
@pytest.mark.parametrize("score", [0.84, 0.86])
def test_noisy_targets_are_reviewed_after_earlier_cycles_too(epoch, limit, score):
    fields = dict(max_iter=30, check_overfitting=True, early_check_below_r2=0.85, n_cycles=6)
    check = OverfittingCheck(plan_for(120, **fields))
    worse, better = np.full((1, 5), 10.0), np.arange(5.0)[None]
    now, best = (EpochResult(0.1, 1.0, score, held_out(errors)) for errors in (worse, better))
    is_due, is_last = check.is_due(epoch - 1, epoch), epoch == 15
    assert (is_due and check.finds_overfitting(now, best, is_last)) == (score < limit)
    assert not check.finds_overfitting(best, best, is_last)


@pytest.mark.parametrize("joins", [False, True])
def test_noisy_targets_end_before_an_optional_cycle(joins):
    cycles = SAFE | dict(learning_rate_schedule="cycles", join_last_cycle=joins)
    longer = cycles | dict(max_iter=127, n_cycles=7, last_cycle_is_optional=True)
    _, noisy, _ = train(**longer | dict(last_cycle_from_r2=2.0))
    _, clean, _ = train(**longer)
    _, shorter, _ = train(**cycles | dict(max_iter=63, last_cycle_from_r2=2.0))
    assert len(noisy.losses) == len(shorter.losses) == 63
    assert len(clean.losses) == 127
    assert not noisy.n_planned
    # As if the cycle had never been planned.
    assert_allclose(noisy.losses, shorter.losses, rtol=1e-2)
    assert noisy.validated_epochs[-1] == shorter.validated_epochs[-1] == (31 if joins else 63)


def test_harm_after_an_early_cycle_ends_a_training(counts_of_rows):
    _, history, _ = train(**HARMFUL | dict(early_check_below_r2=1.0))
    assert len(history.losses) == 7  # 7 / 63 of 30 is 3, where nothing is worse yet, 15 / 63 is 7
    assert counts_of_rows == [90, 120]


def test_after_harm_the_best_epoch_is_kept_where_nothing_is_refitted(counts_of_rows):
    _, history, score = train(**HARMFUL | dict(refits=False))
    assert len(history.losses) == 15
    assert counts_of_rows == [90]
    assert_allclose(score, max(history.scores), rtol=1e-4)


def test_without_a_review_nothing_ends_early(counts_of_rows):
    _, history, _ = train(**HARMFUL | dict(check_overfitting=False, refits=False))
    assert len(history.losses) == len(history.scores) == 30


@pytest.mark.parametrize("fault", [KeyboardInterrupt, None])
def test_fault_on_all_rows_leaves_the_weights_of_the_best_epoch(monkeypatch, fault):
    forward, refit, breaks = NeighborNetwork.forward, Training._refit, []

    def breaking(self, X, *args):
        if not breaks:
            return forward(self, X, *args)
        if fault:
            raise fault
        return forward(self, X, *args) * torch.nan

    def recording(self, network):
        breaks.append(True)
        return refit(self, network)

    monkeypatch.setattr(NeighborNetwork, "forward", breaking)
    monkeypatch.setattr(Training, "_refit", recording)
    network, history, score = train(**HARMFUL)
    assert breaks
    assert history.interrupted == (fault is KeyboardInterrupt)
    assert bool(re.search("training stopped and the weights", history.fault or "")) == (not fault)
    assert_allclose(score, max(history.scores), rtol=1e-4)
    assert not network.training


def test_weights_after_the_rows_joined_are_those_of_the_last_epoch(noted):
    def weights(_, own, number):
        return parameters_to_vector(own.trainers[0].result.parameters()).detach()

    kept = noted(ParallelTrainers, "epoch", weights)
    network, _, _ = train(**SAFE)
    assert_array_equal(parameters_to_vector(network.parameters()).detach(), kept[-1])


def test_interrupted_after_the_rows_joined_the_best_validated_epoch_is_kept():
    _, history, _ = train(**SAFE, report=interrupt_at(20, KeyboardInterrupt))
    assert history.interrupted
    assert len(history.losses) == 20
    assert history.best_epoch == 1 + np.argmax(history.scores) <= 15


def test_errors_are_weighted_means():
    rng = np.random.RandomState(0)
    y, y_hat, weight = rng.normal(size=(9, 2)), rng.normal(size=(9, 2)), rng.uniform(size=9)
    mse = mean_error(*map(torch.from_numpy, (y, y_hat, weight)))
    assert mse.item() == pytest.approx(mean_squared_error(y, y_hat, sample_weight=weight))
    unweighted = mean_error(torch.from_numpy(y), torch.from_numpy(y_hat), None)
    assert unweighted.item() == pytest.approx(mean_squared_error(y, y_hat))
