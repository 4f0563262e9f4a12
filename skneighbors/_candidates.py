"""Attention to the nearest rows of a large bank, found through an index, and a sample of others."""

import math

import numpy as np
import torch
import torch.nn.functional as F
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import gen_batches

from ._attention import (
    MemberAttention,
    average_rows,
    block_length,
    weigh_rows,
    weight_present,
)
from ._sample import QUERIES_AT_ONCE, RowSample
from ._screen import product_dtype
from ._torch_utils import gather_rows, map_batches
from .nn import similarity
from .nn._numpy import argmax, exp_

ALGORITHMS = ("auto", "brute", "ivf", "hnsw")

# Fewer rows than this are searched one by one with "auto".
_MIN_ROWS_FOR_IVF = 50_000
# Lists of an inverted file: a multiple of the root of the rows; how many are looked through.
_LISTS_PER_ROOT, _MIN_PROBES = 4, 32
_MIN_ROWS_PER_LIST, _ROWS_PER_LIST_TO_TRAIN = 39, 64  # FAISS warns below 39
# Rows looked through for every candidate.
_SEARCHED_PER_CANDIDATE = 8
# Random rows that stand for all that are not candidates, for every candidate.
_SAMPLED_PER_CANDIDATE = 64
_HNSW_LINKS, _MIN_HNSW_DEPTH = 32, 64
# Queries searched at once.
_SEARCH_BLOCK = 1024
# Bytes of embeddings gathered at once.
_GATHERED_BYTES = 2**23
# Rows among which the furthest from a query is looked for: outlying ones and any.
_N_OUTLYING, _N_SAMPLED = 256, 256


def _import_faiss():
    try:
        import faiss
    except ImportError:
        return None
    return faiss


class _Points:
    """Neighbours and queries as points whose distance falls as their similarity rises."""

    def __init__(self, z_n, metric):
        self._metric = metric
        self._centre = z_n.mean(0) if metric in ("l2", "l1") else None
        if metric == "dot":
            self._sq_radius = z_n.square().sum(1).max()

    def of_neighbors(self, z_n):
        if self._metric == "dot":
            # One more coordinate gives all the same norm: then the nearest have
            # the largest product.
            rest = (self._sq_radius - z_n.square().sum(1, keepdim=True)).clamp(min=0).sqrt()
            return torch.cat([z_n, rest], 1)
        return self._of(z_n)

    def of_queries(self, z):
        return F.pad(z, (0, 1)) if self._metric == "dot" else self._of(z)

    def _of(self, z):
        return F.normalize(z, dim=1) if self._metric == "cosine" else z - self._centre


class _ScikitLearnIndex:
    """Exact search by scikit-learn."""

    def __init__(self, points, manhattan):
        self._tree = NearestNeighbors(p=1 if manhattan else 2).fit(points.numpy())

    def search(self, points, n_candidates):
        rows = self._tree.kneighbors(points.numpy(), n_candidates, return_distance=False)
        return torch.from_numpy(rows)


class _FaissIndex:
    """Search by FAISS, on the CPU and in single precision."""

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


def _make_index(points, metric, algorithm):
    """Index of points (N, d); FAISS's if it is installed."""
    check_algorithm(algorithm, metric)
    faiss, manhattan = _import_faiss(), metric == "l1"
    if faiss is None:
        return _ScikitLearnIndex(points, manhattan)
    if algorithm == "auto":
        large = len(points) >= _MIN_ROWS_FOR_IVF and not manhattan
        algorithm = "ivf" if large else "brute"
    return _FaissIndex(faiss, points, manhattan, algorithm)


class CandidateAttention:
    """Attention of one member of an ensemble to the nearest rows of its bank.

    All other rows are left to a random sample; heads of ranks leave them out.

    Parameters
    ----------
    head : nn.Module
        A head in evaluation mode whose parameters have a leading dimension of 1.
    z_n : Tensor of shape (N, d)
        Neighbour embeddings.
    values : Tensor of shape (N, k)
        What to average.
    sample_weight : Tensor of shape (N,) or None
        Positive weights of the neighbours.
    algorithm : {"auto", "brute", "ivf", "hnsw"}
    seed : int, default=0
        Of the sample.
    """

    def __init__(self, head, z_n, values, sample_weight, algorithm, seed=0):
        self.head, self.z_n, self.values, self.weight = head, z_n, values, sample_weight
        self._points = _Points(z_n, head.similarity)
        points = self._points.of_neighbors(z_n).cpu()
        self._index = _make_index(points, head.similarity, algorithm)
        self._total = len(z_n) if sample_weight is None else sample_weight.sum()
        self._distant = self._choose_distant(points).to(z_n.device)
        self._seed = seed
        self._kept_sample = None

    def _choose_distant(self, points):
        """Rows among which one of the furthest from any query is likely to be."""
        norms = (points - points.mean(0)).square().sum(1)
        outlying = norms.topk(min(_N_OUTLYING, len(points))).indices
        stride = math.ceil(len(points) / _N_SAMPLED)
        return torch.cat([outlying, torch.arange(0, len(points), stride)])

    def average(self, z, n_candidates):
        """Weighted means (n, k) of the bank's values for queries (n, d)."""
        sample = None if self.head.ranked else self._sample(n_candidates)
        out = []
        for block in z.split(_SEARCH_BLOCK):
            rows = self._index.search(self._points.of_queries(block).cpu(), n_candidates)
            out.append(self._average(block, rows.to(z.device), sample))
        out = torch.cat(out)
        lost = (~out.isfinite()).any(1).nonzero().squeeze(1)
        if len(lost):
            out[lost] = self._average_exactly(z[lost])
        return out

    def _average_exactly(self, z):
        """Averages over all rows, for queries to which an index finds none.

        Single precision may not hold them.
        """
        attention = MemberAttention(self.head, self.z_n, self.values, self.weight, z)
        return torch.cat([attention.average(part) for part in z.split(block_length(len(self.z_n)))])

    def _average(self, z, rows, sample):
        """Averages (b, k) by the candidates `rows` (b, c), of which entries of -1 are none."""
        length = max(1, _GATHERED_BYTES // (8 * z.shape[1] * rows.shape[1]))
        batches = list(gen_batches(len(z), length))
        if sample is None:
            averages = map_batches(
                lambda batch: self._average_ranked(z[batch], rows[batch]), batches
            )
            return torch.cat(averages)
        near = map_batches(lambda batch: self._sum_near(z[batch], rows[batch]), batches)
        total, sums, low, high, rest = map(torch.cat, zip(*near, strict=True))

        def sum_others(batch):
            return sample.sums(z[batch], low[batch], high[batch], rows[batch], rest[batch])

        others = map_batches(sum_others, gen_batches(len(z), QUERIES_AT_ONCE))
        other_total, other_sums = map(torch.cat, zip(*others, strict=True))
        return (sums + other_sums) / (total + other_total)

    def _weigh(self, rows):
        """Take the sample weight of the candidates `rows` (b, c), and that of all others (b, 1)."""
        weight = weight_present(self.weight, rows.clamp(min=0), (rows >= 0).double())
        return weight, (self._total - weight.sum(1, keepdim=True)).clamp(min=0)

    def _average_ranked(self, z, rows):
        """Averages over the candidates alone.

        One of the furthest stands for all others in the count of ranks, but has no say.
        """
        weight, rest = self._weigh(rows)
        s = similarity(z, self.z_n[self._distant], self.head.similarity)
        rows, furthest = rows.clamp(min=0), self._distant[argmax(-s)]
        everyone, weight = torch.cat([rows, furthest], 1), torch.cat([weight, rest], 1)
        weights = weigh_rows(self.head, z, self.z_n, everyone, weight)[:, :-1]
        return average_rows(weights / weights.sum(1, keepdim=True), self.values, rows)

    def _sum_near(self, z, rows):
        """Sum the candidates' weights, relative to the largest, and the values times these.

        The row's extremes of similarity and the sample weight of all others come beside.
        """
        head, found, absent = self.head, rows.clamp(min=0), rows < 0
        weight, rest = self._weigh(rows)
        s = similarity(z.unsqueeze(1), gather_rows(self.z_n, found), head.similarity).squeeze(1)
        distant = similarity(z, self.z_n[self._distant], head.similarity)
        low = s.masked_fill(absent, torch.inf).minimum(distant.amin(1, keepdim=True))
        low = low.amin(1, keepdim=True)
        high = s.masked_fill(absent, -torch.inf).amax(1, keepdim=True)
        top = head.log_weights(z[None], high[None], low[None], high[None])
        log_weights = head.log_weights(z[None], s[None], low[None], high[None])
        weights = exp_(log_weights - top)[0].mul_(weight)
        sums = average_rows(weights, self.values, found)
        return weights.sum(1, keepdim=True), sums, low, high, rest

    def _sample(self, n_candidates):
        """Rows that stand for those that are not candidates; the last sample is kept."""
        n_rows = len(self.z_n)
        n_sampled = min(n_rows, _SAMPLED_PER_CANDIDATE * n_candidates)
        key = n_sampled, product_dtype()  # as the caller's modes are now
        kept = self._kept_sample
        if kept is None or kept[0] != key:
            order = torch.randperm(n_rows, generator=torch.Generator().manual_seed(self._seed))
            rows = order[:n_sampled].sort().values.to(self.z_n.device)
            sample = RowSample(self.head, self.z_n, self.values, self.weight, rows)
            kept = self._kept_sample = key, sample
        return kept[1]
