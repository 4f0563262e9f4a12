"""Members of an ensemble, and near rows as their context."""

import itertools
import threading

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from planned import plan_for
from sklearn.datasets import make_friedman1
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import r2_score

from skneighbors import NONARegressor, Recipe
from skneighbors._columns import LabeledRows
from skneighbors._network import NeighborNetwork
from skneighbors._task import Regression
from skneighbors._training import EnsembleSplit, TrainingData
from skneighbors._training.batches import Batch
from skneighbors._training.pace import Pace
from skneighbors._training.trainer import ParallelTrainers, Trainer
from skneighbors._utils.progress import Clock
from skneighbors.nn import NONA, MLPEmbedder


@pytest.fixture(scope="module")
def friedman():
    X, y = make_friedman1(n_samples=500, noise=1.0, random_state=0)
    return X[:300], X[300:], y[:300], y[300:]


def member_predictions(model, X):
    """Predictions of each member by itself, from all rows, (m, n)."""
    bank = model._model.bank
    with torch.no_grad():
        z = bank.embed(torch.from_numpy(model._model.encoder.transform(X))).transpose(0, 1)
        z_n = bank.rows.z.transpose(0, 1)
        y_n = bank.rows.targets.expand(len(z), -1, -1)
        y_hat = bank.network.head(z, z_n, y_n, sample_weight=bank.rows.sample_weight)
    return np.stack([model._model.task.inverse_transform(y.numpy()).ravel() for y in y_hat])


@pytest.mark.slow
def test_the_prediction_is_the_mean_of_different_members(estimator_class, X, y, X_test, y_test):
    params = dict(n_neighbors=None, n_estimators=3, blend=None, max_iter=20, random_state=0)
    params["recipe"] = Recipe(likeness=0)
    model = estimator_class(**params).fit(X, y)
    members = member_predictions(model, X_test)
    margin = 0.1 * np.ptp(y)
    mean = members.mean(0).clip(y.min() - margin, y.max() + margin)
    assert_allclose(model.predict(X_test), mean)
    assert all(np.std(members[i] - members[j]) > 0.1 for i, j in [(0, 1), (0, 2), (1, 2)])
    errors = np.mean((members - y_test) ** 2, axis=1)
    # Jensen's inequality, with room to spare for members that differ.
    assert np.mean((model.predict(X_test) - y_test) ** 2) < 0.97 * errors.mean()


def with_near_rows(context_neighbors, **params):
    recipe = Recipe(context_size=32, context_neighbors=context_neighbors)
    return NONARegressor(recipe=recipe, batch_size=32, random_state=0, **params)


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True])
def test_near_rows_as_context(X, y, X_test, y_test, weighted):
    weight = None
    if weighted:
        weight = np.random.RandomState(0).uniform(0.5, 2, size=len(y))
        y = np.where(np.arange(len(y)) % 3, y, 100.0)
        weight[::3] = 0
    near, again, uniform = (
        with_near_rows(n, max_iter=15).fit(X, y, weight).predict(X_test) for n in (4, 4, None)
    )
    assert r2_score(y_test, near) > 0.5
    assert np.abs(near - uniform).max() > 1e-3
    assert_array_equal(near, again)


@pytest.mark.parametrize("weighted", [False, True])
def test_errors_of_queries_count_by_their_weight(weighted):
    torch.manual_seed(0)
    X, y = torch.randn(20, 2), torch.randn(20, 1)
    sample_weight = torch.rand(20) + 0.5 if weighted else None
    network = NeighborNetwork(None, [MLPEmbedder(2, (), 4)], [NONA(4)])
    plan = plan_for(NONARegressor(), 20)
    task = Regression(np.zeros(1), np.ones(1), 2)
    split = EnsembleSplit(torch.arange(20).unsqueeze(0), None)
    data = TrainingData(LabeledRows(X, y, sample_weight), split, task)
    pace = Pace(plan.schedule, Clock())
    trainer = Trainer(network, data, torch.Generator(), plan.settings, pace)
    rows = torch.tensor([[3, 7, 3, 5, 9]])
    query_weight = torch.tensor([[0.5, 2.0, 0.0, 1.0]])
    context_weight = torch.rand(1, 4, 5)
    context_weight[..., :4].diagonal(dim1=1, dim2=2).fill_(1)
    loss = trainer._losses(Batch(rows, 4, context_weight, query_weight))
    weight = context_weight if sample_weight is None else context_weight * sample_weight[rows]
    if weighted:
        weight[..., :4].diagonal(dim1=1, dim2=2).fill_(1)
    z = network.embed(X[rows], None if sample_weight is None else sample_weight[rows])
    y_hat = network.head(z[:, :4], z, y[rows], torch.arange(4), weight)
    errors = (y_hat - y[rows[:, :4]]).square().squeeze(2)
    share = query_weight if sample_weight is None else query_weight * sample_weight[rows[:, :4]]
    torch.testing.assert_close(loss, (share * errors).sum(1) / share.sum(1))


@pytest.fixture
def apart(auto):
    """Train members apart on few rows too."""
    auto(parallel=True)


@pytest.mark.slow
def test_members_apart_do_not_depend_on_the_number_of_threads(
    estimator_class, X, y, X_test, y_test, apart, thread_count, noted
):
    trained_in = noted(Trainer, "epoch", lambda *args: threading.get_ident())
    model = estimator_class(n_estimators=3, batch_size=64, max_iter=15, random_state=0)
    predictions = []
    for n_threads in (1, 2, 4):
        thread_count(n_threads)
        trained_in.clear()
        predictions.append(model.fit(X, y).predict(X_test))
        assert torch.get_num_threads() == n_threads
        assert (threading.get_ident() in trained_in) == (n_threads == 1)
    assert model.score(X_test, y_test) > 0.5
    assert_array_equal(predictions[1], predictions[0])
    assert_array_equal(predictions[2], predictions[0])


@pytest.mark.slow
def test_members_apart_whose_head_learns_nothing(X, y, X_test, y_test, apart):
    bare = dict(softstep=None, trend=None, blend=None, recipe=Recipe(temperature="calibrated"))
    model = NONARegressor(max_iter=15, batch_size=64, random_state=0, **bare).fit(X, y)
    assert model.score(X_test, y_test) > 0.3


@pytest.mark.slow
def test_an_error_in_one_member_ends_all(
    estimator_class, X, y, X_test, apart, thread_count, monkeypatch
):
    thread_count(2)
    model = estimator_class(n_estimators=2, blend=None, max_iter=2, random_state=0).fit(X, y)
    before = model.predict(X_test)
    original, steps = Pace.learning_rate, itertools.count(1)

    def failing(self, *args):
        if next(steps) == 50:
            raise KeyboardInterrupt
        return original(self, *args)

    # Epochs of so many steps that the other member has not ended its own.
    monkeypatch.setattr(Pace, "learning_rate", failing)
    n_threads = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        model.set_params(batch_size=2, recipe__context_size=2).fit(X, y)
    assert next(steps) < 200  # of 255
    assert threading.active_count() == n_threads
    assert torch.get_num_threads() == 2
    assert_array_equal(model.predict(X_test), before)


@pytest.mark.slow
def test_members_apart_keep_the_weights_of_one_common_epoch(estimator_class, X, y, X_test, apart):
    recipe = Recipe(learning_rate_schedule="constant")
    params = dict(max_iter=12, recipe=recipe, learning_rate_init=0.05, random_state=0)
    params |= dict(hidden_layer_sizes=(256, 256))
    model = estimator_class(**params).fit(X, y)
    assert model.best_iter_ == 1 + np.argmax(model.validation_scores_) < 12
    # The weights of an epoch are those of a training that has its last step there.
    short = estimator_class(**{**params, "max_iter": model.best_iter_}).fit(X, y)
    assert_array_equal(short.predict(X_test), model.predict(X_test))


def test_one_member_apart_that_is_not_finite_stops_all(
    estimator_class, X, y, X_test, apart, thread_count, monkeypatch
):
    thread_count(2)
    original = Trainer.epoch

    def epoch(self, *args):
        if self.n_epochs == 3 and self is self.team[-1]:
            with torch.no_grad():
                next(self.network.parameters()).fill_(torch.nan)
        return original(self, *args)

    def init(self, *args):
        original_init(self, *args)
        for trainer in self.trainers:
            trainer.team = self.trainers

    original_init = ParallelTrainers.__init__
    monkeypatch.setattr(ParallelTrainers, "__init__", init)
    monkeypatch.setattr(Trainer, "epoch", epoch)
    with pytest.warns(ConvergenceWarning, match="not finite in epoch 4.* weights of epoch [1-3]"):
        model = estimator_class(max_iter=9, random_state=0).fit(X, y)
    assert model.n_iter_ == 3
    assert np.isfinite(model.predict(X_test)).all()


def test_members_share_no_feature_extractor(estimator_class, X, y):
    extractor = torch.nn.Sequential(torch.nn.Linear(10, 5), torch.nn.BatchNorm1d(5)).eval()
    before = {name: value.clone() for name, value in extractor.state_dict().items()}
    params = dict(n_estimators=2, blend=None, max_iter=3, random_state=0)
    model = estimator_class(feature_extractor=lambda: extractor, **params).fit(X, y)
    for name, value in extractor.state_dict().items():
        assert torch.equal(value, before[name])  # trained as copies
    one, other = model._model.bank.network.feature_extractors
    assert not torch.equal(one[0].weight, other[0].weight)
    # Trained in training mode, in whatever mode it came.
    assert one[1].num_batches_tracked > 0


def test_score_of_constant_validation_targets(estimator_class):
    X = np.random.RandomState(0).normal(size=(120, 2))
    y = np.full(120, 7.3)
    y[0] = 7.4
    model = estimator_class(max_iter=3, validation_fraction=0.05, random_state=1)
    with pytest.warns(UserWarning, match="hold nearly all of the variation of y: 7.4 in row 0"):
        model.fit(X, y)
    assert all(-1e6 < score <= 1 for score in model.validation_scores_)
