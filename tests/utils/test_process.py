"""Locks that a forked process does not inherit locked."""

import gc
import weakref
from concurrent.futures import ThreadPoolExecutor
from threading import Event, Thread

import pytest

from skneighbors._utils.process import ForkSafeLock


def is_free(lock, seconds=20):
    """Whether another thread can take the lock in time."""
    taken = Event()

    def take():
        with lock:
            taken.set()

    Thread(target=take, daemon=True).start()
    return taken.wait(seconds)


def is_held(lock):
    return not is_free(lock, 0.1)


# Python 3.12 and later warn of what is tested here.
forks = pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")


@pytest.fixture
def held_elsewhere():
    """Lock that another thread holds."""
    lock, held, done = ForkSafeLock(), Event(), Event()

    def hold():
        with lock:
            held.set()
            done.wait()

    with ThreadPoolExecutor(1) as pool:
        pool.submit(hold)
        held.wait()
        yield lock
        done.set()


def test_one_thread_at_a_time():
    lock = ForkSafeLock()
    with lock as entered:
        assert entered is lock
        assert is_held(lock)
    assert is_free(lock)


def test_an_exception_opens_it():
    lock = ForkSafeLock()
    with pytest.raises(KeyError), lock:
        raise KeyError
    assert is_free(lock)


@forks
def test_open_in_a_child_forked_while_another_thread_held_it(held_elsewhere, in_a_child):
    def take():
        for _ in range(2):
            with held_elsewhere:
                assert is_held(held_elsewhere)
        assert is_free(held_elsewhere)

    assert in_a_child(take)
    assert is_held(held_elsewhere)  # the parent's


@forks
def test_held_in_a_child_of_the_thread_that_held_it(in_a_child):
    lock = ForkSafeLock()
    with lock:

        def leave():
            assert is_held(lock)
            lock.__exit__(None, None, None)
            assert is_free(lock)

        assert in_a_child(leave)
        assert is_held(lock)
    assert is_free(lock)


@forks
def test_open_in_a_child_where_no_thread_held_it(in_a_child):
    lock = ForkSafeLock()
    with lock:
        pass  # held once

    def take():
        with lock:
            assert is_held(lock)
        assert is_free(lock)

    assert in_a_child(take)


@forks
def test_open_in_the_child_of_a_child(held_elsewhere, in_a_child):
    def take():
        with held_elsewhere:
            pass

    def fork():
        assert in_a_child(take)

    assert in_a_child(fork)


def test_a_lock_that_nobody_uses_is_not_kept():
    lock = ForkSafeLock()
    kept = weakref.ref(lock)
    del lock
    gc.collect()
    assert kept() is None
