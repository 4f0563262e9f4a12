"""Points of rows, whose squared distance is the mean of what their columns say."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist

from skneighbors._columns import LikenessEncoder, TableReader, encoding
from skneighbors._columns.categories import Categories
from skneighbors._columns.numbers import Numbers

UNKNOWN, CODED = -1.0, 2
READER = TableReader(
    [Numbers(), Numbers(), Categories({"a": 0, "b": 1, "c": 2}), Numbers()], [0, 1, 2, 3]
)


def make_rows(seed=0, n=40):
    """Two columns of numbers, one of three categories, one that is constant; some are missing."""
    rng = np.random.default_rng(seed)
    X = np.column_stack(
        [rng.normal(size=n).round(1), rng.exponential(size=n), rng.integers(3, size=n), np.ones(n)]
    )
    X[rng.random(X.shape) < 0.1] = np.nan
    X[:, 3] = 1.0
    return X


def oracle(query, row, X, weight):
    """Squared distance of two rows, column by column."""
    terms = []
    for j, column in enumerate(X.T):
        if len(np.unique(column)) == 1:
            continue
        a, b = query[j], row[j]
        if j == CODED:
            n_known = np.sum(np.array([a, b]) >= 0)
            terms.append(float(a != b) if n_known == 2 else n_known / 2)
        else:
            known, present = ~np.isnan(column), ~np.isnan([a, b])
            ranks = [
                weight[known & (column < v)].sum() + weight[known & (column <= v)].sum()
                for v in (a, b)
            ]
            ranks = np.where(present, np.array(ranks) / weight[known].sum() / 2, 0.5)
            terms.append((ranks[0] - ranks[1]) ** 2 + 0.75 * (present[0] != present[1]))
    return np.mean(terms)


def squared_distances(encoder, queries, rows, reader=READER):
    points = [encoder.transform(reader, part).astype(float) for part in (queries, rows)]
    return cdist(*points, "sqeuclidean")


def test_squared_distances_are_the_mean_over_columns():
    X = make_rows()
    weight = np.random.default_rng(1).uniform(0.5, 3, size=len(X))
    queries = make_rows(2, 15)
    queries[:3, 2] = UNKNOWN
    queries[5, 0] = 99.0
    found = squared_distances(LikenessEncoder.fit(READER, X, weight), queries, X)
    assert_allclose(found, [[oracle(q, x, X, weight) for x in X] for q in queries], atol=1e-6)


@given(st.integers(0, 10**6))
def test_what_keeps_the_order_of_numbers_changes_nothing(seed):
    X = make_rows(seed, 12)
    bent = X.copy()
    bent[:, :2] = np.exp(X[:, :2])
    weight = np.ones(len(X))
    encoders = [(LikenessEncoder.fit(READER, A, weight), A) for A in (X, bent)]
    assert_array_equal(*(encoder.transform(READER, A) for encoder, A in encoders))


@pytest.mark.parametrize("n", [2, 32, 33, 300])
def test_categories_are_about_as_far_from_each_other(n):
    reader = TableReader([Categories({str(i): i for i in range(n)})], [0])
    X = np.append(np.arange(n), np.nan)[:, None]
    found = squared_distances(LikenessEncoder.fit(reader, X, np.ones(n + 1)), X, X, reader)
    different = found[:n, :n][~np.eye(n, dtype=bool)]
    assert_allclose(different, 1, atol=1e-6 if n <= 32 else 0.8)
    assert_allclose(different.mean(), 1, atol=0.05)
    assert_allclose(found[n, :n], 0.5, atol=1e-6)


def test_more_coordinates_than_enough_are_projected():
    X = np.random.default_rng(0).normal(size=(30, 2 * encoding._MAX_DIM))
    reader = TableReader([Numbers()] * X.shape[1], list(range(X.shape[1])))
    encoder = LikenessEncoder.fit(reader, X, np.ones(30))
    points = encoder.transform(reader, X)
    assert points.shape == (30, encoding._MAX_DIM)
    assert_array_equal(encoder.transform(reader, X[3:4]), points[3:4])
    ranks = (X.argsort(axis=0).argsort(axis=0) + 0.5) / 30
    expected = cdist(ranks, ranks) / np.sqrt(X.shape[1])
    assert_allclose(cdist(points, points), expected, rtol=0.2)


def test_a_table_of_one_row():
    X = make_rows(n=1)
    encoder = LikenessEncoder.fit(READER, X, np.ones(1))
    assert encoder.transform(READER, X).shape == (1, 0)
