"""Exact attention of a head of ranks that gives an order to the neighbours in reach alone."""

import math

import torch

from .._utils.blocks import cached_chunks
from ..nn import similarity
from ..nn._numpy import exceeds
from .exact import MULTIPLE, block_length
from .sparse import SparseAttention, SparsePairs

# Share of the neighbours above which to give all of them an order is faster.
_MAX_SHARE = 1 / 4
# Fewer neighbours or queries than these are not worth a look.
_MIN_NEIGHBORS, _MIN_QUERIES = 2048, 8
# Queries that are looked at to see whether it pays.
_N_PROBES = 64
# Queries at a time.
_MAX_QUERIES = 64


class RankedAttention(SparseAttention):
    """The same for a head of ranks, of which the nearest neighbours alone are given ranks."""

    n_queries = 256

    @staticmethod
    def usable_for(head, n_neighbors, n_queries):
        """Whether there are ranks, and enough neighbours and queries for it to be worth it."""
        return head.ranked and n_neighbors >= _MIN_NEIGHBORS and n_queries >= _MIN_QUERIES

    def pays_for(self, z):
        """Whether the mask reaches no more than some neighbours, for most queries (n, d)."""
        last_rank = self._last_rank(z[:: math.ceil(len(z) / _N_PROBES)])
        in_reach = last_rank / self._min_weight <= _MAX_SHARE * len(self.z_n)
        return 2 * in_reach.sum() >= len(in_reach)

    def _attend_sparse(self, z, take):
        """See :class:`SparseAttention`."""
        sparse, begin = [], 0
        for part in z.split(min(_MAX_QUERIES, block_length(len(self.z_n)))):
            sparse.append(
                self._attend_part(part, lambda queries, *own, i=begin: take(queries + i, *own))
            )
            begin += len(part)
        return torch.cat(sparse)

    def _attend_part(self, z, take):
        """Do what :meth:`_attend_sparse` does, for queries whose similarities fit a cache."""
        sample = similarity(z, self.z_n[:: self._stride], self.head.similarity)
        bound = self._bound_of_nearest(z, sample)
        pairs = SparsePairs(torch.ones_like(z[:, 0], dtype=torch.bool), _MAX_SHARE * len(self.z_n))
        found, furthest = [], torch.full_like(bound, torch.inf)
        for chunk in cached_chunks(self.z_n, _MAX_QUERIES, MULTIPLE):
            s = self._similarities(z[None], chunk)[0]
            found.append(s.view(-1)[pairs.add(exceeds(s, bound), chunk.start)])
            furthest = torch.minimum(furthest, s.amin(1, keepdim=True))
        s = torch.cat(found)
        return self._attend_nearest(
            z,
            pairs,
            lambda queries, rows, place: s[place],
            lambda queries, rows, place: torch.ones_like(place, dtype=torch.bool),
            furthest,
            take,
        )
