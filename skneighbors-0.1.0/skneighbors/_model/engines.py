"""The engines that search for the nearest points; :func:`make_engine` chooses one."""

import math

import numpy as np
import torch
from sklearn import config_context
from sklearn.neighbors import NearestNeighbors

from .._utils.blocks import bounded_length, cut
from .._utils.sklearn_private import fit_unlogged
from .._utils.threads import map_batches
from ..nn._similarity import SIMILARITIES

ALGORITHMS = ("auto", "ivf", "hnsw")

# Number of multiplications up to which a search by torch is faster than scikit-learn's loops.
_FEW_PRODUCTS = 2**26
# Number of points that torch compares with queries at a time.
_CHUNK = 2**16
# Lists of an inverted file, per root of the number of rows; fewest lists that are searched.
_LISTS_PER_ROOT, _MIN_PROBES = 4, 32
_MIN_ROWS_PER_LIST, _ROWS_PER_LIST_TO_TRAIN = 39, 64  # FAISS warns below 39
# Rows that are searched per neighbor.
_SEARCHED_PER_NEIGHBOR = 8
_HNSW_LINKS, _MIN_HNSW_DEPTH = 32, 64
# Minkowski distances by which FAISS's indices search.
_FAISS_P = {"ivf": (2,), "hnsw": (1, 2)}


class TorchEngine:
    """Exact search by torch: products in blocks, and the smallest of each."""

    is_exact = True

    def __init__(self, points, p, algorithm):
        self._points, self._p = points, p
        # The norm makes no copy of the points.
        self._squares = torch.linalg.vector_norm(points, dim=1).square_() if p == 2 else None

    @staticmethod
    def usable_for(device, algorithm):
        """Whether it can search points on a device."""
        return algorithm == "auto"

    def nearest(self, queries, k):
        """Rows (n, k) of the nearest points of queries (n, D), in any order."""
        chunk = max(k, _CHUNK)
        length = bounded_length(8 * 3 * min(chunk, len(self._points)))
        parts = [self._search(queries[b], k, chunk) for b in cut(len(queries), length)]
        return torch.cat(parts)

    def _search(self, queries, k, chunk):
        values = queries.new_empty(len(queries), 0)
        rows = torch.empty_like(values, dtype=torch.int64)
        for start in range(0, len(self._points), chunk):
            part = slice(start, start + chunk)
            if self._p == 2:
                found = torch.addmm(self._squares[part], queries, self._points[part].T, alpha=-2)
            else:
                found = torch.cdist(queries, self._points[part], p=self._p)
            found = found.topk(min(k, found.shape[1]), largest=False, sorted=False)
            values = torch.cat([values, found.values], 1)
            rows = torch.cat([rows, found.indices + start], 1)
            if values.shape[1] > k:
                best = values.topk(k, largest=False, sorted=False)
                values, rows = best.values, rows.gather(1, best.indices)
        return rows


class ScikitLearnEngine:
    """Exact search on a CPU, in double precision, by scikit-learn's compiled loops.

    Of few queries torch finds as many before these loops have begun.
    """

    is_exact = True

    def __init__(self, points, p, algorithm):
        self._neighbors = fit_unlogged(NearestNeighbors, NearestNeighbors(p=p), points.numpy())
        self._of_few = TorchEngine(points, p, algorithm)
        self._size = points.numel()

    @staticmethod
    def usable_for(device, algorithm):
        """Whether it can search points on a device."""
        return device.type == "cpu" and algorithm == "auto"

    def nearest(self, queries, k):
        """Rows (n, k) of the nearest points of queries (n, D), in any order."""
        if len(queries) * self._size <= _FEW_PRODUCTS:
            return map_batches(lambda q: self._of_few.nearest(q, k), [queries])[0]
        with config_context(assume_finite=True):
            found = self._neighbors.kneighbors(queries.numpy(), k, return_distance=False)
        return torch.from_numpy(found)


class FaissEngine:
    """Search through an index of FAISS, in single precision, which may miss rows."""

    is_exact = False

    def __init__(self, points, p, algorithm):
        self._faiss, self._algorithm, self._n_rows = _import_faiss(), algorithm, len(points)
        points = points.float().contiguous().cpu().numpy()
        if algorithm == "ivf":
            self._index = self._make_lists(points)
        else:
            metric = self._faiss.METRIC_L1 if p == 1 else self._faiss.METRIC_L2
            self._index = self._faiss.IndexHNSWFlat(points.shape[1], _HNSW_LINKS, metric)
        self._index.add(points)

    @staticmethod
    def usable_for(device, algorithm):
        """Whether it is chosen by `algorithm`."""
        return algorithm != "auto"

    def _make_lists(self, points):
        """Trained inverted file, whose lists have centers that differ."""
        dim = points.shape[1]
        n_lists = max(1, round(_LISTS_PER_ROOT * math.sqrt(len(points))))
        stride = max(1, len(points) // (_ROWS_PER_LIST_TO_TRAIN * n_lists))
        unique = np.unique(points[::stride], axis=0)
        n_lists = max(1, min(n_lists, len(unique) // _MIN_ROWS_PER_LIST))
        index = self._faiss.IndexIVFFlat(self._faiss.IndexFlatL2(dim), dim, n_lists)
        index.cp.max_points_per_centroid = _ROWS_PER_LIST_TO_TRAIN
        # Equal rows would draw several lists to one place, all but one empty.
        index.train(unique)
        return index

    def nearest(self, queries, k):
        """Rows (n, k) of near points of queries (n, D), in any order; -1 where none is found."""
        points = queries.float().contiguous().cpu().numpy()
        if self._algorithm == "hnsw":
            depth = max(_MIN_HNSW_DEPTH, 2 * k)
            parameters = self._faiss.SearchParametersHNSW(efSearch=depth)
            rows = self._index.search(points, k, params=parameters)[1]
        else:
            n_probes = math.ceil(_SEARCHED_PER_NEIGHBOR * k / self._n_rows * self._index.nlist)
            rows = self._search_lists(points, k, max(_MIN_PROBES, n_probes))
            short = (rows < 0).any(1)
            if short.any():
                rows[short] = self._search_lists(points[short], k, self._index.nlist)
        return torch.from_numpy(rows).to(queries.device)

    def _search_lists(self, points, k, n_probes):
        n_probes = min(n_probes, self._index.nlist)
        parameters = self._faiss.SearchParametersIVF(nprobe=n_probes)
        return self._index.search(points, k, params=parameters)[1]


# The first engine that is usable is taken.
ENGINES = (FaissEngine, ScikitLearnEngine, TorchEngine)


def make_engine(points, p, algorithm):
    """Make the engine for points (N, D), on their device, by Minkowski's distance `p`."""
    kind = next(kind for kind in ENGINES if kind.usable_for(points.device, algorithm))
    return kind(points, p, algorithm)


def _import_faiss():
    try:
        import faiss
    except ImportError:
        return None
    return faiss


def check_algorithm(algorithm, similarity):
    """Check that an algorithm can search by a similarity here.

    Raises
    ------
    ValueError
        If an index of FAISS cannot search by the similarity.
    ImportError
        If FAISS is needed and missing.
    """
    if algorithm == "auto":
        return
    if SIMILARITIES[similarity].p not in _FAISS_P[algorithm]:
        raise ValueError(f"algorithm={algorithm!r} cannot search by similarity={similarity!r}.")
    if _import_faiss() is None:
        raise ImportError(
            f"algorithm={algorithm!r} needs FAISS: pip install faiss-cpu, or use 'auto'."
        )
