"""One thread a batch of work."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from threading import Event

import pytest
import sklearn.ensemble  # loads a library of OpenMP  # noqa: F401
import torch
from sklearn import config_context, get_config

from skneighbors._utils.threads import at_most, map_batches, single_threaded


def counts_of_overlapping(pool, blocks, first_out):
    """Threads within and after each of two blocks that two threads enter in turn."""
    inside, leave = [Event(), Event()], [Event(), Event()]
    counts = {}

    def enter(i):
        with blocks[i]():
            inside[i].set()
            assert leave[i].wait(20)
            counts[i] = [torch.get_num_threads()]
        counts[i].append(torch.get_num_threads())

    jobs = []
    for i in range(2):
        jobs.append(pool.submit(enter, i))
        assert inside[i].wait(20)
    for i in (first_out, 1 - first_out):
        leave[i].set()
        jobs[i].result()
    return counts


@pytest.mark.parametrize("first_out", [0, 1])
def test_blocks_of_two_threads_overlap(thread_count, first_out):
    thread_count(3)
    with ThreadPoolExecutor(2) as pool:
        counts = counts_of_overlapping(pool, [single_threaded, single_threaded], first_out)
    assert counts == {0: [1, 3], 1: [1, 3]}


@pytest.mark.parametrize("n_threads", [1, 3])
def test_each_batch_is_mapped_in_one_thread(thread_count, n_threads):
    thread_count(n_threads)
    seen = []

    def invert(batch):
        state = torch.get_num_threads(), torch.is_grad_enabled(), get_config()["working_memory"]
        seen.append(state)
        return 1 / batch

    with config_context(working_memory=17):
        assert map_batches(invert, iter(range(1, 21))) == [1 / i for i in range(1, 21)]
        assert seen == 20 * [(1, False, 17)]
        with pytest.raises(ZeroDivisionError):
            map_batches(invert, [1, 0, 2])
    assert torch.get_num_threads() == n_threads
    assert torch.is_grad_enabled()


def test_a_count_that_is_set_meanwhile_does_not_matter(thread_count):
    thread_count(3)
    seen = []

    def work(_):
        seen.append(torch.get_num_threads())
        torch.set_num_threads(3)

    map_batches(work, range(20))
    assert seen == 20 * [1]
    assert torch.get_num_threads() == 3


def test_batches_are_mapped_at_once(thread_count):
    thread_count(3)
    barrier = threading.Barrier(3)
    assert sorted(map_batches(lambda _: barrier.wait(20), range(3))) == [0, 1, 2]


def test_one_thread_is_the_callers(thread_count):
    thread_count(1)
    assert set(map_batches(lambda _: threading.get_ident(), range(5))) == {threading.get_ident()}


@pytest.mark.parametrize("n_jobs", [1, 2, 3, 9, None])
def test_a_limit_holds_inside_its_block(four_threads, openmp_threads, n_jobs):
    allowed, before = min(n_jobs or 4, 4), openmp_threads()
    assert 4 in before
    with at_most(n_jobs):
        assert torch.get_num_threads() == allowed
        assert openmp_threads() == [min(allowed, own) for own in before]
        with single_threaded() as usual:
            assert (usual, torch.get_num_threads()) == (allowed, 1)
        assert torch.get_num_threads() == allowed
        seen = set(map_batches(lambda _: threading.get_ident(), range(50)))
        assert len(seen) <= allowed
    assert (torch.get_num_threads(), openmp_threads()) == (4, before)


def test_limits_below_0_count_from_the_cores(four_threads, openmp_threads, monkeypatch):
    monkeypatch.setattr("skneighbors._utils.threads.cpu_count", lambda: 3)
    for n_jobs, allowed in {-1: 3, -2: 2, -3: 1, -9: 1}.items():
        with at_most(n_jobs):
            assert torch.get_num_threads() == max(openmp_threads()) == allowed


def test_an_exception_ends_a_limit(four_threads, openmp_threads):
    before = openmp_threads()
    with pytest.raises(KeyError), at_most(2), single_threaded():
        raise KeyError
    assert (torch.get_num_threads(), openmp_threads()) == (4, before)


@pytest.mark.parametrize("first_out", [0, 1])
def test_limits_of_two_threads_overlap(four_threads, first_out):
    @contextmanager
    def within(n_jobs):
        with at_most(n_jobs), single_threaded():
            yield

    with ThreadPoolExecutor(2) as pool:
        counts = counts_of_overlapping(pool, [partial(within, 1), partial(within, 2)], first_out)
        assert pool.submit(torch.get_num_threads).result() == 4
    assert {i: after for i, (_, after) in counts.items()} == {0: 4, 1: 4}
