"""Exact attention over many neighbours, in bounded memory and without needless work.

A neighbour whose weight is too small to matter is not looked at in double
precision: a screen of scores in single precision finds, with a bound of its
error, the neighbours that can matter and the row's extremes, and the head is
evaluated on those alone. Rows to which many neighbours matter are computed in
full, block by block.
"""

import math

import numpy as np
import torch
from sklearn import get_config

from ._screen import Screen
from ._torch_utils import CACHED_BYTES, cached_chunks, gather_rows
from .nn import similarity
from .nn._numpy import argmax, exp_

# Weights that together are a smaller share of a prediction's are left out.
_NEGLIGIBLE = 1e-10
# Share of the neighbours above which to look at all of them is faster.
_MAX_SHARE = 1 / 16
# Fewer neighbours than this, or queries, also of a head with ranks, are not worth a screen.
_MIN_NEIGHBORS, _MIN_QUERIES, _MIN_RANKED_QUERIES = 2048, 128, 8
# Queries that are looked at to see whether one pays.
_N_PROBES = 16
# Queries at a time: enough for a matrix product, no more than pays.
_MIN_BLOCK, _MAX_BLOCK = 8, 256
# Bytes of one float64 in every entry of a block, and how many all threads' blocks need.
_BLOCK_BYTES, _TEMPORARIES = 2**25, 16
# Bytes of embeddings gathered at once.
_GATHERED_BYTES = 2**23


def block_length(n_neighbors, n_bytes=2 * _BLOCK_BYTES):
    """Count the queries whose work on all neighbours fits ``working_memory``."""
    allowed = get_config()["working_memory"] * 2**20 / _TEMPORARIES // (8 * n_neighbors)
    usual = max(_MIN_BLOCK, n_bytes // (8 * n_neighbors))
    return int(max(1, min(_MAX_BLOCK, allowed, usual)))


class MemberAttention:
    """Attention of one member of an ensemble over its bank.

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
    z : Tensor of shape (n, d)
        The queries to come. Some of them tell whether a screen pays.
    """

    def __init__(self, head, z_n, values, sample_weight, z):
        self.head, self.z_n, self.values, self.weight = head, z_n, values, sample_weight
        weight = torch.ones_like(z_n[:, 0]) if sample_weight is None else sample_weight
        self._total, self._min_weight = weight.sum(), weight.min()
        self._depth = math.log(self._total / self._min_weight / _NEGLIGIBLE)
        self._sq_norms = torch.linalg.vector_norm(z_n, dim=1).square_()
        self._screen = None
        min_queries = _MIN_RANKED_QUERIES if head.ranked else _MIN_QUERIES
        if len(z_n) >= _MIN_NEIGHBORS and len(z) >= min_queries:
            self._screen = Screen(z_n, head.similarity)
            n_probes = min(_N_PROBES, block_length(len(z_n)))
            few, _ = self._average_few(z[:: math.ceil(len(z) / n_probes)])
            if 2 * few.sum() < len(few):
                self._screen = None

    def average(self, z):
        """Weighted means (b, k) of the neighbours' values for queries (b, d)."""
        if self._screen is None:
            return self._average_all(z)
        few, out = self._average_few(z)
        rest = (~few).nonzero().squeeze(1)
        if len(rest):
            out[rest] = self._average_all(z[rest])
        return out

    def weights(self, z):
        """Weights (b, N) of all neighbours for queries (b, d)."""
        if self.head.ranked:
            return torch.cat(list(self._ranked_weights(z)))
        weights = torch.cat([weights for _, weights in self._unnormalised(z)], 1)
        return weights.div_(weights.sum(1, keepdim=True))

    def _average_all(self, z):
        """Averages over all neighbours."""
        # First of all: small results between large temporaries fragment memory.
        out = z.new_empty(len(z), self.values.shape[1])
        if self.head.ranked:
            begin = 0
            for weights in self._ranked_weights(z):
                out[begin : begin + len(weights)] = weights @ self.values
                begin += len(weights)
            return out
        for part, means in zip(self._parts(z), self._parts(out), strict=True):
            total, sums = 0, 0
            for chunk, weights in self._unnormalised(part):
                total = total + weights.sum(1, keepdim=True)
                sums = sums + weights @ self.values[chunk]
            torch.div(sums, total, out=means)
        return out

    def _parts(self, z):
        """Equal parts of the queries, whose similarities take half of a block on a CPU."""
        n_bytes = _BLOCK_BYTES if z.is_cpu else 2 * _BLOCK_BYTES
        n_parts = math.ceil(len(z) / block_length(len(self.z_n), n_bytes))
        return z.tensor_split(max(1, n_parts))

    def _similarities(self, z, chunk=slice(None)):
        """Similarities of queries (1, b, d) to a slice of the neighbours."""
        z_n, sq_norms = self.z_n[None, chunk], self._sq_norms[None, chunk]
        return similarity(z, z_n, self.head.similarity, sq_norms)

    def _ranked_weights(self, z):
        """Weights (c, N) of all neighbours, for some of the queries after others."""
        n_ranked = max(1, CACHED_BYTES // (8 * len(self.z_n))) if z.is_cpu else _MAX_BLOCK
        for part in self._parts(z):
            q = part[None]
            if self.head.similarity == "l2":
                # Equal neighbours must not get other ranks, and chunks round them apart sooner.
                s = self._similarities(q)
            else:
                chunks = cached_chunks(self.z_n, len(part))
                s = torch.cat([self._similarities(q, chunk) for chunk in chunks], -1)
            for pair in zip(q.split(n_ranked, 1), s.split(n_ranked, 1), strict=True):
                yield self.head.weights_of(*pair, sample_weight=self.weight)[0]

    def _unnormalised(self, z):
        """Slices of the neighbours and their weights up to a factor of each query."""
        z, parts = z[None], []
        low = z.new_full((*z.shape[:-1], 1), torch.inf)
        high = -low
        for chunk in cached_chunks(self.z_n, z.shape[1]):
            s = self._similarities(z, chunk)
            # At once: later, similarities come from slower memory.
            low = torch.minimum(low, s.amin(-1, keepdim=True))
            high = torch.maximum(high, s.amax(-1, keepdim=True))
            parts.append((chunk, s))
        top = self.head.log_weights(z, high, low, high)
        for chunk, s in parts:
            weights = exp_(self.head.log_weights(z, s, low, high).sub_(top))[0]
            yield chunk, weights if self.weight is None else weights.mul_(self.weight[chunk])

    def _average_few(self, z):
        """Find the queries to which few neighbours matter, and average for these, (b, k)."""
        return self._average_nearest(z) if self.head.ranked else self._average_similar(z)

    def _average_similar(self, z):
        """Do what :meth:`_average_few` does, for a head of similarities."""
        screen = self._screen
        q = screen.queries(z)
        scores, error = screen.scores(q), screen.error(q)
        lowest = scores.amin(1, keepdim=True).double()
        low = screen.to_similarity(lowest - error, q)
        nearest = self.z_n[argmax(scores)]
        high = similarity(z.unsqueeze(1), nearest, self.head.similarity).squeeze(1)
        cutoff = self.head.cutoff(z[None], low[None], high[None], self._depth)[0]
        reached = screen.to_score(cutoff, q) - error
        chosen = scores >= reached.to(scores.dtype)
        # The furthest are needed too: they make the row's range.
        chosen |= scores <= (lowest + 2 * error).to(scores.dtype)
        few, query, row = self._few(chosen, error)
        out = z.new_empty(len(z), self.values.shape[1])
        for queries, rows, present in _padded(query, row, self.z_n.shape[1]):
            weight = weight_present(self.weight, rows, present)
            out[queries] = self._average_of(z[queries], rows, weight)[0]
        return few, out

    def _few(self, chosen, error):
        """Find the queries with few neighbours chosen; query and neighbour of each of these.

        Scores of embeddings of norms up to 1 that may err by 1, or are NaN, tell nothing.
        """
        limit = _MAX_SHARE * len(self.z_n)
        few = error.squeeze(1) < 1
        if _count(chosen) > limit * len(chosen):
            few &= chosen.sum(1) <= limit
            chosen &= few.unsqueeze(1)
        query, row = _nonzero(chosen)
        counts = torch.bincount(query, minlength=len(few))
        few &= (counts > 0) & (counts <= limit)
        keep = few[query]
        return few, query[keep], row[keep]

    def _average_of(self, z, rows, weight):
        """Averages (c, k) over the neighbours `rows` (c, K), and their weights (c, K)."""
        weights = weigh_rows(self.head, z, self.z_n, rows, weight)
        return average_rows(weights, self.values, rows), weights

    def _average_nearest(self, z):
        """Do what :meth:`_average_few` does, for a head of ranks."""
        screen = self._screen
        q = screen.queries(z)
        scores, error = screen.scores(q), screen.error(q)
        total = self._total.reshape(1, 1)
        rank = self.head.last_rank(z[None], total, self._depth)[0]
        bound = _bound_of_largest(scores, rank / self._min_weight)
        chosen = scores >= (bound - 2 * error).to(scores.dtype)
        few, query, row = self._few(chosen, error)
        # One neighbour, the furthest, stands for all that are not chosen.
        furthest = argmax(-scores)
        out = z.new_empty(len(z), self.values.shape[1])
        for queries, rows, present in _padded(query, row, self.z_n.shape[1]):
            sure = present * (scores[queries].gather(1, rows) >= bound[queries])
            weight = weight_present(self.weight, rows, present)
            remainder = (total - weight.sum(1, keepdim=True)).clamp(min=0)
            rows = torch.cat([rows, furthest[queries]], 1)
            out[queries], weights = self._average_of(
                z[queries], rows, torch.cat([weight, remainder], 1)
            )
            # Surely nearer than all that are not chosen; if one of these has no
            # weight to speak of, those have none.
            share = (weights[:, :-1] / weight.clamp(min=self._min_weight)).masked_fill(
                sure == 0, torch.inf
            )
            few[queries] = share.amin(1) * total[0] <= _NEGLIGIBLE
        return few, out


def weight_present(sample_weight, rows, present):
    """Take the sample weights (c, K) of the neighbours `rows`, 0 where they are not present."""
    return present if sample_weight is None else present * sample_weight[rows]


def weigh_rows(head, z, z_n, rows, weight):
    """Weigh the neighbours `rows` (c, K) of queries (c, d) by a head, to (c, K)."""
    z_rows = gather_rows(z_n, rows)
    return head.weights(z.unsqueeze(1), z_rows, sample_weight=weight.unsqueeze(1)).squeeze(1)


def average_rows(weights, values, rows):
    """Sum the values of the neighbours `rows` (c, K) times their weights, to (c, k)."""
    return (weights.unsqueeze(-1) * gather_rows(values, rows)).sum(1)


def _bound_of_largest(scores, count, n_sampled=4096):
    """Scores (b, 1) that probably at least `count` (b, 1) of each row reach, from a sample."""
    stride = max(1, scores.shape[1] // n_sampled)
    sample = scores[:, ::stride].sort(1, descending=True).values.double()
    expected = count / stride
    place = (expected + 4 * expected.sqrt() + 8).clamp(max=sample.shape[1])
    bound = sample.gather(1, place.long().clamp(max=sample.shape[1] - 1))
    return bound.masked_fill(place >= sample.shape[1], -torch.inf)


def _count(chosen):
    return np.count_nonzero(chosen.numpy()) if chosen.is_cpu else chosen.sum()


def _nonzero(chosen):
    """Row and column of the entries chosen; on the CPU by NumPy, several times faster."""
    if not chosen.is_cpu:
        return chosen.nonzero(as_tuple=True)
    flat = torch.from_numpy(np.flatnonzero(chosen.numpy()))
    return flat // chosen.shape[1], flat % chosen.shape[1]


def _padded(query, row, dim):
    """Group queries that have about as many neighbours chosen.

    Yields
    ------
    queries : Tensor of shape (c,)
    rows : Tensor of shape (c, K)
        Their neighbours, filled up with any.
    present : Tensor of shape (c, K)
        1 for neighbours, 0 for what fills up.
    """
    if not len(query):
        return
    queries, counts = torch.unique_consecutive(query, return_counts=True)
    starts = counts.cumsum(0) - counts
    counts, order = counts.sort(descending=True)
    queries, starts = queries[order], starts[order]
    begin = 0
    while begin < len(queries):
        width = int(counts[begin])
        stop = begin + max(1, _GATHERED_BYTES // (8 * dim * width))
        place = torch.arange(width, device=row.device).expand(len(queries[begin:stop]), -1)
        present = place < counts[begin:stop, None]
        rows = row[starts[begin:stop, None] + place * present]
        yield queries[begin:stop], rows, present.double()
        begin = stop
