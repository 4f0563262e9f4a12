"""The engines that find the nearest points."""

import copy
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from numpy.testing import assert_array_equal
from scipy.spatial.distance import cdist

from skneighbors._model import engines
from skneighbors._model.engines import (
    EngineCache,
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


@pytest.fixture
def made(monkeypatch):
    """All engines that have been made."""
    made = []

    class Engine:
        usable_for = staticmethod(lambda device, algorithm: True)

        def __init__(self, points, p, algorithm):
            made.append(self)

    monkeypatch.setattr(engines, "ENGINES", (Engine,))
    return made


def bank_on(device):
    space = SimpleNamespace(row_points=lambda z: z, p=2)
    return SimpleNamespace(z_n=SimpleNamespace(device=device), space=space)


def test_engines_are_kept(made):
    cache, here, there = EngineCache(), bank_on("here"), bank_on("there")
    first = cache.get(here, "auto")
    elsewhere = cache.get(there, "hnsw")
    assert cache.get(here, "auto") is first
    assert cache.get(there, "hnsw") is elsewhere
    assert len(made) == 2
    other = cache.get(here, "hnsw")
    assert cache.get(here, "hnsw") is other is not first
    assert cache.get(there, "hnsw") is elsewhere
    assert cache.get(here, "auto") is first
    assert len(made) == 3


@pytest.mark.parametrize(
    "duplicate", [copy.copy, copy.deepcopy, lambda c: pickle.loads(pickle.dumps(c))]
)
def test_a_copy_has_no_engine(made, duplicate):
    cache = EngineCache()
    cache.get(bank_on("here"), "auto")
    duplicate(cache).get(bank_on("here"), "auto")
    assert len(made) == 2


def test_threads_make_an_engine_once(made, monkeypatch):
    started, go = threading.Event(), threading.Event()

    class Slow(engines.ENGINES[0]):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            started.set()
            assert go.wait(20)

    monkeypatch.setattr(engines, "ENGINES", (Slow,))
    cache, bank = EngineCache(), bank_on("here")
    with ThreadPoolExecutor(4) as pool:
        jobs = [pool.submit(cache.get, bank, "auto") for _ in range(4)]
        assert started.wait(20)
        threading.Event().wait(0.05)  # for the others to come
        go.set()
        results = [job.result() for job in jobs]
    assert all(result is results[0] for result in results)
    assert len(made) == 1


def test_an_engine_that_is_there_is_not_waited_for(made):
    cache, bank = EngineCache(), bank_on("here")
    kept = cache.get(bank, "auto")
    with ThreadPoolExecutor(1) as pool, engines._making:  # one of another bank is made
        assert pool.submit(cache.get, bank, "auto").result(timeout=20) is kept
