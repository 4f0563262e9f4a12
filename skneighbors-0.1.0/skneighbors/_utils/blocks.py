"""Blocks of rows that fit a cache and memory."""

import math

import numpy as np
import torch
from sklearn import get_config

from .device import CPU

# Size of a block that fits the cache of a CPU.
CACHED_BYTES = 2**21
# Queries of a block on a CPU, if memory allows, even if they do not fit the cache: for each block
# a product reads all rows.
_FEWEST_QUERIES = 32
# Size of a block of differences between queries and rows.
DIFFERENCES_BYTES = 2**24


def bounded_length(row_bytes, n_bytes=math.inf):
    """Count the rows whose work fits an eighth of scikit-learn's ``working_memory``, and `n_bytes`.

    Several threads work at once, and a step may need several such arrays.
    """
    allowed = get_config()["working_memory"] * 2**20 / 8
    return int(max(1, min(allowed, n_bytes) // row_bytes))


def count_queries(row_bytes, is_cpu, n_temporaries=1):
    """Count the queries of a block, whose similarities with all rows take so many bytes each.

    `n_temporaries` such arrays are in memory at once.
    """
    n_bytes = max(CACHED_BYTES, _FEWEST_QUERIES * row_bytes) if is_cpu else math.inf
    return bounded_length(n_temporaries * row_bytes, n_temporaries * n_bytes)


def cut(n_rows, length):
    """Slices of so many rows, which end where these do; scikit-learn's take long to begin."""
    return [slice(i, min(i + length, n_rows)) for i in range(0, n_rows, length)]


def count_batches(n_rows, batch_size):
    """Batches of an epoch; none of a single row, which would have no neighbor."""
    return max(1, min(-(-n_rows // batch_size), n_rows // 2))


def gather_rows(array, rows):
    """array[rows] of shape (b, K, ...) for rows (b, K); on the CPU three times faster."""
    return array.index_select(0, rows.flatten()).view(*rows.shape, *array.shape[1:])


def sample_rows(n_rows, n_most):
    """Numbers of all rows, or of some at random; in their order. More rows change few of them."""
    if n_rows <= n_most:
        return torch.arange(n_rows, device=CPU)
    numbers = np.random.Generator(np.random.Philox(0)).random(n_rows)
    return torch.from_numpy(np.sort(np.argpartition(numbers, n_most)[:n_most]))
