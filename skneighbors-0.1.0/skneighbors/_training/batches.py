"""Which training rows the queries of a batch attend to."""

import math
from itertools import pairwise
from typing import NamedTuple

import torch
import torch.nn.functional as F

from .._utils.blocks import count_batches
from .._utils.device import CPU

# Rows among which a row's nearest are looked for: the cost stays linear in rows.
_SEARCHED_ROWS = 8192
# Rows to find the nearest of at a time; on a CPU, their products fit its cache.
_ROWS_AT_ONCE, _CACHED_ROWS = 512, 64


class Batch(NamedTuple):
    """Rows (m, N) to embed, the b queries of each of m members first.

    `weight` (m, b, N) is how many training rows each stands for in the eyes of
    a query, None if each stands for itself alone. `query_weight` (m, b) is how much
    a query's error counts, None if all count the same.
    """

    rows: torch.Tensor
    n_queries: int
    weight: torch.Tensor | None = None
    query_weight: torch.Tensor | None = None


class ContextSampler:
    """Batches of queries and the rows that are their neighbors in training.

    Parameters
    ----------
    n_rows : int
        Number of training rows.
    n_members : int
        Number m of ensemble members, which draw independently.
    batch_size : int
        Largest number of rows drawn for a batch, as queries.
    context_size : int or None
        Number of further rows drawn for a batch as neighbors beside the batch
        itself; all rows if there are no more than that. None: the batch alone.
    n_near : int or None
        A row drawn as a query is joined by a partner, one of this many of its nearest rows,
        which takes a place of the context and is a query too, once :meth:`find_near` has found
        them. None: by none.
    generator : torch.Generator
        Source of the draws, on the CPU.
    device : torch.device
        Where the indices are needed.
    """

    def __init__(self, n_rows, n_members, batch_size, context_size, n_near, generator, device):
        self.n_rows = n_rows
        self.n_members = n_members
        self.n_batches = count_batches(n_rows, batch_size)
        self.context_size = context_size or 0
        self.n_near = n_near
        self.generator = generator
        self.device = device
        self._near = None  # (m, n_rows, n_near)
        self._n_anchors_of = None  # (m, n_rows): to how many rows one is near
        self._column_of_row = torch.zeros((n_members, n_rows), dtype=torch.int64, device=device)

    def find_near(self, z):
        """Find every row's nearest by the Euclidean distance of embeddings z (m, n_rows, d)."""
        self._near = torch.empty((*z.shape[:2], self.n_near), dtype=torch.int64, device=self.device)
        # Rows are searched in random blocks; a few rows are one block.
        n_blocks = -(-self.n_rows // _SEARCHED_ROWS)
        order = self._draw_order().to(self.device)
        for block in order.tensor_split(n_blocks):
            for member, near in zip(z, self._near, strict=True):
                near[block] = block[_nearest(member[block], self.n_near)]
        counts = [near.flatten().bincount(minlength=self.n_rows) for near in self._near]
        self._n_anchors_of = torch.stack(counts).to(z.dtype)

    def epoch(self):
        """Batches of one epoch in random order.

        Yields
        ------
        batch : Batch
        """
        if self.n_batches == 1:
            rows = torch.arange(self.n_rows, device=self.device)
            yield Batch(rows.expand(self.n_members, -1), self.n_rows)
            return
        orders = [self._draw_order() for _ in range(self.n_members)]
        order = torch.stack(orders).to(self.device)
        stops = [self.n_rows * i // self.n_batches for i in range(self.n_batches + 1)]
        for start, stop in pairwise(stops):
            n_drawn = stop - start
            n_near = 0 if self._near is None else min(n_drawn, self.context_size)
            n_random = self.context_size - n_near
            n_free = self.n_rows - n_drawn - n_random
            if n_free <= 0:
                yield Batch(order.roll(-start, 1), n_drawn)
                continue
            # The order is random, so a stretch of it outside the batch is a
            # uniform sample: no draw over all rows for every batch.
            offset = int(torch.randint(n_free + 1, (), generator=self.generator, device=CPU))
            stretch = torch.arange(n_random, device=self.device)
            drawn, context = order[:, start:stop], order[:, (stop + offset + stretch) % self.n_rows]
            if n_near:
                yield self._add_near(drawn, context, n_near)
            else:
                yield Batch(torch.cat([drawn, context], 1), n_drawn)

    def _add_near(self, drawn, context, n_partners):
        """Give the first `n_partners` of the rows drawn (m, p), the anchors, a partner each.

        Among the neighbors of an anchor, its partner stands for the `self.n_near` nearest of
        it; among those of the partner, the anchor stands for all rows that the partner is near
        to. All others share the rest of the training rows, each in inverse proportion to the
        probability of being in the batch, and so do the queries' errors.
        """
        n_drawn = drawn.shape[1]
        n_queries = n_drawn + n_partners
        anchors, partners = slice(n_partners), slice(n_drawn, n_queries)
        shape = self.n_members, n_partners, 1
        pick = torch.randint(self.n_near, shape, generator=self.generator, device=CPU)
        near = self._nearest_of(drawn[:, anchors]).gather(2, pick.to(self.device)).squeeze(2)
        rows = torch.cat([drawn, near, context], 1)
        columns = torch.arange(rows.shape[1], device=self.device).expand_as(rows)
        # A row in several columns counts in one: the one written last. Queries go before
        # context, and those drawn before partners.
        for part in (slice(n_queries, None), partners, slice(n_drawn)):
            self._column_of_row.scatter_(1, rows[:, part], columns[:, part])
        counts = self._column_of_row.gather(1, rows) == columns

        n_anchors = self._n_anchors_of.gather(1, rows)
        nearest = self._find_columns(rows, slice(n_queries), rows.shape[1])
        of_context = self._find_columns(rows, slice(n_queries, None), n_queries)
        # Rows that one column stands for, and this column and their number.
        group = torch.zeros_like(nearest)
        group[:, anchors] = nearest[:, anchors]
        group[:, partners] = torch.cat([nearest[..., partners], of_context[..., partners]], 1).mT
        stand_in, n_group = columns[:, :n_queries].clone(), torch.zeros_like(nearest[:, :, 0])
        stand_in[:, anchors], n_group[:, anchors] = self._column_of_row.gather(1, near), self.n_near
        stand_in[:, partners], n_group[:, partners] = columns[:, anchors], n_anchors[:, partners]

        # A row drawn that is no anchor, and a partner, has no partner among its nearest; and
        # the anchor of a partner no other one. (The nearest of anchors have no weight.)
        spent = nearest
        spent[:, partners] += nearest[:, anchors]
        n_uniform = n_drawn + context.shape[1]
        absent = self._exclusion_probability(n_anchors.unsqueeze(1) - spent, n_uniform, n_partners)
        weight = (1 - group).mul_(counts.unsqueeze(1)).div_(1 - absent)
        weight = self._complete(weight, n_group, stand_in.unsqueeze(2))
        # Queries that count in another column, whose weights here mean nothing, have no error.
        absent = self._exclusion_probability(n_anchors[:, :n_queries], n_drawn, n_partners)
        return Batch(rows, n_queries, weight, counts[:, :n_queries] / (1 - absent))

    def _complete(self, weight, n_group, stand_in):
        """Scale weights (m, b, N), in place, so that they sum to all training rows.

        They become 1 for the query itself, `n_group` (m, b) for the column `stand_in`
        (m, b, 1), and the others sum to what is left, if there are any.
        """
        n_queries = weight.shape[1]
        itself = torch.arange(n_queries, device=self.device).view(1, -1, 1).expand_as(stand_in)
        weight.scatter_(2, itself, 0.0)
        total = weight.sum(2)
        # Without other columns, none stands for the rest.
        scale = ((self.n_rows - 1 - n_group) / total).masked_fill_(total == 0, 0.0)
        weight.mul_(scale.unsqueeze(2)).scatter_(2, stand_in, n_group.unsqueeze(2))
        return weight.scatter_(2, itself, 1.0)

    def _nearest_of(self, rows):
        """Nearest rows of each of `rows` (m, b), as (m, b, self.n_near)."""
        members = torch.arange(self.n_members, device=self.device).unsqueeze(1)
        return self._near[members, rows]

    def _exclusion_probability(self, n_anchors, n_uniform, n_partners):
        """Probability that a row which is near to so many others is not in a batch."""
        kept = 1 - n_partners / (self.n_rows * self.n_near)
        return (n_anchors * math.log(kept)).exp_().mul_(1 - n_uniform / self.n_rows)

    def _find_columns(self, rows, chosen, n_columns):
        """1 at [m, i, j] where one of the nearest of chosen row i counts in column j."""
        nearest = self._nearest_of(rows[:, chosen])
        # A column from an earlier batch may be another row's now, or lie beyond.
        column = self._column_of_row.gather(1, nearest.flatten(1)).clamp_(max=n_columns - 1)
        present = (rows.gather(1, column) == nearest.flatten(1)).view_as(nearest)
        found = self._n_anchors_of.new_zeros(*nearest.shape[:2], n_columns)
        # Entries are added: if one row is not present, another in its column may be.
        return found.scatter_add_(2, column.view_as(nearest), present.to(found.dtype))

    def _draw_order(self):
        return torch.randperm(self.n_rows, generator=self.generator, device=CPU)


def _nearest(z, n_near):
    """Nearest other rows of each row of z (n, d), an int Tensor (n, n_near)."""
    half_sq_norms = z.square().sum(1).div_(-2)
    length = _CACHED_ROWS if z.is_cpu else _ROWS_AT_ONCE
    nearest = []
    for start in range(0, len(z), length):
        # Scores fall with the distance to the query.
        scores = F.linear(z[start : start + length], z, half_sq_norms)
        scores.diagonal(start).fill_(-torch.inf)
        nearest.append(scores.topk(n_near).indices)
    return torch.cat(nearest)
