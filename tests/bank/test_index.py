"""Indices that find the nearest rows."""

import numpy as np
import pytest
import torch
from numpy.testing import assert_array_equal

from skneighbors._bank import index
from skneighbors._bank.index import IndexSpace, check_algorithm, make_index
from skneighbors.nn import similarity


@pytest.fixture
def without_faiss(monkeypatch):
    monkeypatch.setattr(index, "_import_faiss", lambda: None)


@pytest.fixture
def faiss():
    return pytest.importorskip("faiss")


def points_of(n=300):
    rng = np.random.default_rng(0)
    z_n, z = rng.normal(size=(n, 5)) + 3, 2 * rng.normal(size=(20, 5))
    return torch.from_numpy(z_n), torch.from_numpy(z)


def test_the_most_similar_are_the_nearest_points(metric):
    z_n, z = points_of()
    space = IndexSpace(z_n, metric)
    p = 1 if metric == "l1" else 2
    distance = torch.cdist(space.of_queries(z), space.of_neighbors(z_n), p=p)
    s = similarity(z, z_n, metric)
    assert_array_equal(distance.argsort(1), (-s).argsort(1))


def assert_finds_the_nearest(built, space, z, z_n, metric):
    s = similarity(z, z_n, metric)
    for n_candidates in (1, 7, len(z_n)):
        rows = built.search(space.of_queries(z), n_candidates)
        assert rows.dtype == torch.int64
        assert_array_equal(rows.sort().values, s.topk(n_candidates).indices.sort().values)


@pytest.mark.parametrize("algorithm", ["auto", "brute"])
def test_scikit_learns_finds_the_nearest(metric, algorithm, without_faiss):
    z_n, z = points_of()
    space = IndexSpace(z_n, metric)
    built = make_index(space.of_neighbors(z_n), metric, algorithm)
    assert_finds_the_nearest(built, space, z, z_n, metric)


@pytest.mark.parametrize("algorithm", ["auto", "brute"])
def test_faiss_finds_the_nearest(metric, algorithm, faiss):
    z_n, z = points_of()
    space = IndexSpace(z_n, metric)
    built = make_index(space.of_neighbors(z_n), metric, algorithm)
    assert isinstance(built._index, faiss.IndexFlat)
    assert_finds_the_nearest(built, space, z, z_n, metric)


def test_auto_builds_an_inverted_file_of_many_points(metric, faiss, monkeypatch):
    z_n, _ = points_of()
    points = IndexSpace(z_n, metric).of_neighbors(z_n)
    for least, is_inverted in [(301, False), (300, metric != "l1")]:
        monkeypatch.setattr(index, "_MIN_ROWS_FOR_IVF", least)
        built = make_index(points, metric, "auto")._index
        assert isinstance(built, faiss.IndexIVFFlat) == is_inverted


def test_algorithms_of_faiss(faiss):
    z_n, _ = points_of()
    assert isinstance(make_index(z_n, "l2", "ivf")._index, faiss.IndexIVFFlat)
    assert isinstance(make_index(z_n, "l2", "hnsw")._index, faiss.IndexHNSWFlat)


def test_an_inverted_file_is_searched_on_until_enough_are_found(faiss, monkeypatch):
    monkeypatch.setattr(index, "_MIN_PROBES", 1)
    monkeypatch.setattr(index, "_SEARCHED_PER_CANDIDATE", 0)
    z_n, z = points_of(2000)
    built = make_index(z_n, "l2", "ivf")
    assert built._index.nlist > 5
    assert_array_equal(built.search(z, 2000).sort().values, np.tile(np.arange(2000), (20, 1)))


@pytest.mark.parametrize("algorithm", ["ivf", "hnsw"])
def test_without_faiss(algorithm, without_faiss):
    z_n, _ = points_of()
    for check in (check_algorithm, lambda *args: make_index(z_n, *reversed(args))):
        with pytest.raises(ImportError, match=rf"algorithm='{algorithm}' needs FAISS: pip install"):
            check(algorithm, "l2")


@pytest.mark.parametrize("installed", [True, False])
def test_an_inverted_file_cannot_search_by_l1(installed, monkeypatch):
    monkeypatch.setattr(index, "_import_faiss", lambda: object() if installed else None)
    with pytest.raises(ValueError, match="algorithm='ivf' cannot search by similarity='l1'"):
        check_algorithm("ivf", "l1")
    check_algorithm("brute", "l1")
    check_algorithm("auto", "l1")
    if installed:
        check_algorithm("hnsw", "l1")
        check_algorithm("ivf", "cosine")
