"""Which training rows the queries of a batch attend to."""

from itertools import pairwise

import torch

from .._utils.blocks import count_batches
from .._utils.device import CPU


def draw_batches(n_rows, n_members, batch_size, context_size, generator, device):
    """Draw the batches of one epoch; each has rows for every member, drawn apart.

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
    generator : torch.Generator
        Source of the draws, on the CPU.
    device : torch.device
        Where the indices are needed.

    Yields
    ------
    rows : int Tensor of shape (m, N)
        Rows to embed, the queries first.
    n_queries : int
    """
    n_batches, context_size = count_batches(n_rows, batch_size), context_size or 0
    if n_batches == 1:
        yield torch.arange(n_rows, device=device).expand(n_members, -1), n_rows
        return
    orders = [torch.randperm(n_rows, generator=generator, device=CPU) for _ in range(n_members)]
    order = torch.stack(orders).to(device)
    stops = [n_rows * i // n_batches for i in range(n_batches + 1)]
    for start, stop in pairwise(stops):
        n_queries = stop - start
        n_free = n_rows - n_queries - context_size
        if n_free <= 0:
            yield order.roll(-start, 1), n_queries
            continue
        # The order is random, so a stretch of it outside the batch is a
        # uniform sample: no draw over all rows for every batch.
        offset = int(torch.randint(n_free + 1, (), generator=generator, device=CPU))
        stretch = torch.arange(context_size, device=device)
        context = order[:, (stop + offset + stretch) % n_rows]
        yield torch.cat([order[:, start:stop], context], 1), n_queries
