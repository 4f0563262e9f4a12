"""Blocks that fit a cache, and memory that is used again."""

import torch

# Of a block that a CPU's cache can hold.
CACHED_BYTES = 2**21


def keep_freed_memory():
    """Let the C library keep memory that a training step frees for the next one.

    glibc hands freed blocks of more than some hundred kilobytes back to the
    system, which then has to map them anew, page by page. It stops doing so up
    to the size of the largest block freed so far, at most 32 MiB; see
    M_MMAP_THRESHOLD in mallopt(3). The block is never touched, so it takes no
    memory; it holds for the whole process, and elsewhere does nothing. A fit on
    6,000 rows takes a tenth longer without.
    """
    torch.empty(2**25 - 2**14, dtype=torch.uint8, device="cpu")


def gather_rows(array, rows):
    """array[rows] of shape (b, c, ...) for rows (b, c); on the CPU three times faster."""
    if array.shape[1:].numel() == 1:
        return torch.take(array, rows).unsqueeze(-1)
    return array.index_select(0, rows.flatten()).view(*rows.shape, -1)


def cached_chunks(rows, n_queries, multiple=1):
    """Slices of rows (N, d), a multiple long, whose similarities to queries fit a CPU's cache."""
    length = max(1, len(rows))
    if rows.is_cpu:
        length = CACHED_BYTES // (rows.element_size() * n_queries)
        length = max(1, length // multiple) * multiple
    return [slice(start, start + length) for start in range(0, len(rows), length)]
