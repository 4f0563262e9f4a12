"""Similarities and their row-wise scaling."""

import numpy as np
import oracles
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist
from torch.autograd import gradcheck

from skneighbors.nn import minmax_scale, similarity

METRICS = ("l2", "l1", "dot", "cosine")


def rows(n, d=3, seed=0):
    return torch.randn(n, d, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("metric", METRICS)
def test_agrees_with_the_formula(metric):
    z, z_n = rows(4), rows(7, seed=1)
    expected = oracles.similarity(z.numpy(), z_n.numpy(), metric)
    assert_allclose(similarity(z, z_n, metric), expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("metric", METRICS)
def test_gradcheck(metric):
    z, z_n = rows(4).requires_grad_(), rows(5, seed=1).requires_grad_()
    assert gradcheck(lambda z, z_n: similarity(z, z_n, metric), (z, z_n))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("metric", METRICS)
def test_coincident_rows_have_finite_gradients(metric, dtype):
    zeros = torch.zeros(1, 3)
    same = torch.cat([rows(3), rows(3), zeros])
    for pair in [(same, same), (zeros, torch.cat([zeros, torch.ones(30, 3)]))]:
        z, z_n = (part.to(dtype, copy=True).requires_grad_() for part in pair)
        s = similarity(z, z_n, metric)
        s.sum().backward()
        assert s.isfinite().all()
        assert z.grad.isfinite().all()
        assert z_n.grad.isfinite().all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("offset", [0.0, 1.0, 100.0])
def test_near_pairs_keep_their_digits(dtype, offset):
    z = (rows(50, 8) + offset).to(dtype)
    z_n = z + 1e-2 * rows(50, 8, seed=1).to(dtype)
    expected = -cdist(z.double().numpy(), z_n.double().numpy())
    assert_allclose(similarity(z, z_n).double(), expected, rtol=2 * torch.finfo(dtype).eps ** 0.5)
    # Where the matrix product would lose all digits, none is lost.
    step = torch.finfo(dtype).eps ** 0.5 * z.norm(dim=1, keepdim=True) / 8
    z_n = z + step * rows(50, 8, seed=1).to(dtype)
    expected = -(z.double() - z_n.double()).norm(dim=1)
    near = similarity(z, z_n).diagonal().double()
    assert_allclose(near, expected, rtol=8 * torch.finfo(dtype).eps)


@pytest.mark.parametrize("metric", ["l2", "l1"])
@pytest.mark.parametrize("n_units", [1, 1000])  # of rounding, which a network makes more of
def test_rows_that_differ_by_rounding_coincide(metric, n_units):
    z = rows(20, 8) + 3
    z_n = z * (1 + n_units * 2.3e-16)
    assert_array_equal(similarity(z, z_n, metric).diagonal(), np.zeros(20))
    # Many such pairs take another path.
    same = z[:1].expand(20, 8).contiguous()
    near = same * (1 + n_units * 2.3e-16)
    assert_array_equal(similarity(same, near, metric), np.zeros((20, 20)))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("distance", [1.0, 1e3, 1e6])  # from the bound below which rows coincide
def test_l2_gradient_of_near_pairs_keeps_its_direction(distance, dtype):
    z = rows(50, 8).to(dtype)
    step = 2 * torch.finfo(dtype).eps ** 0.75 * distance * z.norm(dim=1, keepdim=True)
    pairs = z, z + step * torch.nn.functional.normalize(rows(50, 8, seed=1)).to(dtype)
    near = pairs[0].clone().requires_grad_()
    (similarity(near, pairs[1]).diagonal().sum()).backward()
    difference = pairs[1].double() - pairs[0].double()
    expected = difference / difference.norm(dim=1, keepdim=True)
    assert_allclose(near.grad.double(), expected, atol=0.1 / distance + 1e-5)


@pytest.mark.parametrize("metric", ["euclidean", None, "L2"])
def test_unknown_metric(metric):
    with pytest.raises(ValueError, match=f"metric must be one of .* got {metric!r}"):
        similarity(rows(2), rows(2), metric)


def test_shapes_that_do_not_fit():
    with pytest.raises(ValueError, match=r"got \(2, 3\) and \(2, 4\)"):
        similarity(rows(2, 3), rows(2, 4))
    with pytest.raises(ValueError, match=r"got \(3,\) and \(2, 3\)"):
        similarity(rows(2)[0], rows(2))


def test_minmax_scale_agrees_with_the_formula():
    s = rows(5, 9)
    exclude = torch.rand(5, 9, generator=torch.Generator().manual_seed(0)) < 0.3
    assert_allclose(minmax_scale(s), [oracles.minmax(row) for row in s.numpy()])
    pairs = zip(s.numpy(), exclude.numpy(), strict=True)
    assert_allclose(minmax_scale(s, exclude), [oracles.minmax(row, ~out) for row, out in pairs])


def test_minmax_scale_gradcheck():
    s, exclude = rows(4, 6).requires_grad_(), torch.eye(4, 6, dtype=torch.bool)
    assert gradcheck(minmax_scale, (s,))
    assert gradcheck(lambda s: minmax_scale(s, exclude), (s,))


@pytest.mark.parametrize("noise", [0.0, 1e-15])
def test_constant_rows_are_defined(noise):
    s = torch.full((3, 5), 7.0, dtype=torch.float64) + noise * rows(3, 5)
    s.requires_grad_()
    x = minmax_scale(s)
    x.sum().backward()
    assert_array_equal(x.detach(), np.ones((3, 5)))
    assert_array_equal(s.grad, np.zeros((3, 5)))


def test_row_without_any_entry_that_counts_is_defined():
    s = rows(2, 4).requires_grad_()
    x = minmax_scale(s, torch.ones(2, 4, dtype=torch.bool))
    x.sum().backward()
    assert x.isfinite().all()
    assert s.grad.isfinite().all()


def test_rows_with_infinities_outside_their_range_are_defined():
    s = torch.tensor([[1.0, 2.0, -torch.inf]])
    x = minmax_scale(s, torch.tensor([[False, False, True]]))
    assert_array_equal(x, [[0.0, 1.0, 0.0]])


@pytest.mark.parametrize("exclude", [None, torch.tensor([[False, False, False, True]])])
def test_entries_as_low_as_the_lowest_up_to_rounding_are_0(exclude):
    s = torch.tensor([[-3.0, -3.0 * (1 - 1e-15), -1.0, -2.0]], dtype=torch.float64)
    s.requires_grad_()
    x = minmax_scale(s, exclude)
    x[0, :2].sum().backward()
    assert_array_equal(x.detach()[0, :2], [0, 0])
    assert_allclose(x.detach()[0, 2:], [1, 0.5])
    assert_array_equal(s.grad, np.zeros((1, 4)))


def test_minmax_scale_takes_any_layout():
    s = rows(4, 5)
    assert_array_equal(minmax_scale(s.T), minmax_scale(s.T.contiguous()))
