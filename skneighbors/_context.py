"""Which training rows the queries of a batch attend to."""

from itertools import pairwise
from typing import NamedTuple

import torch

# Rows among which a row's nearest are looked for: the cost stays linear in rows.
_SEARCHED_ROWS = 8192
_ROWS_AT_ONCE = 512


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


def count_batches(n_rows, batch_size):
    """Batches of an epoch; none of a single row, which would have no neighbour of its own."""
    return max(1, min(-(-n_rows // batch_size), n_rows // 2))


class ContextSampler:
    """Batches of queries and the rows that are their neighbours in training.

    Parameters
    ----------
    n_rows : int
        Number of training rows.
    n_members : int
        Number m of ensemble members, each with draws of its own.
    batch_size : int
        Largest number of rows drawn for a batch, as queries.
    context_size : int or None
        Number of further rows drawn for a batch as neighbours beside the batch
        itself; all rows if there are no more than that. None: the batch alone.
    n_near : int or None
        Of how many of its nearest rows a row drawn as a query brings one, which
        takes a place of the context and is a query too, once :meth:`find_near` has
        found them. None: it brings none.
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
        self._nearness = None  # (m, n_rows), of mean 1: to how many rows one is near
        self._seat = torch.zeros((n_members, n_rows), dtype=torch.int64, device=device)

    def find_near(self, z):
        """Find every row's nearest by the Euclidean distance of embeddings z (m, n_rows, d)."""
        self._near = torch.empty((*z.shape[:2], self.n_near), dtype=torch.int64, device=self.device)
        # Random blocks, one of them for all rows while there are few.
        n_blocks = -(-self.n_rows // _SEARCHED_ROWS)
        order = self._draw_order().to(self.device)
        for block in order.tensor_split(n_blocks):
            for member, near in zip(z, self._near, strict=True):
                near[block] = block[_nearest(member[block], self.n_near)]
        counts = [near.flatten().bincount(minlength=self.n_rows) for near in self._near]
        self._nearness = torch.stack(counts).to(z.dtype) / self.n_near

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
            offset = int(torch.randint(n_free + 1, (), generator=self.generator))
            stretch = torch.arange(n_random, device=self.device)
            drawn, context = order[:, start:stop], order[:, (stop + offset + stretch) % self.n_rows]
            if n_near:
                yield self._add_near(drawn, context, n_near)
            else:
                yield Batch(torch.cat([drawn, context], 1), n_drawn)

    def _add_near(self, drawn, context, n_brought):
        """Let the first `n_brought` of the rows drawn (m, p) bring a near one; weights.

        To the row that brings it, a near row stands for the `self.n_near` nearest; to
        the near row, the one that brought it stands for all that could have. The
        others share the rest of the training rows, in inverse proportion to how often
        a row is in a batch: some rows are near to many. So do the queries' errors. A
        row that stands in several columns has its weight in one of them.
        """
        n_drawn = drawn.shape[1]
        n_uniform, n_queries = n_drawn + context.shape[1], n_drawn + n_brought
        members = torch.arange(self.n_members, device=self.device).unsqueeze(1)
        pick = torch.randint(self.n_near, (self.n_members, n_brought, 1), generator=self.generator)
        nearest = self._near[members, drawn[:, :n_brought]]
        near = nearest.gather(2, pick.to(self.device)).squeeze(2)
        rows = torch.cat([drawn, near, context], 1)
        columns = torch.arange(rows.shape[1], device=self.device).expand_as(rows)
        # The last to write a row's seat keeps it: queries before context, those drawn first.
        for part in (slice(n_queries, None), slice(n_drawn, n_queries), slice(n_drawn)):
            self._seat.scatter_(1, rows[:, part], columns[:, part])
        seated = self._seat.gather(1, rows) == columns
        n_brought_to = n_brought * self._nearness.gather(1, rows)  # up to a factor, as a mean
        share = seated / (n_uniform + n_brought_to)

        brings, brought = slice(n_brought), slice(n_drawn, n_queries)
        group = share.new_zeros(self.n_members, n_queries, rows.shape[1])
        is_near = self._find_near_columns(rows)
        group[:, brings], group[:, brought] = is_near[:, brings], is_near.mT[:, brought]
        n_group = torch.zeros_like(share[:, :n_queries])
        n_group[:, brings] = self.n_near
        n_group[:, brought] = self.n_near * self._nearness.gather(1, near)
        stands = columns[:, :n_queries].clone()
        stands[:, brings], stands[:, brought] = self._seat.gather(1, near), columns[:, brings]
        own = columns[:, :n_queries].unsqueeze(2)
        weight = (1 - group).mul_(share.unsqueeze(1)).scatter_(2, own, 0.0)
        total = weight.sum(2).clamp_(min=1e-3 * share.max())
        weight.mul_(((self.n_rows - 1 - n_group) / total).unsqueeze(2))
        weight.scatter_(2, stands.unsqueeze(2), n_group.unsqueeze(2)).scatter_(2, own, 1.0)
        query_weight = (seated / (n_drawn + n_brought_to))[:, :n_queries]
        return Batch(rows, n_queries, weight, query_weight)

    def _find_near_columns(self, rows):
        """1 where a column's row is one of the nearest of another's, (m, N, N); 0 elsewhere."""
        n_columns = rows.shape[1]
        members = torch.arange(self.n_members, device=self.device).unsqueeze(1)
        nearest = self._near[members, rows]  # (m, N, self.n_near)
        # A seat from an earlier batch may be another row's now, or lie beyond.
        seat = self._seat.gather(1, nearest.flatten(1)).clamp(max=n_columns - 1)
        present = (rows.gather(1, seat) == nearest.flatten(1)).view_as(nearest)
        is_near = self._nearness.new_zeros(self.n_members, n_columns, n_columns)
        return is_near.scatter_add_(2, seat.view_as(nearest), present.to(is_near.dtype))

    def _draw_order(self):
        return torch.randperm(self.n_rows, generator=self.generator)


def _nearest(z, n_near):
    """Nearest other rows of each row of z (n, d), an int Tensor (n, n_near)."""
    sq_norms = z.square().sum(1)
    nearest = []
    for start in range(0, len(z), _ROWS_AT_ONCE):
        queries = z[start : start + _ROWS_AT_ONCE]
        distances = torch.addmm(sq_norms, queries, z.T, alpha=-2)  # up to the query's own norm
        distances.diagonal(start).fill_(torch.inf)
        nearest.append(distances.topk(n_near, largest=False).indices)
    return torch.cat(nearest)
