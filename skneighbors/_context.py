"""Which training rows the queries of a batch attend to."""

from itertools import pairwise

import torch


class ContextSampler:
    """Batches of queries and the rows that are their neighbours in training.

    Parameters
    ----------
    n_rows : int
        Number of training rows.
    batch_size : int
        Number of queries of a batch.
    context_size : int or None
        Number of further rows drawn for a batch as neighbours beside the batch
        itself; all rows if there are no more than that. None: the batch alone.
    generator : torch.Generator
        Source of the draws, on the CPU.
    device : torch.device
        Where the indices are needed.
    """

    def __init__(self, n_rows, batch_size, context_size, generator, device):
        self.n_rows = n_rows
        # No batch of one row, which would have no neighbour of its own.
        self.n_batches = max(1, min(-(-n_rows // batch_size), n_rows // 2))
        self.context_size = context_size or 0
        self.generator = generator
        self.device = device

    def epoch(self):
        """Batches of one epoch in random order.

        Yields
        ------
        rows : int Tensor of shape (N,)
            Rows to embed: the neighbours of this batch.
        queries : int Tensor of shape (b,)
            Positions in `rows` of the batch's queries.
        """
        if self.n_batches == 1:
            rows = torch.arange(self.n_rows, device=self.device)
            yield rows, rows
            return
        order = torch.randperm(self.n_rows, generator=self.generator).to(self.device)
        stops = [self.n_rows * i // self.n_batches for i in range(self.n_batches + 1)]
        everything = torch.arange(self.n_rows, device=self.device)
        for start, stop in pairwise(stops):
            n_free = self.n_rows - (stop - start) - self.context_size
            if n_free <= 0:
                yield everything, order[start:stop]
                continue
            # The order is random, so a stretch of it outside the batch is a
            # uniform sample: no draw over all rows for every batch.
            offset = int(torch.randint(n_free + 1, (), generator=self.generator))
            stretch = torch.arange(self.context_size, device=self.device)
            context = order[(stop + offset + stretch) % self.n_rows]
            batch = order[start:stop]
            yield torch.cat([batch, context]), everything[: stop - start]
