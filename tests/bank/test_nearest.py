"""The nearest rows in the learnt space, and how near rows usually are, by brute force."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist
from sklearn import config_context

from skneighbors._bank import nearest, residuals
from skneighbors._bank.bank import NeighborBank
from skneighbors._bank.nearest import _mean_distance, find_nearest, novelty
from skneighbors._bank.residuals import Derived
from skneighbors._network import NeighborNetwork
from skneighbors.nn import NONA, MLPEmbedder

NAMES = {"l2": "euclidean", "l1": "cityblock", "cosine": "cosine"}
N = 60


@pytest.fixture
def make_bank(metric):
    """Maker of a bank whose embeddings are given, (n, 6), three dimensions for each member."""

    def make(Z, weight=None):
        heads = [NONA(3, similarity=metric) for _ in range(2)]
        network = NeighborNetwork(None, [MLPEmbedder(2, (4,), 3) for _ in heads], heads)
        n, shares = len(Z), torch.tensor([0.5, 0.5]).double()
        X, y = torch.zeros(n, 2).double(), torch.zeros(n, 1).double()
        bank = NeighborBank.build(network, X, y, weight, shares)
        return replace(bank, z_n=by_member(Z))

    return make


def by_member(Z):
    """Embeddings (n, 6) as (2, n, 3)."""
    return torch.from_numpy(Z).unflatten(1, (2, 3)).transpose(0, 1).contiguous()


def points(n=N, seed=0):
    """Some of which coincide."""
    Z = np.random.RandomState(seed).normal(size=(n, 6))
    Z[n // 2 : n // 2 + 3] = Z[0]
    return Z


def distances_of(metric, queries, Z):
    if metric == "dot":
        return -queries @ Z.T / Z.shape[1]
    return cdist(queries, Z, NAMES[metric])


@pytest.mark.parametrize("n_neighbors", [1, 7, N])
@pytest.mark.parametrize("working_memory", [0.001, 1])
def test_nearest_by_brute_force(make_bank, metric, n_neighbors, working_memory):
    Z, queries = points(), points(40, seed=1)
    expected = distances_of(metric, queries, Z)
    with config_context(working_memory=working_memory):
        distances, rows = find_nearest(make_bank(Z), by_member(queries), n_neighbors)
    assert distances.shape == rows.shape == (40, n_neighbors)
    assert_allclose(distances, np.sort(expected, axis=1)[:, :n_neighbors], atol=1e-7)
    assert_allclose(distances, np.take_along_axis(expected, rows.numpy(), axis=1), atol=1e-7)
    assert all(len(set(own)) == n_neighbors for own in rows.tolist())


def test_a_row_itself_comes_first(make_bank, metric):
    Z, own = points(), torch.arange(N).flip(0)
    bank = make_bank(Z)
    distances, rows = find_nearest(bank, bank.z_n[:, own], 5, own)
    assert_array_equal(rows[:, 0], own)
    expected = distances_of(metric, Z, Z)
    assert_allclose(distances[:, 0], np.diag(expected)[own], atol=1e-7)
    others = np.sort(np.where(np.eye(N) > 0, np.inf, expected), axis=1)[own]
    assert_allclose(distances[:, 1:], others[:, :4], atol=1e-7)


def novelty_by_copies(metric, Z, weight, queries):
    Z = np.repeat(Z, weight, axis=0)
    own = np.where(np.eye(len(Z)) > 0, np.inf, distances_of(metric, Z, Z))
    own, others = (
        np.sort(d, axis=1)[:, :5].mean(1) for d in (own, distances_of(metric, queries, Z))
    )
    return (own < others[:, None]).mean(1)


@pytest.mark.parametrize("working_memory", [0.001, 1])
@pytest.mark.parametrize("weighted", [False, True])
def test_share_of_rows_that_are_nearer_to_others(make_bank, metric, weighted, working_memory):
    Z, rng = points(), np.random.RandomState(2)
    queries = rng.normal(size=(30, 6)) * rng.uniform(0, 2, size=(30, 1))
    weight = rng.randint(1, 8, size=N) if weighted else np.ones(N, dtype=int)
    bank = make_bank(Z, torch.from_numpy(weight).double() if weighted else None)
    with config_context(working_memory=working_memory):
        shares = novelty(bank, by_member(queries))
    assert shares.dtype == torch.float64
    assert_allclose(shares, novelty_by_copies(metric, Z, weight, queries), atol=1e-12)


def test_weights_below_one_are_of_rows_that_are_there_once(make_bank):
    Z, queries = points(), points(30, seed=1)[:15]
    light = make_bank(Z, torch.full((N,), 0.25).double())
    shares = novelty(light, by_member(queries))
    assert ((shares >= 0) & (shares <= 1)).all()
    assert len(shares.unique()) > 5


@pytest.mark.parametrize("n", [1, 2, 5, 6])
def test_few_rows(make_bank, metric, n):
    Z, queries = points(8)[:n], points(20, seed=1)
    shares = novelty(make_bank(Z), by_member(queries))
    assert ((shares >= 0) & (shares <= 1)).all()
    if n == 1:  # which has no others
        assert_array_equal(shares, torch.zeros(20))


def test_of_many_rows_a_part_is_compared_with(make_bank, metric, monkeypatch):
    Z, queries = points(), points(30, seed=1)[:15]
    bank = make_bank(Z)
    monkeypatch.setattr(nearest, "_MAX_COMPARED", 25)
    shares = novelty(bank, by_member(queries))
    rows = residuals.sample_rows(N, 25).numpy()
    assert len(rows) == 25
    own = np.where(np.eye(N) > 0, np.inf, distances_of(metric, Z, Z))[rows]
    own, others = (
        np.sort(d, axis=1)[:, :5].mean(1) for d in (own, distances_of(metric, queries, Z))
    )
    assert_allclose(shares, (own < others[:, None]).mean(1))
    monkeypatch.setattr(nearest, "_MAX_COMPARED", N)
    expected = novelty_by_copies(metric, Z, np.ones(N, dtype=int), queries)
    assert_allclose(novelty(replace(bank, derived=Derived()), by_member(queries)), expected)


def test_distances_are_kept(make_bank, monkeypatch):
    bank, z, calls = make_bank(points()), by_member(points(seed=1)), []
    expected, find = novelty(bank, z), find_nearest
    monkeypatch.setattr(nearest, "find_nearest", lambda *a: calls.append(1) or find(*a))
    assert_array_equal(novelty(bank, z), expected)
    assert len(calls) == 1


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 7)), min_size=1, max_size=8))
def test_means_of_the_five_smallest_as_often_as_they_weigh(rows):
    distances, weight = np.array(sorted(rows)).T
    expected = np.repeat(distances, weight)[:5]
    mean = _mean_distance(*(torch.from_numpy(part).double()[None] for part in (distances, weight)))
    assert_allclose(mean, [expected.mean() if len(expected) else np.inf])
