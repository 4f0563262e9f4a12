"""Targets: checked, brought to a scale, and back; errors on it."""

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import DataConversionWarning
from sklearn.preprocessing import StandardScaler

from skneighbors._task import Regression


@pytest.fixture
def data():
    rng = np.random.RandomState(0)
    return rng.normal(size=(40, 3)) * [1, 100, 1e-3], rng.normal(5, 2, size=(40, 2))


@pytest.mark.parametrize("scale", [1, 1e-300, 1e-150, 1e150, 1e300])
def test_standardizes_and_undoes_it(scale, data):
    y = data[1] * scale
    target = Regression.fit(y, np.ones(40), 2)
    assert_allclose(target.transform(y), StandardScaler().fit_transform(data[1]))
    assert_allclose(target.inverse_transform(target.transform(y)), y)


@pytest.mark.parametrize("value", [0.0, -3.3, 1e300, 1e-300])
def test_constant_target_becomes_zero_and_comes_back(value):
    y = np.full((7, 1), value)
    target = Regression.fit(y, np.ones(7), 2)
    assert_array_equal(target.transform(y), np.zeros((7, 1)))
    assert_allclose(target.inverse_transform(np.ones((7, 1))), y)


CHANGED = "y has other values of a target that was constant in fit, or values that .* Fit again"


def test_entries_that_a_constant_target_takes():
    target = Regression.fit(np.array([[0.1, 1.0], [0.1, 2.0]]), np.ones(2), 2)
    more = np.array([[0.1, 1e9], [np.nextafter(0.1, 1), -1e9]])
    assert_array_equal(target.read_more(more, 2), more)
    for wrong in ([[0.1, 1.0], [0.1 + 1e-12, 1.0]], [[0.0, 1.0]]):
        with pytest.raises(ValueError, match=CHANGED):
            target.read_more(np.array(wrong), len(wrong))


def test_further_targets_have_the_shape_of_those_of_fit():
    given = np.arange(4.0), np.arange(4.0)[:, None], np.arange(8.0).reshape(4, 2)
    read = [Regression.read(y, np.ones(4), {}) for y in given]
    one, column, two = (Regression.fit(own.y, own.weight, own.form) for own in read)
    assert [target.attributes()["n_outputs_"] for target in (one, column, two)] == [1, 1, 2]
    for target in (one, column):
        assert_array_equal(target.read_more([1, 2, 3], 3), [[1], [2], [3]])
        assert target.read_more([1, 2, 3], 3).dtype == np.float64
    assert_array_equal(column.read_more([[1], [2]], 2), [[1], [2]])
    with pytest.warns(DataConversionWarning):
        assert_array_equal(one.read_more(np.ones((3, 1)), 3), np.ones((3, 1)))
    for call, message in (
        (lambda: two.read_more([1, 2, 3], 3), r"y must have 2 targets, as in fit; got \(3, 1\)"),
        (lambda: one.read_more([1, 2, 3], 4), "inconsistent numbers of samples"),
        (lambda: one.read_more([1, np.nan, 3], 3), "NaN"),
    ):
        with pytest.raises(ValueError, match=message):
            call()


@pytest.mark.parametrize("ndim", [1, 2])
def test_results_have_the_dimensions_that_y_had(ndim):
    y = np.random.RandomState(0).normal(5, 2, size=(40, 1))
    target = Regression.fit(y, np.ones(40), ndim)
    expected = y[:, 0] if ndim == 1 else y
    standard = target.transform(y)
    assert standard.shape == (40, 1)
    for back in (target.inverse_transform, target.on_scale):
        assert_allclose(back(standard), expected)
        assert_allclose(
            back(standard.reshape(5, 8, 1)), expected.reshape(5, 8, *expected.shape[1:])
        )
    assert_allclose(target.differences_on_scale(standard), expected - y.mean())


class Bent(Regression):
    """Targets whose way to their scale is bent."""

    forward, backward = staticmethod(np.log), staticmethod(np.exp)


def test_a_scale_of_their_own(data):
    y = np.exp(data[0])
    weight = np.random.RandomState(0).randint(1, 4, 40).astype(float)
    target = Bent.fit(y, weight, 2)
    assert_allclose(target.mean, np.average(np.log(y), axis=0, weights=weight))
    assert_allclose(target.transform(y), Regression.fit(np.log(y), weight, 2).transform(np.log(y)))
    assert_allclose(target.inverse_transform(target.transform(y)), y)
    assert_allclose(target.on_scale(target.transform(y)), np.log(y))
    assert_allclose(
        target.differences_on_scale(target.transform(y) - target.transform(y[::-1])),
        np.log(y) - np.log(y[::-1]),
        atol=1e-9,
    )


@pytest.mark.parametrize("weighted", [False, True])
def test_losses_are_least_of_the_fallback(weighted):
    rng = np.random.RandomState(0)
    y, y_hat = torch.from_numpy(rng.normal(size=(2, 3, 40, 2)))
    weight = torch.from_numpy(rng.uniform(1, 4, size=(3, 40))) if weighted else None
    losses = Regression.losses(y_hat, y)
    assert_allclose(losses, ((y_hat - y).numpy() ** 2).mean(2))
    constant = Regression.fallback(y, weight)
    assert constant.shape == (3, 1, 2)
    for member in range(3):
        own = None if weight is None else weight[member]
        assert_allclose(constant[member, 0], np.average(y[member], axis=0, weights=own))
