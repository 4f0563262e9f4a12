"""Heads and banks that attention of all kinds is tried on."""

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

from skneighbors.nn import NONA, SoftStepKNN, stack_modules

SIMILARITIES = ("l2", "l1", "dot", "cosine")
HEADS = [
    *[(NONA, {"softstep": softstep}) for softstep in (None, "s1", "s2")],
    (NONA, {"softstep": "s1", "softstep_parameters": "global", "temperature": 0.01}),
    *[(SoftStepKNN, {"softstep": softstep}) for softstep in ("s1", "s2")],
    *[(SoftStepKNN, {"rank": None, "softstep": softstep}) for softstep in ("s1", "s2")],
    (SoftStepKNN, {"rank_scale": "linear", "softstep_parameters": "global"}),
    (NONA, {"sharpness": 4.0}),
    (SoftStepKNN, {"sharpness": 4.0}),
    (SoftStepKNN, {"rank": None, "softstep": "s2", "sharpness": 0.5}),
]


@pytest.fixture(params=SIMILARITIES)
def metric(request):
    return request.param


@pytest.fixture(
    params=HEADS, ids=lambda head: "-".join([head[0].__name__, *map(str, head[1].values())])
)
def kind_and_params(request):
    return request.param


@pytest.fixture(scope="session")
def any_head_and_metric():
    return HEADS, SIMILARITIES


@pytest.fixture(scope="session")
def make_head():
    """Maker of a stack of one head, its masks far from their initial ones."""

    def make(kind, params, dim, seed=0, temperature=0.05):
        torch.manual_seed(seed)
        params = {"temperature": temperature, "trend": "linear"} | params
        head = kind(dim, 2, **params)
        with torch.no_grad():
            for parameter in head.softstep.parameters() if head.softstep else ():
                parameter.add_(2 * torch.randn_like(parameter))
        return stack_modules([head]).double().eval().requires_grad_(False)

    return make


def average_densely(head, z, z_n, values, weight):
    return head.weights(z[None], z_n[None], sample_weight=weight)[0] @ values


@pytest.fixture(scope="session")
def dense():
    """The formula, of all neighbours at once."""
    return average_densely


def banks(n, dim):
    """Neighbours of several kinds."""
    rng = np.random.default_rng(0)
    spread = rng.normal(size=(n, dim))
    clusters = rng.normal(size=(20, dim))[rng.integers(20, size=n)] * 5
    far = spread + 100
    few = np.round(spread)  # many duplicates
    yield from (spread, clusters + 0.01 * spread, clusters, far, few, np.ones((n, dim)))
    yield np.vstack([np.zeros((n // 2, dim)), 1e-4 * spread[n // 2 :]])


@pytest.fixture(scope="session")
def assert_averages():
    """Checker of what averages are, for queries among and beside neighbours of five dimensions.

    ``average(member, z)`` is compared with the formula.
    """

    def check(average, head, weighted, atol=1e-8):
        n, dim = 600, 5
        rng = np.random.default_rng(1)
        values = torch.from_numpy(rng.normal(size=(n, 2)))
        weight = torch.from_numpy(rng.integers(1, 5, n) / 2.0) if weighted else None
        for z_n in banks(n, dim):
            z = np.vstack([z_n[:10], z_n[:5] + rng.normal(size=(5, dim)), np.zeros((1, dim))])
            z, z_n = torch.from_numpy(z), torch.from_numpy(z_n)
            expected = average_densely(head, z, z_n, values, weight)
            y_hat = average((head, z_n, values, weight), z)
            assert_allclose(y_hat, expected, rtol=1e-8, atol=atol)

    return check
