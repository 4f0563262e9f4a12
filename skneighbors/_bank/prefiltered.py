"""Exact attention that looks, in double precision, at the neighbours that can matter alone.

Scores in single precision tell, with a bound of their error, which neighbours can matter to a
query and the extremes of its similarities; the head is evaluated on those. Queries to which
many neighbours matter are computed in full.
"""

import math

import torch

from .._utils.blocks import gather_rows
from ..nn import similarity
from ..nn._numpy import argmax
from .exact import block_length, weigh_rows, weight_present
from .prefilter import Float32Prefilter
from .sparse import SparseAttention, SparsePairs, padded

# Share of the neighbours above which to look at all of them is faster.
MAX_SHARE = 1 / 16
# Fewer neighbours than this, or queries, also of a head with ranks, are not worth a prefilter.
_MIN_NEIGHBORS, _MIN_QUERIES, _MIN_RANKED_QUERIES = 2048, 128, 8
# Queries that are looked at to see whether one pays.
_N_PROBES = 16


class PrefilteredAttention(SparseAttention):
    """The same, to which few neighbours of a query matter, found in single precision."""

    def __init__(self, head, z_n, values, sample_weight):
        super().__init__(head, z_n, values, sample_weight)
        self._n_needed = z_n.shape[1]
        self._prefilter = Float32Prefilter(z_n, head.similarity)

    @staticmethod
    def usable_for(head, n_neighbors, n_queries):
        """Whether there are enough neighbours and queries for a prefilter to be worth it."""
        min_queries = _MIN_RANKED_QUERIES if head.ranked else _MIN_QUERIES
        return n_neighbors >= _MIN_NEIGHBORS and n_queries >= min_queries

    def pays_for(self, z):
        """Whether few neighbours matter to most queries (n, d), by some of them."""
        n_probes = min(_N_PROBES, block_length(len(self.z_n)))
        sparse = self._attend_sparse(z[:: math.ceil(len(z) / n_probes)], lambda *found: None)
        return 2 * sparse.sum() >= len(sparse)

    def _attend_sparse(self, z, take):
        """See :class:`SparseAttention`."""
        prefilter = self._prefilter
        q = prefilter.queries(z)
        scores, error = prefilter.scores(q), prefilter.error(q)
        # Scores that may err by 1, or are NaN, tell nothing.
        pairs = SparsePairs(error.squeeze(1) < 1, MAX_SHARE * len(self.z_n))
        lowest = scores.amin(1, keepdim=True).double()
        if self.head.ranked:
            bound = self._bound_of_nearest(z, scores[:, :: self._stride])
            pairs.add(scores >= (bound - 2 * error).to(scores.dtype))
            return self._attend_nearest(
                z,
                pairs,
                lambda queries, rows, _: self._similarities_to(z[queries], rows),
                lambda queries, rows, _: scores[queries].gather(1, rows) >= bound[queries],
                prefilter.to_similarity(lowest, q),
                take,
            )
        low = prefilter.to_similarity(lowest - error, q)
        high = self._similarities_to(z, argmax(scores))
        cutoff = self.head.cutoff(z[None], low[None], high[None], self._depth)[0]
        reached = prefilter.to_score(cutoff, q) - error
        chosen = scores >= reached.to(scores.dtype)
        # The furthest are needed too: they make the row's range.
        chosen |= scores <= (lowest + 2 * error).to(scores.dtype)
        pairs.add(chosen)
        query, row, _ = pairs.get()
        for queries, present, pair in padded(query, self.z_n.shape[1]):
            rows = row[pair]
            weight = weight_present(self.weight, rows, present)
            take(queries, rows, weigh_rows(self.head, z[queries], self.z_n, rows, weight))
        return pairs.few & (torch.bincount(query, minlength=len(z)) > 0)

    def _similarities_to(self, z, rows):
        """Similarities (c, K) of queries (c, d) to neighbours (c, K)."""
        z_rows = gather_rows(self.z_n, rows)
        return similarity(z.unsqueeze(1), z_rows, self.head.similarity).squeeze(1)
