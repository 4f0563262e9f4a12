"""Weights in one vector: views, copies, averages."""

import copy
import subprocess
import sys

import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from torch import nn

from skneighbors._training.optim import AdamW, FlatWeights, MovingAverage, Snapshot


@pytest.fixture
def network():
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 2))
    network[2].bias.requires_grad_(False)
    return network


def state(network):
    return {name: value.clone() for name, value in network.state_dict().items()}


def test_adamw_is_torchs():
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
    reference = copy.deepcopy(network)
    weights = FlatWeights(network)
    optimizer = AdamW(weights, weight_decay=0.1)
    expected = torch.optim.AdamW(reference.parameters(), betas=(0.9, 0.95), weight_decay=0.1)
    for learning_rate in (0.1, 0.01, 0.05):
        x = torch.randn(5, 3)
        network(x).square().sum().backward()
        weights.take_gradients()
        optimizer.step(learning_rate)
        expected.zero_grad()
        reference(x).square().sum().backward()
        expected.param_groups[0]["lr"] = learning_rate
        expected.step()
    for name, value in reference.state_dict().items():
        assert_allclose(network.state_dict()[name], value, rtol=1e-5, atol=1e-7)


@pytest.mark.slow
def test_fit_leaves_torchs_compiler_and_symbolic_shapes_alone():
    code = (
        "import sys; from skneighbors import NONARegressor; "
        "NONARegressor(max_iter=1).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0]); "
        "assert not {'torch._dynamo', 'sympy'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_parameters_are_views_and_gradients_are_moved(network):
    before = state(network)
    weights = FlatWeights(network)
    assert all(torch.equal(value, before[name]) for name, value in network.state_dict().items())
    (vector,) = weights.vectors
    assert vector.numel() == 3 * 4 + 4 + 4 + 4 + 4 * 2
    x = torch.randn(5, 3)
    network(x).square().sum().backward()
    gradients = torch.cat([p.grad.flatten() for p in network.parameters() if p.requires_grad])
    assert gradients.abs().sum() > 0
    weights.take_gradients()
    assert_array_equal(vector.grad, gradients)
    network[2](torch.randn(5, 4)).sum().backward()  # the first layers have no gradient
    weights.take_gradients()
    assert (vector.grad != 0).sum() == 8
    assert all(p.grad is None for p in network.parameters())
    with torch.no_grad():
        vector.mul_(2)
    assert_array_equal(network[0].weight.detach(), 2 * before["0.weight"])


def test_a_step_on_the_vector_is_a_step_on_the_parameters(network):
    x, y = torch.randn(20, 3), torch.randn(20, 2)
    results = []
    for flat in (False, True):
        copied = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 2))
        copied.load_state_dict(state(network))
        copied[2].bias.requires_grad_(False)
        weights = FlatWeights(copied) if flat else None
        trained = weights.vectors if flat else [p for p in copied.parameters() if p.requires_grad]
        optimizer = torch.optim.AdamW(trained, lr=0.1, weight_decay=0.1)
        for _ in range(3):
            if not flat:
                optimizer.zero_grad()
            (copied(x) - y).square().mean().backward()
            if flat:
                weights.take_gradients()
            optimizer.step()
        results.append(state(copied))
    for name, value in results[0].items():
        assert_allclose(results[1][name], value, rtol=1e-5, atol=1e-7)
    assert torch.equal(results[1]["2.bias"], network[2].bias)


def test_parameters_of_several_dtypes(network):
    network[0].double()
    weights = FlatWeights(network)
    assert sorted(str(vector.dtype) for vector in weights.vectors) == [
        "torch.float32",
        "torch.float64",
    ]
    assert weights.are_finite()
    with torch.no_grad():
        network[0].weight[0, 0] = torch.inf
    assert not weights.are_finite()


def test_snapshot_holds_weights_and_buffers(network):
    weights = FlatWeights(network)
    snapshot = Snapshot(weights)
    network(torch.randn(5, 3))
    snapshot.take()
    taken = state(network)
    network(torch.randn(5, 3))
    with torch.no_grad():
        for vector in weights.vectors:
            vector.zero_()
    assert not torch.equal(network[1].running_mean, taken["1.running_mean"])
    snapshot.restore(weights)
    assert all(torch.equal(value, taken[name]) for name, value in network.state_dict().items())


def test_moving_average(network):
    weights = FlatWeights(network)
    average = MovingAverage(network, weights, decay=0.5)
    expected = None
    for step in range(20):
        with torch.no_grad():
            weights.vectors[0].normal_()
        network(torch.randn(5, 3))
        average.update()
        decay = min(0.5, step / (step + 9))
        now = state(network)
        expected = now if step == 0 else expected
        expected = {
            name: decay * expected[name] + (1 - decay) * value
            if value.is_floating_point()
            else value
            for name, value in now.items()
        }
    for name, value in average.network.state_dict().items():
        assert_allclose(value, expected[name], rtol=1e-4, atol=1e-6)
    assert not torch.equal(average.network[0].weight, network[0].weight)
