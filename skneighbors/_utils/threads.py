"""One thread a batch, so that bits do not depend on their number."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache

import torch
from sklearn import config_context, get_config
from threadpoolctl import ThreadpoolController

from .locks import ForkSafeLock


class _SingleThreaded:
    """Block in which torch's CPU kernels run in the calling thread alone.

    The bits of a sum depend on the number of threads that share it; alone, they
    are the same for any number of cores and in every worker process. Blocks of
    several threads may overlap, since torch counts for each thread; they must
    not be nested.
    """

    def __init__(self):
        self._lock = ForkSafeLock()
        self._n_inside = 0
        self._n_threads = 1

    @contextmanager
    def __call__(self):
        with self._lock:
            # Asking makes torch initialise the thread's count, once and for all.
            n_threads = torch.get_num_threads()
            if self._n_inside == 0:
                self._n_threads = n_threads
            self._n_inside += 1
            torch.set_num_threads(1)
        try:
            yield n_threads
        finally:
            with self._lock:
                self._n_inside -= 1
                torch.set_num_threads(self._n_threads)


single_threaded = _SingleThreaded()


def map_batches(function, batches):
    """Apply a function to batches, in as many threads as torch would use.

    Each batch is computed by one thread, so that results don't depend on their
    number. No gradients are recorded.

    Parameters
    ----------
    function : callable
    batches : iterable

    Returns
    -------
    results : list
    """
    batches = list(batches)
    n_threads = min(torch.get_num_threads(), len(batches))
    if n_threads > 1:
        with single_threaded():
            return _map_in_pool(function, batches, n_threads)
    if torch.get_num_threads() == 1:
        return [_compute_alone(function, batch) for batch in batches]
    with single_threaded():
        return [_compute_alone(function, batch) for batch in batches]


def _map_in_pool(function, batches, n_threads):
    config = get_config()

    def compute(batch):
        with config_context(**config):
            return _compute_alone(function, batch)

    # joblib's threads are looked after every ten milliseconds only.
    pool = ThreadPoolExecutor(n_threads)
    try:
        return list(pool.map(compute, batches))
    finally:
        pool.shutdown(cancel_futures=True)


@torch.no_grad()
def _compute_alone(function, batch):
    use_one_thread()
    return function(batch)


def use_one_thread():
    """Let torch's CPU kernels run in the calling thread alone."""
    # Asking makes torch initialise the thread's count, which would undo a change before.
    if torch.get_num_threads() != 1:
        torch.set_num_threads(1)


@cache
def _controller():
    return ThreadpoolController()


def one_openmp_thread():
    """Block in which scikit-learn's OpenMP loops run in the calling thread alone.

    Where other work has the cores, threads that wait for each other take up to a
    thousand times as long.
    """
    return _controller().limit(limits=1, user_api="openmp")
