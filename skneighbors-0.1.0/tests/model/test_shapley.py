"""Shapley values by columns, against their definition."""

from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from skneighbors._model.shapley import shapley_values


def smooth(X, pair):
    """A function with interactions; it differs from pair to pair, and has two outputs."""
    X = np.nan_to_num(X, nan=-1.0)
    first = X.sum(1) + X[:, 0] * X[:, 1] * (1 + pair) + np.sin(X[:, -1] * X[:, 2] * X[:, 1])
    return np.column_stack([first, X[:, 1] ** 2 * X[:, 2]])


def by_definition(function, query, row, pair):
    """Means over all orders of what a column adds."""
    d, value = len(query), {}
    for size in range(d + 1):
        for own in combinations(range(d), size):
            mixed = row.copy()
            mixed[list(own)] = query[list(own)]
            value[frozenset(own)] = function(mixed[None], np.array([pair]))[0]
    sums, orders = np.zeros((d, 2)), list(permutations(range(d)))
    for order in orders:
        for i, column in enumerate(order):
            sums[column] += value[frozenset(order[: i + 1])] - value[frozenset(order[:i])]
    return sums / len(orders)


def pairs(n, p, seed=0):
    rng = np.random.default_rng(seed)
    rows, queries = rng.normal(size=(2, n, p))
    same = rng.random((n, p)) < 0.3
    queries[same] = rows[same]
    rows[0, 0] = queries[0, 0] = np.nan
    rows[1, 1] = np.nan
    return queries, rows


def test_by_definition_where_few_columns_differ():
    queries, rows = pairs(6, 5)
    values = shapley_values(smooth, queries, rows)
    for i in range(6):
        assert_allclose(values[i], by_definition(smooth, queries[i], rows[i], i), atol=1e-12)


@given(st.integers(1, 14), st.integers(0, 10**6), st.integers(1, 300))
def test_they_sum_to_the_difference(p, seed, n_evaluations):
    p = max(p, 3)
    queries, rows = pairs(4, p, seed)
    values = shapley_values(smooth, queries, rows, n_evaluations)
    pair = np.arange(4)
    assert_allclose(values.sum(1), smooth(queries, pair) - smooth(rows, pair), atol=1e-9)
    equal = (queries == rows) | (np.isnan(queries) & np.isnan(rows))
    assert_array_equal(values[equal], 0)


def test_samples_come_near_the_definition():
    rng = np.random.default_rng(0)
    queries, rows = rng.normal(size=(2, 1, 8))
    values = shapley_values(smooth, queries, rows, n_evaluations=40_000)
    expected = by_definition(smooth, queries[0], rows[0], 0)
    assert_allclose(values[0], expected, atol=0.03 * np.abs(expected).max())


@pytest.mark.parametrize("p", [5, 9, 30, 150])
def test_the_function_is_evaluated_so_often(p):
    rng, asked = np.random.default_rng(0), []

    def count(X, pair):
        asked.append(len(X))
        return X[:, :1]

    queries, rows = rng.normal(size=(2, 3, p))
    shapley_values(count, queries, rows, n_evaluations=200)
    assert sum(asked) <= 3 * max(200, 2 * (p + 1))


def test_the_same_every_time():
    queries, rows = pairs(4, 12)
    first, second = (shapley_values(smooth, queries, rows, 100) for _ in range(2))
    assert_array_equal(first, second)
    more = shapley_values(smooth, queries, rows, 100, seed=1)
    assert not np.allclose(first, more)


def test_pairs_that_are_equal():
    X = np.ones((3, 4))
    assert_array_equal(shapley_values(smooth, X, X), np.zeros((3, 4, 2)))


def test_a_pair_alone_is_a_pair_among_others():
    queries, rows = pairs(4, 12)

    def function(X, pair):
        return smooth(X, 0)

    values = shapley_values(function, queries, rows, 100)
    for i in range(4):
        alone = shapley_values(function, queries[[i]], rows[[i]], 100)
        assert_allclose(alone[0], values[i], rtol=1e-12, atol=1e-12)
