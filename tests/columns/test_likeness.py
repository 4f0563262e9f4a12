"""Gower's distance on columns as read, and how it chooses among the nearest rows."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from skneighbors._columns import Likeness, LikenessEncoder, TableReader
from skneighbors._columns.categories import Categories
from skneighbors._columns.likeness import gower_distances
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
    """Gower's distance of two rows, column by column."""
    terms = []
    for j, column in enumerate(X.T):
        if len(np.unique(column)) == 1:
            continue
        a, b = query[j], row[j]
        if j == CODED and UNKNOWN in (a, b):
            terms.append(1.0)
        elif np.isnan(a) or np.isnan(b):
            terms.append(float(np.isnan(a) != np.isnan(b)))
        elif j == CODED:
            terms.append(float(a != b))
        else:
            known = ~np.isnan(column)
            total = weight[known].sum()
            ranks = [
                (weight[known & (column < v)].sum() + weight[known & (column <= v)].sum()) / 2
                for v in (a, b)
            ]
            terms.append(abs(ranks[0] - ranks[1]) / total)
    return np.mean(terms)


def encode(encoder, X):
    return encoder.transform(READER.compare(X))


def gower(encoder, queries, rows):
    queries, rows = (torch.from_numpy(encode(encoder, part)) for part in (queries, rows))
    weight = torch.from_numpy(encoder.column_weight)
    return gower_distances(queries, rows.expand(len(queries), *rows.shape), weight).numpy()


def test_it_is_gowers_distance():
    X = make_rows()
    weight = np.random.default_rng(1).uniform(0.5, 3, size=len(X))
    queries = make_rows(2, 15)
    queries[:3, 2] = UNKNOWN
    queries[5, 0] = 99.0
    found = gower(LikenessEncoder.fit(READER, X, weight), queries, X)
    expected = [[oracle(q, x, X, weight) for x in X] for q in queries]
    assert_allclose(found, expected, atol=1e-12)


def test_an_unknown_category_is_unlike_itself():
    X = make_rows()
    encoder = LikenessEncoder.fit(READER, X, np.ones(len(X)))
    row = X[:1].copy()
    row[0, 2] = UNKNOWN
    assert_allclose(gower(encoder, row, row), 1 / 3)
    assert gower(encoder, X[:1], X[:1]) == 0


@given(st.integers(0, 10**6))
def test_what_keeps_the_order_of_numbers_changes_nothing(seed):
    X = make_rows(seed, 12)
    bent = X.copy()
    bent[:, :2] = np.exp(X[:, :2])
    weight = np.ones(len(X))
    ranks, same = (encode(LikenessEncoder.fit(READER, A, weight), A) for A in (X, bent))
    assert_array_equal(ranks, same)


def test_a_table_of_categories_alone():
    reader, X = TableReader(READER.kinds[2:3], [0]), np.array([[0.0], [2.0], [np.nan], [UNKNOWN]])
    encoder = LikenessEncoder.fit(reader, X, np.ones(4))
    expected = [[0], [2], [-2], [np.nan]]
    assert_array_equal(encoder.transform(reader.compare(X)), expected)


def test_a_table_of_one_row():
    X = make_rows(n=1)
    encoder = LikenessEncoder.fit(READER, X, np.ones(1))
    assert_array_equal(gower(encoder, X, X), [[0.0]])


def at_80(distances):
    """Distance of the 80th nearest, or what stands in for it."""
    ascending = np.sort(distances)
    scale = ascending[min(80, len(ascending)) - 1]
    if scale > 0:
        return scale
    positive = ascending[ascending > 0]
    return positive[0] if len(positive) else 1.0


@pytest.mark.parametrize("n_rows", [30, 200])
@pytest.mark.parametrize("strength", [0.5, 4.0])
def test_it_chooses_by_both_distances(n_rows, strength):
    rng = np.random.default_rng(0)
    r, columns = rng.exponential(size=(5, n_rows)), rng.uniform(size=(5, n_rows, 3))
    r[:, 7] = np.inf
    r[1, :] = np.where(np.arange(n_rows) < 3, 1.0, 0.0)
    s, query = -rng.exponential(size=(2, 5, n_rows)), rng.uniform(size=(5, 3))
    weight = torch.tensor([0.2, 0.3, 0.5], dtype=torch.float64)
    likeness = Likeness(strength, weight)
    compared = likeness.compare(torch.from_numpy(query), torch.from_numpy(columns))
    order, distances, similarities = likeness.choose(
        (torch.from_numpy(r), torch.from_numpy(s)), 0.0, compared, 10
    )
    g = np.abs(columns - query[:, None]) @ weight.numpy()
    for i in range(5):
        counts = np.isfinite(r[i])
        added = strength * g[i] / at_80(g[i, counts])
        expected = r[i] + at_80(r[i, counts]) * added
        found = np.argsort(expected, kind="stable")[:10]
        assert_array_equal(order[i], found)
        assert_allclose(distances[i], expected[found], rtol=1e-12)
        for m in range(2):
            of_member = s[m, i] - at_80(-s[m, i, counts]) * added
            assert_allclose(similarities[m, i], of_member[found], rtol=1e-12)


def test_of_ties_the_first_candidate_is_chosen():
    r = torch.ones(1, 50, dtype=torch.float64)
    columns = torch.zeros(1, 50, 2, dtype=torch.float64)
    likeness = Likeness(1.0, torch.ones(2, dtype=torch.float64))
    g = likeness.compare(columns[:, 0], columns)
    order, _, _ = likeness.choose((r, -r[None]), 0.0, g, 20)
    assert_array_equal(order[0], np.arange(20))
