"""Attention of which few neighbours of a query are looked at closely, and pairs of these."""

import math

import numpy as np
import torch

from ..nn._numpy import sort_descending
from .exact import ExactAttention, average_rows

# Weights that together are a smaller share of a prediction's are left out.
_NEGLIGIBLE = 1e-10
# Neighbours that tell, at the least, how many others are near.
_N_SAMPLED = 4096
# Bytes of embeddings gathered at once.
_GATHERED_BYTES = 2**23


class SparseAttention(ExactAttention):
    """The same, of which few neighbours of a query are looked at: those that matter.

    Queries to which many matter are left to :class:`ExactAttention`.
    """

    # How many numbers are needed for a neighbour at once.
    _n_needed = 4

    def __init__(self, head, z_n, values, sample_weight):
        super().__init__(head, z_n, values, sample_weight)
        weight = torch.ones_like(z_n[:, 0]) if sample_weight is None else sample_weight
        self._total, self._min_weight = weight.sum().reshape(1, 1), weight.min()
        self._depth = math.log(self._total / self._min_weight / _NEGLIGIBLE)
        self._stride = max(1, len(z_n) // _N_SAMPLED)

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
        raise NotImplementedError

    def _last_rank(self, z):
        """Rank (b, 1) beyond which no neighbour matters."""
        return self.head.last_rank(z[None], self._total, self._depth)[0]

    def _bound_of_nearest(self, z, sample):
        """Find scores (b, 1) that all neighbours in reach of queries (b, d) probably exceed.

        The sample (b, n) is the scores of some neighbours, equally spaced.
        """
        n_nearest = self._last_rank(z) / self._min_weight
        expected = n_nearest * (sample.shape[1] / len(self.z_n))
        place = expected + 4 * expected.sqrt() + 8
        sample = sort_descending(sample).double()
        bound = sample.gather(1, place.clamp(max=sample.shape[1] - 1).long())
        return bound.masked_fill(place >= sample.shape[1], -torch.inf)

    def _attend_nearest(self, z, pairs, similarities, is_sure, furthest, take):
        """Weigh the neighbours chosen by their ranks; the queries (b,) to which no others matter.

        Parameters
        ----------
        z : Tensor of shape (b, d)
        pairs : SparsePairs
        similarities : callable
            Of queries (c,) to neighbours, given as rows (c, K) and by their places in all pairs.
        is_sure : callable
            Whether neighbours, given in the same way, are nearer than all that are not chosen.
        furthest : Tensor of shape (b, 1)
            The lowest similarity to any neighbour.
        take : callable
            See :meth:`_attend_sparse`.
        """
        query, row, kept = pairs.get()
        few = pairs.few & (torch.bincount(query, minlength=len(z)) > 0)
        for queries, present, pair in padded(query, self._n_needed):
            found = queries, row[pair], kept[pair]
            s = similarities(*found).masked_fill(present == 0, -torch.inf)
            weight = None if self.weight is None else self.weight[row[pair]] * present
            weights = self.head.weights_of_nearest(
                z[None, queries], s[None], self._total, furthest[None, queries], weight
            )[0]
            take(*found[:2], weights)
            # If one that is surely nearer than all that are not chosen has no weight to speak
            # of, those have none.
            sure = is_sure(*found) & (present > 0)
            share = weights if weight is None else weights / weight
            share = share.masked_fill(~sure, torch.inf).amin(1) * self._total[0]
            few[queries] = share <= _NEGLIGIBLE
        return few


class SparsePairs:
    """Pairs of queries and neighbours chosen, of queries to which few neighbours are.

    Parameters
    ----------
    few : bool Tensor of shape (b,)
        Queries that may be among them; others are left out.
    limit : float
        How many neighbours are few.

    Attributes
    ----------
    few : bool Tensor of shape (b,)
        Those of which no more have been chosen.
    """

    def __init__(self, few, limit):
        self.few = few
        self._limit = limit
        self._counts = torch.zeros_like(few, dtype=torch.int64)
        self._pairs = []

    def add(self, chosen, start=0):
        """Choose among the neighbours from `start` on by a mask (b, c), changed in place.

        Returns
        -------
        place : int Tensor of shape (n_chosen,)
            Of the pairs chosen in the flattened mask.
        """
        if _count(chosen) > self._limit * len(chosen):
            self.few = self.few & (self._counts + chosen.sum(1) <= self._limit)
            chosen &= self.few.unsqueeze(1)
        place = _flat_nonzero(chosen)
        width = chosen.shape[1]
        stops = torch.arange(len(chosen) + 1, device=place.device) * width
        counts = torch.searchsorted(place, stops).diff()
        self._counts += counts
        self.few = self.few & (self._counts <= self._limit)
        query = torch.arange(len(chosen), device=place.device).repeat_interleave(counts)
        self._pairs.append((query, place - query * width + start))
        return place

    def get(self):
        """Query and neighbour (c,) of each pair chosen of few, and which of all pairs these are.

        Query by query.
        """
        query, row = (torch.cat(part) for part in zip(*self._pairs, strict=True))
        order = _order(query.to(torch.int16)) if len(self.few) < 2**15 else _order(query)
        kept = order[self.few[query[order]]]
        return query[kept], row[kept], kept


def _order(query):
    """Stable order of integers; on the CPU by NumPy, which sorts short ones by radix."""
    if query.is_cpu:
        return torch.from_numpy(query.numpy().argsort(kind="stable"))
    return query.argsort(stable=True)


def _count(chosen):
    return np.count_nonzero(chosen.numpy()) if chosen.is_cpu else chosen.sum()


def _flat_nonzero(chosen):
    """Places of the entries chosen; on the CPU by NumPy, several times faster."""
    if chosen.is_cpu:
        return torch.from_numpy(np.flatnonzero(chosen.numpy()))
    return chosen.flatten().nonzero().squeeze(1)


def padded(query, dim):
    """Group queries that have about as many neighbours chosen.

    Parameters
    ----------
    query : Tensor of shape (c,)
        Of each pair chosen, in ascending order.
    dim : int
        How many numbers will be needed for each at once.

    Yields
    ------
    queries : Tensor of shape (b,)
    present : Tensor of shape (b, K)
        1 for pairs chosen, 0 for what fills up.
    pair : int Tensor of shape (b, K)
        Places of the pairs, filled up with any.
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
        place = torch.arange(width, device=query.device).expand(len(queries[begin:stop]), -1)
        present = place < counts[begin:stop, None]
        yield queries[begin:stop], present.double(), starts[begin:stop, None] + place * present
        begin = stop
