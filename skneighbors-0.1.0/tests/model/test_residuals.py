"""Residuals of rows left out and held out, and the distributions that they make."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from sklearn import config_context

from skneighbors._columns import LabeledRows
from skneighbors._model import DrawnRows, GivenRows, NeighborBank, residuals
from skneighbors._model.residuals import conformal_score, measure, weigh_by_group
from skneighbors._network import NeighborNetwork
from skneighbors._task import Regression
from skneighbors.nn import NONA, MLPEmbedder, SoftStepKNN

from .test_bank import embed, nothing

LEVELS = torch.tensor([0.5, 0.0, 1.0, 0.1, 0.93]).double()
TASK = Regression(np.zeros(1), np.ones(1), 1)
K, N_SPREAD = 9, 14  # neighbors of a prediction, and at least of a spread


def make_rows(n=60, seed=0):
    rng = np.random.RandomState(seed)
    parts = rng.normal(size=(n, 3)), rng.normal(size=(n, 2)), rng.randint(1, 4, size=n)
    return [torch.from_numpy(part).double() for part in parts]


@pytest.fixture(autouse=True)
def few_in_a_spread(monkeypatch):
    monkeypatch.setattr(residuals, "_N_SPREAD", N_SPREAD)


def n_spread(k):
    """How many neighbors a spread rests on."""
    return None if k is None else max(k, N_SPREAD)


def build(network, *rows):
    return NeighborBank.build(network, LabeledRows(*rows), TASK)


@pytest.fixture(params=[NONA, SoftStepKNN])
def network(request):
    torch.manual_seed(0)
    heads = [request.param(4, 2, trend="linear", temperature=0.2) for _ in range(2)]
    return NeighborNetwork(None, [MLPEmbedder(3, (8,), 4) for _ in heads], heads)


@pytest.fixture(params=[False, True], ids=["unweighted", "weighted"])
def bank(request, network):
    X, y, weight = make_rows()
    return build(network, X, y, weight if request.param else None)


def extend(bank, X, y, weight):
    """Bank with further rows."""
    weight = torch.cat([bank.rows.weights(), weight])
    return bank.extend(embed(bank, X), y, nothing(X), weight)


def hold_out(bank, n=40, scale=1.0, k=K):
    """Samples that are not among a bank's rows, whose residuals are given."""
    X, residuals, weight = make_rows(n, seed=1)
    queries = embed(bank, X)
    y = bank.predict(queries, nothing(queries), k) + scale * residuals
    return beside(queries, y, weight)


def beside(queries, y, weight):
    """Samples that are not among a bank's rows."""
    n = len(queries)
    return GivenRows(y, torch.full((n,), -1), queries.z, None, nothing(y), weight)


def all_of(bank, X, validation=None, confidence=0.6, k=K):
    """Everything that is predicted of X."""
    return distribution(bank, measure(bank, validation, k), X, confidence)


def distribution(bank, own, X, confidence=0.6):
    queries = embed(bank, X)
    with torch.no_grad():
        quantiles, std = own.quantiles(queries, LEVELS), own.std(queries)
        return quantiles, std, own.half_widths(queries, confidence)


def assert_alike(pairs, rtol=1e-9):
    for answer, value in pairs:
        assert answer.shape == value.shape
        assert_allclose(answer, value, rtol=rtol, atol=1e-12)


@st.composite
def members(draw):
    """Rows that each of some members held out, of a bank of 9."""
    m, n = draw(st.integers(1, 4)), draw(st.integers(1, 6))
    return np.array([draw(st.permutations(range(9)))[:n] for _ in range(m)])


@given(members())
def test_residuals_are_means_over_the_members_that_held_a_row_out(rows):
    residuals = np.random.RandomState(0).normal(size=(*rows.shape, 2))
    held_out = DrawnRows.of_members(torch.from_numpy(residuals), torch.from_numpy(rows), K)
    assert_array_equal(held_out.rows, np.unique(rows))
    assert held_out.residuals.dtype == torch.float64
    for row, own in zip(held_out.rows.numpy(), held_out.residuals.numpy(), strict=True):
        assert_allclose(own, residuals[rows == row].mean(0))


def test_what_is_held_out_is_left_out_once_it_joins(bank):
    X, y, weight = make_rows(20, seed=2)
    queries = embed(bank, X)
    apart = beside(queries, y, weight)
    longer, joined = extend(bank, X[:5], y[:5], weight[:5]), torch.arange(60, 65)
    joins = apart.join(longer.rows.z[joined], joined)
    assert_array_equal(joins.rows, [*range(60, 65), *[-1] * 15])
    # Each is predicted by the others that are there now.
    expected = y - longer.predict(replace(queries, self_index=joins.rows), nothing(y), K)
    assert_allclose(joins.judge(longer, K).residuals, expected)
    assert measure(longer, joins, K).scores.values.min() > 1e-6
    mask = torch.arange(65) < 60
    again = measure(longer.keep(mask, bank.rows.weights()), joins.keep(mask), K)
    assert_allclose(again.scores.values, measure(bank, apart, K).scores.values, rtol=1e-9)


def test_rows_that_join_are_groups_of_their_own(network):
    X, y, _ = make_rows()
    group = torch.arange(60) // 6
    bank = build(network, X, y, None, group)
    more = make_rows(5, seed=1)[:2]
    longer = extend(bank, *more, torch.ones(5).double())
    assert_array_equal(longer.rows.group[60:], 10 + np.arange(5))
    shorter = longer.keep(torch.arange(65) >= 30, longer.rows.weights()[30:])
    assert_array_equal(shorter.rows.group[:30], group[30:] - 5)


WEIGHTED = st.lists(st.tuples(st.integers(-5, 5), st.integers(1, 4)), min_size=1, max_size=12).map(
    np.array
)


@given(WEIGHTED, st.integers(1, 99))
def test_half_widths_are_those_of_split_conformal_prediction(rows, percent):
    scores, weight = map(torch.from_numpy, rows[np.argsort(rows[:, 0])].T.astype(float))
    # The row to come may be any of those there, by weight, and is worse than all.
    own, places = rows[np.argsort(rows[:, 0])], Fraction(0)
    total = sum(Fraction(int(w)) for w in own[:, 1])
    to_come = sum(Fraction(int(w)) ** 2 for w in own[:, 1]) / total
    expected = np.inf
    for score, own_weight in own:
        places += Fraction(int(own_weight))
        if places * 100 >= percent * (total + to_come):
            expected = score
            break
    group = torch.arange(len(rows))
    assert conformal_score(scores, weight, group, percent / 100) == expected


@given(st.lists(st.integers(1, 4), min_size=1, max_size=12), st.integers(1, 99), st.integers(0, 5))
def test_half_widths_with_groups(sizes, percent, seed):
    group = np.repeat(np.arange(len(sizes)), sizes)
    scores = np.random.RandomState(seed).permutation(len(group)).astype(float)
    order = scores.argsort()
    group, k = group[order], len(sizes)
    # Each group is as likely as the one to come, and each row of it.
    mass = np.array([Fraction(1, k * sizes[own]) for own in group]).cumsum()
    enough = mass * k / (k + 1) * 100 >= percent
    expected = np.inf
    if enough.any():
        hierarchical = enough.argmax()
        inside = np.bincount(group[: hierarchical + 1], minlength=k) / sizes
        share = inside.mean()
        variance = np.sum((inside - share) ** 2) / k**2
        n_rows = float(1 / np.sum([Fraction(1, k * sizes[own]) ** 2 for own in group]))
        n_draws = share * (1 - share) / variance if variance > 1e-15 else np.inf
        n_draws = min(max(n_draws, k), n_rows)
        expected = (mass >= percent / 100 * (1 + 1 / n_draws) - 1e-9).argmax()
        assert expected <= hierarchical
    for each in (1.0, 6.0):
        weight = weigh_by_group(torch.full((len(group),), each).double(), torch.from_numpy(group))
        parts = torch.from_numpy(scores[order]), weight, torch.from_numpy(group)
        found = conformal_score(*parts, percent / 100)
        assert found == (scores[order][expected] if enough.any() else np.inf)


@pytest.mark.parametrize("alike", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("n_groups", [9, 24, 60])
def test_rows_of_new_groups_are_held_as_often_as_they_should(n_groups, alike):
    """Over draws of groups of unequal size, whose rows' scores are more or less alike."""
    rng, confidence, held = np.random.RandomState(0), 0.8, []
    for _ in range(600):
        sizes = rng.randint(1, 12, size=n_groups)
        group = np.repeat(np.arange(n_groups), sizes)
        effect, own = rng.normal(size=n_groups), rng.normal(size=len(group))
        scores = np.abs(math.sqrt(alike) * effect[group] + math.sqrt(1 - alike) * own)
        order = np.argsort(scores)
        group = torch.from_numpy(group[order])
        weight = weigh_by_group(torch.ones(len(group)).double(), group)
        found = conformal_score(torch.from_numpy(scores[order]), weight, group, confidence)
        held.append(2 * stats.norm.cdf(float(found)) - 1)  # of any new row
    assert confidence - 0.01 < np.mean(held) < confidence + max(0.02, 0.5 / n_groups)


def test_size_of_the_batches_changes_nothing(bank):
    X, validation = make_rows(50, seed=3)[0], hold_out(bank)
    own = measure(bank, validation, K)
    expected = distribution(bank, own, X)
    with config_context(working_memory=0.05):
        answers = all_of(bank, X, validation)
    assert_alike(zip(answers, expected, strict=True))
    each = (distribution(bank, own, row[None]) for row in X)
    alone = [torch.cat(parts) for parts in zip(*each, strict=True)]
    assert_alike(zip(alone, expected, strict=True))


@pytest.mark.parametrize("k", [K, 20, None])
def test_of_many_rows_a_part_is_enough(bank, monkeypatch, k):
    everything = measure(bank, None, k)
    monkeypatch.setattr(residuals, "_MAX_ROWS", 25)
    own, X = measure(bank, None, k), make_rows(30, seed=3)[0]
    rows = residuals.sample_rows(60, 25)
    assert_allclose(own.residuals, everything.residuals[rows], atol=1e-12)
    # A query takes the nearest of those.
    known = bank.keep(torch.isin(torch.arange(60), rows), bank.rows.weights()[rows])
    (near,) = known.attend(embed(known, X), lambda near: near, n_spread(k))
    share = near.total_weights
    if near.rows is not None:
        share = torch.zeros(30, 25).double().scatter(1, near.rows, share)
    share, weight = share.numpy(), known.rows.weights().numpy()
    n_near = 1 / (share**2).sum(1, keepdims=True)
    share = (n_near * share + 10 * weight / weight.sum()) / (n_near + 10)
    std = distribution(bank, own, X)[1]
    assert_allclose(std, np.sqrt(share @ own.residuals.numpy() ** 2))


@pytest.mark.parametrize("k", [3, K, None])
def test_residuals_held_out_follow_the_number_of_neighbors(bank, k):
    """As predictions of these rows, left out, do."""
    rows = torch.arange(0, 60, 2)
    held_out = DrawnRows(make_rows()[1][rows], rows, K)
    judged = held_out.judge(bank, k)
    queries = bank.rows.leave_out(rows)
    y_hat = [bank.predict(queries, nothing(queries), n) for n in (K, k)]
    assert_allclose(judged.residuals, held_out.residuals + y_hat[0] - y_hat[1], atol=1e-12)
    assert_array_equal(judged.self_index, rows)
    assert_array_equal(judged.z, bank.rows.z[rows])
    assert_array_equal(judged.weight, bank.rows.weights()[rows])
    assert_array_equal(judged.group, bank.rows.group[rows])


def test_a_score_is_exceeded_as_often_as_it_says(network):
    """Each of exchangeable rows in turn, by the interval that the others make."""
    bank = build(network, *make_rows()[:2])
    X, y, _ = make_rows(10, seed=1)
    queries = embed(bank, X)
    y_hat = bank.predict(queries, nothing(queries), K)
    y = y + y_hat
    for confidence in (0.5, 0.75, 0.9):
        n_inside = torch.zeros(2)
        for i in range(10):
            rest = torch.arange(10) != i
            held_out = beside(queries.select(rest), y[rest], torch.ones(9).double())
            half_width = all_of(bank, X[[i]], held_out, confidence)[2]
            n_inside += ((y[i] - y_hat[i]).abs() <= half_width)[0]
        assert_array_equal(n_inside, [math.ceil(confidence * 10)] * 2)
