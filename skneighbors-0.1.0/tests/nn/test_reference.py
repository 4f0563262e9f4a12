"""The heads reproduce the authors' public code."""

import os
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

from skneighbors.nn import NONA, log_softstep_s1, log_softstep_s2, similarity

PATH = Path(
    os.environ.get(
        "SKNEIGHBORS_REFERENCE",
        Path(__file__).parents[3] / "shared" / "reference" / "nona_reference_vectors.npz",
    )
)
pytestmark = pytest.mark.skipif(
    not PATH.exists(), reason="needs reference vectors; SKNEIGHBORS_REFERENCE says where"
)
NAMES = {"l2": "l2", "l1": "l1", "dot": "dot", "cosine": "cos"}


@pytest.fixture(scope="module")
def reference():
    with np.load(PATH) as vectors:
        return {name: torch.from_numpy(vectors[name]) for name in vectors.files}


@pytest.mark.parametrize("metric", NAMES)
def test_similarities(metric, reference):
    s = similarity(reference["z"], reference["z_n"], metric)
    assert_allclose(s, reference[f"sim_{NAMES[metric]}"], atol=1e-12)


@pytest.mark.parametrize("i", range(4))
def test_masks(i, reference):
    x, (a, b, t) = reference["x"], reference[f"s1_{i}_abt"]
    # The reference keeps p and q above 1e-12, which is felt where t is small; ours does not.
    s1 = log_softstep_s1(x, a, b, t).exp()
    assert_allclose(s1, reference[f"s1_{i}_mask"], atol=5e-8)
    s2 = log_softstep_s2(x, b.clamp(max=0.999), t).exp()
    assert_allclose(s2, reference[f"s2_{i}_mask"], atol=1e-8)


@pytest.mark.parametrize(
    ("function", "parameters"),
    [(None, "none"), ("s1", "pointwise"), ("s1", "global"), ("s2", "pointwise"), ("s2", "global")],
)
@pytest.mark.parametrize("metric", NAMES)
def test_predictions(metric, function, parameters, reference):
    head = NONA(
        5,
        similarity=metric,
        softstep=function,
        softstep_parameters=parameters if function else "global",
        self_in_range=True,
        eps=1e-12,
    ).double()
    with torch.no_grad():
        if function and parameters == "pointwise":
            head.softstep.linear.weight.copy_(reference["pointwise_weight"])
            head.softstep.linear.bias.copy_(reference["pointwise_bias"])
        elif function:
            head.softstep.raw.copy_(reference["global_params"])
        z, y_n = reference["z"], reference["y_n"]
        y_hat = head(z, reference["z_n"], y_n)
        y_hat_train = head(z, z, y_n[:7], self_index=torch.arange(7))
    name = f"{NAMES[metric]}_{function or 'none'}_{parameters}"
    assert_allclose(y_hat, reference[f"predict_{name}"], atol=1e-8, rtol=0)
    assert_allclose(y_hat_train, reference[f"train_{name}"], atol=1e-8, rtol=0)
