"""Steps of weights, averages, copies."""

import copy
import subprocess
import sys

import pytest
import torch
from numpy.testing import assert_allclose
from torch import nn

from skneighbors._training.optim import AdamW, MovingAverage, copy_weights, is_finite


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
    optimizer = AdamW(network, weight_decay=0.1)
    expected = torch.optim.AdamW(reference.parameters(), betas=(0.9, 0.95), weight_decay=0.1)
    for learning_rate in (0.1, 0.01, 0.05):
        x = torch.randn(5, 3)
        network(x).square().sum().backward()
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


def test_a_step_takes_the_gradients_of_what_is_trained(network):
    before = state(network)
    optimizer = AdamW(network, weight_decay=0.0)
    network[2](torch.randn(5, 4)).sum().backward()  # the first layers have no gradient
    optimizer.step(0.1)
    changed = {
        name for name, value in network.state_dict().items() if (value != before[name]).any()
    }
    assert changed == {"2.weight"}
    assert all(p.grad is None for p in network.parameters())


def test_parameters_of_several_dtypes(network):
    network[0].double()
    AdamW(network, weight_decay=0.1).step(0.1)
    assert [p.dtype for p in network.parameters()][:3] == [torch.float64] * 2 + [torch.float32]
    assert is_finite(network)
    with torch.no_grad():
        network[0].weight[0, 0] = torch.inf
    assert not is_finite(network)


def test_weights_and_buffers_are_copied(network):
    network(torch.randn(5, 3))
    other = copy.deepcopy(network)
    network(torch.randn(5, 3))
    with torch.no_grad():
        network[0].weight.zero_()
    assert not torch.equal(network[1].running_mean, other[1].running_mean)
    copy_weights(network, other)
    assert all(torch.equal(value, other.state_dict()[n]) for n, value in state(network).items())


def test_moving_average(network):
    average = MovingAverage(network, decay=0.5)
    expected = None
    for step in range(20):
        with torch.no_grad():
            network[0].weight.normal_()
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
