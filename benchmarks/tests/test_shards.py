"""The nearest rows of the shards of a bank combine to the prediction from the whole."""

import pytest
import torch

from skneighbors.nn import NONA, SoftStepKNN

pytestmark = pytest.mark.usefixtures("benchmarks_importable")

N_QUERIES, N_ROWS, WIDTH, K = 5, 300, 4, 20


@pytest.fixture
def bank():
    """Queries, the embeddings of a bank and its targets; the shards differ in place and size."""
    generator = torch.Generator().manual_seed(0)
    shapes = (N_QUERIES, WIDTH), (N_ROWS, WIDTH), (N_ROWS, 2)
    z, z_n, y_n = (torch.randn(s, generator=generator, dtype=torch.float64) for s in shapes)
    return z, z_n[z_n[:, 0].argsort()], y_n


def combined(head, z, z_n, y_n):
    """Predictions from three shards, the first of which has fewer rows than are asked for."""
    from shards import attend, merge, nearest

    values = head.subtract_trend(z_n, y_n)
    shards = zip(z_n.split([7, 200, 93]), values.split([7, 200, 93]), strict=True)
    s, values = merge([nearest(head, z, *shard, K) for shard in shards], K)
    return attend(head, z, s, values, len(z_n))


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
    expected = head(*bank, n_neighbors=K)
    torch.testing.assert_close(combined(head, *bank), expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("rank", ["soft", None])
@pytest.mark.parametrize("softstep", ["s1", "s2"])
def test_softstep_knn(bank, rank, softstep):
    """Ranks are those on the scale of all rows."""
    head = make(SoftStepKNN, rank=rank, softstep=softstep, sharpness=2.0)
    expected = head(*bank, n_neighbors=K)
    torch.testing.assert_close(combined(head, *bank), expected, rtol=0, atol=1e-10)
    if rank is not None:
        from shards import attend

        z, z_n, y_n = bank
        s, rows = (-torch.cdist(z, z_n)).topk(K)
        among_few = attend(head, z, s, y_n[rows], K)
        assert not torch.allclose(among_few, expected)
