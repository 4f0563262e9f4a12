"""What the tests of both estimators share."""

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
