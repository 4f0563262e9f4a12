"""Blocks that fit a cache, and memory that is used again."""

from functools import cache

import torch
from sklearn import get_config

# Size of a block that fits the cache of a CPU.
CACHED_BYTES = 2**21
# Size of a block of differences between queries and rows.
DIFFERENCES_BYTES = 2**24


@cache
def keep_freed_memory():
    """Let the C library keep memory that a training step frees for the next one.

    glibc hands freed blocks of more than some hundred kilobytes back to the
    system, which then has to map them again, page by page. It stops doing so up
    to the size of the largest block freed so far, at most 32 MiB; see
    M_MMAP_THRESHOLD in mallopt(3). The block is never touched, so it takes no
    memory; it holds for the whole process, so once will do, and elsewhere does nothing. Without
    it, a fit on 6,000 rows takes 5 to 9 % more of a CPU's time, a prediction 7 %.
    """
    torch.empty(2**25 - 2**14, dtype=torch.uint8, device="cpu")


def bounded_length(row_bytes, n_bytes=None):
    """Count the rows whose work fits scikit-learn's ``working_memory``, and `n_bytes` if given."""
    allowed = get_config()["working_memory"] * 2**20 / 8
    return int(max(1, (allowed if n_bytes is None else min(allowed, n_bytes)) // row_bytes))


def cut(n_rows, length):
    """Slices of so many rows, which end where these do; scikit-learn's take long to begin."""
    return [slice(i, min(i + length, n_rows)) for i in range(0, n_rows, length)]


def count_batches(n_rows, batch_size):
    """Batches of an epoch; none of a single row, which would have no neighbor."""
    return max(1, min(-(-n_rows // batch_size), n_rows // 2))


def gather_rows(array, rows):
    """array[rows] of shape (b, K, ...) for rows (b, K); on the CPU three times faster."""
    return array.index_select(0, rows.flatten()).view(*rows.shape, *array.shape[1:])
