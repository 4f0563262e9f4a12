"""Attention over many neighbours: what the dense formula gives, whatever is left out."""

import subprocess
import sys

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn import config_context
from skneighbors._bank import exact, prefiltered
from skneighbors._bank.engines import _choose_attention
from skneighbors._bank.exact import ExactAttention, block_length
from skneighbors._bank.prefilter import Float32Prefilter
from skneighbors._bank.prefiltered import PrefilteredAttention
from skneighbors._utils import blocks

from skneighbors.nn import NONA, SoftStepKNN, similarity, stack_modules

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
EXACT = {"rtol": 1e-8, "atol": 1e-8}


def make_head(kind, params, dim, seed=0, temperature=0.05):
    """A stack of one, its masks far from their initial ones."""
    torch.manual_seed(seed)
    params = {"temperature": temperature, "trend": "linear"} | params
    head = kind(dim, 2, **params)
    with torch.no_grad():
        for parameter in head.softstep.parameters() if head.softstep else ():
            parameter.add_(2 * torch.randn_like(parameter))
    return stack_modules([head]).double().eval().requires_grad_(False)


def dense(head, z, z_n, values, weight):
    return head.weights(z[None], z_n[None], sample_weight=weight)[0] @ values


def attended(head, z, z_n, values, weight):
    return _choose_attention((head, z_n, values, weight), z).average(z)


@pytest.fixture(params=[1 / 16, 1.0])
def prefiltered_banks(monkeypatch, request):
    """Small banks are prefiltered too; at the second share, no row is computed in full."""
    monkeypatch.setattr(prefiltered, "_MIN_NEIGHBORS", 1)
    monkeypatch.setattr(prefiltered, "_MIN_QUERIES", 1)
    monkeypatch.setattr(prefiltered, "_MIN_RANKED_QUERIES", 1)
    monkeypatch.setattr(prefiltered, "_MAX_SHARE", request.param)


def banks(n, dim):
    """Neighbours of several kinds, with queries among and beside them."""
    rng = np.random.default_rng(0)
    spread = rng.normal(size=(n, dim))
    clusters = rng.normal(size=(20, dim))[rng.integers(20, size=n)] * 5
    far = spread + 100
    few = np.round(spread)  # many duplicates
    yield from (spread, clusters + 0.01 * spread, clusters, far, few, np.ones((n, dim)))
    yield np.vstack([np.zeros((n // 2, dim)), 1e-4 * spread[n // 2 :]])


@pytest.mark.parametrize("metric", SIMILARITIES)
@pytest.mark.parametrize(("kind", "params"), HEADS)
@pytest.mark.parametrize("weighted", [False, True])
def test_equals_the_dense_formula(prefiltered_banks, kind, params, metric, weighted):
    n, dim = 600, 5
    rng = np.random.default_rng(1)
    head = make_head(kind, params | {"similarity": metric}, dim)
    values = torch.from_numpy(rng.normal(size=(n, 2)))
    weight = torch.from_numpy(rng.integers(1, 5, n) / 2.0) if weighted else None
    for z_n in banks(n, dim):
        z = np.vstack([z_n[:10], z_n[:5] + rng.normal(size=(5, dim)), np.zeros((1, dim))])
        z, z_n = torch.from_numpy(z), torch.from_numpy(z_n)
        expected = dense(head, z, z_n, values, weight)
        assert_allclose(attended(head, z, z_n, values, weight), expected, **EXACT)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("metric", SIMILARITIES)
@pytest.mark.parametrize(
    ("kind", "softstep"), [(NONA, None), (NONA, "s2"), (SoftStepKNN, "s1"), (SoftStepKNN, "s2")]
)
def test_equals_the_dense_formula_chunk_by_chunk(monkeypatch, kind, softstep, metric, weighted):
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


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(HEADS),
    st.sampled_from(SIMILARITIES),
    st.integers(1, 300),
    st.integers(1, 6),
    st.floats(-4, 2),
    st.integers(0, 2**20),
)
def test_equals_the_dense_formula_on_any_bank(head, metric, n, dim, log_temperature, seed):
    kind, params = head
    rng = np.random.default_rng(seed)
    params = params | {"similarity": metric, "temperature": 10**log_temperature}
    head = make_head(kind, params, dim, seed)
    z_n = torch.from_numpy(rng.normal(size=(n, dim)) * 10 ** rng.uniform(-3, 3))
    z_n = z_n[torch.from_numpy(rng.integers(n, size=n))]
    z = torch.cat([z_n[:4], z_n.mean(0, keepdim=True)])
    values = torch.from_numpy(rng.normal(size=(n, 2)))
    expected = dense(head, z, z_n, values, None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prefiltered, "_MIN_NEIGHBORS", 1)
        patch.setattr(prefiltered, "_MIN_QUERIES", 1)
        patch.setattr(prefiltered, "_MIN_RANKED_QUERIES", 1)
        patch.setattr(prefiltered, "_MAX_SHARE", 1.0)
        assert_allclose(attended(head, z, z_n, values, None), expected, **EXACT)


@pytest.mark.parametrize(("kind", "params"), [(NONA, {"softstep": None}), (SoftStepKNN, {})])
def test_most_neighbours_are_not_looked_at(monkeypatch, kind, params):
    monkeypatch.setattr(prefiltered, "_MIN_NEIGHBORS", 1)
    monkeypatch.setattr(prefiltered, "_MIN_QUERIES", 1)
    torch.manual_seed(0)
    head = make_head(kind, params | {"softstep_parameters": "global"}, 8, temperature=0.01)
    if head.softstep is not None:
        head.softstep.raw.copy_(torch.tensor([[0.5, 0.5, 0.0]]))
    z_n, z = torch.randn(5000, 8).double(), torch.randn(40, 8).double()
    values = torch.randn(5000, 2).double()
    looked_at = []
    of = PrefilteredAttention._average_of

    def recording(self, z, rows, weight):
        looked_at.append(rows.shape[0] * rows.shape[1])
        return of(self, z, rows, weight)

    monkeypatch.setattr(PrefilteredAttention, "_average_of", recording)
    monkeypatch.setattr(ExactAttention, "average", None)  # none in full
    attended(head, z, z_n, values, None)
    assert 0 < sum(looked_at) < 0.1 * len(z) * len(z_n)


@pytest.mark.parametrize("metric", SIMILARITIES)
def test_scores_err_by_no_more_than_their_bound(metric):
    rng = np.random.default_rng(0)
    for size in (1e-3, 1.0, 1e6):
        z_n = torch.from_numpy(size * (rng.normal(size=(400, 7)) + 3))
        z = torch.from_numpy(size * rng.normal(size=(30, 7)))
        prefilter = Float32Prefilter(z_n, metric)
        q = prefilter.queries(z)
        scores, error = prefilter.scores(q), prefilter.error(q)
        s = similarity(z, z_n, metric)
        exact = torch.cat([prefilter.to_score(column.unsqueeze(1), q) for column in s.T], 1)
        assert ((scores - exact).abs() <= error).all()
        back = torch.cat([prefilter.to_similarity(column.unsqueeze(1), q) for column in exact.T], 1)
        assert_allclose(back, s, rtol=1e-6)


def test_scores_of_a_user_who_lets_products_be_rounded():
    before = torch.get_float32_matmul_precision()
    try:
        torch.set_float32_matmul_precision("medium")
        prefilter = Float32Prefilter(torch.randn(50, 3).double(), "dot")
        q = prefilter.queries(torch.randn(4, 3).double())
        assert prefilter.scores(q).dtype == torch.float64
    finally:
        torch.set_float32_matmul_precision(before)


def test_blocks_fit_the_working_memory():
    assert block_length(100) == 256
    assert block_length(10**5) < block_length(10**4)
    assert block_length(10**9) == 1


@pytest.mark.parametrize(("kind", "params"), HEADS[:6])
def test_one_query_equals_many(prefiltered_banks, kind, params):
    head = make_head(kind, params, 4)
    z_n, z = torch.randn(500, 4).double(), torch.randn(30, 4).double()
    values = torch.randn(500, 2).double()
    together = attended(head, z, z_n, values, None)
    alone = torch.cat([attended(head, row[None], z_n, values, None) for row in z])
    assert_allclose(alone, together, rtol=1e-9, atol=1e-9)


def test_weights_sum_to_one_and_average():
    head = make_head(NONA, {}, 4)
    z_n, z = torch.randn(300, 4).double(), torch.randn(7, 4).double()
    attention = ExactAttention(head, z_n, torch.randn(300, 2).double(), torch.rand(300) + 0.1)
    weights = attention.weights(z)
    assert_allclose(weights.sum(1), 1)
    assert_allclose(attention.average(z), weights @ attention.values, rtol=1e-12)


@pytest.mark.parametrize(("kind", "params"), [(NONA, {"softstep": None}), (SoftStepKNN, {})])
def test_autocast_and_torchs_precision_switches_change_nothing(prefiltered_banks, kind, params):
    head = make_head(kind, params, 2, temperature=5e-4)
    z_n, z = torch.randn(3000, 2).double(), torch.randn(40, 2).double()
    values = torch.randn(3000, 2).double()
    expected = dense(head, z, z_n, values, None)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert_allclose(attended(head, z, z_n, values, None), expected, **EXACT)
    code = (
        "import torch; torch.backends.mkldnn.matmul.fp32_precision = 'bf16'; "
        "from skneighbors._bank.prefilter import Float32Prefilter; q = torch.randn(9, 2).double(); "
        "prefilter = Float32Prefilter(q, 'l2'); print(prefilter.scores(prefilter.queries(q)).dtype)"
    )
    if hasattr(torch.backends.mkldnn, "matmul"):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert done.stdout.strip() == "torch.float64", done.stderr
