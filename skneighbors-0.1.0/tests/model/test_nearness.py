"""How near rows usually are, by brute force."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context

from skneighbors._model import nearness as room
from skneighbors._model import residuals

from .test_spaces import distances_of

N = 60


def novelty(bank, queries):
    return room.novelty(bank, queries, room.measure_nearness(bank))


def novelty_by_sorting(metric, Z, weight, queries):
    own = np.where(np.eye(len(Z)) > 0, np.inf, distances_of(metric, Z, Z))
    asked = distances_of(metric, queries, Z)
    own, asked = (np.sort(d, axis=1)[:, :5].mean(1) for d in (own, asked))
    return np.average(own < asked[:, None], axis=1, weights=weight)


@pytest.mark.parametrize(("working_memory", "weighted"), [(0.001, True), (1, False)])
def test_share_of_rows_that_are_nearer_to_others(
    make_bank, points, as_queries, metric, weighted, working_memory
):
    Z, rng = points(), np.random.RandomState(2)
    queries = rng.normal(size=(30, 6)) * rng.uniform(0, 2, size=(30, 1))
    weight = rng.randint(1, 8, size=N) if weighted else np.ones(N, dtype=int)
    bank = make_bank(Z, metric=metric, weight=weight if weighted else None)
    with config_context(working_memory=working_memory):
        shares = novelty(bank, as_queries(queries))
    assert shares.dtype == torch.float64
    assert_allclose(shares, novelty_by_sorting(metric, Z, weight, queries), atol=1e-12)


def test_half_where_all_are_as_near(make_bank, as_queries):
    bank = make_bank(np.ones((20, 6)))
    assert_array_equal(novelty(bank, as_queries(np.ones((3, 6)))), np.full(3, 0.5))
    assert_array_equal(novelty(bank, as_queries(np.zeros((3, 6)))), np.ones(3))


@pytest.mark.parametrize("n", [1, 2, 5, 6])
def test_few_rows(make_bank, points, as_queries, metric, n):
    Z, queries = points(8)[:n], points(20, seed=1)
    shares = novelty(make_bank(Z, metric=metric), as_queries(queries))
    assert ((shares >= 0) & (shares <= 1)).all()
    if n == 1:  # which has no others: infinitely far
        assert_array_equal(shares, torch.zeros(20))


def test_of_many_rows_a_part_is_compared_with(make_bank, points, as_queries, metric, monkeypatch):
    Z, queries = points(), points(30, seed=1)[:15]
    bank = make_bank(Z, metric=metric)
    monkeypatch.setattr(room, "_MAX_COMPARED", 25)
    shares = novelty(bank, as_queries(queries))
    rows = residuals.sample_rows(N, 25).numpy()
    assert len(rows) == 25
    own = np.where(np.eye(N) > 0, np.inf, distances_of(metric, Z, Z))[rows]
    own, asked = (np.sort(d)[:, :5].mean(1) for d in (own, distances_of(metric, queries, Z)))
    assert_allclose(shares, (own < asked[:, None]).mean(1))
    monkeypatch.setattr(room, "_MAX_COMPARED", N)
    expected = novelty_by_sorting(metric, Z, np.ones(N, dtype=int), queries)
    assert_allclose(novelty(bank, as_queries(queries)), expected)


@given(st.integers(1, 10**6), st.integers(1, 200))
def test_more_rows_change_few_of_those_compared(n_rows, n_more):
    n_rows = 300 + n_rows % 3000
    before, after = (set(residuals.sample_rows(n, 250).tolist()) for n in (n_rows, n_rows + n_more))
    assert len(before) == len(after) == 250
    assert after - before <= set(range(n_rows, n_rows + n_more))
