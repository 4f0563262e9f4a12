"""Attention over all neighbours in single precision, mended where that would show."""

import math

import torch
import torch.nn.functional as F
from sklearn import get_config
from sklearn.utils import gen_batches

from .._utils.blocks import gather_rows
from ..nn import similarity
from ..nn._numpy import argmax, argmin, exp_, sqrt_
from .exact import ExactAttention, weight_present
from .prefilter import product_dtype
from .prefiltered import MAX_SHARE
from .rounding import Unsure, find_unsure, similarity_error
from .sparse import SparsePairs, padded

# Blocks are multiples of so many queries and neighbours: then the bits of a matrix product
# do not depend on the number of blocks.
_QUERIES, _NEIGHBORS = 16, 1024
# Bytes of the similarities that a block of queries keeps, and of those worked on at once.
_BLOCK_BYTES, _CHUNK_BYTES = 2**25, 2**21
# Rows that are prepared at a time.
_PREPARED_ROWS = 8192
# Fewer neighbours or queries than these are not worth the preparations.
_MIN_NEIGHBORS, _MIN_QUERIES = 2**15, 128
# Logarithm of the smallest normal number: smaller ones are slow.
_LOWEST = -87.0


class SinglePrecisionAttention(ExactAttention):
    """Averages over all neighbours in single precision; not for ranks, nor for ``"l1"``.

    Similarities, of embeddings centred where that changes no distance, and weights are in single
    precision, extremes of similarity and sums in double precision. Neighbours whose weights' errors
    would show (see :mod:`.rounding`) are weighed again in double precision; queries to
    which many such neighbours are left to :class:`ExactAttention`.
    """

    def __init__(self, head, z_n, values, sample_weight):
        super().__init__(head, z_n, values, sample_weight)
        self._metric = head.similarity
        self._centre = z_n.mean(0) if self._metric == "l2" else torch.zeros_like(z_n[0])
        # Whole blocks: rows that weigh nothing, copies of one lest they change the extremes.
        n_rows, n_more = len(z_n), -len(z_n) % _NEIGHBORS
        first = self._prepare(z_n[:1], ones_last=True)
        self._points = first.expand(n_rows + n_more, -1).clone()
        norms = []
        for batch in gen_batches(n_rows, _PREPARED_ROWS):
            self._points[batch] = self._prepare(z_n[batch], ones_last=True)
            norms.append(self._norms(z_n[batch]).max())
        self._norm = torch.stack(norms).max()
        weight = torch.ones_like(z_n[:, 0]) if sample_weight is None else sample_weight
        self._max_weight = weight.max()
        summed = torch.cat([torch.ones_like(weight)[None], values.T]) * weight
        self._summed = F.pad(summed, (0, n_more)).float()

    n_queries = 256

    @staticmethod
    def usable_for(head, n_neighbors, n_queries):
        """Whether there are enough neighbours and queries for it to be worth it."""
        many = n_neighbors >= _MIN_NEIGHBORS and n_queries >= _MIN_QUERIES
        possible = not head.ranked and head.similarity != "l1"
        return many and possible and product_dtype() == torch.float32

    def pays_for(self, z):
        """Whether it holds for most queries (n, d), by some of them."""
        _, sure = self._average_surely(z[:: math.ceil(len(z) / _QUERIES)])
        return 2 * sure.sum() >= len(sure)

    def average(self, z):
        """Weighted means (b, k) of the neighbours' values for queries (b, d)."""
        out, sure = self._average_surely(z)
        rest = (~sure).nonzero().squeeze(1)
        if len(rest):
            out[rest] = super().average(z[rest])
        return out

    def _average_surely(self, z):
        """Averages (b, k) for queries (b, d), and for which of them they hold."""
        n_queries = min(self._block_length(), -(-len(z) // _QUERIES) * _QUERIES)
        kept = z.new_empty(n_queries * len(self._points), dtype=torch.float32)
        averages, sure = zip(
            *[self._average(part, kept) for part in z.split(n_queries)], strict=True
        )
        return torch.cat(averages), torch.cat(sure)

    def _block_length(self):
        """Count the queries whose similarities fit a block."""
        allowed = min(_BLOCK_BYTES, get_config()["working_memory"] * 2**20 / 8)
        n_fitting = max(1, int(allowed / (4 * _QUERIES * len(self._points))))
        return min(self.n_queries, _QUERIES * 2 ** (n_fitting.bit_length() - 1))

    def _norms(self, z):
        """Norms of rows (n, d), which similarities' errors grow with."""
        if self._metric == "cosine":
            return torch.ones_like(z[:, 0])
        return torch.linalg.vector_norm(z - self._centre, dim=1)

    def _prepare(self, z, ones_last):
        """Bring rows (n, d) to what a matrix product makes similarities of; squares of ``"l2"``."""
        if self._metric == "l2":
            # -|z - z_n|^2 = 2 z.z_n - |z|^2 - |z_n|^2, as one product.
            z = z - self._centre
            sq_norms, ones = -z.square().sum(1, keepdim=True), torch.ones_like(z[:, :1])
            z = torch.cat([z, sq_norms, ones] if ones_last else [2 * z, ones, sq_norms], 1)
        elif self._metric == "cosine":
            z = F.normalize(z, dim=1)
        elif not ones_last:
            z = z / z.shape[1]
        return z.float()

    def _average(self, z, kept):
        """Averages (b, k) for a block of queries (b, d), and for which of them they hold."""
        n_queries = len(z)
        # The same bits for any number of queries.
        z = torch.cat([z, z[:1].expand(-len(z) % _QUERIES, -1)])
        parts = self._parts_of(kept, len(z))
        low, high = self._fill_with_similarities(z, parts)
        log_weights = self.head.log_weights(z[None], low[None], high[None])
        sums, pairs, weights = self._sum(z, parts, log_weights)
        self._mend(sums, z, log_weights, pairs, weights)
        return (sums[:, 1:] / sums[:, :1])[:n_queries], pairs.few[:n_queries]

    def _parts_of(self, kept, n_queries):
        """Slices of the neighbours that fit a CPU's cache, and a view (b, c) for each."""
        length = len(self._points)
        if self._points.is_cpu:
            length = max(1, _CHUNK_BYTES // (4 * n_queries * _NEIGHBORS)) * _NEIGHBORS
        chunks = list(gen_batches(len(self._points), length))
        kept = kept[: n_queries * len(self._points)].split(n_queries * length)
        return [(chunk, part.view(n_queries, -1)) for chunk, part in zip(chunks, kept, strict=True)]

    def _fill_with_similarities(self, z, parts):
        """Fill parts with similarities, of ``"l2"`` their squares; their extremes (b, 1).

        The extremes are in double precision.
        """
        q, found = self._prepare(z, ones_last=False), []
        for chunk, s in parts:
            with torch.autocast(q.device.type, enabled=False):
                torch.mm(q, self._points[chunk].T, out=s)
            places = torch.cat([argmin(s), argmax(s)], 1)
            found.append((s.gather(1, places), places + chunk.start))
        s, rows = (torch.stack(part) for part in zip(*found, strict=True))  # (n_parts, b, 2)
        best = torch.stack([s[..., 0].argmin(0), s[..., 1].argmax(0)], 1)
        rows = rows.gather(0, best[None])[0]
        rows = rows.masked_fill(rows >= len(self.values), 0)
        extremes = similarity(z.unsqueeze(1), gather_rows(self.z_n, rows), self._metric)
        return extremes.squeeze(1).split(1, 1)

    def _sum(self, z, parts, log_weights):
        """Sum weights, and values times these, to (b, 1 + k).

        Beside these come the pairs whose errors would show, and their weights (c,).
        """
        single = log_weights.map(torch.Tensor.float)
        total = self._estimate_total(parts, single)
        errors, share = self._errors(z), self._max_weight / total
        unsure, sure = find_unsure(log_weights, errors, share, len(self.values))
        unsure = Unsure(*map(torch.Tensor.float, unsure))
        sums, pairs, found = [], SparsePairs(sure, MAX_SHARE * len(self.values)), []
        for chunk, s in parts:
            weights = self._weigh(s, single)
            blocks = weights.view(len(s), -1, _NEIGHBORS)
            summed = self._summed[:, chunk].view(-1, *blocks.shape[1:])
            sums.append(torch.stack([(blocks * own).sum(2) for own in summed], 2))
            chosen = unsure.chosen(weights)
            chosen[:, len(self.values) - chunk.start :] = False
            found.append(weights.view(-1)[pairs.add(chosen, chunk.start)])
        sums = torch.cat(sums, 1).double().sum(1)
        pairs.few = pairs.few & (sums[:, 0] >= total.squeeze(1))
        return sums, pairs, torch.cat(found)

    def _weigh(self, s, log_weights):
        """Weights of similarities, which are overwritten; of ``"l2"`` from their squares."""
        if self._metric == "l2":
            s = sqrt_(s.abs_()).neg_()
        return exp_(log_weights(s[None])[0].clamp_(min=_LOWEST))

    def _estimate_total(self, parts, log_weights):
        """Half of what the sums of the weights (b, 1) are by some neighbours."""
        stride = len(self._points) // _NEIGHBORS
        some = [s.view(len(s), -1, _NEIGHBORS)[..., ::stride].flatten(1) for _, s in parts]
        summed = self._summed[0].view(-1, _NEIGHBORS)[:, ::stride].flatten()
        weights = self._weigh(torch.cat(some, 1), log_weights)
        total = (weights * summed).sum(1, keepdim=True).double()
        return total * (len(self._points) / len(summed) / 2)

    def _errors(self, z):
        """Errors of similarities of queries (b, d), as a function of them."""
        norm, dim = self._norms(z).unsqueeze(1), z.shape[1]
        return lambda s: similarity_error(s, self._metric, norm, self._norm, dim)

    def _mend(self, sums, z, log_weights, pairs, weights):
        """Weigh pairs of queries and neighbours again, and put that right in the sums."""
        query, row, kept = pairs.get()
        weights = weights[kept]
        for queries, present, pair in padded(query, z.shape[1]):
            rows = row[pair]
            s = similarity(z[queries].unsqueeze(1), gather_rows(self.z_n, rows), self._metric)
            own = log_weights.map(lambda part, i=queries: part[:, i] if part.shape[1] > 1 else part)
            change = exp_(own(s.squeeze(1)[None])[0]) - weights[pair]
            change *= weight_present(self.weight, rows, present)
            change = change.unsqueeze(2)
            change = torch.cat([change, change * gather_rows(self.values, rows)], 2)
            # One by one: the same bits, whichever queries are filled up together.
            own = queries.repeat_interleave(rows.shape[1])
            sums.index_add_(0, own, change.flatten(0, 1))
