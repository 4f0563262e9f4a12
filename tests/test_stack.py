"""Several modules as one."""

import pytest
import torch
from numpy.testing import assert_allclose
from torch import nn as torch_nn

from skneighbors import nn
from skneighbors.nn import _stack

B, N, D, K, M = 5, 12, 4, 2, 3


def embedder():
    return nn.MLPEmbedder(3, (8, 6), D, numerical_embedding="periodic").double()


def head(kind, **params):
    return kind(D, K, trend="linear", temperature=0.7, **params).double()


HEADS = [
    lambda: head(nn.NONA, softstep="s1", softstep_parameters="global"),
    lambda: head(nn.NONA, similarity="cosine"),
    lambda: head(nn.NONA, similarity="l1", softstep=None),
    lambda: head(nn.SoftStepKNN),
    lambda: head(nn.SoftStepKNN, rank=None, similarity="dot"),
]


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(0)


@pytest.mark.parametrize("make_head", HEADS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("training", [False, True])
def test_a_stack_computes_what_its_modules_do(make_head, weighted, training):
    embedders, heads = [embedder() for _ in range(M)], [make_head() for _ in range(M)]
    stacks = nn.stack_modules(embedders), nn.stack_modules(heads)
    X, y = torch.randn(M, N, 3).double(), torch.randn(M, N, K).double()
    X[:, 1] = X[:, 0]  # a duplicate
    weight = torch.rand(M, N).double() + 0.5 if weighted else None
    index = torch.arange(B)
    for module in (*embedders, *heads, *stacks):
        module.train(training)

    z = stacks[0](X, weight)
    neighbours = None if weight is None else weight.unsqueeze(1)
    y_hat = stacks[1](z[:, :B], z, y, self_index=index, sample_weight=neighbours)
    y_hat.square().sum().backward()
    assert y_hat.shape == (M, B, K)

    for m in range(M):
        own = None if weight is None else weight[m]
        z = embedders[m](X[m], own)
        alone = heads[m](z[:B], z, y[m], self_index=index, sample_weight=own)
        alone.square().sum().backward()
        assert_allclose(y_hat[m].detach(), alone.detach(), rtol=1e-10)
        for stack, module in zip(stacks, (embedders[m], heads[m]), strict=True):
            for stacked, parameter in zip(stack.parameters(), module.parameters(), strict=True):
                if parameter.grad is not None:
                    assert_allclose(stacked.grad[m], parameter.grad, rtol=1e-7, atol=1e-10)
        for stacked, buffer in zip(stacks[0].buffers(), embedders[m].buffers(), strict=True):
            assert_allclose(stacked[m], buffer, rtol=1e-12)


def test_the_modules_are_left_alone():
    modules = [embedder(), embedder()]
    stack = nn.stack_modules(modules)
    with torch.no_grad():
        for parameter in stack.parameters():
            parameter.zero_()
    assert all(p.ndim < 4 and p.requires_grad for m in modules for p in m.parameters())
    assert modules[0].layers[0].linear.weight.abs().sum() > 0


def test_one_input_for_all():
    modules = [embedder().eval() for _ in range(M)]
    X = torch.randn(N, 3).double()
    z = nn.stack_modules(modules)(X.unsqueeze(0))
    for m, module in enumerate(modules):
        assert_allclose(z[m].detach(), module(X).detach(), rtol=1e-10)


def test_a_layer_without_bias():
    modules = [nn.MLPEmbedder(3, (), D), nn.MLPEmbedder(3, (), D)]
    for module in modules:
        module.layers[-1].bias = None
    X = torch.randn(1, N, 3)
    assert_allclose(
        nn.stack_modules(modules)(X)[1].detach(), modules[1](X[0]).detach(), rtol=1e-5, atol=1e-6
    )


def test_gradients_of_the_weighted_batch_normalisation():
    x = torch.randn(2, 6, 3, dtype=torch.float64, requires_grad=True)
    weight = torch.rand(2, 6, dtype=torch.float64)
    norms = [nn.WeightedBatchNorm(3).double() for _ in range(2)]
    for norm in norms:
        torch_nn.init.normal_(norm.weight)
        torch_nn.init.normal_(norm.bias)
    norm = nn.stack_modules(norms)
    parameters = norm.weight, norm.bias

    def apply(x, weight_, bias_):
        values = {"weight": weight_, "bias": bias_}
        return torch.func.functional_call(norm, values, (x, weight))

    assert torch.autograd.gradcheck(apply, (x, *parameters))


def test_running_variance_for_weights_that_sum_to_one():
    x = torch.randn(200, 3)
    weighted, plain = nn.WeightedBatchNorm(3), nn.WeightedBatchNorm(3)
    weighted(x, torch.full((200,), 1.0001 / 200))
    plain(x)
    assert_allclose(weighted.running_var, plain.running_var, rtol=1e-4)


def test_batch_normalisation_is_torchs_for_equal_weights():
    x = torch.randn(9, 3)
    ours, theirs = nn.WeightedBatchNorm(3), torch_nn.BatchNorm1d(3)
    assert_allclose(ours(x).detach(), theirs(x).detach(), rtol=1e-4, atol=1e-6)
    assert_allclose(ours.running_var, theirs.running_var, rtol=1e-5)
    assert_allclose(ours.eval()(x).detach(), theirs.eval()(x).detach(), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("shared", [True, False])
def test_large_products_of_single_precision_are_as_exact(shared):
    torch.manual_seed(0)
    modules = [_stack.Linear(256, 192), _stack.Linear(256, 192)]
    stacked = nn.stack_modules(modules)
    x = torch.randn(1 if shared else 2, 400, 256, requires_grad=True)
    grad = torch.randn(2, 400, 192)
    (stacked(x) * grad).sum().backward()

    exact_x = x.detach().double().requires_grad_()
    exact = nn.stack_modules(modules).double()
    (exact(exact_x) * grad).sum().backward()
    for single, double in [
        (stacked(x), exact(exact_x)),
        (x.grad, exact_x.grad),
        (stacked.weight.grad, exact.weight.grad),
        (stacked.bias.grad, exact.bias.grad),
    ]:
        assert single.shape == double.shape
        assert single.dtype == torch.float32
        assert_allclose(single.detach(), double.detach(), rtol=1e-4, atol=2e-4)
