"""State of the process: what outlives a call and is no estimator's, each with its reason."""

import os
import sys
from contextlib import contextmanager
from functools import cache, lru_cache
from threading import Lock, local

import torch
from threadpoolctl import ThreadpoolController


def make_lock():
    """Make a function that gives the lock of this process: a forked child has another.

    A thread that held the parent's is missing in the child, where nobody would release it.
    """
    locks = {}
    return lambda: locks.setdefault(os.getpid(), Lock())


class _TorchThreads:
    """How many threads torch's CPU kernels run in, set for blocks of code.

    Blocks of several threads may overlap, since torch counts for each thread. One that begins
    finds the number that another has set last, so when the outermost block of a thread ends,
    it gets the number there was before any.
    """

    def __init__(self):
        self._lock = make_lock()
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
        with self._lock():
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
            with self._lock():
                self._n_inside -= 1
                self._of_thread.depth = depth
                torch.set_num_threads(min(before, self._n_threads) if depth else self._n_threads)


def find_libraries():
    """Find the libraries whose threads can be counted; only imports of modules load more."""
    return _find_libraries(len(sys.modules))


@lru_cache(maxsize=1)
def _find_libraries(n_modules):
    return ThreadpoolController()


def one_openmp_thread():
    """Block in which scikit-learn's OpenMP loops run in the calling thread alone.

    Where other work has the cores, threads that wait for each other take up to a
    thousand times as long.
    """
    return find_libraries().limit(limits=1, user_api="openmp")


@contextmanager
def one_blas_thread():
    """Block in which linear algebra of NumPy's and SciPy's libraries runs in one thread.

    Its last bits depend on how many threads share it. They are counted for the process, so that
    one block waits for another.
    """
    with counting_blas_threads(), find_libraries().limit(limits=1, user_api="blas"):
        yield


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


# While rows join or leave: threads that change the same estimator must not lose any.
changing_rows = make_lock()
# While the libraries of linear algebra have one thread.
counting_blas_threads = make_lock()
# While torch's global generators, which all threads share, are borrowed.
borrowing_generators = make_lock()
torch_threads = _TorchThreads()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=torch_threads.stay_so_in_child)
