"""What the tests of both estimators share."""

import os
import signal
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import settings
from sklearn.datasets import make_friedman1
from threadpoolctl import ThreadpoolController

from skneighbors import NONARegressor, SoftStepKNNRegressor, _fit, _settings
from skneighbors._blend import trees

# Property tests are seeded like all others.
settings.register_profile("seeded", derandomize=True, deadline=None)
settings.load_profile("seeded")


@pytest.fixture(params=[NONARegressor, SoftStepKNNRegressor])
def estimator_class(request):
    return request.param


@pytest.fixture(autouse=True, scope="module")
def small_defaults():
    """Fewer boosted trees, narrower networks and shorter trainings by default."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(_settings.TABLE[0], "boosting_iter", 10)
        patch.setitem(_settings.TABLE[0], "hidden_layer_sizes", (64, 64))
        tables = _settings.TABLE, _settings.TABLE_SOFTSTEP_KNN
        for line in (line for table in tables for line in table.values()):
            for name in line.keys() & {"min_epochs", "min_steps"}:
                patch.setitem(line, name, max(1, line[name] // 3))
        yield


@pytest.fixture
def auto(monkeypatch):
    """Setter of what "auto" becomes, from so many unique samples on."""

    def change(start=0, **values):
        before = _fit.values_for

        def values_for(n_samples, tables):
            return before(n_samples, tables) | (values if n_samples >= start else {})

        monkeypatch.setattr(_fit, "values_for", values_for)

    return change


@pytest.fixture
def noted(monkeypatch):
    """Function that has the calls of another noted: a list of what `what` makes of each."""

    def note(owner, name, what):
        notes, function = [], getattr(owner, name)

        def noting(*args, **kwargs):
            result = function(*args, **kwargs)
            notes.append(what(result, *args))
            return result

        monkeypatch.setattr(owner, name, noting)
        return notes

    return note


@pytest.fixture(scope="session")
def friedman():
    """Training and test parts of a noisy nonlinear regression problem."""
    X, y = make_friedman1(n_samples=300, noise=0.5, random_state=0)
    return X[:200], X[200:], y[:200], y[200:]


@pytest.fixture
def X(friedman):
    return friedman[0]


@pytest.fixture
def X_test(friedman):
    return friedman[1]


@pytest.fixture
def y(friedman):
    return friedman[2]


@pytest.fixture
def y_test(friedman):
    return friedman[3]


@pytest.fixture
def leave_one_out():
    """Function that predicts training rows, each left out of its own neighbors by index.

    All rows must be distinct in (X, y). By the networks alone.
    """

    @torch.no_grad()
    def predict(model, X):
        fitted, queries, search = model._read_queries(X)
        bank, z = fitted.embed(queries, search)
        # The bank has an order of its own.
        position = torch.from_numpy(np.argsort(fitted.samples))
        alone = replace(bank, blend_weight=0.0)
        nothing = torch.zeros(len(z), bank.rows.targets.shape[1]).double()
        y_hat = alone.predict(replace(z, self_index=position), nothing, model.n_neighbors)
        return fitted.task.inverse_transform(y_hat.numpy()).ravel()

    return predict


@pytest.fixture
def thread_count():
    """Setter of torch's number of threads, which is put back after the test."""
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


@pytest.fixture
def openmp_threads():
    """Function that returns how many threads each library of OpenMP may take."""

    def counts():
        libraries = ThreadpoolController().lib_controllers
        return [own.get_num_threads() for own in libraries if own.user_api == "openmp"]

    return counts


@pytest.fixture
def four_threads(thread_count):
    thread_count(4)
    with ThreadpoolController().limit(limits=4, user_api="openmp"):
        yield


@pytest.fixture
def in_a_child():
    """Function that tells whether another one returns, in a forked process and in time."""
    if not hasattr(os, "fork"):
        pytest.skip("no process can be forked here")

    def returns(function):
        child = os.fork()
        if child == 0:
            signal.alarm(20)  # ends the process
            try:
                function()
                os._exit(0)
            finally:
                os._exit(1)
        return os.waitpid(child, 0)[1] == 0

    return returns


@pytest.fixture
def unreadable_trees(monkeypatch):
    """Let scikit-learn's trees be kept in a way that is unknown."""

    def read(boosting):
        raise AttributeError

    monkeypatch.setattr(trees, "read_boosting", read)
