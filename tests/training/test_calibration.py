"""Temperatures: which are learned, which validation rows choose, and what comes of it."""

from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal

from skneighbors import NONARegressor, Recipe, SoftStepKNNRegressor
from skneighbors._columns import LabeledRows
from skneighbors._network import NeighborNetwork
from skneighbors._task import Regression
from skneighbors._training import EnsembleSplit, TrainingData, trainer
from skneighbors._training.calibration import calibrate
from skneighbors._training.loop import Training
from skneighbors._training.validation import validate
from skneighbors.nn import NONA, MLPEmbedder, SoftStepKNN

from .test_loop import settings_for

TRIED = [2 ** (power / 2) for power in (0, -1, 1, -2, 2, -4, 3, 4, -6, 5, 6, -8)]
K = 30  # neighbors


def make_rows(n):
    """Targets that only the nearest know."""
    X = np.random.default_rng(0).uniform(-1, 1, size=(n, 2))
    return X, np.sin(9 * X[:, 0]) * np.cos(9 * X[:, 1])


@pytest.fixture
def rows():
    return make_rows(400)


both_heads = pytest.mark.parametrize("head", [NONA, SoftStepKNN])
both = pytest.mark.parametrize("estimator", [NONARegressor, SoftStepKNNRegressor])


def untrained(weighted, noise=0.0, head=SoftStepKNN):
    """A network of two members, data and the members' rows."""
    X, y = (torch.tensor(array, dtype=torch.float32) for array in make_rows(400))
    torch.manual_seed(0)
    y = y.unsqueeze(1) * torch.tensor([1.0, -2.0]) + noise * torch.randn(400, 2)
    weight = torch.rand(400) if weighted else None
    network = NeighborNetwork(
        None,
        [MLPEmbedder(2, (16,), 4) for _ in range(2)],
        [head(4, 2, softstep="s1", trend="linear") for _ in range(2)],
    )
    data = LabeledRows(X, y, weight)
    train, held_out = torch.stack([torch.randperm(400) for _ in range(2)]).split([300, 100], dim=1)
    return network, TrainingData(data, EnsembleSplit(train, held_out), Regression)


def calibration_of(model):
    """What each network's temperature is divided by in prediction."""
    return model.network_.head.calibration.numpy()


def calibrations_of(network, data):
    """What each temperature is to be divided by, (m,), where likeness has no say."""
    settings = settings_for(400, n_neighbors=K, calibrations=tuple(TRIED), likenesses=(0.0,))
    [calibrated] = calibrate(network, data, settings)
    return calibrated.calibration


def errors_of_each(network, data):
    """Row errors (l, m, n), their means (l, m) and R2 (l, m) of each calibration by itself."""
    alone = []
    for calibration in TRIED:
        network.head.calibration.fill_(calibration)
        alone.append(validate(network, data, K))
    held_out, mse, scores = zip(*alone, strict=True)
    errors = [own.errors for own in held_out]
    network.head.calibration.fill_(1)
    return torch.stack(errors), torch.stack(mse), torch.stack(scores)


@both_heads
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("noise", [0.0, 2.5])
def test_the_first_calibration_that_predicts_as_well_as_the_best(noise, weighted, head):
    network, data = untrained(weighted, noise, head)
    errors, mse, _ = errors_of_each(network, data)
    expected = []
    for member, rows in enumerate(data.split.validation):
        weight = data.rows.weight[rows] if weighted else torch.ones(len(rows))
        best = mse[:, member].argmin()
        as_well = {}
        for calibration, own in zip(TRIED, errors[:, member], strict=True):
            loss = own - errors[best, member]
            mean = np.average(loss, weights=weight)
            share = np.asarray(weight / weight.sum())
            as_well[calibration] = mean <= np.sqrt(np.sum((share * np.asarray(loss - mean)) ** 2))
        expected.append(next(own for own in TRIED if as_well[own]))
    network.head.calibration.fill_(3.0)
    assert_allclose(calibrations_of(network, data), expected, rtol=1e-6)
    assert_array_equal(network.head.calibration, 3.0)
    assert noise or max(expected) > 1


@pytest.fixture
def far_from_one(auto):
    """Let validation choose between what is surely too little and more than 1."""
    auto(calibration_powers=tuple(2 * np.log2([0.1, 2.0, 3.0, 4.0])))


@pytest.fixture
def chosen(far_from_one, auto, monkeypatch):
    """Short trainings that may join, stop and be repeated; the calibrations at each choice."""
    auto(min_epochs=30, min_steps=30)
    choose, values = trainer.calibrate, []

    def choosing(*args):
        calibrated = choose(*args)
        values.append([own.calibration.numpy() for own in calibrated])
        return calibrated

    monkeypatch.setattr(trainer, "calibrate", choosing)
    return values


def last_choice(chosen, model):
    """The last of the choices, (m,), with the likeness that came of it."""
    return chosen[-1][model.plan_.settings.likenesses.index(model.likeness_)]


@pytest.fixture
def safe(auto):
    """Trainings that never harm."""
    auto(overfitting_in_standard_errors=1e9)


SMALL = dict(hidden_layer_sizes=(32,), n_estimators=1, blend=None, random_state=0)


@both
def test_the_choice_before_the_last_cycle_is_that_of_the_average(
    estimator, chosen, safe, monkeypatch, noted
):
    calibrated = noted(trainer, "calibrate", lambda _, network, *args: network)
    join, averages = trainer.Trainer.train_on_all, []

    def joining(self):
        averages.append(self.average.network)
        join(self)

    monkeypatch.setattr(trainer.Trainer, "train_on_all", joining)
    estimator(**SMALL).fit(*make_rows(400))
    assert len(averages) == 1
    assert calibrated == averages


@pytest.mark.parametrize("interrupted", [False, True])
@both
def test_the_choice_outlives_a_last_cycle_on_all_rows(
    estimator, interrupted, chosen, safe, monkeypatch
):
    train = trainer.Trainer.epoch

    def interrupt(self):
        if self.data.split.validation is None:
            raise KeyboardInterrupt
        return train(self)

    if interrupted:
        monkeypatch.setattr(trainer.Trainer, "epoch", interrupt)
    with pytest.warns(UserWarning, match="interrupted") if interrupted else nullcontext():
        model = estimator(**SMALL).fit(*make_rows(400))
    assert interrupted or model.best_iter_ == 30 > model.validation_iters_[-1]
    assert len(chosen) == 1
    assert_array_equal(calibration_of(model), last_choice(chosen, model))
    assert calibration_of(model) > 1


@pytest.mark.slow
@both
def test_the_choice_outlives_a_training_on_all_rows(estimator, chosen, monkeypatch, noted):
    monkeypatch.setattr(Training, "_overfits", lambda self, *_: len(self.history.losses) > 9)
    repeated = noted(Training, "_refit", lambda result, *args: result)
    model = estimator(**SMALL).fit(*make_rows(400))
    assert repeated == [True]
    assert_array_equal(calibration_of(model), last_choice(chosen, model))
    assert calibration_of(model) > 1


@both
def test_an_interrupt_of_the_choice_keeps_weights_as_trained(estimator, monkeypatch):
    def interrupted(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(trainer, "calibrate", interrupted)
    with pytest.warns(UserWarning, match="Training interrupted"):
        model = estimator(max_iter=5, **SMALL).fit(*make_rows(400))
    assert_array_equal(calibration_of(model), 1.0)
    assert model.score(*make_rows(400)) > 0


@pytest.mark.slow
@both
def test_members_trained_apart_keep_what_they_chose(estimator, chosen, monkeypatch, thread_count):
    thread_count(1)  # one after the other
    values = iter((2.0, 3.0, 4.0) * 99)
    in_turn = trainer.calibrate

    def calibrate_in_turn(network, data, settings):
        return in_turn(network, data, replace(settings, calibrations=(0.1, next(values))))

    monkeypatch.setattr(trainer, "calibrate", calibrate_in_turn)
    model = estimator(max_iter=6, n_estimators=3, random_state=0).fit(*make_rows(1200))
    if estimator is NONARegressor:
        assert_array_equal([own[0] for own in chosen], [[2.0], [3.0], [4.0]])
        assert_array_equal(calibration_of(model), [2.0, 3.0, 4.0])
    assert set(calibration_of(model)) <= {2.0, 3.0, 4.0}


@pytest.mark.slow
@pytest.mark.parametrize(("n", "max_iter"), [(400, 30), (1200, 8)])
def test_it_pays_where_only_the_nearest_know(n, max_iter):
    X, y = make_rows(n + 300)
    settings = dict(max_iter=max_iter, hidden_layer_sizes=(32,), random_state=0)
    errors = [
        1
        - SoftStepKNNRegressor(recipe=Recipe(temperature=by), **settings)
        .fit(X[:n], y[:n])
        .score(X[n:], y[n:])
        for by in ("learned", "auto")
    ]
    assert errors[1] < 0.9 * errors[0]


@both
def test_a_given_temperature_is_used(estimator, rows):
    """That of SoftStep in prediction alone; the lower, the more each query's nearest weigh."""
    settings = dict(n_estimators=2, blend=None, max_iter=5, random_state=0, early_stopping=False)
    steep, mild = (
        estimator(recipe=Recipe(temperature=given), **settings).fit(*rows) for given in (1 / 3, 2)
    )
    assert_allclose(steep.temperature_, [1 / 3, 1 / 3], rtol=1e-6)
    assert_allclose(mild.temperature_, [2.0, 2.0], rtol=1e-6)
    is_softstep = estimator is SoftStepKNNRegressor
    assert (steep.loss_curve_ == mild.loss_curve_) == is_softstep
    steep, mild = (model.explain(rows[0]).weights[:, :5].sum(1) for model in (steep, mild))
    assert steep.mean() > 1.1 * mild.mean()
    assert not is_softstep or (steep > mild - 1e-9).all()


@pytest.mark.parametrize(
    ("temperature", "learned", "calibrated"),
    [
        ("learned", True, False),
        ("calibrated", False, True),
        ("both", True, True),
        ("auto", True, True),
        (1.0, False, False),
        (0.5, False, False),
    ],
)
@both
def test_what_is_learned_and_what_is_calibrated(
    estimator, temperature, learned, calibrated, far_from_one
):
    recipe = Recipe(temperature=temperature)
    model = estimator(max_iter=5, recipe=recipe, **SMALL).fit(*make_rows(400))
    head = model.network_.head
    assert ("log_temperature" in dict(head.named_parameters())) == learned
    given = 1.0 if isinstance(temperature, str) else temperature
    if calibrated:
        assert calibration_of(model) in np.float32([0.1, 2.0, 3.0, 4.0])
    else:
        nona = estimator is NONARegressor
        assert_array_equal(calibration_of(model), 1.0 if nona else 1 / given)
    expected = given if estimator is NONARegressor else 1.0
    if learned and estimator is NONARegressor:
        expected = head.log_temperature.detach().exp().numpy()
        assert expected != 1
    if calibrated:
        expected = expected / calibration_of(model)
    elif estimator is SoftStepKNNRegressor:
        expected = given
    assert_allclose(model.temperature_, expected, rtol=1e-6)
    # An estimator of what it came to fits the same again.
    again = estimator(**model.plan_.params).fit(*make_rows(400))
    assert_array_equal(again.temperature_, model.temperature_)
    assert_array_equal(again.predict(make_rows(50)[0]), model.predict(make_rows(50)[0]))


def test_a_head_may_ignore_its_calibration():
    class Mean(NONA):
        def _weights(self, z, s, neighbor_mask, total):
            return torch.full_like(s, 1 / s.shape[-1])

    network, data = untrained(False, head=Mean)
    network.head.calibration.fill_(3.0)
    assert_array_equal(calibrations_of(network, data), 1.0)


@pytest.mark.parametrize("dtype", [torch.float16, torch.float64])
def test_heads_without_parameters_take_any_precision(dtype):
    head = NONA(4, similarity="dot", softstep=None, calibration=2.0).eval()
    z = torch.randn(9, 4, dtype=dtype)
    assert head(z, z, z[:, 0]).dtype == dtype


@both
@pytest.mark.parametrize(("n", "early_stopping"), [(6, True), (29, "auto"), (200, False)])
def test_without_validation_rows_or_with_one_weights_are_as_trained(
    n, early_stopping, estimator, rows, far_from_one
):
    X, y = rows
    model = estimator(max_iter=5, early_stopping=early_stopping).fit(X[:n], y[:n])
    assert_array_equal(calibration_of(model), 1.0)
