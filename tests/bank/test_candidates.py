"""Prediction from the nearest rows, found through an index, and a sample of the others."""

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_friedman1

from skneighbors import NONARegressor, Recipe, SoftStepKNNRegressor
from skneighbors._bank import candidates, index
from skneighbors._bank.candidates import CandidateAttention
from skneighbors._bank.exact import ExactAttention
from skneighbors.nn import NONA, SoftStepKNN, similarity, stack_modules

SIMILARITIES = ("l2", "l1", "dot", "cosine")


@pytest.fixture(params=["faiss", "scikit-learn"])
def engine(monkeypatch, request):
    if request.param == "faiss":
        pytest.importorskip("faiss")
    else:
        monkeypatch.setattr(index, "_import_faiss", lambda: None)
    return request.param


def make_head(kind, **params):
    torch.manual_seed(0)
    head = kind(5, temperature=0.3, **params)
    with torch.no_grad():
        for parameter in head.softstep.parameters() if head.softstep else ():
            parameter.add_(torch.randn_like(parameter))
    return stack_modules([head]).double().eval().requires_grad_(False)


def make_bank(n=700):
    rng = np.random.default_rng(0)
    z_n, values = rng.normal(size=(n, 5)) + 3, rng.normal(size=(n, 1))
    weight = rng.integers(1, 4, n) / 2.0
    z = np.vstack([z_n[:20], z_n[20:40] + 0.1 * rng.normal(size=(20, 5))])
    return map(torch.from_numpy, (z, z_n, values, weight))


def nearest(s, n_candidates):
    return s.sort(dim=1, descending=True).indices[:, :n_candidates]


HEADS = {
    "no mask": (NONA, {"softstep": None}),
    "mask": (NONA, {"softstep": "s1", "softstep_parameters": "global"}),
    "sharpened": (NONA, {"sharpness": 4.0}),
    "ranks": (SoftStepKNN, {}),
}


@pytest.mark.parametrize("metric", SIMILARITIES)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", HEADS)
def test_the_nearest_have_their_weights_and_a_sample_stands_for_the_rest(
    engine, metric, weighted, kind, monkeypatch
):
    """The oracle: the dense formula's weights, but of the candidates and the sample alone."""
    monkeypatch.setattr(candidates, "_SAMPLED_PER_CANDIDATE", 4)
    z, z_n, values, weight = make_bank()
    weight = weight if weighted else torch.ones(len(z_n)).double()
    cls, params = HEADS[kind]
    head = make_head(cls, similarity=metric, **params)
    attention = CandidateAttention(head, z_n, values, weight if weighted else None, "brute")
    y_hat = attention.average(z, 30)

    dense = head.weights(z[None], z_n[None], sample_weight=weight)[0]
    near = nearest(similarity(z, z_n, metric), 30)
    is_near = torch.zeros_like(dense).scatter_(1, near, 1)
    kept = is_near * dense
    if kind != "ranks":
        order = torch.randperm(700, generator=torch.Generator().manual_seed(0))
        others = (1 - is_near) * torch.isin(torch.arange(700), order[:120])
        rest = weight.sum() - is_near @ weight
        kept += others * dense * (rest / (others @ weight)).unsqueeze(1)
    expected = kept / kept.sum(1, keepdim=True) @ values
    rtol = {"no mask": 1e-5, "ranks": 1e-10}.get(kind, 1e-3)
    assert_allclose(y_hat, expected, rtol=rtol, atol=rtol)


@pytest.mark.parametrize("metric", SIMILARITIES)
def test_a_sample_of_all_rows_leaves_none_out(metric):
    z, z_n, values, weight = make_bank()
    head = make_head(NONA, similarity=metric)
    expected = head.weights(z[None], z_n[None], sample_weight=weight)[0] @ values
    attention = CandidateAttention(head, z_n, values, weight, "brute")
    for n_candidates in (15, 699):
        y_hat = attention.average(z, n_candidates)
        assert_allclose(y_hat, expected, rtol=1e-3, atol=1e-4)


def test_sample_of_embeddings_that_nearly_coincide_far_from_the_origin():
    z, z_n, values, _ = make_bank()
    z, z_n = 1000 + 1e-3 * z, 1000 + 1e-3 * z_n
    head = make_head(NONA)
    expected = head.weights(z[None], z_n[None])[0] @ values
    attention = CandidateAttention(head, z_n, values, None, "brute")
    assert_allclose(attention.average(z, 15), expected, rtol=1e-3, atol=1e-4)


def test_sample_of_a_user_who_lets_products_be_rounded():
    z, z_n, values, weight = make_bank()
    head = make_head(NONA, softstep=None)
    expected = head.weights(z[None], z_n[None], sample_weight=weight)[0] @ values
    before = torch.get_float32_matmul_precision()
    try:
        torch.set_float32_matmul_precision("medium")
        y_hat = CandidateAttention(head, z_n, values, weight, "brute").average(z, 15)
    finally:
        torch.set_float32_matmul_precision(before)
    assert_allclose(y_hat, expected, rtol=1e-9)


def test_callers_autocast_does_not_matter(fitted):
    expected = fitted.set_params(n_candidates=5).predict(X_NEW)
    with torch.autocast("cpu", torch.bfloat16):
        y_hat = fitted.predict(X_NEW)
    assert_array_equal(y_hat, expected)


def test_members_draw_samples_of_their_own(monkeypatch):
    monkeypatch.setattr(candidates, "_SAMPLED_PER_CANDIDATE", 2)
    z, z_n, values, _ = make_bank()
    first, second, again = (
        CandidateAttention(make_head(NONA), z_n, values, None, "brute", seed).average(z, 9)
        for seed in (0, 1, 0)
    )
    assert not np.allclose(first, second)
    assert_array_equal(first, again)


def test_more_candidates_err_less():
    z, z_n, values, _ = make_bank(20_000)
    head = make_head(NONA, softstep=None)
    expected = head.weights(z[None], z_n[None])[0] @ values
    attention = CandidateAttention(head, z_n, values, None, "brute")
    errors = [
        (attention.average(z, n_candidates) - expected).square().mean().sqrt()
        for n_candidates in (1, 8, 64, 512)
    ]
    assert errors[0] > 2 * errors[1] > 4 * errors[2] > 8 * errors[3]


@pytest.mark.parametrize("metric", SIMILARITIES)
@pytest.mark.parametrize("algorithm", ["ivf", "hnsw"])
def test_approximate_indices_find_most_of_the_nearest(metric, algorithm):
    pytest.importorskip("faiss")
    if (metric, algorithm) == ("l1", "ivf"):
        pytest.skip("FAISS has no such index")
    z, z_n, values, _ = make_bank(5000)
    attention = CandidateAttention(make_head(NONA, similarity=metric), z_n, values, None, algorithm)
    rows = attention._index.search(attention._points.of_queries(z), 20)
    exact = nearest(similarity(z, z_n, metric), 20)
    found = [len(np.intersect1d(a, b)) for a, b in zip(rows, exact, strict=True)]
    assert np.mean(found) > 0.9 * 20


@pytest.mark.parametrize("kind", [NONA, SoftStepKNN])
def test_rows_that_an_index_does_not_find_are_no_candidates(kind, monkeypatch):
    z, z_n, values, weight = make_bank()
    monkeypatch.setattr(index, "_import_faiss", lambda: None)
    # Both times all rows are sampled.
    monkeypatch.setattr(candidates, "_SAMPLED_PER_CANDIDATE", 70)
    attention = CandidateAttention(make_head(kind), z_n, values, weight, "brute")
    search = attention._index.search
    expected = attention.average(z, 10)

    def failing(points, n_candidates):
        rows = search(points, 10)
        return torch.cat([rows, torch.full((len(rows), n_candidates - 10), -1)], 1)

    monkeypatch.setattr(attention._index, "search", failing)
    assert_allclose(attention.average(z, 25), expected, rtol=1e-9)


def coinciding(n=20_000):
    """Most rows at few points; queries beside them."""
    rng = np.random.default_rng(0)
    points = rng.normal(size=(9, 5))
    z_n = points[rng.integers(9, size=n)]
    spread = z_n.copy()
    spread[: n // 5] = rng.normal(size=(n // 5, 5))
    spread[n // 5 :] = points[0]
    for bank in (z_n, spread):
        yield torch.from_numpy(bank), torch.from_numpy(rng.normal(size=(50, 5)))


def test_inverted_file_where_most_rows_coincide():
    pytest.importorskip("faiss")
    head = make_head(NONA, softstep=None)
    for z_n, z in coinciding():
        values = torch.arange(len(z_n)).double().unsqueeze(1)
        attention = CandidateAttention(head, z_n, values, None, "ivf")
        rows = attention._index.search(attention._points.of_queries(z), 5)
        s = similarity(z, z_n, "l2")
        assert (rows >= 0).all()
        found = s.gather(1, rows).amax(1)
        assert (found >= s.amax(1) - 1e-6).double().mean() > 0.9
        assert attention.average(z, 5).isfinite().all()


@pytest.mark.parametrize("algorithm", ["brute", "ivf", "hnsw"])
def test_queries_beyond_single_precision_see_all_rows(algorithm):
    pytest.importorskip("faiss")
    z, z_n, values, weight = make_bank()
    attention = CandidateAttention(make_head(NONA), z_n, values, weight, algorithm)
    rest = attention.average(z[1:], 20)
    z[0] = 1e25
    y_hat = attention.average(z, 20)
    exact = ExactAttention(attention.head, z_n, values, weight).average(z[:1])
    assert exact.isfinite().all()
    assert_array_equal(y_hat[:1], exact)
    assert_allclose(y_hat[1:], rest, rtol=1e-5, atol=1e-6)


@pytest.fixture(scope="module", params=[NONARegressor, SoftStepKNNRegressor])
def model(request):
    X, y = make_friedman1(500, random_state=0)
    return request.param(max_iter=12, recipe=Recipe(sharpness=1.0), random_state=0).fit(X, y)


@pytest.fixture
def fitted(model):
    return copy.deepcopy(model)


X_NEW, Y_NEW = make_friedman1(60, random_state=1)


def test_many_candidates_predict_what_all_rows_do(engine, fitted, monkeypatch):
    monkeypatch.setattr(candidates, "_SAMPLED_PER_CANDIDATE", 1)
    expected = fitted.predict(X_NEW)
    errors = []
    for n_candidates in (5, 50, 499):
        y_hat = fitted.set_params(n_candidates=n_candidates).predict(X_NEW)
        errors.append(np.abs(y_hat - expected).max())
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 1e-3
    assert_array_equal(fitted.set_params(n_candidates=500).predict(X_NEW), expected)


def test_index_follows_the_bank_and_is_not_pickled(engine, fitted):
    fitted.set_params(n_candidates=1, algorithm="brute")
    bare = len(pickle.dumps(fitted))
    before = fitted.predict(X_NEW)
    assert len(pickle.dumps(fitted)) == bare
    assert_array_equal(copy.deepcopy(fitted).predict(X_NEW), before)
    fitted.append(X_NEW, Y_NEW)
    expected, rtol = Y_NEW, 1e-6
    if isinstance(fitted, NONARegressor):
        # A sample of all rows stands for all others.
        fitted.set_params(n_candidates=20)
        expected = copy.deepcopy(fitted).set_params(n_candidates=None).predict(X_NEW)
        rtol = 1e-4
    assert_allclose(fitted.predict(X_NEW), expected, rtol=rtol)
    fitted.set_params(n_candidates=1)
    fitted.forget(np.arange(500, 560))
    assert_allclose(fitted.predict(X_NEW), before, rtol=1e-6)


def test_threads_share_an_index_that_is_being_built(engine, fitted):
    fitted.set_params(n_candidates=20, algorithm="brute")
    expected = copy.deepcopy(fitted).predict(X_NEW)
    with ThreadPoolExecutor(4) as pool:
        for y_hat in pool.map(lambda _: fitted.predict(X_NEW), range(8)):
            assert_allclose(y_hat, expected, rtol=1e-12)


def test_counts_of_numpy(engine, fitted):
    expected = fitted.set_params(n_candidates=20).predict(X_NEW)
    y_hat = fitted.set_params(n_candidates=np.int64(20)).predict(X_NEW)
    assert_array_equal(y_hat, expected)


def test_several_targets():
    X, y = make_friedman1(300, random_state=0)
    model = NONARegressor(max_iter=5, random_state=0).fit(X, np.column_stack([y, -y]))
    y_hat = model.set_params(n_candidates=20).predict(X_NEW)
    assert y_hat.shape == (60, 2)
    assert np.isfinite(y_hat).all()


@pytest.mark.parametrize(
    "wrong", [{"n_candidates": 0}, {"n_candidates": 2.5}, {"algorithm": "kd_tree"}]
)
def test_wrong_settings_after_fit(fitted, wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        fitted.set_params(**wrong).predict(X_NEW)


@pytest.mark.parametrize("algorithm", ["ivf", "hnsw"])
def test_without_faiss_says_what_to_install(monkeypatch, fitted, algorithm):
    monkeypatch.setattr(index, "_import_faiss", lambda: None)
    fitted.set_params(n_candidates=10, algorithm=algorithm)
    with pytest.raises(ImportError, match=r"pip install 'skneighbors\[ann\]'"):
        fitted.predict(X_NEW)
    with pytest.raises(ImportError, match=r"pip install 'skneighbors\[ann\]'"):
        fitted.fit(X_NEW, Y_NEW)


def test_inverted_file_cannot_search_by_l1():
    model = NONARegressor(similarity="l1", n_candidates=10, algorithm="ivf")
    with pytest.raises(ValueError, match="algorithm='ivf' cannot search by similarity='l1'"):
        model.fit(X_NEW, Y_NEW)
    assert not hasattr(model, "n_iter_")


@pytest.mark.parametrize("metric", SIMILARITIES)
@pytest.mark.parametrize("kind", [NONA, SoftStepKNN])
@pytest.mark.parametrize("n_distinct", [700, 40])
def test_a_query_alone_sees_the_candidates_it_sees_among_others(engine, kind, metric, n_distinct):
    z, z_n, values, weight = make_bank()
    z_n = z_n[torch.arange(700) % n_distinct]  # few distinct rows: most stand there many times
    attention = CandidateAttention(make_head(kind, similarity=metric), z_n, values, weight, "brute")
    for n_candidates in (5, 30):
        together = attention.average(z, n_candidates)
        alone = torch.cat([attention.average(row[None], n_candidates) for row in z])
        # NONA's sample of the others is summed in single precision.
        assert_allclose(alone, together, rtol=1e-4, atol=1e-5)


def test_queries_whose_candidates_cannot_be_told_apart_see_all_rows(engine):
    z, _, values, weight = make_bank()
    z_n = torch.ones(700, 5).double()
    z_n[:3] = z[:3]
    head = make_head(SoftStepKNN)
    attention = CandidateAttention(head, z_n, values, weight, "brute")
    exact = ExactAttention(head, z_n, values, weight).average(z)
    assert_array_equal(attention.average(z, 20), exact)
