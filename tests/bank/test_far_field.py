"""A random sample that stands for all rows but the candidates."""

import pytest
import torch
from numpy.testing import assert_allclose

from skneighbors._bank.far_field import FarFieldSample
from skneighbors._utils import blocks
from skneighbors.nn import NONA, SoftStepKNN, similarity

N, D = 60, 4


@pytest.fixture(
    params=[(NONA, {"softstep": None}), (NONA, {}), (SoftStepKNN, {"rank": None})],
    ids=["no mask", "mask", "mask alone"],
)
def head(request, metric, make_head):
    kind, params = request.param
    return make_head(kind, params | {"similarity": metric}, D, temperature=0.5)


@pytest.fixture(params=[False, True], ids=["unweighted", "weighted"])
def bank(request):
    torch.manual_seed(1)
    weight = torch.rand(N).double() + 0.5 if request.param else None
    return torch.randn(N, D).double() + 2, torch.randn(N, 2).double(), weight


def sums_of(head, bank, z, rows, candidates, n_missed=0):
    """What a sample says of the rows that are no candidates, and what they would in full."""
    z_n, values, weight = bank
    weight = torch.ones(N).double() if weight is None else weight
    s = similarity(z, z_n, head.similarity)
    low, high = s.amin(1, keepdim=True), s.sort(1).values[:, N - 1 - n_missed, None]
    s = s.minimum(high)
    is_candidate = torch.zeros(len(z), N + 1).scatter_(1, candidates % (N + 1), 1)[:, :N]
    others = (1 - is_candidate.double()) * weight
    rest = others.sum(1, keepdim=True)
    sample = FarFieldSample(head, *bank, rows)
    found = sample.sums(z, low, high, candidates, rest)
    weights = head.log_weights(z[None], low[None], high[None])(s[None]).exp()[0]
    is_sampled = torch.zeros(N).double().index_fill_(0, rows, 1)
    sampled = others * is_sampled
    share = torch.nan_to_num(rest / sampled.sum(1, keepdim=True), posinf=0)
    weights = share * sampled * weights
    return found, (weights.sum(1, keepdim=True), weights @ values)


@pytest.mark.parametrize("n_missed", [0, 12])
@pytest.mark.parametrize("n_sampled", [N, 25, 1])
@pytest.mark.parametrize("cached_bytes", [2**21, 2**8])
def test_sampled_rows_weigh_as_much_as_all_that_are_no_candidates(
    head, bank, n_sampled, cached_bytes, n_missed, monkeypatch
):
    """Those more similar than the nearest that an index has found count as much as that one."""
    monkeypatch.setattr(blocks, "CACHED_BYTES", cached_bytes)  # all at once, or row by row
    rows = torch.randperm(N, generator=torch.Generator().manual_seed(0))[:n_sampled].sort().values
    z = torch.cat([bank[0][:3], torch.randn(4, D).double()])
    candidates = torch.stack([torch.randperm(N)[:9] for _ in z])
    candidates[1, 2:] = -1  # fewer are found
    found, expected = sums_of(head, bank, z, rows, candidates, n_missed)
    for own, exact in zip(found, expected, strict=True):
        assert_allclose(own, exact, rtol=1e-3, atol=1e-4)


def test_none_stand_for_the_rest_where_all_sampled_rows_are_candidates(head, bank):
    rows, z = torch.tensor([3, 8, 50]), torch.randn(2, D).double()
    candidates = torch.tensor([[50, 3, 8, 1], [8, 3, 2, 1]])
    (total, sums), expected = sums_of(head, bank, z, rows, candidates)
    assert not total[0].any()
    assert not sums[0].any()
    assert_allclose(total[1], expected[0][1], rtol=1e-3)


def test_the_head_stays_in_double_precision(head, bank):
    FarFieldSample(head, *bank, torch.arange(5))
    assert {p.dtype for p in [*head.parameters(), *head.buffers()]} == {torch.float64}
