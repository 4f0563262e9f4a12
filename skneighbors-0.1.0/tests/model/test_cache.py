"""What is computed once, when first needed."""

import copy
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from skneighbors._model.cache import Cache


def test_of_each_name_the_last_key_is_kept():
    cache, calls = Cache(), []

    def get(name, key):
        return cache.get(name, key, lambda: calls.append((name, key)) or len(calls))

    assert [get("a", 1), get("b", 1), get("a", 1), get("b", 1)] == [1, 2, 1, 2]
    assert [get("a", None), get("a", None), get("a", 1)] == [3, 3, 4]
    assert (get("a", 1), get("b", 1)) == (4, 2)


@pytest.mark.parametrize(
    "duplicate", [copy.copy, copy.deepcopy, lambda c: pickle.loads(pickle.dumps(c))]
)
def test_a_copy_is_empty(duplicate):
    cache = Cache()
    cache.get("a", 1, object)
    assert duplicate(cache).get("a", 1, lambda: 5) == 5


def test_threads_compute_once():
    cache, started, go, calls = Cache(), threading.Event(), threading.Event(), []

    def compute():
        calls.append(1)
        started.set()
        assert go.wait(20)
        return object()

    with ThreadPoolExecutor(5) as pool:
        kept = cache.get("there", None, object)
        jobs = [pool.submit(cache.get, "a", None, compute) for _ in range(4)]
        assert started.wait(20)
        # What is there is not waited for.
        assert pool.submit(cache.get, "there", None, object).result(timeout=20) is kept
        threading.Event().wait(0.05)  # for the others to come
        go.set()
        results = {id(job.result(timeout=20)) for job in jobs}
    assert len(results) == len(calls) == 1


def test_nothing_is_kept_of_what_fails():
    cache = Cache()

    def fail():
        raise MemoryError

    for _ in range(2):
        with pytest.raises(MemoryError):
            cache.get("a", None, fail)
    assert cache.get("a", None, lambda: 2) == 2
