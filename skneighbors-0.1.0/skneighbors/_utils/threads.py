"""One thread a batch, so that results do not depend on their number; and no more than allowed."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager

import torch
from joblib import cpu_count
from sklearn import config_context, get_config

from .process import find_libraries, torch_threads


def single_threaded():
    """Block in which torch's CPU kernels run in the calling thread alone.

    The bits of a sum depend on the number of threads that share it; alone, they
    are the same for any number of cores and in every worker process.
    """
    return torch_threads.at_most(1)


@contextmanager
def at_most(n_jobs):
    """Block in which torch and OpenMP use no more threads than `n_jobs`.

    Parameters
    ----------
    n_jobs : int or None
        -1 is as many as there are cores, -2 one fewer, and so on. None: as many as torch and
        OpenMP are set to.
    """
    if n_jobs is None:
        yield
        return
    n_jobs = int(n_jobs)  # torch takes none of NumPy's
    n_threads = n_jobs if n_jobs > 0 else max(1, cpu_count() + 1 + n_jobs)
    with torch_threads.at_most(n_threads), _openmp_at_most(n_threads):
        yield


@contextmanager
def batches_at_most(n_jobs):
    """Block in which batches alone are shared among threads, no more than `n_jobs`.

    What torch computes of all rows at once, it computes in the calling thread.
    """
    with at_most(n_jobs), single_threaded() as n_threads, torch_threads.for_batches(n_threads):
        yield


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
    n_threads = max(1, min(torch_threads.count_for_batches(), len(batches)))
    if n_threads == torch.get_num_threads() == 1:
        return map_in_threads(function, batches, 1)
    with single_threaded():
        return map_in_threads(function, batches, n_threads)


def map_in_threads(function, batches, n_threads):
    """Apply a function to batches, in so many threads; see :func:`map_batches`."""
    if n_threads == 1:
        return [_compute_alone(function, batch) for batch in batches]
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
    # The query makes torch initialize the thread's count, which would undo a change before.
    if torch.get_num_threads() != 1:
        torch.set_num_threads(1)


@contextmanager
def _openmp_at_most(n_threads):
    """Block in which loops of OpenMP that the calling thread begins have no more threads."""
    with ExitStack() as stack:
        for library in find_libraries().lib_controllers:
            before = library.get_num_threads() if library.user_api == "openmp" else 0
            if before > n_threads:
                library.set_num_threads(n_threads)
                stack.callback(library.set_num_threads, before)
        yield
