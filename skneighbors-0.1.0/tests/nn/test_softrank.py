"""Soft and hard ranks."""

import numpy as np
import oracles
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import rankdata
from torch.autograd import gradcheck

from skneighbors.nn import hard_rank, soft_rank
from skneighbors.nn._scaling import MinMaxScale, absent
from skneighbors.nn._softrank import descending, sorted_soft_rank


def scores(b, n, seed=0, dtype=torch.float64):
    return torch.randn(b, n, dtype=dtype, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("strength", [0.05, 0.3, 0.7, 1.0, 5.0])
def test_agrees_with_brute_force(strength):
    ties = torch.tensor([[0.0, 1.0, 1.0, 0.0, 2.0], [3.0, 3.0, 3.0, 3.0, 3.0]])
    s = torch.cat([scores(4, 5), ties.double()])
    expected = [oracles.soft_rank(row, strength) for row in s.numpy()]
    assert_allclose(soft_rank(s, strength), expected, atol=1e-6)


@pytest.mark.parametrize("strength", [0.1, 1.0, 10.0])
def test_gradcheck(strength):
    s = scores(3, 7).requires_grad_()
    assert gradcheck(lambda s: soft_rank(s, strength), (s,))
    weight = torch.tensor([1.0, 2.0, 0.5, 0.0, 1.0, 3.0, 1.0])
    present = (weight > 0).double()
    assert gradcheck(lambda s: soft_rank(s, strength, weight) * present, (s,))


def test_small_strength_gives_hard_ranks():
    s = scores(4, 30)
    expected = [rankdata(-row) for row in s.numpy()]
    assert_allclose(soft_rank(s, 1e-8), expected, atol=1e-6)
    assert_array_equal(hard_rank(s), expected)


def test_large_strength_gives_one_rank_to_all():
    assert_allclose(soft_rank(scores(2, 9), 1e9), np.full((2, 9), 5.0), atol=1e-6)


@pytest.mark.parametrize("rank", [hard_rank, lambda s, w=None: soft_rank(s, 0.5, w)])
def test_weights_are_copies(rank):
    s = scores(3, 6)
    weight = torch.tensor([2, 1, 0, 3, 1, 1])
    copies = torch.repeat_interleave(torch.arange(6), weight)
    present = weight > 0
    weighted = rank(s, weight.double())
    copied = torch.zeros(3, 6, dtype=torch.float64)
    copied[:, copies] = rank(s[:, copies])
    assert_allclose(weighted[:, present], copied[:, present], atol=1e-10)


@pytest.mark.parametrize("each_once", [True, False])
def test_ranks_of_a_range(each_once):
    s, rate = scores(3, 7), torch.tensor([[2.0], [7.0], [0.5]], dtype=torch.float64)
    weight = 1 - torch.eye(7, dtype=torch.float64)[[0, 3, 6]]
    if not each_once:
        weight = weight * torch.tensor([1.0, 2.0, 0.5, 0.0, 1.0, 3.0, 1.0])
    absence = (weight == 0).double() * absent(torch.float64)
    expected = soft_rank(MinMaxScale.apply(s, absence) * rate, 1.0, weight)
    present = (weight > 0).double()

    def rank(s, rate):
        order = descending(s.detach(), weight)
        order, own = (order[:, :6], None) if each_once else (order, weight.gather(1, order))
        rank = sorted_soft_rank(s, order, own, rate)
        return torch.zeros_like(s).scatter(1, order, rank) * present

    assert_allclose(rank(s, rate), expected * present, atol=1e-10)
    assert gradcheck(rank, (s.requires_grad_(), rate.requires_grad_()))


def test_ranks_of_a_constant_row_are_equal():
    s = torch.full((2, 5), 3.0, requires_grad=True)
    order = torch.arange(5).expand(2, 5)
    rank = sorted_soft_rank(s, order, None, torch.tensor([[5.0]]))
    assert_allclose(rank.detach(), np.full((2, 5), 3.0), atol=1e-6)
    rank.square().sum().backward()
    assert_array_equal(s.grad, np.zeros((2, 5)))


def test_a_row_without_any_weight_is_finite():
    s = scores(2, 4).requires_grad_()
    weight = torch.tensor([[0.0] * 4, [1.0] * 4])
    for rank in (soft_rank(s, 1.0, weight), hard_rank(s, weight)):
        assert rank.isfinite().all()
    soft_rank(s, 1.0, weight).sum().backward()
    assert s.grad.isfinite().all()


def test_hard_ranks_of_ties_are_their_mean():
    s = torch.tensor([[0.3, 0.9, 0.3, 0.1, 0.9]])
    assert_array_equal(hard_rank(s), [[3.5, 1.5, 3.5, 5, 1.5]])
    # What differs by rounding alone is tied.
    noise = torch.tensor([[0, 1e-15, 1e-15, 0, -1e-15]], dtype=torch.float64)
    assert_array_equal(hard_rank(s.double() + noise), [[3.5, 1.5, 3.5, 5, 1.5]])


def test_rows_do_not_touch_each_other():
    s = scores(5, 8) * torch.tensor([[1e-6], [1.0], [1e6], [0.0], [3.0]])
    together = soft_rank(s, 1.0)
    for i in range(5):
        assert_allclose(soft_rank(s[i : i + 1], 1.0), together[i : i + 1], atol=1e-7)


def test_float32():
    s = scores(8, 100, dtype=torch.float32)
    assert soft_rank(s, 0.1).dtype == torch.float32
    assert_allclose(soft_rank(s, 0.1), soft_rank(s.double(), 0.1), atol=2e-3)


@settings(max_examples=60, deadline=None)
@given(
    hnp.arrays(
        np.float64, st.tuples(st.integers(1, 4), st.integers(1, 8)), elements=st.integers(-9, 9)
    ),
    st.floats(0.01, 100),
)
def test_ranks_are_ordered_and_sum_to_a_constant(s, strength):
    n = s.shape[1]
    rank = soft_rank(torch.from_numpy(s), strength).numpy()
    assert_allclose(rank.sum(1), n * (n + 1) / 2)
    assert rank.min() >= 1 - 1e-9
    assert rank.max() <= n + 1e-9
    for values, row in zip(s, rank, strict=True):
        assert (np.diff(row[np.argsort(-values, kind="stable")]) >= -1e-9).all()


@pytest.mark.parametrize("strength", [0.0, -1.0, float("nan")])
def test_strength_must_be_positive(strength):
    with pytest.raises(ValueError, match=f"strength must be positive; got {strength}"):
        soft_rank(scores(2, 3), strength)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_round_trip_from_a_gpu():
    s, weight = scores(20, 300), torch.rand(20, 300, dtype=torch.float64).round(decimals=1)
    there = s.cuda().requires_grad_()
    here = s.clone().requires_grad_()
    rank = soft_rank(there, 0.3, weight.cuda())
    assert rank.is_cuda
    assert_allclose(rank.detach().cpu(), soft_rank(here, 0.3, weight).detach(), atol=1e-9)
    rank.square().sum().backward()
    soft_rank(here, 0.3, weight).square().sum().backward()
    assert_allclose(there.grad.cpu(), here.grad, atol=1e-8)
    assert_array_equal(hard_rank(s.cuda(), weight.cuda()).cpu(), hard_rank(s, weight))


@given(
    hnp.arrays(
        np.float32,
        hnp.array_shapes(min_dims=2, max_dims=2),
        elements=st.floats(width=32, allow_nan=False),
    )
)
def test_order_in_single_precision_is_numpys(s):
    order = descending(torch.from_numpy(s), None).numpy()
    assert_array_equal(np.sort(order), np.broadcast_to(np.arange(s.shape[1]), s.shape))
    assert_array_equal(np.take_along_axis(s, order, 1), -np.sort(-s, axis=1))


def test_entries_of_minus_infinity_are_behind_all_others():
    s = torch.tensor([[0.3, -np.inf, 0.9, 0.3, -np.inf], [1.0, 2.0, 3.0, 4.0, 5.0]])
    rank = hard_rank(s)
    assert_array_equal(rank[0, [0, 2, 3]], [2.5, 1, 2.5])
    assert set(rank[0, [1, 4]].tolist()) == {4, 5}
    assert_array_equal(rank[1], [5, 4, 3, 2, 1])


def test_no_rows_and_no_entries():
    assert hard_rank(torch.empty(0, 5)).shape == (0, 5)
    assert hard_rank(torch.empty(3, 0)).shape == (3, 0)
