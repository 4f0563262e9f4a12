"""The device that a name stands for."""

import re

import pytest
import torch

from skneighbors import NONARegressor
from skneighbors._utils.device import resolve_device


@pytest.fixture
def with_gpus(monkeypatch):
    """Setter of the number of CUDA devices that torch finds."""

    def set_count(count):
        monkeypatch.setattr(torch.cuda, "is_available", lambda: count > 0)
        monkeypatch.setattr(torch.cuda, "device_count", lambda: count)

    return set_count


@pytest.mark.parametrize(("n_gpus", "expected"), [(0, "cpu"), (1, "cuda"), (2, "cuda")])
def test_auto(with_gpus, n_gpus, expected):
    with_gpus(n_gpus)
    assert resolve_device("auto") == torch.device(expected)


@pytest.mark.parametrize("missing_ok", [False, True])
@pytest.mark.parametrize(
    ("n_gpus", "name"),
    [(0, "cpu"), (1, "cpu"), (1, "cuda"), (1, "cuda:0"), (2, "cuda"), (2, "cuda:1")],
)
def test_the_device_named(with_gpus, n_gpus, name, missing_ok):
    with_gpus(n_gpus)
    assert resolve_device(name, missing_ok) == torch.device(name)
    assert resolve_device("cpu:0", missing_ok) == torch.device("cpu")  # there is one


@pytest.mark.parametrize(
    ("n_gpus", "name"), [(0, "cuda"), (0, "cuda:0"), (1, "cuda:1"), (2, "cuda:2"), (2, "cuda:7")]
)
def test_a_device_that_is_not_there(with_gpus, n_gpus, name):
    with_gpus(n_gpus)
    message = f"device='{name}' is not usable: torch finds {n_gpus} CUDA devices here"
    with pytest.raises(ValueError, match=message):
        resolve_device(name)
    assert resolve_device(name, missing_ok=True) == torch.device("cpu")


def test_devices_that_torch_counts_and_cannot_use(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert resolve_device("auto") == torch.device("cpu")
    with pytest.raises(ValueError, match="torch finds 0 CUDA devices"):
        resolve_device("cuda")


@pytest.mark.parametrize("missing_ok", [False, True])
@pytest.mark.parametrize(
    "name", ["tpu", "gpu", "GPU", "", "mps", "meta", "cuda:x", "cuda:-1", None, 1.5]
)
def test_no_device(with_gpus, name, missing_ok):
    with_gpus(1)
    message = f"device must be 'auto', 'cpu', 'cuda' or 'cuda:N'; got {name!r}."
    with pytest.raises(ValueError, match=re.escape(message)):
        resolve_device(name, missing_ok)


@pytest.mark.parametrize("device", ["gpu", "mps", "cuda:x", "", None, 3.5])
def test_what_is_no_device_is_refused_after_fit_too(device, X, y):
    model = NONARegressor(max_iter=1, n_estimators=1, hidden_layer_sizes=4).fit(X, y)
    for method in (model.predict, model.transform, model.explain, model.kneighbors):
        model.set_params(device=device)
        with pytest.raises(ValueError, match=r"device must be .* got"):
            method(X)
