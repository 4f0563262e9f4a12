"""Features for the network: scaled numbers, told gaps, one-hot levels, codes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skneighbors._columns.encoding import FeatureEncoder, weighted_quantiles

NAN = np.nan


def numbers(X, weight=None):
    weight = np.ones(len(X)) if weight is None else weight
    return FeatureEncoder.fit(X, weight, np.zeros(X.shape[1], dtype=int))


@pytest.fixture
def X():
    return np.random.RandomState(0).normal(size=(40, 3)) * [1, 100, 1e-3]


def test_scaling_is_robust_and_clips_smoothly(X):
    encoder = numbers(X)
    low, middle, high = np.quantile(X, [0.25, 0.5, 0.75], axis=0, method="inverted_cdf")
    s = (X - middle) / (high - low)
    assert_allclose(encoder.transform(X), s / np.sqrt(1 + (s / 3) ** 2))
    for value in (1e300, np.finfo(float).max):
        assert_allclose(encoder.transform(np.array([[value, -value, value]])), [[3, -3, 3]])


def test_large_numbers_that_lie_close_together_stay_apart():
    X = (2.0**53 - 200 + np.arange(9))[:, None]
    assert_allclose(numbers(X).transform(X), numbers(X - X[0]).transform(X - X[0]))


def test_mostly_constant_column_is_scaled_by_its_range():
    X = np.zeros((20, 1))
    X[0] = 8
    assert_array_equal(numbers(X).scale, [4.0])
    assert_array_equal(numbers(X[1:]).transform(X), np.zeros((20, 1)))


def test_gaps_are_taken_for_the_median_and_told(X):
    holes = X.copy()
    holes[::3, 1] = NAN
    encoder = numbers(holes)
    out = encoder.transform(holes)
    assert encoder.n_plain == 1
    assert out.shape == (40, 4)
    assert_array_equal(out[::3, 1], 0)
    assert_array_equal(out[:, 3], np.isnan(holes[:, 1]))
    # As if the rows with gaps were not there.
    present = ~np.isnan(holes[:, 1])
    assert_allclose(out[present, 1], numbers(X[present]).transform(X)[present, 1])
    # A missing value where fit saw none has nothing to be told by.
    assert_array_equal(encoder.transform(np.full((1, 3), NAN)), [[0, 0, 0, 1]])


def test_levels(X):
    codes = np.random.RandomState(0).randint(9, size=(40, 2)).astype(float)
    codes[:, 0] %= 3
    codes[5] = NAN
    table = np.column_stack([codes[:, 0], X[:, 0], codes[:, 1]])
    encoder = FeatureEncoder.fit(table, np.ones(40), np.array([3, 0, 9]))
    out = encoder.transform(table)
    assert (len(encoder.numbers), encoder.n_plain, len(encoder.coded)) == (1, 3, 1)
    assert_allclose(out[:, :1], numbers(X[:, :1]).transform(X[:, :1]))
    assert_array_equal(out[:, 1:4], np.eye(4)[np.nan_to_num(codes[:, 0], nan=3).astype(int)][:, :3])
    assert_array_equal(out[:, 4], np.nan_to_num(codes[:, 1], nan=9))


def test_a_range_beyond_float64_is_a_scale():
    largest = np.finfo(float).max
    X = np.array([[largest], [-largest], [0.0]])
    encoder = FeatureEncoder.fit(X, np.ones(3), np.array([0]))
    encoded = encoder.transform(X)
    assert np.isfinite(encoded).all()
    assert encoded[1, 0] < encoded[2, 0] < encoded[0, 0]


def test_quantiles_of_all_columns_at_once_are_numpys():
    rng = np.random.RandomState(0)
    columns, weight = rng.normal(size=(5, 50)).round(1), rng.randint(1, 4, size=50) / 3
    columns[1:][rng.uniform(size=(4, 50)) < 0.3] = NAN
    columns[4] = NAN
    found = weighted_quantiles(columns, [0.002, 0.25, 0.5, 0.998], weight)
    for column, quantiles in zip(columns[:4], found.T, strict=False):
        present = ~np.isnan(column)
        known = dict(weights=weight[present], method="inverted_cdf")
        expected = np.quantile(column[present], [0.002, 0.25, 0.5, 0.998], **known)
        assert_array_equal(quantiles, expected)
    assert np.isnan(found[:, 4]).all()
