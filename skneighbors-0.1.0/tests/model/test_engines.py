"""The engines that find the nearest points."""

import numpy as np
import pytest
import torch
from numpy.testing import assert_array_equal
from scipy.spatial.distance import cdist

from skneighbors._model import engines
from skneighbors._model.engines import (
    FaissEngine,
    ScikitLearnEngine,
    TorchEngine,
    check_algorithm,
)


@pytest.fixture
def without_faiss(monkeypatch):
    monkeypatch.setattr(engines, "_import_faiss", lambda: None)


def points_of(n=300):
    rng = np.random.default_rng(0)
    return torch.from_numpy(rng.normal(size=(n, 5)) + 3), torch.from_numpy(rng.normal(size=(20, 5)))


def nearest_by_brute_force(points, queries, p, k):
    return np.sort(cdist(queries, points, "minkowski", p=p).argsort(1)[:, :k])


@pytest.mark.parametrize("kind", [ScikitLearnEngine, TorchEngine])
@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("k", [1, 9, 300])
@pytest.mark.parametrize("few", [0, 2**23])
def test_exact_engines_find_the_nearest(kind, p, k, few, monkeypatch):
    monkeypatch.setattr(engines, "_CHUNK", 70)
    monkeypatch.setattr(engines, "_FEW_PRODUCTS", few)
    points, queries = points_of()
    rows = kind(points, p, "auto").nearest(queries, k)
    assert rows.dtype == torch.int64
    assert_array_equal(np.sort(rows), nearest_by_brute_force(points, queries, p, k))


@pytest.mark.parametrize(("algorithm", "p"), [("ivf", 2), ("hnsw", 2), ("hnsw", 1)])
def test_faiss_finds_most_of_the_nearest(algorithm, p):
    pytest.importorskip("faiss")
    points, queries = points_of(2000)
    rows = FaissEngine(points, p, algorithm).nearest(queries, 9).numpy()
    expected = nearest_by_brute_force(points, queries, p, 9)
    assert (rows[:, :, None] == expected[:, None]).any(2).mean() > 0.9


def test_an_inverted_file_is_searched_on_until_enough_are_found(monkeypatch):
    pytest.importorskip("faiss")
    monkeypatch.setattr(engines, "_MIN_PROBES", 1)
    monkeypatch.setattr(engines, "_SEARCHED_PER_NEIGHBOR", 0)
    points, queries = points_of(2000)
    engine = FaissEngine(points, 2, "ivf")
    assert engine._index.nlist > 5
    rows = engine.nearest(queries, 2000)
    assert_array_equal(rows.sort().values, np.tile(np.arange(2000), (20, 1)))


def test_who_is_asked():
    def chosen(device, algorithm):
        device = torch.device(device)
        return next(kind for kind in engines.ENGINES if kind.usable_for(device, algorithm))

    assert chosen("cpu", "auto") is ScikitLearnEngine
    assert chosen("cuda", "auto") is TorchEngine
    for device in ("cpu", "cuda"):
        assert chosen(device, "ivf") is chosen(device, "hnsw") is FaissEngine


@pytest.mark.parametrize("algorithm", ["ivf", "hnsw"])
def test_without_faiss(algorithm, without_faiss):
    with pytest.raises(ImportError, match=rf"algorithm='{algorithm}' needs FAISS: pip install"):
        check_algorithm(algorithm, "l2")
    check_algorithm("auto", "l2")


def test_an_inverted_file_cannot_search_by_l1(monkeypatch):
    monkeypatch.setattr(engines, "_import_faiss", object)
    with pytest.raises(ValueError, match="algorithm='ivf' cannot search by similarity='l1'"):
        check_algorithm("ivf", "l1")
    check_algorithm("hnsw", "l1")
    check_algorithm("ivf", "cosine")
