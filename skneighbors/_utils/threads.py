"""One thread a batch, so that results do not depend on their number; and no more than allowed."""

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import lru_cache
from threading import local

import torch
from joblib import cpu_count
from sklearn import config_context, get_config
from threadpoolctl import ThreadpoolController

from .locks import ForkSafeLock


class _TorchThreads:
    """How many threads torch's CPU kernels run in, set for blocks of code.

    Blocks of several threads may overlap, since torch counts for each thread. One that begins
    finds the number that another has set last, so when the outermost block of a thread ends,
    it gets the number there was before any.
    """

    def __init__(self):
        self._lock = ForkSafeLock()
        self._n_inside = 0
        self._n_threads = 1
        self._has_shared = False
        self._of_thread = local()

    @contextmanager
    def for_batches(self, n_threads):
        """Block in which :func:`map_batches` may take so many, when called by this thread."""
        before = getattr(self._of_thread, "for_batches", None)
        self._of_thread.for_batches = n_threads
        try:
            yield
        finally:
            self._of_thread.for_batches = before

    def count_for_batches(self):
        """Count the threads that batches may take."""
        return getattr(self._of_thread, "for_batches", None) or self.note()

    def note(self):
        """Count torch's threads; more than one would be missing in a forked child."""
        n_threads = torch.get_num_threads()
        self._has_shared |= n_threads > 1
        return n_threads

    def stay_so_in_child(self):
        """Let torch and OpenMP compute in one thread in a child, which would wait for others.

        They are the parent's, and missing in a forked process.
        """
        if self._has_shared:
            self._n_threads = 1
            torch.set_num_threads(1)
            one_openmp_thread()

    @contextmanager
    def at_most(self, n_threads):
        """Block of no more threads than this; yields how many there were."""
        with self._lock:
            # The query makes torch initialize the thread's count, once and for all.
            before, depth = self.note(), getattr(self._of_thread, "depth", 0)
            if self._n_inside == 0:
                self._n_threads = before
            self._n_inside += 1
            self._of_thread.depth = depth + 1
            torch.set_num_threads(min(n_threads, before))
        try:
            yield before
        finally:
            with self._lock:
                self._n_inside -= 1
                self._of_thread.depth = depth
                torch.set_num_threads(min(before, self._n_threads) if depth else self._n_threads)


torch_threads = _TorchThreads()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=torch_threads.stay_so_in_child)


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


@lru_cache(maxsize=1)
def _find_libraries(n_modules):
    """Find the libraries whose threads can be counted; only imports of modules load more."""
    return ThreadpoolController()


def one_openmp_thread():
    """Block in which scikit-learn's OpenMP loops run in the calling thread alone.

    Where other work has the cores, threads that wait for each other take up to a
    thousand times as long.
    """
    return _find_libraries(len(sys.modules)).limit(limits=1, user_api="openmp")


@contextmanager
def _openmp_at_most(n_threads):
    """Block in which loops of OpenMP that the calling thread begins have no more threads."""
    with ExitStack() as stack:
        for library in _find_libraries(len(sys.modules)).lib_controllers:
            before = library.get_num_threads() if library.user_api == "openmp" else 0
            if before > n_threads:
                library.set_num_threads(n_threads)
                stack.callback(library.set_num_threads, before)
        yield
