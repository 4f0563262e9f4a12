"""Pairs of queries and the few neighbours that are looked at for each."""

import numpy as np
import torch

# Share of the neighbours above which to look at all of them is faster.
MAX_SHARE = 1 / 16
# Bytes of embeddings gathered at once.
_GATHERED_BYTES = 2**23


class SparsePairs:
    """Pairs of queries and neighbours chosen, of queries to which few neighbours are.

    Parameters
    ----------
    few : bool Tensor of shape (b,)
        Queries that may be among them; others are left out.
    n_neighbors : int

    Attributes
    ----------
    few : bool Tensor of shape (b,)
        Those of which no more than `MAX_SHARE` of the neighbours have been chosen.
    """

    def __init__(self, few, n_neighbors):
        self.few = few
        self._limit = MAX_SHARE * n_neighbors
        self._counts = torch.zeros_like(few, dtype=torch.int64)
        self._pairs = []

    def add(self, chosen, start=0):
        """Choose among the neighbours from `start` on by a mask (b, c), changed in place.

        Returns
        -------
        place : int Tensor of shape (n_chosen,)
            Of the pairs chosen in the flattened mask.
        """
        if not self.few.all() or _count(chosen) > self._limit * len(chosen):
            self.few = self.few & (self._counts + chosen.sum(1) <= self._limit)
            chosen &= self.few.unsqueeze(1)
        place = _flat_nonzero(chosen)
        query = place // chosen.shape[1]
        self._counts += torch.bincount(query, minlength=len(self.few))
        self.few = self.few & (self._counts <= self._limit)
        self._pairs.append((query, place % chosen.shape[1] + start))
        return place

    def get(self):
        """Query and neighbour (c,) of each pair chosen of few, and which of all pairs these are.

        Query by query.
        """
        query, row = (torch.cat(part) for part in zip(*self._pairs, strict=True))
        kept = self.few[query].nonzero().squeeze(1)
        kept = kept[query[kept].argsort(stable=True)] if len(self._pairs) > 1 else kept
        return query[kept], row[kept], kept


def _count(chosen):
    return np.count_nonzero(chosen.numpy()) if chosen.is_cpu else chosen.sum()


def _flat_nonzero(chosen):
    """Places of the entries chosen; on the CPU by NumPy, several times faster."""
    if chosen.is_cpu:
        return torch.from_numpy(np.flatnonzero(chosen.numpy()))
    return chosen.flatten().nonzero().squeeze(1)


def padded(query, dim, *of_pairs):
    """Group queries that have about as many neighbours chosen.

    Parameters
    ----------
    query : Tensor of shape (c,)
        Of each pair, in ascending order.
    dim : int
        Of the embeddings that will be gathered.
    *of_pairs : Tensor of shape (c,)
        Further properties of pairs, such as their neighbours.

    Yields
    ------
    queries : Tensor of shape (b,)
    present : Tensor of shape (b, K)
        1 for neighbours chosen, 0 for what fills up.
    *of_pairs : Tensor of shape (b, K)
        Of the pairs, filled up with any.
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
        pair = starts[begin:stop, None] + place * present
        yield queries[begin:stop], present.double(), *(own[pair] for own in of_pairs)
        begin = stop
