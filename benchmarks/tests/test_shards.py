"""Sums over the shards of a bank combine to the prediction from the whole."""

import pytest
import torch

from skneighbors.nn import NONA, SoftStepKNN

pytestmark = pytest.mark.usefixtures("benchmarks_importable")

N_QUERIES, N_ROWS, WIDTH = 5, 300, 4


@pytest.fixture
def bank():
    """Queries, the embeddings of a bank and its targets; the shards differ in place and size."""
    generator = torch.Generator().manual_seed(0)
    shapes = (N_QUERIES, WIDTH), (N_ROWS, WIDTH), (N_ROWS, 2)
    z, z_n, y_n = (torch.randn(s, generator=generator, dtype=torch.float64) for s in shapes)
    return z, z_n[z_n[:, 0].argsort()], y_n


def in_shards(*arrays):
    return zip(*(array.split([7, 200, 93]) for array in arrays), strict=True)


def combined(head, z, z_n, y_n):
    """Predictions of shards, each of which is compared in chunks of its own."""
    from shards import extremes, partial_sums

    values = head.subtract_trend(z_n, y_n)
    lows, highs = zip(*(extremes(head, z, own) for (own,) in in_shards(z_n)), strict=True)
    low, high = torch.stack(lows).amin(0), torch.stack(highs).amax(0)
    parts = [partial_sums(head, z, *own, low, high) for own in in_shards(z_n, values)]
    total, weighted = map(sum, zip(*parts, strict=True))
    return head.add_trend(z, weighted / total)


def make(head_class, **options):
    torch.manual_seed(0)
    return head_class(WIDTH, 2, **options).double().eval().requires_grad_(False)


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch, benchmarks_importable):
    import shards

    monkeypatch.setattr(shards, "CHUNK", 64)


@pytest.mark.parametrize("similarity", ["l2", "l1", "dot", "cosine"])
@pytest.mark.parametrize("softstep", [None, "s1", "s2"])
def test_nona(bank, similarity, softstep):
    head = make(NONA, similarity=similarity, softstep=softstep, temperature=0.2, trend="linear")
    torch.testing.assert_close(combined(head, *bank), head(*bank), rtol=0, atol=1e-10)


@pytest.mark.parametrize("softstep", ["s1", "s2"])
def test_softstep_knn_without_ranks(bank, softstep):
    head = make(SoftStepKNN, rank=None, softstep=softstep, sharpness=2.0)
    torch.testing.assert_close(combined(head, *bank), head(*bank), rtol=0, atol=1e-10)


def test_without_a_mask_one_round_does(bank):
    """Each shard's sums are relative to its own nearest row, and are scaled when they meet."""
    from shards import extremes, partial_sums

    head, (z, z_n, y_n) = make(NONA, softstep=None, temperature=0.2), bank
    ranges = [extremes(head, z, own) for (own,) in in_shards(z_n)]
    lows, highs = map(torch.stack, zip(*ranges, strict=True))
    scale = head.log_weights(z, lows.amin(0), highs.amax(0))(highs).exp()
    pairs = zip(in_shards(z_n, y_n), ranges, strict=True)
    parts = [partial_sums(head, z, *own, *extreme) for own, extreme in pairs]
    totals, weighted = (torch.stack(sums) for sums in zip(*parts, strict=True))
    y_hat = (scale * weighted).sum(0) / (scale * totals).sum(0)
    torch.testing.assert_close(y_hat, head(z, z_n, y_n), rtol=0, atol=1e-10)
