"""Copies, processes, threads, memory and the random state outside."""

import contextlib
import gc
import io
import pickle
import random
import tracemalloc

import joblib
import numpy as np
import pytest
import torch
from numpy.testing import assert_array_equal
from sklearn.model_selection import GridSearchCV

from skneighbors import NONARegressor, Recipe


def test_loads_where_there_is_no_cuda(X, y, X_test, monkeypatch):
    model = NONARegressor(max_iter=2, device="cpu", random_state=0).fit(X, y)
    expected = model.predict(X_test)
    # As one that was fitted on a GPU would ask for it.
    dumped = pickle.dumps(model.set_params(device="cuda"))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert_array_equal(pickle.loads(dumped).predict(X_test), expected)


@pytest.mark.slow
def test_grid_search_in_two_processes_equals_one(estimator_class, X, y):
    grid = {"softstep": ["s1", "s2"]}

    def scores(n_jobs):
        # Other processes do not know the smaller defaults of tests.
        model = estimator_class(max_iter=5, hidden_layer_sizes=8, blend=None, random_state=0)
        search = GridSearchCV(model, grid, n_jobs=n_jobs, cv=2)
        with joblib.parallel_config("loky"):
            return search.fit(X, y).cv_results_["mean_test_score"]

    assert_array_equal(scores(2), scores(1))


@pytest.mark.parametrize("random_state", [0, None])
def test_global_states_are_untouched(estimator_class, X, y, X_test, random_state):
    model = estimator_class(max_iter=2, recipe=Recipe(dropout=0.1), random_state=random_state)
    torch_state, python_state = torch.get_rng_state(), random.getstate()
    numpy_state = np.random.get_state()  # noqa: NPY002

    def settings():
        return torch.get_default_dtype(), torch.get_num_threads(), torch.is_grad_enabled()

    before = settings()
    model.fit(X, y).predict(X_test)
    assert torch.equal(torch_state, torch.get_rng_state())
    assert python_state == random.getstate()
    assert before == settings()
    if random_state is not None:  # None means numpy's global one, as in scikit-learn
        assert_array_equal(numpy_state[1], np.random.get_state()[1])  # noqa: NPY002


@pytest.mark.slow
@pytest.mark.parametrize(
    "mode", [torch.no_grad, torch.inference_mode, lambda: torch.autocast("cpu", torch.bfloat16)]
)
def test_callers_modes_do_not_matter(estimator_class, X, y, X_test, mode, thread_count):
    thread_count(2)
    X_test = np.resize(X_test, (600, X_test.shape[1]))  # several batches
    model = estimator_class(max_iter=2, random_state=0)
    expected = model.fit(X, y).predict_interval(X_test)
    with mode():
        interval = model.fit(X, y).predict_interval(X_test)
    assert_array_equal(interval, expected)
    assert_array_equal(model.fit(X, y).predict_interval(X_test), expected)


def _live_bytes():
    """Bytes of Python's objects and of torch's tensors that are alive."""
    gc.collect()
    tensors = {}
    for obj in gc.get_objects():
        if issubclass(type(obj), torch.Tensor):  # isinstance asks lazy objects for their class
            with contextlib.suppress(RuntimeError):  # without memory, of torch's compiler
                tensors[obj.untyped_storage().data_ptr()] = obj.untyped_storage().nbytes()
    return tracemalloc.get_traced_memory()[0] + sum(tensors.values())


@pytest.mark.slow
@pytest.mark.parametrize("n_fits", [4, pytest.param(50, marks=pytest.mark.long)])
def test_memory_does_not_grow_with_fits(estimator_class, n_fits, X, y):
    quick = Recipe(boosting_iter=2)
    model = estimator_class(max_iter=1, hidden_layer_sizes=(32,), recipe=quick, random_state=0)
    for _ in range(8):  # until Python's and torch's caches are filled
        model.fit(X, y).predict(X)
    tracemalloc.start()
    try:
        model.fit(X, y).predict(X)
        before = _live_bytes()
        for _ in range(n_fits):
            model.fit(X, y).predict(X)
        growth = _live_bytes() - before
    finally:
        tracemalloc.stop()
    # One fitted state holds the bank alone: 200 rows of 64 float64.
    assert growth < 200 * 64 * 8


def test_dask_tells_fits_of_the_same_parameters_apart(X, y):
    tokenize = pytest.importorskip("dask.tokenize").tokenize
    models = [NONARegressor(max_iter=1, random_state=0).fit(X, own) for own in (y, y, -y)]
    tokens = [tokenize(model) for model in models]
    assert tokens[0] == tokens[1] != tokens[2]
    assert tokenize(NONARegressor(max_iter=2)) != tokenize(NONARegressor(max_iter=3))


def test_pickles_hold_numpy(estimator_class, X, y):
    """And nothing of torch, whose pickles hold views whole and differ each time."""
    modules = set()

    class Unpickler(pickle.Unpickler):
        def find_class(self, module, name):
            modules.add(module.split(".")[0])
            return super().find_class(module, name)

    model = estimator_class(max_iter=1, random_state=0).fit(X, y)
    again = Unpickler(io.BytesIO(pickle.dumps(model))).load()
    assert_array_equal(again.predict(X), model.predict(X))
    assert "torch" not in modules
    assert pickle.dumps(again) == pickle.dumps(pickle.loads(pickle.dumps(again)))


def test_nothing_but_what_prediction_needs_is_kept(X, y):
    model = NONARegressor(max_iter=1, blend="boosting").fit(X, y)
    buffer = io.BytesIO()
    joblib.dump(model, buffer)
    network = sum(parameter.nbytes for parameter in model._model.bank.network.parameters())
    fitted = model._model
    bank = fitted.bank.rows.z.nbytes + fitted.bank.rows.values.nbytes + fitted.matrix.nbytes
    bags = [bag for bags in model.blend_.parts["boosting"].bags for bag in bags]
    trees = [part for bag in bags for part in vars(bag.trees).values()]
    second = sum(part.nbytes for part in trees if isinstance(part, np.ndarray))
    assert len(buffer.getvalue()) < 1.1 * (network + bank + second) + 50_000
