"""Threads that change one estimator at once, and processes forked beside a fit."""

import copy
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from explained import predicted_by
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_friedman1

from skneighbors import NONARegressor, Recipe
from skneighbors._model import engines
from skneighbors._training.trainer import Trainer
from skneighbors._utils.process import torch_threads
from skneighbors._utils.threads import map_batches, single_threaded

SMALL = dict(max_iter=3, n_estimators=1, hidden_layer_sizes=8, random_state=0)


@pytest.fixture
def model(estimator_class, X, y):
    return estimator_class(**SMALL).fit(X, y)


def test_rows_of_several_writers_are_all_there(model, X, y, X_test):
    n_fit = len(X)

    def append(i):
        for _ in range(10):
            model.append(X_test[i : i + 1], y[i : i + 1])

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(append, range(8)))
    assert len(model._model.numbering) == model._model.bank.rows.total_weight == n_fit + 80
    assert len(model._model.bank) == n_fit + 8  # equal rows are one
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(model.forget, np.arange(n_fit, n_fit + 80)))
    assert len(model._model.bank) == n_fit
    rows = model.set_params(n_neighbors=None).explain(X[:3]).indices
    assert_array_equal(np.sort(rows, 1), np.tile(np.arange(n_fit), (3, 1)))


@pytest.mark.slow
def test_readers_beside_a_writer_see_rows_that_there_are(model, X, y, X_test):
    stop, n_ids, n_neighbors = threading.Event(), len(X), model.n_neighbors
    before = model.predict(X_test)

    def write():
        start = n_ids
        while not stop.is_set():
            model.append(X_test, y[: len(X_test)])
            model.forget(np.arange(start, start + len(X_test)))
            start += len(X_test)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(15):
            why = model.explain(X[:5])
            # Of one state, whichever: no row twice, and none that is forgotten by then.
            assert all(len(set(own)) == n_neighbors for own in why.indices.tolist())
            assert why.indices.min() >= 0
            means = predicted_by(why)
            assert_allclose(means + why.clipping, why.prediction)
            model.predict(X_test[:3])
    finally:
        stop.set()
        writer.join()
    assert_allclose(model.predict(X_test), before)


forks = pytest.mark.filterwarnings("ignore:.*use of fork.*:DeprecationWarning")


@pytest.fixture
def a_child_beside(monkeypatch, in_a_child):
    """Function that tells whether a child does a task, forked while a thread is amid another."""

    def returns(owner, name, halfway, task):
        inside, go_on, method = threading.Event(), threading.Event(), getattr(owner, name)

        def waiting(self, *args):
            if threading.current_thread() is beside:
                inside.set()
                go_on.wait()
            return method(self, *args)

        monkeypatch.setattr(owner, name, waiting)
        beside = threading.Thread(target=halfway)
        beside.start()
        assert inside.wait(60)
        try:
            return in_a_child(task)
        finally:
            go_on.set()
            beside.join()

    return returns


@forks
def test_a_process_forked_beside_a_fit_with_dropout_fits_too(X, y, thread_count, a_child_beside):
    thread_count(1)
    dropping, again = (NONARegressor(recipe=Recipe(dropout=0.1), **SMALL) for _ in range(2))
    assert a_child_beside(
        Trainer, "epoch", lambda: dropping.fit(X, y), lambda: again.fit(X, y).predict(X)
    )


@forks
def test_a_process_forked_beside_an_engine_being_made_makes_its_own(
    X, y, X_test, monkeypatch, thread_count, a_child_beside
):
    thread_count(1)
    model = NONARegressor(n_neighbors=5, recipe=Recipe(likeness=0.0), **SMALL).fit(X, y)
    model._model = copy.deepcopy(model._model)  # which has no engine
    monkeypatch.setattr(engines, "ENGINES", (engines.ScikitLearnEngine,))

    def predict():
        model.predict(X_test)

    assert a_child_beside(engines.ScikitLearnEngine, "__init__", predict, predict)


def answer(model, X):
    few = X[:300]
    return [model.predict(X), model.predict_interval(few, 0.8), *model.kneighbors(few)]


@forks
@pytest.mark.parametrize("n_threads", [1, 3])
def test_a_child_of_a_process_that_has_predicted_answers_the_same(
    estimator_class, n_threads, thread_count, in_a_child
):
    thread_count(n_threads)
    X, y = make_friedman1(n_samples=11_000, random_state=0)  # also the trees are in threads then
    model = estimator_class(blend="auto", **SMALL).fit(X[:300], y[:300])
    expected, before = answer(model, X), model.predict(X[:3])

    def child():
        for part, same in zip(expected, answer(model, X), strict=True):
            assert_array_equal(same, part)
        again = pickle.loads(pickle.dumps(model)).append(X, y).forget(range(300))
        assert again.predict(X[:600]).shape == (600,)
        estimator_class(**SMALL).fit(X[:300], y[:300])

    assert in_a_child(child)
    assert torch.get_num_threads() == n_threads
    assert_array_equal(model.predict(X[:3]), before)


@forks
@pytest.mark.parametrize("has_shared", [True, False])
def test_only_children_of_threads_shared_get_one(has_shared, monkeypatch, thread_count, in_a_child):
    monkeypatch.setattr(torch_threads, "_has_shared", False)
    thread_count(3)
    if has_shared:
        map_batches(str, [1])

    def child():
        assert torch.get_num_threads() == (1 if has_shared else 3)
        with single_threaded():
            pass
        assert torch.get_num_threads() == (1 if has_shared else 3)

    assert in_a_child(child)
    assert torch.get_num_threads() == 3
