"""Attention over all neighbours: what the dense formula gives, chunk by chunk."""

import pytest
import torch
from numpy.testing import assert_allclose
from sklearn import config_context

from skneighbors._bank import exact
from skneighbors._bank.exact import ExactAttention, block_length
from skneighbors._utils import blocks
from skneighbors.nn import NONA, SoftStepKNN

EXACT = {"rtol": 1e-8, "atol": 1e-8}


@pytest.mark.parametrize("weighted", [False, True])
def test_equals_the_dense_formula(kind_and_params, metric, weighted, make_head, assert_averages):
    kind, params = kind_and_params
    head = make_head(kind, params | {"similarity": metric}, 5)
    assert_averages(lambda member, z: ExactAttention(*member).average(z), head, weighted)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("kind", "softstep"), [(NONA, None), (NONA, "s2"), (SoftStepKNN, "s1"), (SoftStepKNN, "s2")]
)
def test_equals_the_dense_formula_chunk_by_chunk(
    monkeypatch, kind, softstep, metric, weighted, make_head
):
    for module in (exact, blocks):
        monkeypatch.setattr(module, "CACHED_BYTES", 2**12)
    params = {"softstep": softstep, "temperature": None, "similarity": metric}
    head = make_head(kind, params, 5)
    z, z_n, values = (torch.randn(n, dim).double() for n, dim in ((7, 5), (200, 5), (200, 2)))
    weight = 1 + torch.arange(200).double() % 3 if weighted else None
    before = z.clone(), z_n.clone()
    assert len(blocks.cached_chunks(z_n, 7)) > 2
    attention = ExactAttention(head, z_n, values, weight)
    expected = head.weights(z[None], z_n[None], sample_weight=weight)[0]
    for working_memory in (1024, 0.05):
        with config_context(working_memory=working_memory):
            assert_allclose(attention.weights(z), expected, **EXACT)
            assert_allclose(attention.average(z), expected @ values, **EXACT)
    assert block_length(200) > 7
    assert torch.equal(z, before[0])
    assert torch.equal(z_n, before[1])


def test_blocks_fit_the_working_memory():
    assert block_length(100) == 256
    assert block_length(10**5) < block_length(10**4)
    assert block_length(10**9) == 1


def test_one_query_equals_many(kind_and_params, make_head):
    head = make_head(*kind_and_params, 4)
    z_n, z = torch.randn(500, 4).double(), torch.randn(30, 4).double()
    attention = ExactAttention(head, z_n, torch.randn(500, 2).double(), None)
    alone = torch.cat([attention.average(row[None]) for row in z])
    assert_allclose(alone, attention.average(z), rtol=1e-9, atol=1e-9)


def test_weights_sum_to_one_and_average(kind_and_params, make_head):
    head = make_head(*kind_and_params, 4)
    z_n, z = torch.randn(300, 4).double(), torch.randn(7, 4).double()
    weight = torch.rand(300).double() + 0.1
    attention = ExactAttention(head, z_n, torch.randn(300, 2).double(), weight)
    weights = attention.weights(z)
    assert_allclose(weights.sum(1), 1)
    assert_allclose(attention.average(z), weights @ attention.values, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("kind", "params"), [(NONA, {"softstep": None}), (SoftStepKNN, {})])
def test_autocast_changes_nothing(kind, params, make_head, dense):
    head = make_head(kind, params, 2, temperature=5e-4)
    z_n, z = torch.randn(300, 2).double(), torch.randn(40, 2).double()
    values = torch.randn(300, 2).double()
    expected = dense(head, z, z_n, values, None)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y_hat = ExactAttention(head, z_n, values, None).average(z)
    assert_allclose(y_hat, expected, **EXACT)
