"""Locks that a forked process does not inherit locked."""

from threading import Event, Thread

import pytest

from skneighbors._utils.process import make_lock

# Python 3.12 and later warn of what is tested here.
forks = pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")


@pytest.fixture
def held():
    """Lock that another thread holds."""
    lock, taken, done = make_lock(), Event(), Event()

    def hold():
        with lock():
            taken.set()
            done.wait()

    thread = Thread(target=hold)
    thread.start()
    taken.wait()
    yield lock
    done.set()
    thread.join()


def test_one_thread_at_a_time(held):
    assert held().locked()
    assert held() is held()
    assert not make_lock()().locked()


@forks
@pytest.mark.parametrize("depth", [1, 2])
def test_open_in_a_child_and_in_its_child(held, in_a_child, depth):
    def take(depth):
        with held():
            assert held().locked()
        assert not held().locked()
        assert depth == 1 or in_a_child(lambda: take(depth - 1))

    assert in_a_child(lambda: take(depth))
    assert held().locked()  # the parent's
