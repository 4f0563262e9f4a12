"""What the tests of both estimators share."""

from pathlib import Path

import pytest
import torch
from hypothesis import settings
from sklearn.datasets import make_friedman1

from skneighbors import NONARegressor, SoftStepKNNRegressor

# Property tests are seeded like all others.
settings.register_profile("seeded", derandomize=True)
settings.load_profile("seeded")


@pytest.fixture(params=[NONARegressor, SoftStepKNNRegressor])
def estimator_class(request):
    return request.param


@pytest.fixture(scope="session")
def friedman():
    """Training and test parts of a noisy nonlinear regression problem."""
    X, y = make_friedman1(n_samples=300, noise=0.5, random_state=0)
    return X[:200], X[200:], y[:200], y[200:]


@pytest.fixture
def thread_count():
    """Setter of torch's number of threads, which is put back after the test."""
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def benchmarks_importable():
    """The benchmarks' scripts can be imported by their names."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(Path(__file__).parents[1] / "benchmarks"))
        yield


@pytest.fixture
def paper_alone(benchmarks_importable, monkeypatch):
    """The papers' scripts can be imported, find no local data and run in this process."""
    from paper import _runs

    monkeypatch.setenv("SKNEIGHBORS_DATA", "nowhere")
    monkeypatch.setattr(_runs, "Parallel", lambda **_: lambda jobs: (f(*a) for f, a, _ in jobs))
