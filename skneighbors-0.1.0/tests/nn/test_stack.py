"""Several modules as one."""

import pytest
import torch
from numpy.testing import assert_allclose
from torch import nn as torch_nn

from skneighbors import nn
from skneighbors.nn import _stack

B, N, D, K, M = 5, 12, 4, 2, 3


def embedder(n_numbers=3, **params):
    return nn.MLPEmbedder(n_numbers, (8, 6), D, numerical_embedding="periodic", **params).double()


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


def assert_gradients_agree(stack, m, module):
    """Gradients of a module are those of member `m` of a stack."""
    for stacked, parameter in zip(stack.parameters(), module.parameters(), strict=True):
        if parameter.grad is None:
            assert stacked.grad is None
        else:
            assert_allclose(stacked.grad[m], parameter.grad, rtol=1e-7, atol=1e-10)


@pytest.mark.parametrize("make_head", HEADS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("training", [False, True])
def test_a_stack_computes_what_its_modules_do(make_head, weighted, training):
    embedders, heads = [embedder() for _ in range(M)], [make_head() for _ in range(M)]
    stacks = _stack.stack_modules(embedders), _stack.stack_modules(heads)
    X, y = torch.randn(M, N, 3).double(), torch.randn(M, N, K).double()
    X[:, 1] = X[:, 0]  # a duplicate
    weight = torch.rand(M, N).double() + 0.5 if weighted else None
    index = torch.arange(B)
    for module in (*embedders, *heads, *stacks):
        module.train(training)

    z = stacks[0](X, weight)
    neighbors = None if weight is None else weight.unsqueeze(1)
    y_hat = stacks[1](z[:, :B], z, y, self_index=index, sample_weight=neighbors)
    y_hat.square().sum().backward()
    assert y_hat.shape == (M, B, K)

    for m in range(M):
        own = None if weight is None else weight[m]
        z = embedders[m](X[m], own)
        alone = heads[m](z[:B], z, y[m], self_index=index, sample_weight=own)
        alone.square().sum().backward()
        assert_allclose(y_hat[m].detach(), alone.detach(), rtol=1e-10)
        for stack, module in zip(stacks, (embedders[m], heads[m]), strict=True):
            assert_gradients_agree(stack, m, module)
        for stacked, buffer in zip(stacks[0].buffers(), embedders[m].buffers(), strict=True):
            assert_allclose(stacked[m], buffer, rtol=1e-12)


@pytest.mark.parametrize("n_numbers", [0, 2])
@pytest.mark.parametrize("n_plain", [0, 3])
@pytest.mark.parametrize("shared", [False, True])
def test_a_stack_of_embedders_of_all_kinds_of_features(n_numbers, n_plain, shared):
    params = dict(n_numbers=n_numbers, n_plain=n_plain, n_categories=[4, 30])
    embedders = [embedder(**params) for _ in range(M)]
    stack = _stack.stack_modules(embedders)
    codes = torch.stack([torch.randint(n + 1, (M, N)) for n in (4, 30)], -1).double()
    X = torch.cat([torch.randn(M, N, n_numbers + n_plain).double(), codes], -1)
    X = X[:1] if shared else X
    z = stack(X)
    z.square().sum().backward()
    for m, alone in enumerate(embedders):
        own = alone(X[0 if shared else m])
        own.square().sum().backward()
        assert_allclose(z[m].detach(), own.detach(), rtol=1e-10)
        assert_gradients_agree(stack, m, alone)


def test_the_modules_are_left_alone():
    modules = [embedder(), embedder()]
    stack = _stack.stack_modules(modules)
    with torch.no_grad():
        for parameter in stack.parameters():
            parameter.zero_()
    assert all(p.ndim < 4 and p.requires_grad for m in modules for p in m.parameters())
    assert modules[0].layers[0].linear.weight.abs().sum() > 0


def test_gradients_of_the_weighted_batch_normalization():
    x = torch.randn(2, 6, 3, dtype=torch.float64, requires_grad=True)
    weight = torch.rand(2, 6, dtype=torch.float64)
    norms = [nn.WeightedBatchNorm(3).double() for _ in range(2)]
    for norm in norms:
        torch_nn.init.normal_(norm.weight)
        torch_nn.init.normal_(norm.bias)
    norm = _stack.stack_modules(norms)
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


@pytest.mark.parametrize("n_members", [1, 2])
@pytest.mark.parametrize("weight", [None, 1.0])
def test_batch_normalization_is_torchs_for_equal_weights(n_members, weight):
    theirs = [torch_nn.BatchNorm1d(3).double() for _ in range(n_members)]
    for norm in theirs:
        torch_nn.init.normal_(norm.weight)
        torch_nn.init.normal_(norm.bias)
    ours = [nn.WeightedBatchNorm(3).double() for _ in theirs]
    for norm, their in zip(ours, theirs, strict=True):
        norm.load_state_dict(their.state_dict(), strict=False)
    ours = _stack.stack_modules(ours)
    x = torch.randn(n_members, 9, 3, dtype=torch.float64, requires_grad=True)
    grad = torch.randn_like(x)
    weight = None if weight is None else x.new_full((n_members, 9), weight)
    y = ours(x, weight)
    (y * grad).sum().backward()
    x_grad, x.grad = x.grad, None
    for m, norm in enumerate(theirs):
        expected = norm(x[m])
        (expected * grad[m]).sum().backward()
        assert_allclose(y[m].detach(), expected.detach(), rtol=1e-10)
        assert_allclose(x_grad[m], x.grad[m], rtol=1e-10, atol=1e-12)
        for name, parameter in norm.named_parameters():
            assert_allclose(getattr(ours, name).grad[m], parameter.grad, rtol=1e-10)
        for name in ("running_mean", "running_var"):
            assert_allclose(getattr(ours, name)[m], getattr(norm, name), rtol=1e-10)
    expected = torch.stack([norm.eval()(x[m]) for m, norm in enumerate(theirs)])
    assert_allclose(ours.eval()(x).detach(), expected.detach(), rtol=1e-10)
