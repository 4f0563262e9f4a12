"""Which engine predicts, and what all of them predict alike."""

import copy
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest
import torch
from numpy.testing import assert_allclose
from sklearn import config_context

from skneighbors._bank import engines, prefiltered, ranked
from skneighbors._bank.bank import NeighborBank
from skneighbors._bank.candidates import CandidateAttention
from skneighbors._bank.engines import (
    CandidateEngine,
    ExactEngine,
    IndexCache,
    _choose_attention,
    choose_engine,
)
from skneighbors._bank.exact import ExactAttention
from skneighbors._bank.prefiltered import PrefilteredAttention
from skneighbors._bank.ranked import RankedAttention
from skneighbors._network import NeighborNetwork
from skneighbors.nn import NONA, MLPEmbedder, SoftStepKNN

SHARES = torch.tensor([0.6, 0.4]).double()


def make_bank(kind, n_rows, weighted=False):
    torch.manual_seed(0)
    heads = [kind(4, 2, temperature=0.02) for _ in range(2)]
    network = NeighborNetwork(None, [MLPEmbedder(3, (8,), 4) for _ in heads], heads)
    X, y = torch.randn(n_rows, 3).double(), torch.randn(n_rows, 2).double()
    weight = torch.rand(n_rows).double() + 0.5 if weighted else None
    return NeighborBank.build(network, X, y, weight, SHARES)


@pytest.fixture(params=[NONA, SoftStepKNN])
def kind(request):
    return request.param


@pytest.mark.parametrize(
    ("n_candidates", "engine"),
    [
        (None, ExactEngine),
        (31, ExactEngine),
        (30, ExactEngine),
        (29, CandidateEngine),
        (1, CandidateEngine),
    ],
)
def test_fewer_candidates_than_rows_are_looked_at_alone(kind, n_candidates, engine):
    assert type(choose_engine(make_bank(kind, 30), n_candidates, "brute")) is engine


@pytest.mark.parametrize("n_rows", [200, 2100])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("working_memory", [1, 1024])
def test_the_exact_engine_equals_the_dense_formula(kind, n_rows, weighted, working_memory):
    bank = make_bank(kind, n_rows, weighted)
    z = bank.embed(torch.randn(140, 3).double())
    weights = bank.network.head.weights(z, bank.z_n, sample_weight=bank.sample_weight)
    engine = ExactEngine(bank)
    with config_context(working_memory=working_memory):
        averages, found = engine.compute(z), engine.attend(z, torch.stack)
    assert_allclose(averages, weights @ bank.values, rtol=1e-8, atol=1e-8)
    assert_allclose(torch.cat(found, 1), weights, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("weighted", [False, True])
def test_rows_of_the_bank_attend_to_all_others(kind, weighted):
    bank = make_bank(kind, 50, weighted)
    rows = torch.tensor([7, 3, 49])
    weights = bank.network.head.weights(
        bank.z_n[:, rows], bank.z_n, self_index=rows, sample_weight=bank.sample_weight
    )
    found = ExactEngine(bank).attend_to_others(
        bank.z_n[:, rows], rows, lambda weights, own: torch.stack(weights)
    )
    assert_allclose(torch.cat(found, 1), weights, rtol=1e-9, atol=1e-12)


def test_the_candidate_engine_averages_for_each_member(kind):
    bank = make_bank(kind, 60)
    z = bank.embed(torch.randn(5, 3).double())
    averages = CandidateEngine(bank, 20, "brute").compute(z)
    for i, (member, own) in enumerate(zip(bank.members(), z, strict=True)):
        expected = CandidateAttention(*member, "brute", seed=i).average(own, 20)
        assert_allclose(averages[i], expected, rtol=1e-9)


@pytest.mark.parametrize(
    ("params", "n_rows", "n_queries", "attention"),
    [
        ({"temperature": 0.01}, 2048, 128, PrefilteredAttention),
        ({"temperature": 1.0}, 2048, 128, ExactAttention),  # all matter
        ({"temperature": 0.01}, 2047, 128, ExactAttention),
        ({"temperature": 0.01}, 2048, 127, ExactAttention),
    ],
)
def test_the_attention_that_pays_is_chosen(make_head, params, n_rows, n_queries, attention):
    head = make_head(NONA, params | {"softstep": None}, 8)
    z_n, z = torch.randn(n_rows, 8).double(), torch.randn(n_queries, 8).double()
    member = head, z_n, torch.randn(n_rows, 2).double(), None
    assert type(_choose_attention(member, ExactAttention(*member), z)) is attention


@pytest.mark.parametrize(
    ("raw", "n_rows", "attention"),
    [
        ([0.5, 0.5, 0.0], 4096, PrefilteredAttention),  # few are in reach
        ([-1.0, 0.5, 0.0], 4096, RankedAttention),
        ([-5.0, 0.5, 0.0], 4096, ExactAttention),  # all are
        ([-1.0, 0.5, 0.0], 2047, ExactAttention),
    ],
)
def test_ranks_are_given_to_neighbours_in_reach(make_head, raw, n_rows, attention):
    head = make_head(SoftStepKNN, {"softstep_parameters": "global"}, 8)
    head.softstep.raw.copy_(torch.tensor([raw]))
    z_n, z = torch.randn(n_rows, 8).double(), torch.randn(20, 8).double()
    member = head, z_n, torch.randn(n_rows, 2).double(), None
    assert type(_choose_attention(member, ExactAttention(*member), z)) is attention


@pytest.mark.parametrize("max_share", [1 / 16, 1.0])
def test_attention_that_is_chosen_equals_the_dense_formula(
    monkeypatch, kind_and_params, max_share, make_head, assert_averages
):
    for name in ("_MIN_NEIGHBORS", "_MIN_QUERIES", "_MIN_RANKED_QUERIES"):
        monkeypatch.setattr(prefiltered, name, 1)
    for name in ("_MIN_NEIGHBORS", "_MIN_QUERIES"):
        monkeypatch.setattr(ranked, name, 1)
    monkeypatch.setattr(prefiltered, "MAX_SHARE", max_share)
    head = make_head(*kind_and_params, 5)
    assert_averages(
        lambda member, z: _choose_attention(member, ExactAttention(*member), z).average(z),
        head,
        weighted=True,
    )


@pytest.fixture
def built(monkeypatch):
    """Arguments of all indices that have been built."""
    built = []

    def build(*args):
        built.append(args)
        return object()

    monkeypatch.setattr(engines, "CandidateAttention", build)
    return built


def bank_on(device, n_members=2):
    members = [("head", "z_n", "values", i) for i in range(n_members)]
    return SimpleNamespace(z_n=SimpleNamespace(device=device), members=lambda: members)


def test_the_index_last_used_on_a_device_is_kept(built):
    cache, here, there = IndexCache(), bank_on("here"), bank_on("there")
    brute = cache.get(here, "brute")
    assert [args[3:] for args in built] == [(0, "brute", 0), (1, "brute", 1)]  # seeds of their own
    elsewhere = cache.get(there, "hnsw")
    assert cache.get(here, "brute") is brute
    assert cache.get(there, "hnsw") is elsewhere
    assert len(built) == 4
    hnsw = cache.get(here, "hnsw")
    assert cache.get(here, "hnsw") is hnsw
    assert cache.get(there, "hnsw") is elsewhere
    assert len(built) == 6
    assert cache.get(here, "brute") is not brute
    assert len(built) == 8


@pytest.mark.parametrize(
    "duplicate", [copy.copy, copy.deepcopy, lambda c: pickle.loads(pickle.dumps(c))]
)
def test_a_copy_has_no_index(built, duplicate):
    cache = IndexCache()
    cache.get(bank_on("here"), "brute")
    duplicate(cache).get(bank_on("here"), "brute")
    assert len(built) == 4


def test_threads_build_an_index_once(monkeypatch):
    started, go, n_built = threading.Event(), threading.Event(), []

    def build(*args):
        n_built.append(1)
        started.set()
        assert go.wait(20)
        return object()

    monkeypatch.setattr(engines, "CandidateAttention", build)
    cache, bank = IndexCache(), bank_on("here", n_members=1)
    with ThreadPoolExecutor(4) as pool:
        jobs = [pool.submit(cache.get, bank, "brute") for _ in range(4)]
        assert started.wait(20)
        threading.Event().wait(0.05)  # for the others to come
        go.set()
        results = [job.result() for job in jobs]
    assert all(result is results[0] for result in results)
    assert len(n_built) == 1


def test_an_index_that_is_there_is_not_waited_for(built):
    cache, bank = IndexCache(), bank_on("here")
    kept = cache.get(bank, "brute")
    with ThreadPoolExecutor(1) as pool, engines._building:  # one of another bank is built
        assert pool.submit(cache.get, bank, "brute").result(timeout=20) is kept
