"""One thread a batch of work."""

import threading
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest
import torch
from sklearn import config_context, get_config

from skneighbors._utils.threads import map_batches, single_threaded


@pytest.mark.parametrize("n_threads", [1, 3])
def test_torch_runs_in_one_thread_inside_a_block(thread_count, n_threads):
    thread_count(n_threads)
    for _ in range(2):
        with single_threaded() as usual:
            assert usual == n_threads
            assert torch.get_num_threads() == 1
        assert torch.get_num_threads() == n_threads


def test_an_exception_ends_a_block(thread_count):
    thread_count(3)
    with pytest.raises(KeyError), single_threaded():
        raise KeyError
    assert torch.get_num_threads() == 3
    thread_count(2)
    with single_threaded() as usual:
        assert usual == 2
    assert torch.get_num_threads() == 2


@pytest.mark.parametrize("first_out", [0, 1])
def test_blocks_of_two_threads_overlap(thread_count, first_out):
    thread_count(3)
    inside, leave = [Event(), Event()], [Event(), Event()]
    counts = {}

    def enter(i):
        with single_threaded():
            inside[i].set()
            assert leave[i].wait(20)
            counts[i] = [torch.get_num_threads()]
        counts[i].append(torch.get_num_threads())

    with ThreadPoolExecutor(2) as pool:
        jobs = []
        for i in range(2):
            jobs.append(pool.submit(enter, i))
            assert inside[i].wait(20)
        for i in (first_out, 1 - first_out):
            leave[i].set()
            jobs[i].result()
    assert counts == {0: [1, 3], 1: [1, 3]}


@pytest.mark.parametrize("n_threads", [1, 3])
def test_each_batch_is_mapped_in_one_thread(thread_count, n_threads):
    thread_count(n_threads)
    seen = []

    def square(batch):
        seen.append((torch.get_num_threads(), torch.is_grad_enabled()))
        return batch**2

    assert map_batches(square, iter(range(20))) == [i**2 for i in range(20)]
    assert seen == 20 * [(1, False)]
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


@pytest.mark.parametrize("n_threads", [1, 3])
def test_an_error_of_a_batch_is_raised(thread_count, n_threads):
    thread_count(n_threads)
    with pytest.raises(ZeroDivisionError):
        map_batches(lambda batch: 1 / batch, [1, 0, 2])
    assert torch.get_num_threads() == n_threads


@pytest.mark.parametrize("n_threads", [1, 3])
def test_threads_see_the_callers_configuration(thread_count, n_threads):
    thread_count(n_threads)
    with config_context(working_memory=17):
        seen = map_batches(lambda _: get_config()["working_memory"], range(4))
    assert seen == 4 * [17]
