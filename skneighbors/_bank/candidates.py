"""Attention to the nearest rows of a large bank, found through an index, and a sample of others."""

import math

import torch
from sklearn.utils import gen_batches

from .._utils.blocks import gather_rows
from .._utils.threads import map_batches
from ..nn import similarity
from ..nn._numpy import argmax, exp_
from .exact import ExactAttention, average_rows, weigh_rows, weight_present
from .far_field import QUERIES_AT_ONCE, FarFieldSample
from .index import IndexSpace, make_index
from .prefilter import product_dtype

# Random rows that stand for all that are not candidates, for every candidate.
_SAMPLED_PER_CANDIDATE = 64
# Rows found beyond the candidates, to tell by double precision which these are.
_MORE_FOUND = 32
# Queries searched at once.
_SEARCH_BLOCK = 1024
# Bytes of embeddings gathered at once.
_GATHERED_BYTES = 2**23
# Rows among which the furthest from a query is looked for: outlying ones and any.
_N_OUTLYING, _N_SAMPLED = 256, 256


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
        self._points = IndexSpace(z_n, head.similarity)
        points = self._points.of_neighbors(z_n).cpu()
        self._index = make_index(points, head.similarity, algorithm)
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
        rows, ambiguous = self._search(z, n_candidates)
        pairs = zip(z.split(_SEARCH_BLOCK), rows.split(_SEARCH_BLOCK), strict=True)
        out = torch.cat([self._average(*pair, sample) for pair in pairs])
        # Single precision may not hold a query, either.
        alone = (ambiguous | ~out.isfinite().all(1)).nonzero().squeeze(1)
        if len(alone):
            exact = ExactAttention(self.head, self.z_n, self.values, self.weight)
            out[alone] = exact.average(z[alone])
        return out

    def find(self, z, n_candidates):
        """Rows (n, n_candidates) nearest to queries (n, d), the nearest first; -1 for none."""
        return self._search(z, n_candidates)[0]

    def _search(self, z, n_candidates):
        """Find candidates, and the queries (n,) to which the index cannot tell which they are.

        An index rounds by the batch it searches. So it finds some rows more than are needed,
        and double precision tells which to take, unless more rows than that are as near.
        """
        found = []
        n_found = min(n_candidates + _MORE_FOUND, len(self.z_n))
        for block in z.split(_SEARCH_BLOCK):
            rows = self._index.search(self._points.of_queries(block).cpu(), n_found)
            rows = rows.to(z.device).sort(1).values
            length = max(1, _GATHERED_BYTES // (8 * z.shape[1] * n_found))
            batches = gen_batches(len(block), length)
            found += map_batches(
                lambda batch, z=block, rows=rows: self._rank(z[batch], rows[batch]), batches
            )
        rows, s = map(torch.cat, zip(*found, strict=True))
        if n_found == len(self.z_n):
            ambiguous = torch.zeros(len(z), dtype=torch.bool, device=z.device)
        else:
            as_near = self._points.as_near_as(z, s[:, n_candidates - 1], self._index.dtype)
            # Where fewer are found, none are left out.
            ambiguous = s[:, -1].isfinite() & (s[:, -1] >= as_near)
        return rows[:, :n_candidates], ambiguous

    def _rank(self, z, rows):
        """Sort rows (b, c) found for queries (b, d) by similarity, then number."""
        s = similarity(
            z.unsqueeze(1), gather_rows(self.z_n, rows.clamp(min=0)), self.head.similarity
        )
        s, order = (
            s.squeeze(1).masked_fill(rows < 0, -torch.inf).sort(dim=1, descending=True, stable=True)
        )
        return rows.gather(1, order), s

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
        log_weights = head.log_weights(z[None], low[None], high[None])
        weights = exp_(log_weights(s[None]))[0].mul_(weight)
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
            sample = FarFieldSample(self.head, self.z_n, self.values, self.weight, rows)
            kept = self._kept_sample = key, sample
        return kept[1]
