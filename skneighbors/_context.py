"""Which training rows the queries of a batch attend to."""

from itertools import pairwise
from typing import NamedTuple

import torch

# Rows among which a row's nearest are looked for: the cost stays linear in rows.
_SEARCHED_ROWS = 8192
_ROWS_AT_ONCE = 512


class Batch(NamedTuple):
    """Rows (m, N) to embed, the queries of each of m members first.

    `weight` (m, b, N) is how many training rows each stands for in the eyes of
    a query, None if each stands for itself alone.
    """

    rows: torch.Tensor
    n_queries: int
    weight: torch.Tensor | None


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
        Number of queries of a batch.
    context_size : int or None
        Number of further rows drawn for a batch as neighbours beside the batch
        itself; all rows if there are no more than that. None: the batch alone.
    n_near : int or None
        Of how many of its nearest rows a query draws one into the context; None
        for uniform draws alone.
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
            yield Batch(rows.expand(self.n_members, -1), self.n_rows, None)
            return
        orders = [self._draw_order() for _ in range(self.n_members)]
        order = torch.stack(orders).to(self.device)
        stops = [self.n_rows * i // self.n_batches for i in range(self.n_batches + 1)]
        for start, stop in pairwise(stops):
            n_queries = stop - start
            n_near = 0 if self._near is None else min(n_queries, self.context_size)
            n_random = self.context_size - n_near
            n_free = self.n_rows - n_queries - n_random
            if n_free <= 0:
                yield Batch(order.roll(-start, 1), n_queries, None)
                continue
            # The order is random, so a stretch of it outside the batch is a
            # uniform sample: no draw over all rows for every batch.
            offset = int(torch.randint(n_free + 1, (), generator=self.generator))
            stretch = torch.arange(n_random, device=self.device)
            context = order[:, (stop + offset + stretch) % self.n_rows]
            rows = torch.cat([order[:, start:stop], context], 1)
            batch = Batch(rows, n_queries, None)
            yield self._add_near(rows, n_queries, n_near) if n_near else batch

    def _add_near(self, rows, n_queries, n_near):
        """Add one near row for each of the first `n_near` queries, and weights.

        The near row stands for the query's `self.n_near` nearest. The others
        share the rest of the training rows, in inverse proportion to how often
        a row is drawn: some rows are near to many. A row that stands in several
        columns has its weight in one of them.
        """
        n_drawn = rows.shape[1]
        members = torch.arange(self.n_members, device=self.device).unsqueeze(1)
        nearest = self._near[members, rows[:, :n_queries]]  # (m, b, self.n_near)
        pick = torch.randint(self.n_near, (self.n_members, n_near, 1), generator=self.generator)
        near = nearest[:, :n_near].gather(2, pick.to(self.device)).squeeze(2)
        rows = torch.cat([rows, near], 1)
        # The last to write a row's seat keeps it: near rows first, the batch last.
        columns = torch.arange(rows.shape[1], device=self.device).expand_as(rows)
        self._seat.scatter_(1, near, columns[:, n_drawn:])
        self._seat.scatter_(1, rows[:, :n_drawn], columns[:, :n_drawn])
        seated = self._seat.gather(1, rows) == columns
        # Draws of a row in this batch and as many like it, up to a factor.
        rate = n_drawn + self._nearness.gather(1, rows) * n_near
        weight = self._weigh_others(rows, nearest, n_near, seated / rate)
        weight[:, :n_near].scatter_(2, self._seat.gather(1, near).unsqueeze(2), float(self.n_near))
        weight.scatter_(2, columns[:, :n_queries].unsqueeze(2), 1.0)
        return Batch(rows, n_queries, weight)

    def _weigh_others(self, rows, nearest, n_near, share):
        """Weights (m, b, N) in proportion to `share` (m, N), 0 for a query's nearest rows."""
        n_queries = nearest.shape[1]
        # The columns of the nearest rows; a seat from an earlier batch may be
        # another row's now, or lie beyond.
        seat = self._seat.gather(1, nearest.flatten(1)).clamp(max=rows.shape[1] - 1)
        present = rows.gather(1, seat).view_as(nearest) == nearest
        # Queries without a near row see their nearest rows like any other.
        has_near = torch.arange(n_queries, device=self.device).unsqueeze(1) < n_near
        present &= has_near
        n_rest = self.n_rows - 1 - self.n_near * has_near  # (b, 1)
        taken = share.gather(1, seat).view_as(nearest).masked_fill(~present, 0).sum(2)
        others = share.sum(1, keepdim=True) - share[:, :n_queries] - taken  # (m, b)
        scale = n_rest / others.clamp(min=1e-3 * share.max()).unsqueeze(2)
        own = torch.arange(n_queries, device=self.device).view(1, -1, 1)
        emptied = torch.where(present, seat.view_as(nearest), own)  # own: set by the caller
        return (scale * share.unsqueeze(1)).scatter_(2, emptied, 0.0)

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
