"""Blocks of rows that fit a cache and memory."""

from sklearn import get_config

# Size of a block that fits the cache of a CPU.
CACHED_BYTES = 2**21
# Size of a block of differences between queries and rows.
DIFFERENCES_BYTES = 2**24


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
