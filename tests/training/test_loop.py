"""The training loop by itself."""

import itertools
import math
import re
from dataclasses import replace

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from planned import plan_for
from scipy.stats import ttest_rel
from torch.nn.utils import parameters_to_vector

from skneighbors import NONARegressor, Recipe
from skneighbors._columns import LabeledRows
from skneighbors._network import NeighborNetwork
from skneighbors._settings import Schedule, plan_phases
from skneighbors._task import Regression
from skneighbors._training import EnsembleSplit, Runtime, TrainingData, pace, trainer
from skneighbors._training.loop import Training
from skneighbors._training.trainer import ParallelTrainers
from skneighbors._training.validation import exceeds, mean_over_rows
from skneighbors.nn import NONA, MLPEmbedder


def settings_for(n_samples, **fields):
    """Settings of an estimator, with other values of their fields, parameters and recipe."""
    settings = plan_for(NONARegressor(), n_samples).settings
    recipe, params = settings.recipe.get_params(), settings.params
    own, given = ({n: fields.pop(n) for n in k.keys() & fields.keys()} for k in (recipe, params))
    params = params | given | {"recipe": Recipe(**recipe | own)}
    return replace(settings, params=params, **fields)


def mean_error(y, y_hat, weight):
    return mean_over_rows(Regression.losses(y_hat, y), weight)


def train(max_iter=10, validate=True, report=None, kind="constant", refits=False, **fields):
    """Train a small network; `fields` are those of :func:`plan_phases` and of settings."""
    torch.manual_seed(0)
    X = torch.randn(120, 2)
    y = torch.sin(X[:, :1]) * X[:, 1:]
    network = NeighborNetwork(None, [MLPEmbedder(2, (16,), 4)], [NONA(4, temperature=1.0)])
    values = dict(
        n_neighbors=None,
        batch_size=32,
        context_size=64,
        context_neighbors=None,
        weight_decay=0.0,
        ema_decay=None,
        temperature="learned",
        calibrations=(),
        likenesses=(0.0,),
        last_cycle_from_r2=-np.inf,
    )
    rate, n_cycles = fields.pop("learning_rate_init", 1e-2), fields.pop("n_cycles", 6)
    of_phases = {n: fields.pop(n) for n in ("first_check", "joins", "n_needed") if n in fields}
    schedule = Schedule(
        phases=plan_phases(max_iter, n_cycles, **of_phases),
        n_epochs=max_iter,
        n_cycles=n_cycles,
        kind=kind,
        learning_rate=rate,
        refits_after=("overfitting",) if refits else (),
    )
    rows, held_out = torch.randperm(120).unsqueeze(0).split([90, 30], dim=1)
    task, split = Regression(np.zeros(1), np.ones(1), 2), (rows, held_out if validate else None)
    history = Training(
        network,
        TrainingData(LabeledRows(X, y), EnsembleSplit(*split), task),
        settings_for(120, **values | fields),
        schedule,
        Runtime(torch.Generator().manual_seed(0), None),
        report or (lambda *_: None),
    ).run()
    with torch.no_grad():
        y_hat = network.head(network.embed(X[held_out]), network.embed(X[rows]), y[rows])
        variance = y[held_out].var(1, correction=0).squeeze(1)
        scores = 1 - mean_error(y[held_out], y_hat, None) / variance
    return network, history, scores.mean()


@pytest.mark.parametrize(("validate", "scale"), [(True, 0.1), (False, 1.0)])
def test_the_best_epoch_is_kept(validate, scale):
    """That of highest score, or without validation rows of lowest loss."""
    best = []
    for rate in (scale, 3 * scale, 10 * scale):
        network, history, score = train(max_iter=30, validate=validate, learning_rate_init=rate)
        assert len(history.losses) == 30
        assert len(history.scores) == 30 * validate
        values = history.scores if validate else np.negative(history.losses)
        assert history.best_epoch == 1 + np.argmax(values)
        if validate:
            assert_allclose(score, max(history.scores), rtol=1e-4)
        assert not network.training
        best.append(history.best_epoch)
    # The rates are too high for the last epoch to be the best every time.
    assert min(best) < 30


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


def interrupt_at(epoch, error):
    count = itertools.count(1)

    def report(loss, score, on_all, n_epochs):
        if next(count) == epoch:
            raise error

    return report


@pytest.mark.parametrize(
    ("epoch", "fields"), [(4, {}), (45, dict(max_iter=64, kind="cycles"))], ids=str
)
def test_interrupt_keeps_the_best_validated_epoch(epoch, fields):
    _, history, score = train(report=interrupt_at(epoch, KeyboardInterrupt), **fields)
    assert history.interrupted
    assert len(history.losses) == epoch
    # Near the peak of the last cycle none is validated.
    assert history.best_epoch <= history.validated_epochs[-1] <= (40 if fields else 4)
    assert_allclose(score, max(history.scores), rtol=1e-4)


def test_best_epoch_among_those_validated(monkeypatch):
    monkeypatch.setattr(pace, "_N_VALIDATIONS", 5)
    monkeypatch.setattr(pace, "_RESOLUTION", 1)
    _, history, score = train(max_iter=31, learning_rate_init=0.3)
    assert len(history.losses) == 31
    epochs = [1, 2, 3, 4, 5, 6, 7, 14, 21, 28, 31]
    assert history.validated_epochs == epochs
    assert len(history.scores) == len(epochs)
    assert history.best_epoch == epochs[int(np.argmax(history.scores))]
    assert_allclose(score, max(history.scores), rtol=1e-4)


def is_worse(now, best, weight=None):
    return exceeds(*(own if own is None else torch.from_numpy(own) for own in (now, best, weight)))


def test_harm_must_exceed_the_standard_error():
    rng = np.random.RandomState(0)
    best = 2 + rng.uniform(size=50)
    for shift in np.linspace(-1, 1, 41):
        now = best + shift * 0.1 + 0.3 * rng.normal(size=50)
        t = ttest_rel(now, best).statistic * np.sqrt(50 / 49)  # of n, not n - 1
        assert is_worse(now, best) == (t > 1)
    assert not is_worse(best, best)


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
        for size in (1e-3, 0.01, 1, 50):
            assert is_worse(now, best, size * weight) == expected
    assert 20 < sum(found) < 180


@pytest.fixture
def counts_of_rows(noted):
    """How many rows were trained on, one entry for each time that changed."""
    return noted(trainer, "ContextSampler", lambda _, n_rows, *args: n_rows)


ALWAYS, NEVER = -1e9, 1e9  # standard errors by which an error must exceed the best
FINISH = dict(
    max_iter=30,
    first_check=2,
    early_check_below_r2=-9.0,
    joins=True,
    refits=True,
)
SAFE = FINISH | dict(overfitting_in_standard_errors=NEVER)
HARMFUL = FINISH | dict(overfitting_in_standard_errors=ALWAYS, learning_rate_init=0.1)


@pytest.mark.parametrize("joins", [False, True])
def test_rows_held_out_join_the_last_cycle_where_training_has_not_harmed(counts_of_rows, joins):
    _, history, _ = train(**SAFE | dict(joins=joins))
    assert len(history.losses) == 30
    assert counts_of_rows == ([90, 120] if joins else [90])
    assert len(history.scores) == (15 if joins else 30)  # 31 / 63 of 30
    assert history.best_epoch == (30 if joins else 1 + np.argmax(history.scores))
    assert history.best.score == max(history.scores)


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


@pytest.mark.parametrize("n_needed", [5, 6])
@pytest.mark.parametrize("joins", [False, True])
def test_noisy_targets_end_before_an_optional_cycle(joins, n_needed):
    cycles = SAFE | dict(kind="cycles", joins=joins)
    n_epochs = 2**n_needed - 1
    longer = cycles | dict(max_iter=127, n_cycles=7, n_needed=n_needed)
    _, noisy, _ = train(**longer | dict(last_cycle_from_r2=2.0))
    _, clean, _ = train(**longer)
    shorter = cycles | dict(max_iter=n_epochs, n_cycles=n_needed, last_cycle_from_r2=2.0)
    _, shorter, _ = train(**shorter)
    assert len(noisy.losses) == len(shorter.losses) == n_epochs
    assert len(clean.losses) == 127
    assert not noisy.n_planned
    # As if the cycle had never been planned.
    assert_allclose(noisy.losses, shorter.losses, rtol=1e-2)
    last = n_epochs // 2 if joins else n_epochs
    assert noisy.validated_epochs[-1] == shorter.validated_epochs[-1] == last


@pytest.mark.parametrize(("below_r2", "n_epochs"), [(1.0, 7), (-9.0, 15)])
def test_harm_after_an_early_cycle_ends_a_training_on_noisy_targets(
    counts_of_rows, below_r2, n_epochs
):
    _, history, _ = train(**HARMFUL | dict(early_check_below_r2=below_r2))
    # 7 / 63 of 30 is 3, where there was a gain, 15 / 63 is 7
    assert len(history.losses) == n_epochs
    assert counts_of_rows == [90, 120]


@pytest.mark.parametrize(("best", "n_epochs"), [(3, 7), (4, 15), (7, 15)])
def test_an_early_check_ends_a_training_after_a_cycle_without_gain(monkeypatch, best, n_epochs):
    """The cycle is that of epochs 4 to 7."""
    epoch, numbers = ParallelTrainers.epoch, itertools.count(1)

    def scripted(self):
        return epoch(self)._replace(error=abs(next(numbers) - best))

    monkeypatch.setattr(ParallelTrainers, "epoch", scripted)
    _, history, _ = train(**HARMFUL | dict(early_check_below_r2=1.0, refits=False))
    assert len(history.losses) == n_epochs
    assert history.best_epoch == best


@pytest.mark.parametrize(("first_check", "n_epochs"), [(2, 15), (None, 30)])
def test_where_nothing_is_refitted_the_best_epoch_is_kept(counts_of_rows, first_check, n_epochs):
    """Without checks nothing ends early."""
    _, history, score = train(**HARMFUL | dict(first_check=first_check, refits=False))
    assert len(history.losses) == len(history.scores) == n_epochs
    assert counts_of_rows == [90]
    assert_allclose(score, max(history.scores), rtol=1e-4)


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


@pytest.mark.parametrize("ema_decay", [None, 0.8])
def test_weights_after_the_rows_joined_are_those_of_the_last_epoch(noted, ema_decay):
    def weights(_, own):
        return parameters_to_vector(own.trainers[0].result.parameters()).detach()

    kept = noted(ParallelTrainers, "epoch", weights)
    network, _, _ = train(**SAFE, ema_decay=ema_decay)
    assert_array_equal(parameters_to_vector(network.parameters()).detach(), kept[-1])
    _, history, _ = train(**SAFE, report=interrupt_at(20, KeyboardInterrupt))
    assert history.interrupted
    assert len(history.losses) == 20
    assert history.best_epoch == 1 + np.argmax(history.scores) <= 15
