"""How sure predictions are, and how new a row is."""

import copy
import gc
import math
import re
import textwrap
import weakref
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from partly_linear import EQUAL, QUICK, TRENDS, K, N, make_data, make_queries
from rebuilt import merged, rebuilt
from scipy import stats
from sklearn.base import clone
from sklearn.datasets import make_friedman1

from skneighbors import NONARegressor
from skneighbors._model import GivenRows, residuals

# What intervals warn of where none are held out has a test of its own.
pytestmark = pytest.mark.filterwarnings("ignore:There are no validation rows")

N_SPREAD = 14  # neighbors of a spread
LEVELS = [0.9, 0.0, 0.25, 1.0, 0.5]


@cache
def fit(
    estimator_class,
    trend="linear",
    held_out="none",
    n_targets=1,
    weighted=False,
    n_estimators=2,
    **params,
):
    """Fitted estimator that held out rows of its own, was given some, or had none."""
    X, y, weight = make_data(n_targets)
    model = estimator_class(**TRENDS[trend], n_estimators=n_estimators, **QUICK | params)
    model.set_params(early_stopping=held_out != "none")
    given = {}
    if held_out == "given":
        X_val, y_val, weight_val = make_data(n_targets, seed=1)
        given = dict(X_val=X_val, y_val=y_val)
        if weighted:
            given["sample_weight_val"] = weight_val
    return model.fit(X, y, sample_weight=weight if weighted else None, **given)


# Trend, what validates, numbers of targets, whether weighted, numbers of networks.
CASES = [
    ("no trend", "none", 1, False, 1),
    ("linear", "none", 2, True, 3),
    ("no trend", "drawn", 2, True, 3),
    ("linear", "drawn", 1, False, 1),
    ("linear", "given", 2, True, 3),
    ("boosting", "drawn", 2, True, 3),
    ("boosting", "given", 1, False, 1),
]
FEW_CASES = [
    ("linear", "none", 1, False, 1),
    ("boosting", "drawn", 2, True, 2),
    ("boosting", "given", 1, True, 2),
]


@pytest.fixture(params=CASES, ids=str)
def case(request):
    return request.param


@pytest.fixture(params=FEW_CASES, ids=str)
def any_case(request):
    return request.param


def expand(values, weight):
    """Values (n, ...), each as often as its weight says."""
    return np.repeat(values, weight.astype(int), axis=0)


class Oracle:
    """The same from the networks' weights in NumPy; targets (n, k) as given.

    Of rows that are merged in the bank as the weights, whole numbers, say.
    """

    @torch.no_grad()
    def __init__(self, model, y, held_out):
        self.fitted = model._model
        self.bank = self.fitted.bank
        n_rows, numbering = len(self.bank), self.fitted.numbering
        present = numbering.row_of >= 0
        self.weight = np.bincount(
            numbering.row_of[present], weights=numbering.weight_of[present], minlength=n_rows
        )
        self.y = y.reshape(len(y), -1)[self.fitted.samples]
        rows, queries = torch.arange(n_rows), self.bank.rows
        blended = queries.blended
        y_hat = self.bank.predict(replace(queries, self_index=rows), blended, K).numpy()
        target = self.fitted.task
        self.residuals = self.y - (y_hat * target.scale + target.mean)
        if held_out is None and self.fitted.validation is None:
            size, weight, own = self.residuals, self.weight, rows
        elif held_out is None:
            own = self.fitted.validation.rows
            weight = self.weight[own]
            size = self.fitted.validation.residuals.numpy() * target.scale
            queries = queries.select(own)
        else:
            X, size, weight = held_out
            queries, own = self.embed(model, X), None
        size = np.abs(size)
        self.scale = self.median(size, weight) / self.median(np.abs(self.residuals), self.weight)
        spread = self.probabilities(queries, own) @ np.abs(self.residuals)
        scores = size / spread
        self.scores = np.sort(scores, axis=0)
        self.cumulative = weight[np.argsort(scores, axis=0)].cumsum(0)
        # The row to come is as heavy as a row drawn by weight.
        self.to_come = (weight**2).sum() / weight.sum()

    @staticmethod
    def embed(model, X):
        fitted, queries, search = model._read_queries(X)
        return fitted.embed(queries, search)[1]

    @staticmethod
    def median(values, weight):
        return np.quantile(expand(values, weight), 0.5, axis=0, method="inverted_cdf")

    def probabilities(self, queries, own=None):
        """Probabilities (n, N) of the rows' residuals."""
        mean, begin = np.zeros((len(queries), len(self.bank))), 0
        queries = replace(queries, self_index=own)
        for near in self.bank.attend(queries, lambda near: near, N_SPREAD):
            own_rows = np.arange(begin, begin + len(near.rows))[:, None]
            mean[own_rows, near.rows] = near.total_weights
            begin += len(near.rows)
        n_local = 1 / (mean**2).sum(1, keepdims=True)
        any_row = self.weight / self.weight.sum()
        return (n_local * mean + 10 * any_row) / (n_local + 10)

    def quantiles(self, queries, level):
        """Smallest residuals (n, k) up to which probabilities sum to the level."""
        found = []
        for own in self.probabilities(queries):
            found.append([])
            for values in (self.residuals * self.scale).T:
                order = np.argsort(values)
                reached = np.cumsum(own[order]) >= level - 1e-12
                found[-1].append(values[order][np.argmax(reached)])
        return np.array(found)

    def std(self, queries):
        return np.sqrt(self.probabilities(queries) @ (self.residuals * self.scale) ** 2)

    def half_widths(self, queries, confidence):
        needed = confidence * (self.cumulative[-1] + self.to_come) - 1e-9
        place = (self.cumulative < needed).sum(0, keepdims=True)
        scores = np.take_along_axis(self.scores, place, axis=0)
        return scores * (self.probabilities(queries) @ np.abs(self.residuals))


def test_residuals_of_neighbors_left_out_are_the_distribution(estimator_class, case, monkeypatch):
    monkeypatch.setattr(residuals, "_N_SPREAD", N_SPREAD)
    model, queries = copy.deepcopy(fit(estimator_class, *case)), make_queries()
    _, kind, n_targets, weighted, _ = case
    held_out = None
    if kind == "given":
        X_val, y_val, weight = make_data(n_targets, seed=1)
        errors = (y_val - model.predict(X_val)).reshape(N, -1)
        held_out = X_val, errors, weight if weighted else np.ones(N)
    oracle = Oracle(model, make_data(n_targets)[1], held_out)
    y_hat, embedded = model.predict(queries), Oracle.embed(model, queries)
    several, size = y_hat.reshape(len(y_hat), -1), np.ptp(oracle.y, axis=0)
    quantiles = model.predict_quantiles(queries, LEVELS)
    assert quantiles.shape == (*y_hat.shape, len(LEVELS))
    quantiles = quantiles.reshape(*several.shape, len(LEVELS))
    for i, level in enumerate(LEVELS):
        expected = several + oracle.quantiles(embedded, level)
        assert_allclose(quantiles[..., i] / size, expected / size, rtol=0, atol=1e-9)
    y, std = model.predict(queries, return_std=True)
    assert_array_equal(y, y_hat)
    assert std.shape == y.shape
    assert_allclose(std.reshape(several.shape), oracle.std(embedded), rtol=1e-7)
    for confidence in (0.3, 0.5, 0.75):
        interval = model.predict_interval(queries, confidence)
        assert interval.shape == (*y_hat.shape, 2)
        assert_allclose(interval.mean(-1), y_hat, rtol=1e-9)
        half_widths = (interval[..., 1] - interval[..., 0]) / 2
        expected = oracle.half_widths(embedded, confidence).reshape(y_hat.shape)
        assert_allclose(half_widths, expected, rtol=1e-6)


def test_residuals_are_measured_once(estimator_class):
    model = copy.deepcopy(fit(estimator_class))._model
    own = model.residuals(model.bank, K)
    assert model.residuals(model.bank, K) is own
    assert model.residuals(model.bank, 3) is not own


def test_shapes_and_levels_by_default(estimator_class):
    queries = make_queries()
    n = len(queries)
    one, two = fit(estimator_class), fit(estimator_class, n_targets=2)
    for model, shape in ((one, (n,)), (two, (n, 2))):
        default, ends = model.predict_quantiles(queries), model.predict_interval(queries)
        assert default.shape == (*shape, 3)
        assert_array_equal(default, model.predict_quantiles(queries, [0.05, 0.5, 0.95]))
        assert_array_equal(ends, model.predict_interval(queries, 0.9))
        for level in (0.3, [0.3], np.float32(0.3), np.array([0.3])):
            assert model.predict_quantiles(queries, level).shape == shape
    X, y, _ = make_data()
    column = clone(one).fit(X, y[:, None])
    assert column.predict_quantiles(queries).shape == (n, 1, 3)
    assert column.predict_interval(queries).shape == (n, 1, 2)
    assert column.predict(queries, return_std=True)[1].shape == (n, 1)


@pytest.mark.parametrize(
    ("quantiles", "message"),
    [
        ([0.5, 1.1], r"quantiles must lie between 0 and 1; got 1\.1"),
        (-0.1, r"quantiles must lie between 0 and 1; got -0\.1"),
        ([np.nan], r"quantiles must lie between 0 and 1; got nan"),
        ([], r"quantiles must be a number or some numbers; got \[\]"),
        ([[0.5]], r"quantiles must be a number or some numbers; got \[\[0\.5\]\]"),
        ("0.5", r"quantiles must be a number or some numbers; got '0\.5'"),
        (None, r"quantiles must be a number or some numbers; got None"),
        (True, r"quantiles must be a number or some numbers; got True"),
    ],
)
def test_bad_quantiles(quantiles, message):
    with pytest.raises(ValueError, match=message):
        fit(NONARegressor).predict_quantiles(make_queries(), quantiles)


@pytest.mark.parametrize("level", [0, 1, 1.5, -0.5, np.nan, "0.9", None, [0.9]])
def test_bad_confidence_levels(level):
    with pytest.raises(
        ValueError, match=r"'confidence_level' parameter of .*predict_interval must"
    ):
        fit(NONARegressor).predict_interval(make_queries(), level)


def test_constant_targets_are_certain(estimator_class):
    X = make_data()[0]
    model = estimator_class(**QUICK).fit(X, np.full(N, 0.1))
    y, std = model.predict(X, return_std=True)
    assert_array_equal(std, np.zeros(N))
    assert_array_equal(model.predict_quantiles(X), np.tile(y[:, None], 3))
    assert_array_equal(model.predict_interval(X), np.tile(y[:, None], 2))
    with pytest.warns(UserWarning, match="intervals are infinite"):
        interval = model.predict_interval(X[:1], confidence_level=0.999)
    assert_array_equal(interval, [[-np.inf, np.inf]])


@pytest.fixture(scope="module")
def noisy_where_positive():
    """Targets of which noise is ten times as large where the first feature is positive."""
    rng = np.random.RandomState(0)
    X = rng.uniform(-1, 1, size=(600, 2))
    return X, X[:, 1] + np.where(X[:, 0] > 0, 2, 0.2) * rng.normal(size=600)


def test_noisy_targets_are_less_certain(estimator_class, noisy_where_positive):
    X, y = noisy_where_positive
    # Short trainings, whose residuals vary with the seed.
    seed = 0 if estimator_class is NONARegressor else 2
    params = QUICK | dict(n_neighbors=50, max_iter=15, random_state=seed)
    model = estimator_class(blend=None, n_estimators=2, **params)
    model.fit(X[:400], y[:400])
    queries, is_noisy = X[400:], X[400:, 0] > 0
    std = model.predict(queries, return_std=True)[1]
    iqr = np.diff(model.predict_quantiles(queries, [0.25, 0.75]))[:, 0]
    width = np.diff(model.predict_interval(queries))[:, 0]
    for size in (std, iqr, width):
        assert size[is_noisy].mean() > 1.5 * size[~is_noisy].mean()
    for level in (0.1, 0.5, 0.9):
        below = (y[400:] <= model.predict_quantiles(queries, level)).mean()
        assert abs(below - level) < 0.12
    residuals = y[400:] - model.predict(queries)
    assert 0.75 < np.sqrt(np.mean(std**2) / np.mean(residuals**2)) < 1.4


def test_so_many_rows_must_be_held_out(estimator_class):
    X, y, _ = make_data()
    model = estimator_class(blend=None, n_estimators=1, **QUICK)
    model.fit(X[:40], y[:40], X_val=X[50:58], y_val=y[50:58])
    message = (
        r"confidence_level=0\.9 needs at least 9 validation rows, or as many groups, if "
        r"fit was given groups; there are 8\. These intervals are infinite"
    )
    with pytest.warns(UserWarning, match=message):
        assert_array_equal(model.predict_interval(X), np.tile([-np.inf, np.inf], (len(X), 1)))
    assert np.isfinite(model.predict_interval(X, 8 / 9)).all()
    for n_val, weight in ((9, None), (9, np.full(9, 0.1)), (12, [*np.ones(8), *np.zeros(3), 1])):
        given = dict(X_val=X[50 : 50 + n_val], y_val=y[50 : 50 + n_val], sample_weight_val=weight)
        assert np.isfinite(model.fit(X[:40], y[:40], **given).predict_interval(X, 0.9)).all()
    # A row that stands ten times, or weighs 10, is one.
    for times, weight in ((10, None), (1, np.full(8, 10.0))):
        X_val, y_val = (np.repeat(own[50:58], times, axis=0) for own in (X, y))
        model.fit(X[:40], y[:40], X_val=X_val, y_val=y_val, sample_weight_val=weight)
        with pytest.warns(UserWarning, match=r"there are 8\."):
            model.predict_interval(X)


def test_one_warning_where_no_validation_rows_are_left(estimator_class):
    X = np.random.RandomState(0).normal(size=(60, 3))
    y = X.sum(axis=1)
    model = estimator_class(**QUICK).fit(X, y)
    validated = model._model.samples[model._model.validation.rows]
    model.forget(np.setdiff1d(np.arange(60), validated[:5]))
    with pytest.warns(UserWarning, match=r"needs at least 9 validation rows.*there are 5"):
        model.predict_interval(X)
    few = estimator_class(**QUICK).fit(X[:5], y[:5])
    message = r"no validation rows.*intervals are infinite.*early_stopping=True"
    with pytest.warns(UserWarning, match=message) as caught:
        interval = few.predict_interval(X)
    assert np.isinf(interval).all()
    assert len(caught) == 1


def test_novelty_of_rows_like_those_of_fit_is_uniform(estimator_class):
    rng = np.random.RandomState(0)
    X = rng.normal(size=(800, 3))
    model = estimator_class(**QUICK).fit(X[:400], X[:400, 0])
    novelty = model.novelty(X[400:])
    assert ((novelty >= 0) & (novelty <= 1)).all()
    assert stats.kstest(novelty, "uniform").statistic < 1.63 * np.sqrt(2 / 400)
    far = 30 * X[400:] / np.linalg.norm(X[400:], axis=1, keepdims=True)
    assert model.novelty(far).min() > 0.97
    assert model.novelty(X[:400]).mean() < 0.45  # which find themselves


@pytest.mark.parametrize("n_left", [1, 2, 5])
def test_few_neighbors(estimator_class, n_left):
    model, queries = copy.deepcopy(fit(estimator_class)), make_queries()
    model.forget(np.arange(n_left, N))
    novelty = model.novelty(queries)
    assert ((novelty >= 0) & (novelty <= 1)).all()
    y, std = model.predict(queries, return_std=True)
    assert np.isfinite(std).all()
    assert np.isfinite(model.predict_quantiles(queries)).all()
    assert np.isfinite(model.predict_interval(queries, 0.3)).all()
    if n_left == 1:
        assert_allclose(y, make_data()[1][0])
        assert_allclose(std, 0)
        assert_allclose(model.effective_n_neighbors(queries), 1)


def answers(model, X):
    """All that is told of X, whatever the order of the neighbors and whichever are merged."""
    return [
        *model.predict(X, return_std=True),
        model.predict_quantiles(X, LEVELS),
        model.predict_interval(X, 0.2),
        model.predict_interval(X, 0.8),
        model.novelty(X),
        model.effective_n_neighbors(X),
        model.explain(X).adjusted_targets[:, 0],
    ]


def assert_same_answers(model, other, rtol=1e-9):
    X = np.concatenate([make_queries(), make_data(seed=1)[0][:20]])
    for answer, value in zip(answers(model, X), answers(other, X), strict=True):
        assert_allclose(answer, value, rtol=rtol, atol=rtol * np.abs(value).max())


def was_given(model):
    """Whether a model's validation rows were given to `fit`."""
    return isinstance(model._model.validation, GivenRows)


def held_out_of(model, row_of):
    """What is held out, at the rows of another bank."""
    held_out = model._model.validation
    if held_out is None:
        return None
    samples = model._model.samples[held_out.rows.numpy()]
    if was_given(model):
        rows = np.where(held_out.rows >= 0, row_of[samples], -1)
        return replace(held_out, rows=torch.from_numpy(rows))
    rows = row_of[samples]
    stays = rows >= 0
    residuals, rows = held_out.residuals[stays], torch.from_numpy(rows[stays])
    return replace(held_out, residuals=residuals, rows=rows)


GONE = [*EQUAL, 0, 3, 20, 21, N + 40, N + 5]


@pytest.fixture
def updated(estimator_class, any_case):
    """A model with rows that joined and left, the one before, and rows with weights left."""
    _, _, n_targets, weighted, _ = any_case
    before, queries = fit(estimator_class, *any_case), make_queries()
    first, more = (list(make_data(n_targets, seed)) for seed in (0, 1))
    if not weighted:
        first[2], more[2] = np.ones(N), np.ones(N)
    before.predict_interval(queries, 0.5)  # what this needs is kept
    before.novelty(queries)
    X, y, weight = map(np.concatenate, zip(first, more, strict=True))
    weight[GONE] = 0
    return copy.deepcopy(before).append(*more).forget(GONE), before, X, y, weight


@pytest.mark.slow
def test_answers_are_those_of_the_neighbors_there_are(updated):
    model, before, X, y, weight = updated
    given = was_given(before)  # they have been appended
    held_out = held_out_of(model if given else before, merged(X, y, weight)[1])
    twin = rebuilt(model, X, y, weight, held_out)
    assert_same_answers(model, twin)
    queries = make_queries()
    assert_allclose(model.kneighbors(queries)[0], twin.kneighbors(queries)[0], atol=1e-7)
    weights, expected = (m.neighbor_weights(queries).toarray() for m in (model, twin))
    # Of rows that are merged, each has its share.
    assert_allclose(weights, expected, rtol=1e-9, atol=1e-12)
    assert not weights[:, GONE].any()


def test_append_and_forget_undo_each_other(estimator_class, any_case):
    before, n_targets = fit(estimator_class, *any_case), any_case[2]
    model = copy.deepcopy(before).append(*make_data(n_targets, seed=1))
    assert not np.allclose(model.novelty(make_queries()), before.novelty(make_queries()))
    assert_same_answers(model.forget(np.arange(N, 2 * N)), before, rtol=1e-10)


@pytest.mark.slow
def test_no_answer_tells_of_the_targets_of_rows_that_left(updated):
    model, before, X, y, weight = updated
    everything = np.where(weight > 0, weight, 1)
    given = was_given(before)
    models = []
    for size in (0, 1e3):
        y_changed = y.copy()
        y_changed[GONE] += size
        own = before._model.validation
        if own is not None and not given:
            row_of = merged(X, y_changed, everything)[1]
            own = held_out_of(before, row_of)
            residuals = own.residuals.clone()
            residuals[np.isin(own.rows.numpy(), row_of[GONE])] += size
            own = replace(own, residuals=residuals)
        models.append(rebuilt(model, X, y_changed, everything, own))
    changed = [own.predict(make_queries(), return_std=True) for own in models]
    assert not any(np.allclose(*pair) for pair in zip(*changed, strict=True))
    assert_same_answers(*(own.forget(GONE) for own in models))


def test_rows_held_out_may_all_be_forgotten(estimator_class):
    model = copy.deepcopy(fit(estimator_class, held_out="drawn", n_estimators=1))
    rows = model._model.validation.rows
    model.forget(np.flatnonzero(np.isin(model._model.numbering.row_of, rows)))
    twin = copy.copy(model)
    twin._model = replace(model._model, validation=None)
    assert_same_answers(model, twin)


def test_rows_held_out_weigh_what_is_left_of_them(estimator_class):
    X, y, _ = make_data()
    model = estimator_class(blend=None, n_estimators=1, early_stopping=True, **QUICK)
    model.fit(np.repeat(X, 2, axis=0), np.repeat(y, 2))
    n_held_out = len(model._model.validation.rows)
    assert n_held_out > 5
    model.forget(np.arange(0, 2 * N, 2))
    highest = n_held_out / (n_held_out + 1)
    assert np.isfinite(model.predict_interval(X, highest)).all()
    with pytest.warns(UserWarning, match=rf"validation rows, .* {n_held_out}\. .*infinite"):
        assert np.isinf(model.predict_interval(X, highest + 1e-3)).all()


@pytest.mark.parametrize(
    ("trend", "held_out"), [("linear", "none"), ("linear", "given"), ("boosting", "drawn")]
)
def test_rows_of_weight_two_are_two_rows(estimator_class, trend, held_out):
    X, y, _ = make_data(seed=2)
    X_val, y_val, _ = make_data(seed=1)
    given = dict(X_val=X_val, y_val=y_val) if held_out == "given" else {}
    weight = np.repeat([1.0, 2.0], N // 2)
    params = dict(n_estimators=2, early_stopping=held_out != "none") | TRENDS[trend] | QUICK
    heavy = estimator_class(**params).fit(X, y, sample_weight=weight, **given)
    twice = estimator_class(**params).fit(expand(X, weight), expand(y, weight), **given)
    assert_same_answers(heavy, twice)


def test_a_model_is_freed_with_its_last_reference(estimator_class):
    model = copy.deepcopy(fit(estimator_class))
    model.predict_interval(make_queries(), 0.5)
    gone = weakref.ref(model._model)
    gc.disable()
    try:
        del model
        assert gone() is None
    finally:
        gc.enable()


def test_the_number_of_neighbors_may_change(estimator_class):
    model, queries = copy.deepcopy(fit(estimator_class)), make_queries()
    for k in (3, None, K):
        model.set_params(n_neighbors=k)
        fresh = copy.deepcopy(fit(estimator_class)).set_params(n_neighbors=k)
        for answer, value in zip(answers(model, queries), answers(fresh, queries), strict=True):
            assert_array_equal(answer, value)


@pytest.mark.parametrize("at_once", [1, 7, N])
def test_rows_given_for_validation_are_found_when_they_join(estimator_class, at_once):
    X_val, y_val, _ = make_data(seed=1)
    model = copy.deepcopy(fit(estimator_class, held_out="given"))
    order = np.random.RandomState(0).permutation(N)
    for start in range(0, N, at_once):
        some = order[start : start + at_once]
        model.append(X_val[some], y_val[some])
    bank, validation = model._model.bank, model._model.validation
    found = validation.rows
    assert len(found) == len(found.unique()) == N - len(EQUAL) + 1
    assert (found >= len(bank) - len(found)).all()
    assert_array_equal(bank.rows.targets[found], validation.targets)
    assert_allclose(bank.rows.z[found], validation.z, atol=1e-12)


@pytest.mark.parametrize("at_once", [1, N - 2])
def test_rows_of_fit_that_are_given_again_are_merged(estimator_class, at_once):
    X, y, weight = make_data()
    model = estimator_class(n_estimators=2, **QUICK | dict(blend=None))
    model.fit(X, y, sample_weight=weight)
    n_rows = len(model._model.bank)
    twice = copy.deepcopy(model)
    for some in np.flatnonzero(weight).reshape(-1, at_once):
        twice.append(X[some], y[some], sample_weight=weight[some])
    assert len(twice._model.bank) == n_rows
    assert_array_equal(twice._model.bank.rows.weights(), 2 * model._model.bank.rows.weights())
    if estimator_class is NONARegressor:  # which weighs rows relative to each other
        queries = make_queries()
        for ask in ("predict", "predict_interval", "predict_quantiles", "novelty"):
            answer, value = (getattr(own, ask)(queries) for own in (twice, model))
            assert_allclose(answer, value, rtol=1e-9, atol=1e-9)
    row_of = twice._model.numbering.row_of
    assert_array_equal(row_of[N:], row_of[:N][weight > 0])
    assert_same_answers(twice.forget(np.arange(N, len(row_of))), model)


def test_a_weight_that_is_lost_in_the_row_s_own_may_join(estimator_class):
    X, y, _ = make_data()
    model = estimator_class(**QUICK | dict(blend=None))
    model.fit(X, y, X_val=X[:20] + 0.1, y_val=y[:20])
    expected = answers(model, make_queries())
    model.append(X[:1], y[:1], sample_weight=[1e-17])
    for answer, value in zip(answers(model, make_queries()), expected, strict=True):
        assert_array_equal(answer, value)
    with pytest.raises(ValueError, match="must have a positive entry"):
        model.append(X[:1], y[:1], sample_weight=[0.0])


def test_without_a_reader_rows_are_equal_if_their_embeddings_are():
    X, y, _ = make_data()
    model = NONARegressor(feature_extractor=lambda: torch.nn.Linear(3, 5), **QUICK).fit(X, y)
    n_rows = len(model._model.bank)
    model.append(X[:9], y[:9])
    assert len(model._model.bank) == n_rows
    model.append(X[:9], y[:9] + 1).append(X[:9] + 1, y[:9])
    assert len(model._model.bank) == n_rows + 2 * len(np.unique(X[:9], axis=0))


def shown_code(page, word):
    """The code block of a page of the docs that holds a word."""
    path = Path(__file__).parents[1] / "docs" / "guide" / page
    if not path.exists():
        pytest.skip("the docs are not part of this installation")
    blocks = path.read_text(encoding="utf-8").split(".. code-block:: python\n")[1:]
    blocks = [re.split(r"\n(?=\S)", block)[0] for block in blocks]
    return textwrap.dedent(next(block for block in blocks if word in block))


def test_mapie_takes_text_as_the_docs_show():
    pytest.importorskip("mapie.regression")
    X, y = make_friedman1(160, random_state=0)
    X = pd.DataFrame(X, columns=list("abcdefghij")).assign(
        town=np.where(X[:, 0] > 0.5, "Bern", "Basel")
    )
    model = NONARegressor(max_iter=2, random_state=0).fit(X[:90], y[:90])
    names = dict(X=X, y=y, model=model)
    exec(shown_code("intervals.rst", "SplitConformalRegressor"), names)
    y_hat = names["y_hat"]
    assert_array_equal(y_hat, model.predict(X[140:]))
    missed = np.sort(np.abs(y[90:140] - model.predict(X[90:140])))
    half_width = missed[math.ceil(0.9 * 51) - 1]
    assert_allclose(names["interval"][:, 1, 0] - y_hat, half_width)
