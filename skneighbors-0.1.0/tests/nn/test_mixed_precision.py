"""The blocks in bfloat16 and under autocast."""

import pytest
import torch

from skneighbors.nn import NONA, MLPEmbedder, SoftStepKNN, similarity
from skneighbors.nn._stack import stack_modules

heads = pytest.mark.parametrize(
    ("head", "params"),
    [
        (NONA, {"softstep": None}),
        (NONA, {"softstep": "s2", "trend": "linear"}),
        (NONA, {"softstep": "s1", "similarity": "cosine"}),
        (SoftStepKNN, {"softstep": "s1"}),
        (SoftStepKNN, {"rank": None, "softstep": "s2"}),
    ],
)


@pytest.fixture
def data():
    torch.manual_seed(0)
    return torch.randn(5, 4), torch.randn(9, 4), torch.randn(9, 2)  # z, z_n, y_n


@heads
def test_bfloat16(head, params, data):
    z, z_n, y_n = data
    head = head(4, 2, **params)
    exact = head(z, z_n, y_n).detach()
    z = z.bfloat16().requires_grad_()
    y_hat = head.bfloat16()(z, z_n.bfloat16(), y_n.bfloat16())
    assert y_hat.dtype == torch.bfloat16
    assert (y_hat.detach() - exact).abs().mean() < 0.2
    y_hat.sum().backward()
    assert z.grad.isfinite().all()


@heads
def test_heads_compute_in_float32_under_autocast(head, params, data):
    z, z_n, y_n = data
    head = head(4, 2, **params)
    z.requires_grad_()  # kernels that record gradients may round otherwise
    exact = head(z, z_n, y_n), head.weights(z, z_n)
    s = similarity(z, z_n, head.similarity)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y_hat, weights, same = head(z, z_n, y_n), head.weights(z, z_n), head.weights_of(z, s)
    assert torch.equal(y_hat, exact[0])
    assert torch.equal(weights, exact[1])
    assert torch.equal(same, exact[1])
    y_hat.sum().backward()
    assert z.grad.isfinite().all()


@pytest.mark.parametrize("n_members", [1, 2])
def test_embedders_under_autocast(n_members):
    torch.manual_seed(0)
    members = [MLPEmbedder(3, (8,), 4, numerical_embedding="periodic") for _ in range(n_members)]
    embedder = stack_modules(members)
    X = torch.randn(1, 20, 3)
    exact = embedder(X).detach()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        z = embedder(X)
    assert (z.detach() - exact).abs().mean() < 0.05
    z.float().square().sum().backward()
    assert all(p.grad.dtype == torch.float32 for p in embedder.parameters())
    assert all(p.grad.isfinite().all() for p in embedder.parameters())
