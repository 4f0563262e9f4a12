"""The bank of neighbors: what the nearest rows predict, against the formula in NumPy."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose
from sklearn import config_context

from skneighbors._columns import LabeledRows
from skneighbors._model import EmbeddedRows, NeighborBank, search
from skneighbors._network import NeighborNetwork
from skneighbors._task import Regression
from skneighbors.nn import NONA, MLPEmbedder, SoftStepKNN
from skneighbors.nn._stack import take_member

from .test_search import in_order
from .test_spaces import distances_of

TASK = Regression(np.zeros(1), np.ones(1), 1)


@pytest.fixture(params=[NONA, SoftStepKNN])
def kind(request):
    return request.param


def weights_by_formula(bank, queries, Z, metric, k, excluded=None):
    """Weights (m, n, N) by each member of the k nearest rows, found by brute force."""
    distances = distances_of(metric, queries, Z)
    if excluded is not None:
        distances = np.where(excluded, np.inf, distances)
    rows = torch.from_numpy(in_order(distances, k))
    weight = bank.rows.weights()
    own = weight.expand(len(queries), -1)
    if excluded is not None:
        own = torch.where(torch.from_numpy(excluded), 0.0, own)
    total, own = own.sum(1, keepdim=True), own.gather(1, rows)
    z, out = torch.from_numpy(queries).unflatten(1, (2, -1)), []
    for member in range(2):
        head = take_member(bank.network.head, member)
        near = bank.rows.z[:, member][rows]  # (n, k, d)
        q = z[:, [member]]  # each query on its own
        s = torch.stack(
            [_similarity(a[0], b, metric) for a, b in zip(q, near, strict=True)]
        ).unsqueeze(1)
        w = head.weights_of(q, s, sample_weight=own.unsqueeze(1), total=total.unsqueeze(1))
        out.append(torch.zeros(len(queries), len(Z)).double().scatter(1, rows, w[:, 0]))
    return torch.stack(out).numpy()


def _similarity(z, z_n, metric):
    if metric == "l2":
        return -(z - z_n).square().sum(-1).sqrt()
    if metric == "l1":
        return -(z - z_n).abs().sum(-1)
    if metric == "dot":
        return z_n @ z / len(z)
    return z_n @ z / z.norm() / z_n.norm(dim=1)


def nothing(queries):
    """What no blended model predicts of queries."""
    return torch.zeros(len(queries), 2, dtype=torch.float64)


def embed(bank, X):
    """Queries in which likeness has no say."""
    return EmbeddedRows(bank.embed(X), None)


def predict_by_formula(bank, queries, weights, blended):
    """Weighted means of adjusted targets and the blended, cut off a tenth of the range beyond."""
    z = torch.from_numpy(queries).unflatten(1, (2, -1))

    def trend(z):
        return np.stack(
            [take_member(bank.network.head, i).trend(z[None, :, i])[0].numpy() for i in range(2)]
        )

    t, t_n = trend(z), trend(bank.rows.z)
    y = bank.rows.targets.numpy()
    y_hat = 0
    for w, own, own_n in zip(weights, t, t_n, strict=True):
        adjusted = y[None] + own[:, None] - own_n[None]  # (n, N, k)
        y_hat = y_hat + np.einsum("nj,njk->nk", w, adjusted) / 2
    y_hat = (1 - bank.blend_weight) * y_hat + bank.blend_weight * np.asarray(blended)
    margin = 0.1 * np.ptp(y, axis=0)
    return y_hat.clip(y.min(0) - margin, y.max(0) + margin)


def test_predicts_by_the_nearest_rows(make_bank, points, as_queries, metric, kind_and_params):
    assert_predicts(make_bank, points, as_queries, metric, *kind_and_params, k=6, weighted=True)


@pytest.mark.parametrize("k", [1, 60])
@pytest.mark.parametrize("weighted", [False, True])
def test_predicts_by_one_row_or_by_all(make_bank, points, as_queries, kind, k, weighted):
    assert_predicts(make_bank, points, as_queries, "l2", kind, {}, k, weighted)


def assert_predicts(make_bank, points, as_queries, metric, kind, params, k, weighted):
    rng = np.random.default_rng(1)
    weight = rng.integers(1, 4, 60) / 2 if weighted else None
    blended, blended_q = rng.normal(size=(60, 2)), rng.normal(size=(20, 2))
    Z, queries = points(), points(20, seed=1)
    bank = make_bank(Z, kind, metric, weight, blended=blended, share=0.4, **params)
    weights = weights_by_formula(bank, queries, Z, metric, k)
    expected = predict_by_formula(bank, queries, weights, blended_q)
    asked, blended_q = as_queries(queries), torch.from_numpy(blended_q)
    found = bank.predict(asked, blended_q, k)
    assert_allclose(found, expected, rtol=1e-7, atol=1e-7)
    near = bank.attend(asked, lambda near: near, k)[0]
    assert near.total_weights.shape == (20, k)
    assert_allclose(near.weights.sum(2), 0.5)
    if k == 60:
        every = bank.predict(asked, blended_q, None)
        assert_allclose(every, expected, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("k", [4, 60, None])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("grouped", [False, True])
def test_a_row_is_left_out_whole(make_bank, points, kind, k, weighted, grouped):
    rng = np.random.default_rng(1)
    weight = rng.integers(1, 5, 60) if weighted else None
    group = rng.integers(-1, 8, 60) if grouped else None
    Z = points()
    # Who has no group has one of its own.
    own_groups = None if group is None else np.where(group < 0, 8 + np.arange(60), group)
    bank = make_bank(Z, kind, weight=weight, group=own_groups)
    own = np.array([3, 30, -1, 59])
    excluded = np.arange(60) == own[:, None]
    if grouped:
        of_own = np.where(own >= 0, group[own], -1)[:, None]
        excluded |= (group == of_own) & (of_own >= 0)
    near = bank.attend(
        bank.rows.leave_out(torch.from_numpy(own)), lambda near: (near.rows, near.weights), k
    )
    rows, found = near[0]
    found = torch.zeros(2, 4, 60).double().scatter(2, rows.expand(2, -1, -1), found)
    n = 60 if k in (None, 60) else k
    expected = weights_by_formula(bank, Z[own], Z, "l2", n, excluded)
    assert_allclose(found, np.divide(expected, 2), atol=1e-8)
    assert (found.numpy()[:, excluded] == 0).all()


@pytest.mark.parametrize("working_memory", [0.02, 1])
@pytest.mark.parametrize("k", [5, None])
def test_size_of_the_batches_changes_nothing(
    make_bank, points, as_queries, kind, k, working_memory, monkeypatch
):
    bank, queries = make_bank(points(), kind), as_queries(points(50, seed=1))
    expected = bank.predict(queries, nothing(queries), k)
    monkeypatch.setattr("skneighbors._model.bank._SEARCHED", 17)
    monkeypatch.setattr("skneighbors._model.bank._ATTENDED", 4)
    with config_context(working_memory=working_memory):
        found = bank.predict(queries, nothing(queries), k)
    assert_allclose(found, expected, rtol=1e-10)
    each = (queries.select([i]) for i in range(50))
    alone = torch.cat([bank.predict(query, nothing(query), k) for query in each])
    assert_allclose(alone, expected, rtol=1e-9)


@pytest.fixture(params=[NONA, SoftStepKNN])
def bank_and_queries(request):
    torch.manual_seed(0)
    heads = [request.param(4, 2, trend="linear", temperature=0.5) for _ in range(2)]
    network = NeighborNetwork(None, [MLPEmbedder(3, (8,), 4) for _ in heads], heads)
    rows = LabeledRows(features(), labels(), torch.rand(300).double(), torch.arange(300) // 3)
    bank = NeighborBank.build(network, rows, TASK, 0.1 * labels())
    return replace(bank, blend_weight=0.25), features(50, seed=1)


def features(n=300, seed=0):
    return torch.randn(n, 3, generator=torch.Generator().manual_seed(seed)).double()


def labels():
    return torch.linspace(-1, 1, 600).double().view(300, 2).sin()


def test_leaves_the_network_it_was_given_alone():
    network = NeighborNetwork(None, [MLPEmbedder(3, (8,), 4)], [NONA(4)])
    rows = LabeledRows(torch.randn(9, 3).double(), torch.randn(9, 1).double())
    NeighborBank.build(network, rows, TASK)
    assert network.training
    assert all(p.requires_grad and p.dtype == torch.float32 for p in network.parameters())


def test_engines_are_kept(bank_and_queries, monkeypatch):
    (bank, X), made, make = bank_and_queries, [], search.make_engine
    monkeypatch.setattr(search, "make_engine", lambda *a: made.append(a) or make(*a))
    queries = embed(bank, X)
    for _ in range(2):
        bank.predict(queries, nothing(queries), 5)
    assert [algorithm for *_, algorithm in made] == ["auto"]


def test_all_of_a_bank_moves(bank_and_queries):
    bank, X = bank_and_queries
    queries = embed(bank, X)
    bank.predict(queries, nothing(queries), 5)  # keeps what it has derived
    assert bank.to(torch.device("cpu")) is bank
    moved = bank.to(torch.device("meta"))
    assert moved.rows.arrays().keys() == bank.rows.arrays().keys()
    tensors = *moved.rows.arrays().values(), *moved.network.parameters()
    assert {tensor.device.type for tensor in tensors} == {"meta"}
    assert bank.rows.z.device.type == "cpu"


@pytest.fixture
def fitted_to_lines(estimator_class):
    """Estimator of two linear targets, whose trend goes on beyond them, and the targets."""
    X = np.linspace(-1, 1, 80).reshape(-1, 1)
    y = np.hstack([X, 1 - 50 * X])
    quick = dict(blend=None, max_iter=20, n_estimators=2, random_state=0)
    return estimator_class(**quick).fit(X, y), y


def limits(y):
    margin = 0.1 * np.ptp(y, axis=0)
    return y.min(0) - margin, y.max(0) + margin


def test_predictions_lie_at_most_a_tenth_of_the_range_beyond_it(fitted_to_lines):
    model, y = fitted_to_lines
    low, high = limits(y)
    why = model.explain([[-10.0], [0.0], [10.0]])
    assert_allclose(why.prediction[::2], [[low[0], high[1]], [high[0], low[1]]])
    means = (why.weights[..., None] * why.adjusted_targets).sum(1)
    assert ((means < low) | (means > high))[::2].all()
    assert_allclose(why.clipping, means.clip(low, high) - means, atol=1e-9)
    assert_allclose(why.clipping[1], 0)
    assert "clipped to the range of targets" in str(why)


def test_the_limits_are_those_of_the_neighbors_there_are(fitted_to_lines):
    model, y = fitted_to_lines
    more = np.vstack([y, [[1.4, -60.0]]])
    model.append([[1.0]], more[80:])
    low, high = limits(more)
    assert_allclose(model.predict([[10.0]]), [[high[0], low[1]]])
    model.forget(range(40, 81))
    low, high = limits(y[:40])
    assert_allclose(model.predict([[-10.0], [10.0]]), [[low[0], high[1]], [high[0], low[1]]])
