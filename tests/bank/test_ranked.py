"""Attention by the ranks of the neighbours in reach: what the dense formula gives."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from skneighbors._bank import ranked
from skneighbors._bank.exact import ExactAttention
from skneighbors._bank.prefiltered import PrefilteredAttention
from skneighbors._bank.ranked import RankedAttention
from skneighbors.nn import NONA, SoftStepKNN

EXACT = {"rtol": 1e-8, "atol": 1e-8}
RANKED = [
    {"softstep": "s1"},
    {"softstep": "s2"},
    {"rank_scale": "linear", "softstep_parameters": "global"},
    {"sharpness": 4.0},
]


@pytest.fixture(params=[1 / 2, 1.0], ids=["some in full", "none in full"], autouse=True)
def max_share(monkeypatch, request):
    monkeypatch.setattr(ranked, "_MAX_SHARE", request.param)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("params", RANKED)
def test_equals_the_dense_formula(metric, params, weighted, make_head, assert_averages):
    head = make_head(SoftStepKNN, params | {"similarity": metric}, 5)
    assert_averages(lambda member, z: RankedAttention(*member).average(z), head, weighted)


@settings(max_examples=50, deadline=None)
@given(
    st.sampled_from(RANKED),
    st.sampled_from(["l2", "dot", "cosine"]),
    st.integers(1, 3000),
    st.integers(1, 6),
    st.booleans(),
    st.integers(0, 2**20),
)
def test_equals_the_dense_formula_on_any_bank(
    make_head, dense, params, metric, n, dim, weighted, seed
):
    rng = np.random.default_rng(seed)
    head = make_head(SoftStepKNN, params | {"similarity": metric}, dim, seed)
    z_n = torch.from_numpy(rng.normal(size=(n, dim)) * 10 ** rng.uniform(-3, 3))
    z_n = z_n[torch.from_numpy(rng.integers(n, size=n))]
    z = torch.cat([z_n[:4], z_n.mean(0, keepdim=True)])
    values = torch.from_numpy(rng.normal(size=(n, 2)))
    weight = torch.from_numpy(10 ** rng.uniform(-2, 2, n)) if weighted else None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranked, "_MAX_SHARE", 1.0)
        y_hat = RankedAttention(head, z_n, values, weight).average(z)
    assert_allclose(y_hat, dense(head, z, z_n, values, weight), **EXACT)


@pytest.fixture
def step(make_head):
    """Head whose mask reaches some 160 of 4096 neighbours, and a bank."""
    head = make_head(SoftStepKNN, {"softstep_parameters": "global"}, 3)
    head.softstep.raw.copy_(torch.tensor([[-0.5, 0.5, -3.0]]))
    torch.manual_seed(0)
    return head, torch.randn(4096, 3).double(), torch.randn(4096, 2).double()


def test_few_are_given_ranks(step, monkeypatch):
    attention, z = RankedAttention(*step, None), torch.randn(200, 3).double()
    looked_at = []
    monkeypatch.setattr(ExactAttention, "average", None)  # none in full
    attention.average(z)
    attention._attend_sparse(z, lambda queries, rows, weights: looked_at.append(rows.numel()))
    assert 0 < sum(looked_at) < 0.2 * len(z) * 4096
    assert attention.pays_for(z)


def test_a_crowd_of_equal_neighbours_at_the_edge_is_seen_whole(step, dense):
    """Their mean rank lies beyond the reach, that of a part of them would not."""
    head, z_n, values = step
    z = z_n[:40].clone()
    z_n[100:2000] = z_n[100]
    for weight in (None, torch.rand(4096).double() + 0.5):
        y_hat = RankedAttention(head, z_n, values, weight).average(z)
        assert_allclose(y_hat, dense(head, z, z_n, values, weight), **EXACT)


@pytest.mark.parametrize("kind", [RankedAttention, PrefilteredAttention])
def test_neighbours_that_differ_by_rounding_share_a_rank(kind, make_head):
    """Rounding of the largest similarity in size, which is not among the nearest."""
    head = make_head(SoftStepKNN, {"softstep_parameters": "global"}, 2)
    head.softstep.raw.copy_(torch.tensor([[0.2, 0.5, -3.0]]))
    torch.manual_seed(0)
    half, sign = torch.randn(10_000, 2).double() + 5, torch.ones(10_000, 1).double()
    z_n = torch.cat([half, half * (1 + 1e-15 * torch.randn(10_000, 2).double())])
    values, z = torch.cat([sign, -sign]), 0.3 * torch.randn(16, 2).double() + 5
    y_hat = kind(head, z_n, values, None).average(z)
    assert_allclose(y_hat, ExactAttention(head, z_n, values, None).average(z), rtol=0, atol=1e-9)


def test_weights_are_those_of_the_dense_formula(step):
    head, z_n, values = step
    z = torch.randn(70, 3).double()
    weights = RankedAttention(head, z_n, values, None).weights(z)
    assert_allclose(weights, head.weights(z[None], z_n[None])[0], rtol=1e-8, atol=1e-12)


def test_one_query_equals_many(step):
    attention, z = RankedAttention(*step, None), torch.randn(70, 3).double()
    alone = torch.cat([attention.average(row[None]) for row in z])
    assert_allclose(alone, attention.average(z), rtol=1e-9, atol=1e-9)


def test_usable_for_ranks_of_enough_neighbours(make_head):
    usable_for, head = RankedAttention.usable_for, make_head(SoftStepKNN, {}, 3)
    assert usable_for(head, 2048, 8)
    assert not usable_for(head, 2047, 8)
    assert not usable_for(head, 2048, 7)
    assert not usable_for(make_head(SoftStepKNN, {"rank": None}, 3), 10**5, 10**5)
    assert not usable_for(make_head(NONA, {}, 3), 10**5, 10**5)
