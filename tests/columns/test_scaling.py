"""Scaling of targets, and back."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.preprocessing import StandardScaler

from skneighbors._columns.scaling import TargetScaler


@pytest.fixture
def data():
    rng = np.random.RandomState(0)
    return rng.normal(size=(40, 3)) * [1, 100, 1e-3], rng.normal(5, 2, size=(40, 2))


def test_weights_are_copies(data):
    X, _ = data
    weight = np.random.RandomState(0).randint(0, 4, 40)
    copies = np.repeat(np.arange(40), weight)
    weighted = TargetScaler.fit(X, weight.astype(float))
    copied = TargetScaler.fit(X[copies], np.ones(len(copies)))
    assert_allclose(weighted.transform(X), copied.transform(X), rtol=1e-12, atol=1e-12)


def test_target_scaler_standardises_and_undoes_it(data):
    _, y = data
    scaler = TargetScaler.fit(y, np.ones(40))
    assert_allclose(scaler.transform(y), StandardScaler().fit_transform(y))
    assert_allclose(scaler.inverse_transform(scaler.transform(y)), y)


@pytest.mark.parametrize("value", [0.0, -3.3, 1e300, 1e-300])
def test_constant_target_becomes_zero_and_comes_back(value):
    y = np.full((7, 1), value)
    scaler = TargetScaler.fit(y, np.ones(7))
    assert_array_equal(scaler.transform(y), np.zeros((7, 1)))
    assert_allclose(scaler.inverse_transform(np.ones((7, 1))), y)


@pytest.mark.parametrize("scale", [1e-300, 1e-150, 1e150, 1e300])
def test_extreme_targets(scale, data):
    _, y = data
    expected = TargetScaler.fit(y, np.ones(40)).transform(y)
    assert_allclose(TargetScaler.fit(y * scale, np.ones(40)).transform(y * scale), expected)


def test_targets_beyond_float64():
    y = np.array([[1.7e308], [1.7e308], [-1.7e308]])
    with pytest.raises(ValueError, match="y spans more than float64 can hold"):
        TargetScaler.fit(y, np.ones(3))


def test_entries_that_a_constant_target_takes():
    scaler = TargetScaler.fit(np.array([[0.1, 1.0], [0.1, 2.0]]), np.ones(2))
    assert scaler.fits(np.array([[0.1, 1e9], [np.nextafter(0.1, 1), -1e9]]))
    assert not scaler.fits(np.array([[0.1, 1.0], [0.1 + 1e-12, 1.0]]))
    assert not scaler.fits(np.array([[0.0, 1.0]]))


def test_entries_beyond_the_range_of_the_targets():
    scaler = TargetScaler.fit(np.array([[0.0], [1e-200]]), np.ones(2))
    assert scaler.fits(np.array([[1e100]]))
    assert not scaler.fits(np.array([[1e200]]))
