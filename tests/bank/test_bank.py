"""The bank of neighbours."""

import copy
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose
from sklearn import config_context

from skneighbors._bank.bank import NeighborBank
from skneighbors._network import NeighborNetwork
from skneighbors.nn import NONA, MLPEmbedder, SoftStepKNN

SHARES = torch.tensor([0.5, 0.3, 0.2]).double()


@pytest.fixture(params=[NONA, SoftStepKNN])
def bank_and_queries(request):
    torch.manual_seed(0)
    heads = [request.param(4, 2, trend="linear", temperature=0.5) for _ in range(3)]
    network = NeighborNetwork(None, [MLPEmbedder(3, (8,), 4) for _ in heads], heads)
    bank = NeighborBank.build(network, features(), labels(), torch.rand(300).double(), SHARES)
    return bank, features(50, seed=1)


def features(n=300, seed=0):
    return torch.randn(n, 3, generator=torch.Generator().manual_seed(seed)).double()


def labels():
    return torch.linspace(-1, 1, 600).double().view(300, 2).sin()


def test_predicts_what_its_network_predicts(bank_and_queries):
    bank, X = bank_and_queries
    network = bank.network
    z = network.embed(X.unsqueeze(0))
    direct = network.head(z, bank.z_n, labels(), sample_weight=bank.sample_weight)
    assert direct.shape == (3, 50, 2)
    assert_allclose(bank.predict(X), np.average(direct, axis=0, weights=SHARES))
    assert bank.predict(X).dtype == torch.float64


def test_leaves_the_network_it_was_given_alone():
    network = NeighborNetwork(None, [MLPEmbedder(3, (8,), 4)], [NONA(4)])
    rows = torch.randn(9, 3).double(), torch.randn(9, 1).double(), None
    NeighborBank.build(network, *rows, torch.ones(1).double())
    assert network.training
    assert all(p.requires_grad and p.dtype == torch.float32 for p in network.parameters())


@pytest.mark.parametrize("working_memory", [0.02, 0.1, 1])
def test_size_of_the_batches_changes_nothing(bank_and_queries, working_memory):
    bank, X = bank_and_queries
    expected = bank.predict(X), *bank.explain(X, 5)
    with config_context(working_memory=working_memory):
        answers = bank.predict(X), *bank.explain(X, 5)
    for answer, value in zip(answers, expected, strict=True):
        assert_allclose(answer, value, rtol=1e-10)


def test_row_alone_equals_row_in_batch(bank_and_queries):
    bank, X = bank_and_queries
    alone = torch.cat([bank.predict(row[None]) for row in X])
    assert_allclose(alone, bank.predict(X), rtol=1e-9)


def test_the_largest_weights_are_explained(bank_and_queries):
    bank, X = bank_and_queries
    head = bank.network.head
    each = head.weights(bank.embed(X), bank.z_n, sample_weight=bank.sample_weight)
    weights = torch.from_numpy(np.average(each, axis=0, weights=SHARES))
    parts = bank.explain(X, 7)
    assert_allclose(parts.weights, np.sort(weights, axis=1)[:, ::-1][:, :7])
    assert_allclose(parts.weights, weights.gather(1, parts.rows))


TENSORS = ("z_n", "values", "y_range", "sample_weight", "member_weight")


def assert_same(bank, other):
    assert len(bank) == len(other)
    for name in TENSORS:
        own, theirs = getattr(bank, name), getattr(other, name)
        assert (own is None) == (theirs is None)
        if own is not None:
            assert_allclose(own, theirs, rtol=1e-12, atol=1e-12)


def test_a_longer_bank_is_one_that_held_the_rows_from_the_start(bank_and_queries):
    bank, X = bank_and_queries
    before = copy.deepcopy(bank)
    more, y, weight = features(40, seed=2), 3 * labels()[:40], torch.rand(40).double()
    whole = (torch.cat(pair) for pair in [(features(), more), (labels(), y)])
    weights = torch.cat([bank.sample_weight, weight])
    expected = NeighborBank.build(bank.network, *whole, weights, SHARES)
    longer = bank.extend(more, y, weight)
    assert_same(longer, expected)
    assert_allclose(longer.predict(X), expected.predict(X))
    assert_same(bank, before)


def test_a_shorter_bank_is_one_that_never_held_the_rows(bank_and_queries):
    bank, X = bank_and_queries
    before = copy.deepcopy(bank)
    keep, weight = torch.arange(300) % 3 > 0, torch.rand(200).double()
    rows = features()[keep], labels()[keep]
    expected = NeighborBank.build(bank.network, *rows, weight, SHARES)
    shorter = bank.select(keep, weight)
    assert_same(shorter, expected)
    assert_allclose(shorter.predict(X), expected.predict(X))
    assert_same(bank, before)


def test_weights_of_one_are_none():
    network = NeighborNetwork(None, [MLPEmbedder(3, (8,), 4)], [NONA(4, 2)])
    bank = NeighborBank.build(network, features(), labels(), None, torch.ones(1).double())
    more = features(2, seed=2), labels()[:2]
    assert bank.extend(*more, torch.ones(2).double()).sample_weight is None
    weighted = bank.extend(*more, torch.tensor([1.0, 2.0]).double())
    assert_allclose(weighted.sample_weight, [*np.ones(301), 2])
    keep = torch.arange(302) < 301
    assert weighted.select(keep, torch.ones(301).double()).sample_weight is None
    twos = 2 * torch.ones(301).double()
    assert_allclose(weighted.select(keep, twos).sample_weight, twos)


def test_an_index_is_of_its_bank_alone(bank_and_queries):
    bank, _ = bank_and_queries
    longer = bank.extend(features(1), labels()[:1], torch.ones(1).double())
    shorter = bank.select(torch.arange(300) > 0, bank.sample_weight[1:])
    caches = [bank.indices, longer.indices, shorter.indices, copy.deepcopy(bank).indices]
    assert len({id(cache) for cache in caches}) == 4
    assert bank.to(torch.device("meta")).indices is bank.indices  # which knows the devices


def test_immutable(bank_and_queries):
    bank, _ = bank_and_queries
    with pytest.raises(FrozenInstanceError):
        bank.sample_weight = None


def test_members_make_the_prediction(bank_and_queries):
    bank, X = bank_and_queries
    z, y_hat = bank.embed(X), []
    for own, (head, z_n, values, weight) in zip(z, bank.members(), strict=True):
        weights = head.weights(own[None], z_n[None], sample_weight=weight)
        y_hat.append(head.add_trend(own[None], weights @ values)[0])
    assert_allclose(bank.predict(X), np.average(torch.stack(y_hat), axis=0, weights=SHARES))


def test_already_there(bank_and_queries):
    bank, _ = bank_and_queries
    assert bank.to(torch.device("cpu")) is bank


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_predicts_the_same_on_a_gpu(bank_and_queries):
    bank, X = bank_and_queries
    there = bank.to(torch.device("cuda"))
    assert bank.z_n.device.type == "cpu"
    assert_allclose(there.predict(X.cuda()).cpu(), bank.predict(X), rtol=1e-9)


@pytest.fixture
def fitted_to_lines(estimator_class):
    """Estimator of two linear targets, whose trend goes on beyond them, and the targets."""
    X = np.linspace(-1, 1, 80).reshape(-1, 1)
    y = np.hstack([X, 1 - 50 * X])
    return estimator_class(max_iter=50, n_estimators=3, random_state=0).fit(X, y), y


def members_at(model, x, y):
    """Each member's predictions at features x (n,), its trend going on, (m, n, k)."""
    fitted, bank = model._fitted, model._fitted.bank
    z = bank.embed(torch.from_numpy(fitted.encoder.transform(x.reshape(-1, 1))))
    rows = fitted.numbering.first_samples(len(bank))
    y_n = torch.from_numpy(fitted.y_scaler.transform(y[rows]))
    return fitted.y_scaler.inverse_transform(bank.network.head(z, bank.z_n, y_n).numpy())


def limits(y):
    margin = 0.1 * np.ptp(y, axis=0)
    return y.min(0) - margin, y.max(0) + margin


def test_members_predict_at_most_a_tenth_of_the_range_beyond_it(fitted_to_lines):
    model, y = fitted_to_lines
    x = np.linspace(-3, 3, 61)
    low, high = limits(y)
    members = members_at(model, x, y)
    outside = (members < low) | (members > high)
    # Somewhere one member is within the limits and another beyond.
    assert (outside.any(0) & ~outside.all(0)).any()
    expected = members.clip(low, high).mean(0)
    assert_allclose(model.predict(x.reshape(-1, 1)), expected, atol=1e-12)
    model.set_params(n_candidates=79)
    y_hat = model.predict([[-10.0], [10.0]])
    assert_allclose(y_hat, [[low[0], high[1]], [high[0], low[1]]])


def test_the_limits_are_those_of_the_neighbours_there_are(fitted_to_lines):
    model, y = fitted_to_lines
    more = np.vstack([y, [[1.4, -60.0]]])
    model.append([[1.0]], more[80:])
    low, high = limits(more)
    assert_allclose(model.predict([[10.0]]), [[high[0], low[1]]])
    model.forget(range(40, 81))
    low, high = limits(y[:40])
    assert_allclose(model.predict([[-10.0], [10.0]]), [[low[0], high[1]], [high[0], low[1]]])


def test_all_of_a_bank_moves(bank_and_queries):
    bank, _ = bank_and_queries
    moved = bank.to(torch.device("meta"))
    tensors = [value for value in vars(moved).values() if isinstance(value, torch.Tensor)]
    assert len(tensors) == 5
    assert {t.device.type for t in [*tensors, *moved.network.parameters()]} == {"meta"}
    assert bank.z_n.device.type == "cpu"
