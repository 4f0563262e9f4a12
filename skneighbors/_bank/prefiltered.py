"""Exact attention that looks, in double precision, at the neighbours that can matter alone.

Scores in single precision tell, with a bound of their error, which neighbours can matter to a
query and the extremes of its similarities; the head is evaluated on those. Queries to which
many neighbours matter are computed in full.
"""

import math

import torch

from ..nn import similarity
from ..nn._numpy import argmax
from .exact import ExactAttention, average_rows, block_length, weigh_rows, weight_present
from .prefilter import Float32Prefilter
from .sparse import SparsePairs, padded

# Weights that together are a smaller share of a prediction's are left out.
_NEGLIGIBLE = 1e-10
# Fewer neighbours than this, or queries, also of a head with ranks, are not worth a prefilter.
_MIN_NEIGHBORS, _MIN_QUERIES, _MIN_RANKED_QUERIES = 2048, 128, 8
# Queries that are looked at to see whether one pays.
_N_PROBES = 16


class PrefilteredAttention(ExactAttention):
    """The same, to which few neighbours of a query matter, found in single precision.

    Queries to which many matter are left to :class:`ExactAttention`.
    """

    def __init__(self, head, z_n, values, sample_weight):
        super().__init__(head, z_n, values, sample_weight)
        weight = torch.ones_like(z_n[:, 0]) if sample_weight is None else sample_weight
        self._total, self._min_weight = weight.sum(), weight.min()
        self._depth = math.log(self._total / self._min_weight / _NEGLIGIBLE)
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

    def weights(self, z):
        """Weights (b, N) of all neighbours for queries (b, d); those left out are 0."""
        out = z.new_zeros(len(z), len(self.z_n))

        def take(queries, rows, weights):
            out[queries] = out[queries].scatter_add_(1, rows, weights)

        return self._complete(z, self._attend_sparse(z, take), out, super().weights)

    def average(self, z):
        """Weighted means (b, k) of the neighbours' values for queries (b, d)."""
        out = z.new_empty(len(z), self.values.shape[1])

        def take(queries, rows, weights):
            out[queries] = average_rows(weights, self.values, rows)

        return self._complete(z, self._attend_sparse(z, take), out, super().average)

    def _complete(self, z, sparse, out, attend):
        """Fill in what :class:`ExactAttention` finds for queries to which many matter."""
        rest = (~sparse).nonzero().squeeze(1)
        if len(rest):
            out[rest] = attend(z[rest])
        return out

    def _attend_sparse(self, z, take):
        """Find the queries to which few neighbours matter, (b,).

        For some of them after others, `take` is called with the queries (c,), rows (c, K)
        of the neighbours, and their weights (c, K), which are 0 for rows that fill up.
        """
        attend = self._attend_nearest if self.head.ranked else self._attend_similar
        return attend(z, take)

    def _attend_similar(self, z, take):
        """Do what :meth:`_attend_sparse` does, for a head of similarities."""
        prefilter = self._prefilter
        q = prefilter.queries(z)
        scores, error = prefilter.scores(q), prefilter.error(q)
        lowest = scores.amin(1, keepdim=True).double()
        low = prefilter.to_similarity(lowest - error, q)
        nearest = self.z_n[argmax(scores)]
        high = similarity(z.unsqueeze(1), nearest, self.head.similarity).squeeze(1)
        cutoff = self.head.cutoff(z[None], low[None], high[None], self._depth)[0]
        reached = prefilter.to_score(cutoff, q) - error
        chosen = scores >= reached.to(scores.dtype)
        # The furthest are needed too: they make the row's range.
        chosen |= scores <= (lowest + 2 * error).to(scores.dtype)
        few, query, row = _select(chosen, error)
        for queries, present, rows in padded(query, self.z_n.shape[1], row):
            weight = weight_present(self.weight, rows, present)
            take(queries, rows, weigh_rows(self.head, z[queries], self.z_n, rows, weight))
        return few

    def _attend_nearest(self, z, take):
        """Do what :meth:`_attend_sparse` does, for a head of ranks."""
        prefilter = self._prefilter
        q = prefilter.queries(z)
        scores, error = prefilter.scores(q), prefilter.error(q)
        total = self._total.reshape(1, 1)
        rank = self.head.last_rank(z[None], total, self._depth)[0]
        bound = _bound_of_largest(scores, rank / self._min_weight)
        chosen = scores >= (bound - 2 * error).to(scores.dtype)
        few, query, row = _select(chosen, error)
        # One neighbour, the furthest, stands for all that are not chosen.
        furthest = argmax(-scores)
        for queries, present, rows in padded(query, self.z_n.shape[1], row):
            sure = present * (scores[queries].gather(1, rows) >= bound[queries])
            weight = weight_present(self.weight, rows, present)
            remainder = (total - weight.sum(1, keepdim=True)).clamp(min=0)
            rows = torch.cat([rows, furthest[queries]], 1)
            weight_of_all = torch.cat([weight, remainder], 1)
            weights = weigh_rows(self.head, z[queries], self.z_n, rows, weight_of_all)
            take(queries, rows, weights)
            # Surely nearer than all that are not chosen; if one of these has no
            # weight to speak of, those have none.
            share = (weights[:, :-1] / weight.clamp(min=self._min_weight)).masked_fill(
                sure == 0, torch.inf
            )
            few[queries] = share.amin(1) * total[0] <= _NEGLIGIBLE
        return few


def _bound_of_largest(scores, count, n_sampled=4096):
    """Scores (b, 1) that probably at least `count` (b, 1) of each row reach, from a sample."""
    stride = max(1, scores.shape[1] // n_sampled)
    sample = scores[:, ::stride].sort(1, descending=True).values.double()
    expected = count / stride
    place = (expected + 4 * expected.sqrt() + 8).clamp(max=sample.shape[1])
    bound = sample.gather(1, place.long().clamp(max=sample.shape[1] - 1))
    return bound.masked_fill(place >= sample.shape[1], -torch.inf)


def _select(chosen, error):
    """Find the queries with few neighbours chosen; query and neighbour of each of these.

    Scores of embeddings of norms up to 1 that may err by 1, or are NaN, tell nothing.
    """
    pairs = SparsePairs(error.squeeze(1) < 1, chosen.shape[1])
    pairs.add(chosen)
    query, row, _ = pairs.get()
    return pairs.few & (torch.bincount(query, minlength=len(chosen)) > 0), query, row
