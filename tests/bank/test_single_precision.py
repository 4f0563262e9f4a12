"""Attention in single precision: what the dense formula gives, to 1e-6 of the values' spread."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn import config_context

from skneighbors._bank import single_precision
from skneighbors._bank.exact import ExactAttention
from skneighbors._bank.rounding import find_unsure, similarity_error
from skneighbors._bank.single_precision import SinglePrecisionAttention
from skneighbors.nn import NONA, SoftStepKNN, similarity

METRICS = ("l2", "dot", "cosine")
ATOL = 1e-6


@pytest.fixture
def plain_head(kind_and_params, make_head):
    """Maker of a head of similarities."""
    kind, params = kind_and_params
    if kind is SoftStepKNN and params.get("rank", "soft") is not None:
        pytest.skip("ranks need an order")
    return lambda dim, **more: make_head(kind, params | more, dim)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("metric", METRICS)
def test_equals_the_dense_formula(metric, weighted, plain_head, assert_averages):
    head = plain_head(5, similarity=metric)
    assert_averages(
        lambda member, z: SinglePrecisionAttention(*member).average(z), head, weighted, ATOL
    )


@settings(max_examples=100, deadline=None)
@given(
    st.data(),
    st.sampled_from(METRICS),
    st.integers(1, 3000),
    st.integers(1, 20),
    st.floats(-4, 4),
    st.floats(0, 3),
    st.integers(0, 2**20),
)
def test_equals_the_dense_formula_on_any_bank(
    any_head_and_metric, make_head, dense, data, metric, n, dim, log_temperature, offset, seed
):
    """Far from the origin, with near and equal rows, of weights from 1e-6 to 1e6."""
    heads = [head for head in any_head_and_metric[0] if head[1].get("rank", None) is None]
    kind, params = data.draw(st.sampled_from([h for h in heads if h[0] is NONA or "rank" in h[1]]))
    rng = np.random.default_rng(seed)
    head = make_head(
        kind, params | {"similarity": metric, "temperature": 10**log_temperature}, dim, seed
    )
    z_n = rng.normal(size=(n, dim)) * 10 ** rng.uniform(-3, 2, (n, 1)) + 10**offset
    z_n = z_n[rng.integers(n, size=n)] + rng.choice([0, 1e-9, 1e-4], n)[:, None]
    z = np.vstack([z_n[:4], z_n.mean(0), rng.normal(size=(3, dim))])
    z, z_n, values = map(torch.from_numpy, (z, z_n, rng.normal(size=(n, 2))))
    weight = torch.from_numpy(10 ** rng.uniform(-6, 6, n)) if data.draw(st.booleans()) else None
    y_hat = SinglePrecisionAttention(head, z_n, values, weight).average(z)
    assert_allclose(y_hat, dense(head, z, z_n, values, weight), rtol=1e-8, atol=ATOL)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("softstep", [None, "s1", "s2"])
def test_holds_for_common_banks(softstep, metric, make_head, dense, monkeypatch):
    params = {"softstep": softstep, "similarity": metric, "softstep_parameters": "global"}
    head = make_head(NONA, params, 16, temperature=1.0)
    if softstep:
        head.softstep.raw.copy_(torch.tensor([[-1.0, 0.5, 0.0]]))
    torch.manual_seed(0)
    z_n, z = torch.randn(5000, 16).double(), torch.randn(40, 16).double()
    values = torch.randn(5000, 1).double()
    expected = dense(head, z, z_n, values, None)
    monkeypatch.setattr(ExactAttention, "average", None)  # none in full
    attention = SinglePrecisionAttention(head, z_n, values, None)
    assert attention.pays_for(z)
    difference = attention.average(z) - expected
    assert difference.abs().max() < 2e-7
    assert difference.abs().max() > 1e-12  # indeed in single precision


def test_near_pairs_are_weighed_again(make_head, dense, monkeypatch):
    """Those in a small cluster far from the centre, of which single precision says little."""
    head = make_head(NONA, {"softstep": None}, 4, temperature=20.0)
    torch.manual_seed(0)
    z_n = torch.randn(4000, 4).double()
    z_n[:100] += 30
    z = z_n[:32] + 1e-5
    values = torch.randn(4000, 1).double()
    monkeypatch.setattr(ExactAttention, "average", None)
    mended = []
    weigh = single_precision.weight_present

    def recording(weight, rows, present):
        mended.append(present.sum())
        return weigh(weight, rows, present)

    monkeypatch.setattr(single_precision, "weight_present", recording)
    y_hat = SinglePrecisionAttention(head, z_n, values, None).average(z)
    assert_allclose(y_hat, dense(head, z, z_n, values, None), rtol=0, atol=2e-7)
    assert 0 < sum(mended) < 0.05 * len(z) * len(z_n)


@pytest.mark.parametrize("dim", [3, 64])
def test_bits_depend_neither_on_blocks_nor_on_other_queries(dim, make_head, monkeypatch):
    head = make_head(NONA, {"softstep_parameters": "global"}, dim, temperature=3.0)
    torch.manual_seed(0)
    z_n, z = torch.randn(5000, dim).double(), torch.randn(150, dim).double()
    attention = SinglePrecisionAttention(head, z_n, torch.randn(5000, 2).double(), None)
    monkeypatch.setattr(ExactAttention, "average", None)  # none in full
    expected = attention.average(z)
    for n_bytes in (2**18, 2**22):
        monkeypatch.setattr(single_precision, "_CHUNK_BYTES", n_bytes)
        with config_context(working_memory=n_bytes / 2**20):
            assert torch.equal(attention.average(z), expected)
    for length in (1, 33, 80):
        assert torch.equal(torch.cat([attention.average(q) for q in z.split(length)]), expected)


def test_blocks_fit_the_working_memory(make_head):
    head = make_head(NONA, {}, 2)
    attention = SinglePrecisionAttention(head, *torch.randn(2, 10**5, 2).double(), None)
    assert attention._block_length() == 64
    with config_context(working_memory=80):
        assert attention._block_length() == 16
    attention = SinglePrecisionAttention(head, *torch.randn(2, 10**4, 2).double(), None)
    assert attention._block_length() == 256


@pytest.mark.parametrize(
    ("kind", "params", "usable"),
    [
        (NONA, {}, True),
        (NONA, {"similarity": "l1"}, False),
        (SoftStepKNN, {"rank": None}, True),
        (SoftStepKNN, {}, False),
    ],
)
def test_usable_for_many_similarities(kind, params, usable, make_head):
    usable_for, head = SinglePrecisionAttention.usable_for, make_head(kind, params, 3)
    assert usable_for(head, 2**15, 128) == usable
    assert not usable_for(head, 2**15 - 1, 128)
    assert not usable_for(head, 2**15, 127)


def test_not_usable_where_products_are_rounded_further(make_head):
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("medium")
    try:
        assert not SinglePrecisionAttention.usable_for(make_head(NONA, {}, 3), 10**5, 10**5)
    finally:
        torch.set_float32_matmul_precision(before)


def test_autocast_changes_nothing(make_head, dense):
    head = make_head(NONA, {"softstep": None}, 2, temperature=1.0)
    z_n, z = torch.randn(3000, 2).double(), torch.randn(40, 2).double()
    values = torch.randn(3000, 2).double()
    expected = dense(head, z, z_n, values, None)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y_hat = SinglePrecisionAttention(head, z_n, values, None).average(z)
    assert_allclose(y_hat, expected, rtol=0, atol=ATOL)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize(("dim", "scale"), [(2, 1.0), (8, 100.0), (64, 0.01)])
def test_similarities_err_as_much_as_is_said(metric, dim, scale, make_head):
    torch.manual_seed(0)
    head = make_head(NONA, {"similarity": metric}, dim)
    z_n, z = (scale * torch.randn(n, dim).double() for n in (2048, 16))
    attention = SinglePrecisionAttention(head, z_n, z_n, None)
    parts = attention._parts_of(torch.empty(16 * 2048), 16)
    attention._fill_with_similarities(z, parts)
    found = torch.cat([s for _, s in parts], 1)
    found = found.abs().sqrt().neg() if metric == "l2" else found
    s = similarity(z, z_n, metric)
    said = attention._errors(z)(s)
    ratio = ((found - s) / said).square().mean().sqrt()
    assert 0.05 < ratio < 1


def unsure_of(head):
    """What of weights is unsure for similarities from -2 to -1; these, and what is chosen."""
    low, high = torch.tensor([[-2.0]]).double(), torch.tensor([[-1.0]]).double()
    log_weights = head.log_weights(torch.zeros(1, 1, 3).double(), low[None], high[None])
    norm = torch.ones(1, 1).double()
    unsure, some = find_unsure(
        log_weights,
        lambda s: similarity_error(s, "l2", norm, norm[0, 0], 3),
        torch.tensor([[1e-3]]).double(),
        10**4,
    )
    weights = log_weights(torch.linspace(-2, -1, 10**4)[None, None].double())[0].exp()
    return weights, unsure.chosen(weights), some.item()


def test_weights_without_steep_slopes_are_sure(make_head):
    _, chosen, some = unsure_of(make_head(NONA, {"softstep": None}, 3, temperature=1.0))
    assert some
    assert not chosen.any()


def test_weights_at_a_step_are_unsure(make_head):
    head = make_head(NONA, {"softstep": "s1", "softstep_parameters": "global"}, 3, temperature=1.0)
    head.softstep.raw.copy_(torch.tensor([[0.3, 0.0, -20.0]]))  # within a millionth of the range
    weights, chosen, some = unsure_of(head)
    step = (weights > 0).int().argmax()
    assert some
    assert chosen[0, step]
    assert (chosen.nonzero()[:, 1] - step).abs().max() < 10**4 / 32


def test_nothing_is_sure_of_weights_too_steep_throughout(make_head):
    _, _, some = unsure_of(make_head(NONA, {"softstep": None}, 3, temperature=1e-6))
    assert not some
