"""Scores in single precision, and the bound of their error."""

import subprocess
import sys

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

from skneighbors._bank.prefilter import Float32Prefilter, product_dtype
from skneighbors.nn import similarity


def test_scores_err_by_no_more_than_their_bound(metric):
    rng = np.random.default_rng(0)
    for size in (1e-3, 1.0, 1e6):
        z_n = torch.from_numpy(size * (rng.normal(size=(400, 7)) + 3))
        z = torch.from_numpy(size * rng.normal(size=(30, 7)))
        prefilter = Float32Prefilter(z_n, metric)
        q = prefilter.queries(z)
        scores, error = prefilter.scores(q), prefilter.error(q)
        s = similarity(z, z_n, metric)
        exact = torch.cat([prefilter.to_score(column.unsqueeze(1), q) for column in s.T], 1)
        assert ((scores - exact).abs() <= error).all()
        back = torch.cat([prefilter.to_similarity(column.unsqueeze(1), q) for column in exact.T], 1)
        assert_allclose(back, s, rtol=1e-6)


def test_scores_are_single_precision(metric):
    prefilter = Float32Prefilter(torch.randn(50, 3).double(), metric)
    assert prefilter.scores(prefilter.queries(torch.randn(4, 3).double())).dtype == torch.float32


@pytest.mark.parametrize("precision", ["high", "medium"])
def test_scores_of_a_user_who_lets_products_be_rounded(precision):
    before = torch.get_float32_matmul_precision()
    try:
        torch.set_float32_matmul_precision(precision)
        prefilter = Float32Prefilter(torch.randn(50, 3).double(), "dot")
        q = prefilter.queries(torch.randn(4, 3).double())
        assert prefilter.scores(q).dtype == torch.float64
    finally:
        torch.set_float32_matmul_precision(before)
    assert product_dtype() == torch.float32


def test_scores_of_a_user_of_torchs_newer_switches():
    if not hasattr(torch.backends.mkldnn, "matmul"):
        pytest.skip("this torch has none")
    code = (
        "import torch; torch.backends.mkldnn.matmul.fp32_precision = 'bf16'; "
        "from skneighbors._bank.prefilter import Float32Prefilter; q = torch.randn(9, 2).double(); "
        "prefilter = Float32Prefilter(q, 'l2'); print(prefilter.scores(prefilter.queries(q)).dtype)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "torch.float64", done.stderr
