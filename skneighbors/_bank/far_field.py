"""Random rows of a large bank that stand for those a prediction does not look at."""

import torch

from .._utils.blocks import cached_chunks
from ..nn import similarity
from ..nn._numpy import exp_
from .prefilter import product_dtype

# Queries whose sums are estimated together.
QUERIES_AT_ONCE = 64


class FarFieldSample:
    """Rows in single precision that stand for all others in sums over a bank.

    Parameters
    ----------
    head : nn.Module
        A head of similarities, in evaluation mode, whose parameters have a leading
        dimension of 1.
    z_n, values, sample_weight : Tensor
        The bank; see :class:`ExactAttention`.
    rows : int Tensor of shape (s,)
        A uniform sample of its rows.
    """

    def __init__(self, head, z_n, values, sample_weight, rows):
        self._dtype = product_dtype()
        self._head = head
        # Centred where that changes no distance: single precision has few digits.
        self._centre = z_n.mean(0) if head.similarity in ("l2", "l1") else torch.zeros_like(z_n[0])
        self._points = (z_n[rows] - self._centre).to(self._dtype)
        self._sq_norms = self._points.square().sum(1)
        self._values = values[rows].to(self._dtype)
        self._weight = torch.ones_like(self._values[:, 0])
        if sample_weight is not None:
            self._weight = sample_weight[rows].to(self._dtype)
        self._place = torch.full((len(z_n),), -1, dtype=torch.int32, device=z_n.device)
        self._place[rows] = torch.arange(len(rows), dtype=torch.int32, device=z_n.device)

    def sums(self, z, low, high, candidates, rest):
        """Estimate sums over all rows but the candidates of queries.

        Parameters
        ----------
        z : Tensor of shape (b, d)
            Queries.
        low, high : Tensor of shape (b, 1)
            Extremes of their similarities to the whole bank.
        candidates : int Tensor of shape (b, c)
            Rows; -1 for none.
        rest : Tensor of shape (b, 1)
            Total sample weight of all other rows.

        Returns
        -------
        total : Tensor of shape (b, 1)
            Sum of the weights, relative to that of a neighbour of similarity `high`.
        sums : Tensor of shape (b, k)
            Sums of the values times these weights.
        """
        query, column = self._sampled(candidates)
        weight = self._weight.to(rest.dtype)
        present = weight.sum().repeat(len(z)).index_add_(0, query, weight[column], alpha=-1)
        # Where none are left, none stand for the rest.
        some = (present > weight.min() / 2).unsqueeze(1)
        share = torch.where(some, rest / present.unsqueeze(1), 0)
        log_weights = self._head.log_weights(z[None], low[None], high[None])
        log_weights = log_weights.map(lambda part: part.to(self._dtype))
        points, high = (z - self._centre).to(self._dtype), high.to(self._dtype)
        total, sums = 0, 0
        with torch.autocast(z.device.type, enabled=False):
            for chunk in cached_chunks(self._points, len(z)):
                s = similarity(
                    points, self._points[chunk], self._head.similarity, self._sq_norms[chunk]
                ).minimum(high)
                weights = exp_(log_weights(s[None]))[0].mul_(self._weight[chunk])
                begin, end = torch.searchsorted(
                    column, column.new_tensor([chunk.start, chunk.stop])
                )
                # Candidates have been summed already.
                weights[query[begin:end], column[begin:end] - chunk.start] = 0
                total = total + weights.sum(1, keepdim=True)
                sums = sums + weights @ self._values[chunk]
        return share * total, share * sums

    def _sampled(self, candidates):
        """Find the candidates that are in the sample: their queries and columns, by column."""
        place = self._place[candidates.clamp(min=0)]
        query, i = ((place >= 0) & (candidates >= 0)).nonzero(as_tuple=True)
        column, order = place[query, i].long().sort()
        return query[order], column
