"""Heads and banks that are tried."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from skneighbors._columns import LabeledRows
from skneighbors._model import EmbeddedRows, NeighborBank
from skneighbors._network import NeighborNetwork
from skneighbors._task import Regression
from skneighbors.nn import NONA, SoftStepKNN

TASK = Regression(np.zeros(1), np.ones(1), 1)
SIMILARITIES = ("l2", "l1", "dot", "cosine")
HEADS = [
    *[(NONA, {"softstep": softstep}) for softstep in (None, "s1", "s2")],
    (NONA, {"softstep": "s1", "softstep_parameters": "global", "temperature": 0.01}),
    *[(SoftStepKNN, {"softstep": softstep}) for softstep in ("s1", "s2")],
    *[(SoftStepKNN, {"rank": None, "softstep": softstep}) for softstep in ("s1", "s2")],
    (SoftStepKNN, {"rank_scale": "linear", "softstep_parameters": "global"}),
    (NONA, {"calibration": 4.0}),
    (SoftStepKNN, {"calibration": 4.0}),
    (SoftStepKNN, {"rank": None, "softstep": "s2", "calibration": 0.5}),
]


@pytest.fixture(params=SIMILARITIES)
def metric(request):
    return request.param


@pytest.fixture(
    params=HEADS, ids=lambda head: "-".join([head[0].__name__, *map(str, head[1].values())])
)
def kind_and_params(request):
    return request.param


class Identity(torch.nn.Module):
    """An embedder whose embeddings are its features."""

    def __init__(self, dim):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.eye(dim))

    def forward(self, X, sample_weight=None):
        weight = self.weight if self.weight.ndim == 2 else self.weight.mT
        return X @ weight


@pytest.fixture(scope="session")
def make_bank():
    """Maker of a bank of two members whose embeddings are given, (n, 2 d), side by side."""

    def make(Z, kind=NONA, metric="l2", weight=None, group=None, blended=None, share=0.0, **params):
        torch.manual_seed(0)
        Z = torch.as_tensor(np.asarray(Z, dtype=np.float64))
        dim = Z.shape[1] // 2
        params = {"temperature": 0.3, "trend": "linear"} | params
        heads = [kind(dim, 2, similarity=metric, **params) for _ in range(2)]
        with torch.no_grad():
            for head in heads:
                for parameter in head.softstep.parameters() if head.softstep else ():
                    parameter.add_(2 * torch.randn_like(parameter))
        network = NeighborNetwork(None, [Identity(dim) for _ in heads], heads)
        rng = np.random.default_rng(5)
        y = torch.from_numpy(rng.normal(size=(len(Z), 2)))
        blended = torch.zeros_like(y) if blended is None else torch.as_tensor(blended)
        weight = None if weight is None else torch.as_tensor(np.asarray(weight, dtype=np.float64))
        group = None if group is None else torch.as_tensor(group)
        rows = LabeledRows(Z[:, :dim], y, weight, group)
        bank = replace(NeighborBank.build(network, rows, TASK, blended), blend_weight=share)
        z = Z.unflatten(1, (2, dim)).contiguous()
        values = y.unsqueeze(1) - bank.trends(z)
        return replace(bank, rows=replace(bank.rows, z=z, values=values))

    return make


@pytest.fixture(scope="session")
def points():
    """Maker of embeddings (n, 6), some of which coincide."""

    def make(n=60, seed=0):
        Z = np.random.RandomState(seed).normal(size=(n, 6))
        Z[n // 2 : n // 2 + 3] = Z[0]
        return Z

    return make


@pytest.fixture(scope="session")
def by_member():
    """Embeddings (n, 6) as (n, 2, 3)."""
    return lambda Z: torch.from_numpy(np.asarray(Z)).unflatten(1, (2, 3)).contiguous()


@pytest.fixture(scope="session")
def as_queries(by_member):
    """Embeddings (n, 6) as queries in which likeness has no say."""
    return lambda Z: EmbeddedRows(by_member(Z), None)
