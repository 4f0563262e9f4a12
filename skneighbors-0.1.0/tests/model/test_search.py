"""The nearest rows: found by engines, put in order by differences."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context

from skneighbors._model import engines, search
from skneighbors._model.engines import TorchEngine
from skneighbors._utils.process import one_openmp_thread

from .test_spaces import distances_of


def in_order(distances, k):
    """Rows by distance, those as near up to rounding in an order of their own."""
    keys, shuffled = np.round(distances, 9), np.arange(distances.shape[1]) * 2654435761 % 2**32
    return np.stack([np.lexsort([shuffled, own])[:k] for own in keys])


class Counted:
    """The first rows, as far away as they may be: an engine that finds as badly as it may."""

    is_exact = True

    def __init__(self, points, p, algorithm):
        self.points, self.p, self.asked = points, p, []

    def nearest(self, queries, k):
        Counted.asked.append((len(queries), k))
        distances = torch.cdist(queries, self.points, p=self.p)
        # Ties the other way round.
        order = (distances.flip(1) * 1e9).round().argsort(dim=1, stable=True)
        return len(self.points) - 1 - order[:, :k]


@pytest.mark.parametrize(("k", "working_memory"), [(1, 1), (7, 0.001), (55, 1), (60, 0.001)])
def test_nearest_by_brute_force(make_bank, points, as_queries, metric, k, working_memory):
    Z, queries = points(), points(40, seed=1)
    expected = distances_of(metric, queries, Z)
    with config_context(working_memory=working_memory):
        found = make_bank(Z, metric=metric).index.find(as_queries(queries), k)
    assert_array_equal(found.rows, in_order(expected, k))
    assert_allclose(
        found.distances, np.take_along_axis(expected, found.rows.numpy(), axis=1), atol=1e-12
    )
    assert found.s.shape == (2, 40, k)


@pytest.mark.parametrize("kind", [engines.ScikitLearnEngine, TorchEngine, Counted])
def test_ties_are_broken_alike_whoever_finds_them(make_bank, as_queries, metric, kind, monkeypatch):
    monkeypatch.setattr(search, "make_engine", kind)
    rng = np.random.default_rng(0)
    Z = rng.integers(0, 2, size=(300, 6)).astype(float)  # many ties, many equal rows
    queries, Counted.asked = rng.integers(0, 2, size=(30, 6)) + 0.0, []
    bank = make_bank(Z, metric=metric)
    found = bank.index.find(as_queries(queries), 5)
    assert_array_equal(found.rows, in_order(distances_of(metric, queries, Z), 5))
    if kind is Counted:  # more were looked for where the last one tied
        assert len(Counted.asked) > 1
        assert Counted.asked[0] == (30, 5 + search._MARGIN)


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.integers(1, 12), st.booleans())
def test_left_out_rows_are_not_found(make_bank, as_queries, seed, k, grouped):
    rng = np.random.default_rng(seed)
    Z, group = rng.integers(0, 3, size=(40, 6)) + 0.0, rng.integers(0, 4, size=40)
    own = rng.integers(-1, 40, size=9)
    excluded = np.arange(40) == own[:, None]
    if grouped:
        excluded |= (group == group[own][:, None]) & (own >= 0)[:, None]
    queries = Z[own]
    bank = make_bank(Z, group=group if grouped else None)
    found = bank.index.find(replace(as_queries(queries), self_index=torch.from_numpy(own)), k)
    distances = np.where(excluded, np.inf, distances_of("l2", queries, Z))
    for rows, d, own_distances in zip(found.rows, found.distances, distances, strict=True):
        n = min(k, int(np.isfinite(own_distances).sum()))
        assert_array_equal(rows[:n], in_order(own_distances[None], n)[0])
        assert d[n:].isinf().all()
        assert d[:n].isfinite().all()


def test_a_row_alone_is_a_row_in_a_batch(make_bank, points, as_queries, metric):
    bank, queries = make_bank(points(200), metric=metric), as_queries(points(50, seed=1))
    found = bank.index.find(queries, 9)
    for i in range(50):
        alone = bank.index.find(queries.select([i]), 9)
        assert_array_equal(alone.rows[0], found.rows[i])
        assert_array_equal(alone.s[:, 0], found.s[:, i])


@pytest.mark.parametrize("n_threads", [1, 2, 3])
def test_threads_change_nothing(make_bank, as_queries, thread_count, n_threads):
    rng = np.random.default_rng(0)
    Z, queries = rng.integers(0, 3, size=(5000, 6)) + 0.0, rng.integers(0, 3, size=(600, 6)) + 0.0
    bank = make_bank(Z)
    expected = in_order(distances_of("l2", queries, Z), 10)
    thread_count(n_threads)
    with one_openmp_thread() if n_threads == 1 else config_context():
        assert_array_equal(bank.index.find(as_queries(queries), 10).rows, expected)


def test_rows_that_are_all_alike(make_bank, as_queries, metric):
    bank = make_bank(np.ones((500, 6)), metric=metric)
    found = bank.index.find(as_queries(np.ones((3, 6))), 4)
    assert_array_equal(found.rows, in_order(np.zeros((3, 500)), 4))


@pytest.mark.parametrize("algorithm", ["ivf", "hnsw"])
def test_what_an_index_finds_is_exact(make_bank, points, as_queries, metric, algorithm):
    pytest.importorskip("faiss")
    if (algorithm, metric) == ("ivf", "l1"):
        pytest.skip("refused")
    Z, queries = points(2000), points(40, seed=1)
    expected = distances_of(metric, queries, Z)
    bank = replace(make_bank(Z, metric=metric), algorithm=algorithm)
    found = bank.index.find(as_queries(queries), 6)
    own = np.take_along_axis(expected, found.rows.numpy(), axis=1)
    assert_allclose(found.distances, own, atol=1e-12)
    recall = (found.rows.numpy()[:, :, None] == in_order(expected, 6)[:, None]).any(2).mean()
    assert recall > 0.9
