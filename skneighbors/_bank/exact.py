"""Attention over all neighbours in double precision, block by block in bounded memory."""

import math
from functools import cached_property

import torch
from sklearn import get_config

from .._utils.blocks import CACHED_BYTES, cached_chunks, gather_rows
from ..nn import similarity
from ..nn._numpy import exp_

# Queries at a time: enough for a matrix product, no more than pays.
_MIN_BLOCK, _MAX_BLOCK = 8, 256
# Multiples of so many neighbours: products of whole blocks round equal ones alike, which must not
# get other ranks.
MULTIPLE = 64
# Bytes of one float64 in every entry of a block, and how many all threads' blocks need.
_BLOCK_BYTES, _TEMPORARIES = 2**25, 16


def block_length(n_neighbors, n_bytes=2 * _BLOCK_BYTES):
    """Count the queries whose work on all neighbours fits ``working_memory``."""
    allowed = get_config()["working_memory"] * 2**20 / _TEMPORARIES // (8 * n_neighbors)
    usual = max(_MIN_BLOCK, n_bytes // (8 * n_neighbors))
    return int(max(1, min(_MAX_BLOCK, allowed, usual)))


class ExactAttention:
    """Attention of one member of an ensemble over all rows of its bank, in double precision.

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
    """

    def __init__(self, head, z_n, values, sample_weight):
        self.head, self.z_n, self.values, self.weight = head, z_n, values, sample_weight

    @cached_property
    def _sq_norms(self):
        return torch.linalg.vector_norm(self.z_n, dim=1).square_()

    @property
    def n_queries(self):
        """How many queries to give at a time."""
        return block_length(len(self.z_n))

    def weights(self, z):
        """Weights (b, N) of all neighbours for queries (b, d)."""
        if self.head.ranked:
            parts = self._ranked_parts(z)
            return torch.cat([self.head.weights_of(*own, None, self.weight)[0] for own in parts])
        weights = torch.cat([weights for _, weights in self._unnormalised(z)], 1)
        return weights.div_(weights.sum(1, keepdim=True))

    def weights_of_others(self, z, own, weight):
        """Weights (b, N) of all neighbours but row `own` (b,), -1 for none, of queries (b, d).

        `weight` (b, N) are sample weights for each query; None for the neighbours' own.
        """
        q, weight = z[None], self.weight if weight is None else weight
        return self.head.weights_of(q, self._similarities(q), own, weight)[0]

    def average(self, z):
        """Weighted means (b, k) of the neighbours' values for queries (b, d)."""
        # First of all: small results between large temporaries fragment memory.
        out = z.new_empty(len(z), self.values.shape[1])
        if self.head.ranked:
            begin = 0
            for q, s in self._ranked_parts(z):
                rows, weights = self.head.sorted_weights_of(q, s, self.weight)
                means = out[begin : begin + s.shape[1]]
                means.copy_(average_rows(weights[0], self.values, rows[0]))
                begin += len(means)
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
        z_n, metric = self.z_n[None, chunk], self.head.similarity
        sq_norms = self._sq_norms[None, chunk] if metric == "l2" and z.shape[1] > 1 else None
        return similarity(z, z_n, metric, sq_norms)

    def _ranked_parts(self, z):
        """Split queries; yield parts (1, c, d) and their similarities to all neighbours."""
        n_ranked = max(1, CACHED_BYTES // (8 * len(self.z_n))) if z.is_cpu else _MAX_BLOCK
        for part in self._parts(z):
            q = part[None]
            chunks = cached_chunks(self.z_n, len(part), MULTIPLE)
            s = torch.cat([self._similarities(q, chunk) for chunk in chunks], -1)
            yield from zip(q.split(n_ranked, 1), s.split(n_ranked, 1), strict=True)

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
        log_weights = self.head.log_weights(z, low, high)
        for chunk, s in parts:
            weights = exp_(log_weights(s))[0]
            yield chunk, weights if self.weight is None else weights.mul_(self.weight[chunk])


def effective_number(weights, sample_weight):
    """How many neighbours of equal weight would spread weights (b, N) as far, (b, 1).

    A neighbour of sample weight c (N,) counts as c of them; None for ones.
    """
    weights = weights if sample_weight is None else weights * sample_weight.rsqrt()
    squares = torch.linalg.vector_norm(weights, dim=1, keepdim=True).square_()
    # Without any neighbour there is no weight.
    return squares.reciprocal_().nan_to_num_(posinf=0.0)


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
