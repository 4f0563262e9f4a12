"""How many threads a fit and its answers may take."""

import concurrent.futures
import copy
import threading

import asked
import joblib
import numpy as np
import pytest
import torch
from numpy.testing import assert_array_equal
from sklearn import config_context
from sklearn.datasets import make_friedman1

from skneighbors import NONARegressor, load

QUICK = dict(max_iter=2, hidden_layer_sizes=(16,), n_estimators=3, random_state=0)


@pytest.fixture
def pools(monkeypatch):
    """Numbers of threads of the pools that are made."""
    sizes, original = [], concurrent.futures.ThreadPoolExecutor

    def make(n_threads, *arguments):
        sizes.append(n_threads)
        return original(n_threads, *arguments)

    for module in ("_utils.threads", "_training.trainer"):
        monkeypatch.setattr(f"skneighbors.{module}.ThreadPoolExecutor", make)
    return sizes


@pytest.fixture(scope="module")
def data():
    return make_friedman1(n_samples=250, random_state=0)


def answers(model, X):
    with config_context(working_memory=1):  # several batches to share
        found = asked.answers(model, X)
        found += [model.explain(X[:1], by_column=True).by_column.differences]
        more = copy.deepcopy(model).append(np.repeat(X, 4, axis=0), np.arange(4.0 * len(X)))
        return [*found, more.predict(X[:130])]


@pytest.mark.slow
def test_it_changes_no_bit(estimator_class, four_threads, data):
    X, y = data
    model = estimator_class(blend="auto", **QUICK).fit(X, y)
    expected = answers(model, X)
    for n_jobs in (1, -1):
        for own in (model.set_params(n_jobs=n_jobs), estimator_class(**model.get_params())):
            own = own if own is model else own.fit(X, y)
            for part, same in zip(answers(own, X), expected, strict=True):
                assert_array_equal(part, same)


@pytest.mark.slow
@pytest.mark.parametrize("n_jobs", [1, 2, None])
def test_no_more_threads_are_taken(four_threads, openmp_threads, pools, data, n_jobs):
    X, y = data
    model = NONARegressor(blend="auto", n_jobs=n_jobs, batch_size=64, **QUICK)
    answers(model.fit(X, y), X)
    model.append(X, y + 1)
    assert set(pools) <= set(range(2, 1 + (n_jobs or 4)))
    assert (len(pools) > 0) == (n_jobs != 1)
    assert torch.get_num_threads() == max(openmp_threads()) == 4


def test_a_file_holds_a_limit_which_is_checked_after_fit(data, tmp_path):
    NONARegressor(blend=None, n_jobs=2, **QUICK).fit(*data).save(tmp_path / "model")
    model = load(tmp_path / "model")
    assert model.n_jobs == 2
    with pytest.raises(ValueError, match="'n_jobs' parameter"):
        model.set_params(n_jobs=0).predict(data[0])


@pytest.mark.slow
def test_threads_of_the_caller_with_limits_of_their_own(four_threads, openmp_threads, data):
    X, y = data
    model = NONARegressor(blend="auto", **QUICK).fit(X, y)
    expected = model.predict(X)
    before = threading.active_count()

    def predict(n_jobs):
        own = NONARegressor(**model.get_params()).set_params(n_jobs=n_jobs).fit(X, y)
        return own.predict(X)

    for y_hat in joblib.Parallel(n_jobs=3, backend="threading")(
        joblib.delayed(predict)(n_jobs) for n_jobs in (1, 2, None)
    ):
        assert_array_equal(y_hat, expected)
    assert torch.get_num_threads() == max(openmp_threads()) == 4
    assert threading.active_count() <= before + 3
