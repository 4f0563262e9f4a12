"""Indices that find the nearest rows of a bank: FAISS's where it is installed."""

import math

import numpy as np
import torch
import torch.nn.functional as F
from sklearn.neighbors import NearestNeighbors

ALGORITHMS = ("auto", "brute", "ivf", "hnsw")

# Fewer rows than this are searched one by one with "auto".
_MIN_ROWS_FOR_IVF = 50_000
# Lists of an inverted file: a multiple of the root of the rows; how many are looked through.
_LISTS_PER_ROOT, _MIN_PROBES = 4, 32
_MIN_ROWS_PER_LIST, _ROWS_PER_LIST_TO_TRAIN = 39, 64  # FAISS warns below 39
# Rows looked through for every candidate.
_SEARCHED_PER_CANDIDATE = 8
_HNSW_LINKS, _MIN_HNSW_DEPTH = 32, 64


def _import_faiss():
    try:
        import faiss
    except ImportError:
        return None
    return faiss


class IndexSpace:
    """Neighbours and queries as points whose distance falls as their similarity rises."""

    def __init__(self, z_n, metric):
        self._metric = metric
        self._centre = z_n.mean(0) if metric in ("l2", "l1") else None
        if metric == "dot":
            self._sq_radius = z_n.square().sum(1).max()
        points = self.of_neighbors(z_n)
        self._radius = torch.linalg.vector_norm(points, 1 if metric == "l1" else 2, dim=1).max()

    def of_neighbors(self, z_n):
        if self._metric == "dot":
            # One more coordinate gives all the same norm: then the nearest have
            # the largest product.
            rest = (self._sq_radius - z_n.square().sum(1, keepdim=True)).clamp(min=0).sqrt()
            return torch.cat([z_n, rest], 1)
        return self._of(z_n)

    def of_queries(self, z):
        return F.pad(z, (0, 1)) if self._metric == "dot" else self._of(z)

    def as_near_as(self, z, s, dtype):
        """Similarity to queries (n, d) that an index of this precision may take for s (n,)."""
        points, unit = self.of_queries(z), torch.finfo(dtype).eps * (z.shape[1] + 4)
        if self._metric == "l1":
            return s - unit * (points.abs().sum(1) + self._radius)
        # An index compares squared distances.
        slack = 2 * unit * (points.square().sum(1) + self._radius**2)
        if self._metric == "l2":
            return -torch.sqrt(s.square() + slack)
        return s - slack / 2 / (z.shape[1] if self._metric == "dot" else 1)

    def _of(self, z):
        return F.normalize(z, dim=1) if self._metric == "cosine" else z - self._centre


class _ScikitLearnIndex:
    """Exact search by scikit-learn."""

    dtype = torch.float64

    def __init__(self, points, manhattan):
        self._tree = NearestNeighbors(p=1 if manhattan else 2).fit(points.numpy())

    def search(self, points, n_candidates):
        rows = self._tree.kneighbors(points.numpy(), n_candidates, return_distance=False)
        return torch.from_numpy(rows)


class _FaissIndex:
    """Search by FAISS, on the CPU and in single precision."""

    dtype = torch.float32

    def __init__(self, faiss, points, manhattan, algorithm):
        self._faiss, self._algorithm, self._n_rows = faiss, algorithm, len(points)
        points = points.float().contiguous().numpy()
        metric = faiss.METRIC_L1 if manhattan else faiss.METRIC_L2
        if algorithm == "hnsw":
            self._index = faiss.IndexHNSWFlat(points.shape[1], _HNSW_LINKS, metric)
        elif algorithm == "ivf":
            self._index = self._make_lists(points)
        else:
            self._index = faiss.IndexFlat(points.shape[1], metric)
        self._index.add(points)

    def _make_lists(self, points):
        """Trained inverted file, whose lists have centres that differ."""
        dim = points.shape[1]
        n_lists = max(1, round(_LISTS_PER_ROOT * math.sqrt(len(points))))
        stride = max(1, len(points) // (_ROWS_PER_LIST_TO_TRAIN * n_lists))
        distinct = np.unique(points[::stride], axis=0)
        n_lists = max(1, min(n_lists, len(distinct) // _MIN_ROWS_PER_LIST))
        index = self._faiss.IndexIVFFlat(self._faiss.IndexFlatL2(dim), dim, n_lists)
        index.cp.max_points_per_centroid = _ROWS_PER_LIST_TO_TRAIN
        # Equal rows would draw several lists to one place, all but one empty.
        index.train(distinct)
        return index

    def search(self, points, n_candidates):
        points = points.float().contiguous().numpy()
        rows = self._search(points, n_candidates, self._parameters(n_candidates))
        if self._algorithm == "ivf":
            short = (rows < 0).any(1)
            if short.any():
                everywhere = self._faiss.SearchParametersIVF(nprobe=self._index.nlist)
                rows[short] = self._search(points[short], n_candidates, everywhere)
        return torch.from_numpy(rows)

    def _search(self, points, n_candidates, parameters):
        return self._index.search(points, n_candidates, params=parameters)[1]

    def _parameters(self, n_candidates):
        """How much of the index to look through."""
        if self._algorithm == "ivf":
            n_lists = self._index.nlist
            searched = _SEARCHED_PER_CANDIDATE * n_candidates / self._n_rows
            n_probes = max(_MIN_PROBES, math.ceil(searched * n_lists))
            return self._faiss.SearchParametersIVF(nprobe=min(n_probes, n_lists))
        if self._algorithm == "hnsw":
            depth = max(_MIN_HNSW_DEPTH, 2 * n_candidates)
            return self._faiss.SearchParametersHNSW(efSearch=depth)
        return None


def check_algorithm(algorithm, metric):
    """Check that an algorithm can search by a similarity here.

    Raises
    ------
    ValueError
        If FAISS's inverted file is asked for, which cannot search by ``"l1"``.
    ImportError
        If an index is asked for that only FAISS has, and it is missing.
    """
    if algorithm == "ivf" and metric == "l1":
        raise ValueError(
            "algorithm='ivf' cannot search by similarity='l1'; use 'auto', 'brute' or 'hnsw'."
        )
    if algorithm in ("ivf", "hnsw") and _import_faiss() is None:
        raise ImportError(
            f"algorithm={algorithm!r} needs FAISS: pip install 'skneighbors[ann]', or use 'brute'."
        )


def make_index(points, metric, algorithm):
    """Index of points (N, d); FAISS's if it is installed."""
    check_algorithm(algorithm, metric)
    faiss, manhattan = _import_faiss(), metric == "l1"
    if faiss is None:
        return _ScikitLearnIndex(points, manhattan)
    if algorithm == "auto":
        large = len(points) >= _MIN_ROWS_FOR_IVF and not manhattan
        algorithm = "ivf" if large else "brute"
    return _FaissIndex(faiss, points, manhattan, algorithm)
