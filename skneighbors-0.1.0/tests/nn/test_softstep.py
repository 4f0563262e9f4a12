"""SoftStep's masks: values, gradients, limits and the module."""

import itertools

import numpy as np
import oracles
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from torch.autograd import gradcheck

from skneighbors.nn import SoftStep, log_softstep_s1, log_softstep_s2

DTYPES = (torch.float32, torch.float64)
GRID = np.linspace(0, 1, 41)


def tensors(*values, dtype=torch.float64):
    return [torch.as_tensor(value, dtype=dtype) for value in values]


@pytest.mark.parametrize("t", [0.05, 0.3, 1.0])
@pytest.mark.parametrize(("a", "b"), [(0.2, 0.8), (0.0, 1.0), (0.49, 0.51), (-1e-6, 0.3)])
def test_s1_agrees_with_the_formula(a, b, t):
    mask = log_softstep_s1(*tensors(GRID, a, b, t)).exp()
    assert_allclose(mask, oracles.s1(GRID, a, b, t), rtol=1e-9, atol=1e-300)


@pytest.mark.parametrize("t", [0.01, 0.5, 0.99])
@pytest.mark.parametrize("b", [0.02, 0.5, 1.0])
def test_s2_agrees_with_the_formula(b, t):
    mask = log_softstep_s2(*tensors(GRID[1:], b, t)).exp()
    assert_allclose(mask, oracles.s2(GRID[1:], b, t), rtol=1e-9, atol=1e-300)


@pytest.mark.parametrize("function", ["s1", "s2"])
def test_gradcheck(function):
    generator = torch.Generator().manual_seed(0)
    x = 0.05 + 0.9 * torch.rand(4, 6, dtype=torch.float64, generator=generator)
    a, b, t = torch.rand(3, 4, 1, dtype=torch.float64, generator=generator)
    a, b, t = 0.5 * a, 0.55 + 0.4 * b, 0.1 + 0.8 * t
    inputs = [value.requires_grad_() for value in ([x, a, b, t] if function == "s1" else [x, b, t])]
    mask = log_softstep_s1 if function == "s1" else log_softstep_s2
    log_zero = torch.finfo(x.dtype).min / 2
    # Log 0 is a number too large to difference.
    assert gradcheck(lambda *args: mask(*args).where(mask(*args) > log_zero, 0), inputs)


def test_gradcheck_of_parameters_of_several_shapes():
    generator = torch.Generator().manual_seed(0)
    x = 0.3 + 0.4 * torch.rand(3, 5, dtype=torch.float64, generator=generator)
    rows = 0.1 * torch.rand(3, 1, dtype=torch.float64, generator=generator)
    a, b, t = tensors([0.2], [0.8], [0.6])
    for shapes in [(a, b, t), (a[0], b[0], t + rows), (a, b + rows, t), (a + rows, b, t)]:
        a_, b_, t_ = (value.clone().requires_grad_() for value in shapes)
        for row in (x, x[:1].clone().requires_grad_()):  # or one for all parameters
            assert gradcheck(log_softstep_s1, (row, a_, b_, t_))
            assert gradcheck(log_softstep_s2, (row, b_, t_))


@pytest.mark.parametrize("mask", [log_softstep_s1, log_softstep_s2])
@pytest.mark.parametrize("dtype", DTYPES)
def test_masks_are_finite_over_their_closed_domain(mask, dtype):
    eps = torch.finfo(dtype).eps
    ends = [0, eps**2, eps, 1e-6, 1e-3, 0.5 - eps, 0.5, 0.5 + eps, 1 - eps, 1]
    transitions = [0, eps, 1e-6, 0.5, 1 - 1e-6, 1 - eps, 1]
    if mask is log_softstep_s1:
        grid = [own for own in itertools.product(ends, ends, ends, transitions) if own[1] < own[2]]
    else:
        grid = list(itertools.product(ends, ends[2:], transitions))
    inputs = [value.requires_grad_() for value in torch.tensor(grid, dtype=dtype).T]
    log_mask = mask(*inputs)
    assert log_mask.isfinite().all()
    assert (log_mask <= 0).all()
    assert all(grad.isfinite().all() for grad in torch.autograd.grad(log_mask.sum(), inputs))


@pytest.mark.parametrize("dtype", DTYPES)
def test_log_zero_leaves_room_below_it(dtype):
    rejected = [
        log_softstep_s1(*tensors(0.1, 0.2, 0.8, 0.5, dtype=dtype)),
        log_softstep_s2(*tensors(0.0, 0.8, 0.5, dtype=dtype)),
    ]
    for log_mask in rejected:
        assert log_mask.exp() == 0
        # Two of them, or one and a similarity, still add up to a finite number.
        assert (2 * log_mask).isfinite()
        assert log_mask > torch.finfo(dtype).min


def test_limits_of_the_transition():
    x = torch.tensor([0.1, 0.3, 0.49, 0.51, 0.7, 0.9], dtype=torch.float64)
    step = log_softstep_s1(x, *tensors(0.2, 0.8, 1e-6)).exp()
    assert_allclose(step, [0, 0, 0, 1, 1, 1], atol=1e-12)
    line = log_softstep_s1(x, *tensors(0.2, 0.8, 1.0)).exp()
    assert_allclose(line, ((x - 0.2) / 0.6).clamp(0, 1), atol=1e-12)
    constant = log_softstep_s2(x, *tensors(0.6, 0.0)).exp()
    assert_array_equal(constant, np.ones(6))
    nothing_below = log_softstep_s2(x, *tensors(0.6, 1.0)).exp()
    assert_allclose(nothing_below, [0, 0, 0, 0, 1, 1], atol=1e-12)


@pytest.mark.parametrize("eps", [1e-9, 1e-6, 0.1])
@pytest.mark.parametrize("parameters", ["global", "pointwise"])
@pytest.mark.parametrize("function", ["s1", "s2"])
def test_module_agrees_with_the_formula(function, parameters, eps):
    torch.manual_seed(0)
    softstep = SoftStep(4, function=function, parameters=parameters, eps=eps).double()
    if parameters == "global":
        torch.nn.init.normal_(softstep.raw)
    x = torch.rand(9, 7, dtype=torch.float64)
    x_top = torch.linspace(0.2, 1, 9, dtype=torch.float64).unsqueeze(1)
    x = x.index_fill(1, torch.tensor([3]), 1.0) * x_top
    z = 9 * torch.randn(9, 4, dtype=torch.float64)
    raw = softstep.linear(z) if parameters == "pointwise" else softstep.raw.expand(9, 3)
    expected = [
        oracles.softstep(row, r, function, top, eps)
        for row, r, top in zip(x.numpy(), raw.detach().numpy(), x_top.numpy(), strict=True)
    ]
    assert_allclose(softstep(x, z, x_top).exp().detach(), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("x_top", [0.0, 1e-3, 0.5, 1.0])
@pytest.mark.parametrize("eps", [0.0, 1e-12, 1e-6])
def test_largest_entry_is_never_rejected(dtype, x_top, eps):
    softstep = SoftStep(2, function="s1", parameters="global", eps=eps).to(dtype)
    for raw in itertools.product([-50.0, 0.0, 50.0], repeat=3):
        with torch.no_grad():
            softstep.raw.copy_(torch.tensor(raw))
            x = torch.tensor([[0.0, x_top]], dtype=dtype)
            log_mask = softstep(
                x, torch.zeros(1, 2, dtype=dtype), torch.tensor([[x_top]], dtype=dtype)
            )
        assert log_mask[0, 1] > torch.finfo(dtype).min / 2


@pytest.mark.parametrize("eps", [-1e-9, 0.5, np.nan])
def test_eps_out_of_range(eps):
    with pytest.raises(ValueError, match=rf"eps must be in \[0, 0.5\); got {eps!r}"):
        SoftStep(3, eps=eps)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # torch.jit's
@pytest.mark.parametrize("function", ["s1", "s2"])
def test_traced_without_gradients(function):
    softstep = SoftStep(3, function=function).eval()
    torch.manual_seed(0)
    (x, z), others = [(torch.rand(4, 6), torch.randn(4, 3)) for _ in range(2)]
    with torch.no_grad():
        traced = torch.jit.trace(softstep, (x, z), check_trace=False)
        assert_allclose(traced(*others), softstep(*others), rtol=1e-5, atol=1e-6)
