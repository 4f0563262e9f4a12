"""Attention to the neighbours that can matter: what the dense formula gives."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn import config_context

from skneighbors._bank import prefiltered
from skneighbors._bank.exact import ExactAttention
from skneighbors._bank.prefiltered import PrefilteredAttention
from skneighbors.nn import NONA, SoftStepKNN

EXACT = {"rtol": 1e-8, "atol": 1e-8}


@pytest.fixture(params=[1 / 16, 1.0], ids=["some in full", "none in full"])
def max_share(monkeypatch, request):
    monkeypatch.setattr(prefiltered, "MAX_SHARE", request.param)


@pytest.mark.parametrize("weighted", [False, True])
def test_equals_the_dense_formula(
    max_share, kind_and_params, metric, weighted, make_head, assert_averages
):
    kind, params = kind_and_params
    head = make_head(kind, params | {"similarity": metric}, 5)
    assert_averages(lambda member, z: PrefilteredAttention(*member).average(z), head, weighted)


@settings(max_examples=60, deadline=None)
@given(
    st.data(),
    st.integers(1, 300),
    st.integers(1, 6),
    st.floats(-4, 2),
    st.integers(0, 2**20),
)
def test_equals_the_dense_formula_on_any_bank(
    any_head_and_metric, make_head, dense, data, n, dim, log_temperature, seed
):
    kind, params = data.draw(st.sampled_from(any_head_and_metric[0]))
    metric = data.draw(st.sampled_from(any_head_and_metric[1]))
    rng = np.random.default_rng(seed)
    params = params | {"similarity": metric, "temperature": 10**log_temperature}
    head = make_head(kind, params, dim, seed)
    z_n = torch.from_numpy(rng.normal(size=(n, dim)) * 10 ** rng.uniform(-3, 3))
    z_n = z_n[torch.from_numpy(rng.integers(n, size=n))]
    z = torch.cat([z_n[:4], z_n.mean(0, keepdim=True)])
    values = torch.from_numpy(rng.normal(size=(n, 2)))
    expected = dense(head, z, z_n, values, None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prefiltered, "MAX_SHARE", 1.0)
        for attention in (PrefilteredAttention, ExactAttention):
            y_hat = attention(head, z_n, values, None).average(z)
            assert_allclose(y_hat, expected, **EXACT)


@pytest.mark.parametrize(("kind", "params"), [(NONA, {"softstep": None}), (SoftStepKNN, {})])
def test_most_neighbours_are_not_looked_at(monkeypatch, kind, params, make_head):
    head = make_head(kind, params | {"softstep_parameters": "global"}, 8, temperature=0.01)
    if head.softstep is not None:
        head.softstep.raw.copy_(torch.tensor([[0.5, 0.5, 0.0]]))
    torch.manual_seed(0)
    z_n, z = torch.randn(5000, 8).double(), torch.randn(40, 8).double()
    values = torch.randn(5000, 2).double()
    looked_at = []
    monkeypatch.setattr(ExactAttention, "average", None)  # none in full
    attention = PrefilteredAttention(head, z_n, values, None)
    attention.average(z)
    attention._attend_sparse(z, lambda queries, rows, weights: looked_at.append(rows.numel()))
    assert 0 < sum(looked_at) < 0.1 * len(z) * len(z_n)
    assert attention.pays_for(z)


@pytest.mark.parametrize("weighted", [False, True])
def test_weights_are_those_of_the_dense_formula(max_share, kind_and_params, weighted, make_head):
    head = make_head(*kind_and_params, 4, temperature=0.01)
    z_n, z = torch.randn(500, 4).double(), torch.randn(30, 4).double()
    weight = torch.rand(500).double() if weighted else None
    weights = PrefilteredAttention(head, z_n, torch.randn(500, 2).double(), weight).weights(z)
    expected = head.weights(z[None], z_n[None], sample_weight=weight)[0]
    assert_allclose(weights, expected, rtol=1e-8, atol=1e-9)


def test_one_query_equals_many(max_share, kind_and_params, make_head):
    head = make_head(*kind_and_params, 4)
    z_n, z = torch.randn(500, 4).double(), torch.randn(30, 4).double()
    attention = PrefilteredAttention(head, z_n, torch.randn(500, 2).double(), None)
    alone = torch.cat([attention.average(row[None]) for row in z])
    assert_allclose(alone, attention.average(z), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("kind", "params"), [(NONA, {"softstep": None}), (SoftStepKNN, {})])
def test_autocast_changes_nothing(max_share, kind, params, make_head, dense):
    head = make_head(kind, params, 2, temperature=5e-4)
    z_n, z = torch.randn(3000, 2).double(), torch.randn(40, 2).double()
    values = torch.randn(3000, 2).double()
    expected = dense(head, z, z_n, values, None)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y_hat = PrefilteredAttention(head, z_n, values, None).average(z)
    assert_allclose(y_hat, expected, **EXACT)


def test_a_sample_that_misleads_changes_nothing(make_head, dense):
    """Of many neighbours every other one tells how near those that matter are."""
    params = {"rank_scale": "linear", "softstep": "s1", "softstep_parameters": "global"}
    head = make_head(SoftStepKNN, params, 3)
    head.softstep.raw.copy_(torch.tensor([[3.5, -1.0, 0.0]]))  # some 240 matter
    torch.manual_seed(0)
    z_n, z = torch.randn(8192, 3).double(), torch.randn(5, 3).double()
    z_n[1::2] += 100  # in truth half as many are near as in the sample
    values = torch.randn(8192, 2).double()
    y_hat = PrefilteredAttention(head, z_n, values, None).average(z)
    assert_allclose(y_hat, dense(head, z, z_n, values, None), **EXACT)


@pytest.mark.parametrize(
    ("kind", "params", "n_queries"),
    [(NONA, {}, 128), (SoftStepKNN, {"rank": None}, 128), (SoftStepKNN, {}, 8)],
)
def test_usable_for_enough_neighbours_and_queries(kind, params, n_queries, make_head):
    usable_for, head = PrefilteredAttention.usable_for, make_head(kind, params, 3)
    assert usable_for(head, 2048, n_queries)
    assert usable_for(head, 10**5, 10**5)
    assert not usable_for(head, 2047, n_queries)
    assert not usable_for(head, 2048, n_queries - 1)


@pytest.fixture
def half_in_one_place(make_head):
    """Attention to neighbours far apart and as many in one place, and a query at each."""
    head = make_head(NONA, {"softstep": None}, 3, temperature=0.01)
    torch.manual_seed(0)
    z_n = 10 * torch.randn(400, 3).double()
    z_n[200:] = 0
    attention = PrefilteredAttention(head, z_n, torch.randn(400, 1).double(), None)
    return attention, z_n[:1], z_n[200:201]


def test_pays_where_few_neighbours_matter_to_half_of_the_queries(half_in_one_place):
    attention, sparse, crowded = half_in_one_place
    for n_sparse, pays in [(0, False), (7, False), (8, True), (16, True)]:
        z = torch.cat([sparse.expand(n_sparse, -1), crowded.expand(16 - n_sparse, -1)])
        assert attention.pays_for(z) == pays
        # Some of all queries tell.
        assert attention.pays_for(z.repeat_interleave(9, 0)) == pays


@pytest.mark.parametrize(("working_memory", "n_probes"), [(1024, 16), (0.3, 6), (0.01, 1)])
def test_probes_fit_the_working_memory(monkeypatch, half_in_one_place, working_memory, n_probes):
    attention, sparse, _ = half_in_one_place
    seen, attend = [], attention._attend_sparse

    def recording(z, take):
        seen.append(len(z))
        return attend(z, take)

    monkeypatch.setattr(attention, "_attend_sparse", recording)
    with config_context(working_memory=working_memory):
        attention.pays_for(sparse.expand(n_probes * 7, -1))
    assert seen == [n_probes]
