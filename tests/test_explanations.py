"""Predictions taken apart: explain, and the neighbours and weights that it rests on."""

import copy
import pickle
from functools import cache

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import NearestNeighbors

from skneighbors import NONARegressor, SoftStepKNNRegressor

TRENDS = {
    "no trend": None,
    "linear": "linear",
    "boosting": "boosting",
    "regressor": LinearRegression(),
}
QUICK = dict(hidden_layer_sizes=(16,), max_iter=3, random_state=0)
N = 80
EQUAL = [7, 40, 41, 42]  # rows that are equal
METRICS = {"l2": "euclidean", "l1": "manhattan", "cosine": "cosine"}


def make_data(n_targets=1, seed=0):
    """Partly linear targets; some of the weights are 0."""
    rng = np.random.RandomState(seed)
    X = rng.normal(size=(N, 3))
    y = 20 + 3 * X[:, [0]] + np.sin(3 * X[:, [1]]) + 0.3 * rng.normal(size=(N, n_targets))
    y = y * [1, -100][:n_targets]
    X[EQUAL], y[EQUAL] = X[7], y[7]
    weight = rng.randint(1, 4, size=N).astype(float)
    weight[[5, 41]] = 0
    return X, y[:, 0] if n_targets == 1 else y, weight


def make_queries():
    """Queries near and far, and some that are neighbours."""
    X = np.random.RandomState(9).normal(size=(12, 3))
    return np.concatenate([X, 50 * X[:4], make_data()[0][6:9]])


@cache
def fit(estimator_class, trend, n_targets=1, weighted=False, n_estimators=1, **params):
    X, y, weight = make_data(n_targets)
    model = estimator_class(trend=TRENDS[trend], n_estimators=n_estimators, **QUICK | params)
    return model.fit(X, y, sample_weight=weight if weighted else None)


@pytest.fixture(params=TRENDS)
def trend(request):
    return request.param


@pytest.fixture(params=[1, 2], ids=["one target", "two targets"])
def n_targets(request):
    return request.param


@pytest.fixture(params=[False, True], ids=["unweighted", "weighted"])
def weighted(request):
    return request.param


# Numbers of targets, whether weighted, numbers of networks.
SETTINGS = [(1, False, 1), (2, True, 1), (1, True, 3)]


@pytest.fixture(params=SETTINGS)
def model(request, estimator_class, trend):
    """Fitted estimator; a copy, that may be changed."""
    return copy.deepcopy(fit(estimator_class, trend, *request.param))


@torch.no_grad()
def weights_by_network(model, X):
    """What the heads say, spread over the samples, (m, n, n_samples)."""
    (_, bank, encoded), numbering = model._check_queries(X), model._fitted.numbering
    z, weight = bank.embed(encoded), bank.sample_weight
    by_row = bank.network.head.weights(z, bank.z_n, sample_weight=weight).numpy()
    by_sample = np.zeros((*by_row.shape[:2], len(numbering)))
    for sample in np.flatnonzero(numbering.row_of >= 0):
        row, own = numbering.row_of[sample], numbering.weight_of
        share = own[sample] / own[numbering.row_of == row].sum()
        by_sample[..., sample] = share * by_row[..., row]
    return by_sample


def mean_weights(model, X):
    return np.average(weights_by_network(model, X), axis=0, weights=model.estimator_weights_)


def assert_parts_sum(explanation, y_hat, scale):
    parts = explanation.trend + explanation.contributions.sum(1) + explanation.others
    assert_allclose(parts / scale, explanation.prediction / scale, rtol=0, atol=1e-9)
    assert_allclose(explanation.prediction / scale, y_hat / scale, rtol=0, atol=1e-9)
    assert (np.diff(explanation.weights, axis=1) <= 0).all()
    assert_allclose(explanation.weights.sum(1) + explanation.others_weight, 1, rtol=1e-12)


def n_rows_of(model):
    return len(model._fitted.bank)


def test_parts_sum_to_the_prediction(model):
    y, queries = make_data(model.n_outputs_)[1], make_queries()
    y_hat = model.predict(queries)
    for n_neighbors in (1, np.int64(5), n_rows_of(model)):
        explanation = model.explain(queries, n_neighbors)
        assert len(explanation) == len(queries)
        assert explanation.weights.shape == (len(queries), n_neighbors)
        assert explanation.contributions.shape == (len(queries), n_neighbors, *y.shape[1:])
        assert_parts_sum(explanation, y_hat, np.ptp(y, axis=0))
        assert explanation.n_others == n_rows_of(model) - n_neighbors
    # All are named.
    assert_allclose(explanation.others_weight, 0, atol=1e-12)
    assert np.all(np.abs(explanation.others) <= 1e-9 * np.ptp(y, axis=0))


def test_neighbors_that_are_named(model):
    y = make_data(model.n_outputs_)[1]
    X_more, y_more, weight_more = make_data(model.n_outputs_, seed=1)
    model.append(X_more, y_more, weight_more).forget([7, 3, N + 40])
    y = np.concatenate([y, y_more])
    explanation = model.explain(make_queries(), n_rows_of(model))
    assert_parts_sum(explanation, model.predict(make_queries()), np.ptp(y, axis=0))
    assert_allclose(explanation.targets, y[explanation.samples])
    # Row 7 stood for the rows that equal it, now row 40 does; appended rows are not merged.
    weight = model._fitted.numbering.weight_of
    named = np.setdiff1d(np.flatnonzero(weight > 0), [41, 42])
    for samples in explanation.samples:
        assert_array_equal(np.sort(samples), named)
    weights = mean_weights(model, make_queries())
    weights[:, 40] = weights[:, [40, 41, 42]].sum(1)
    own = np.take_along_axis(weights, explanation.samples, axis=1)
    assert_allclose(explanation.weights, own, rtol=1e-9, atol=1e-12)
    few = model.explain(make_queries(), 4)
    assert_allclose(few.weights, explanation.weights[:, :4])
    assert_allclose(few.others_weight, explanation.weights[:, 4:].sum(1), atol=1e-12)
    # Which of those that weigh alike are named is not said.
    is_named = (explanation.samples[..., None] == few.samples[:, None]).any(2)
    is_named = is_named.reshape(*is_named.shape, *[1] * (y.ndim - 1))
    others = np.where(is_named, 0, explanation.contributions).sum(1)
    assert_allclose(few.others, others, rtol=0, atol=1e-9 * np.ptp(y))


@torch.no_grad()
def test_contributions_are_relative_to_the_trend_of_each_network(model):
    X, y, _ = make_data(model.n_outputs_)
    queries = make_queries()
    explanation = model.explain(queries, 6)
    fitted, bank, encoded = model._check_queries(X)
    head = bank.network.head
    trend = head.add_trend(bank.embed(encoded), torch.zeros(1, 1, model.n_outputs_).double())
    trend = fitted.y_scaler.inverse_transform(trend.numpy())  # (m, N, k)
    values = y.reshape(N, -1) - trend
    sample_weight = fitted.numbering.weight_of
    values -= np.average(values, axis=1, weights=sample_weight)[:, None]
    weights = weights_by_network(model, queries)
    weights[..., 7] = weights[..., EQUAL].sum(-1)
    parts = weights[..., None] * values[:, None]  # (m, n, N, k)
    parts = np.average(parts, axis=0, weights=model.estimator_weights_) * (1 - model.trend_share_)
    expected = np.take_along_axis(parts, explanation.samples[..., None], axis=1)
    expected = expected.reshape(explanation.contributions.shape)
    assert_allclose(explanation.contributions, expected, rtol=1e-7, atol=1e-10 * np.ptp(y))


def test_without_a_trend_targets_count_from_their_mean(estimator_class, n_targets, weighted):
    model = fit(estimator_class, "no trend", n_targets, weighted, 3)
    _, y, weight = make_data(n_targets)
    explanation = model.explain(make_queries())
    mean = np.average(y, axis=0, weights=weight if weighted else None)
    assert_allclose(explanation.trend, np.broadcast_to(mean, explanation.trend.shape))
    weights = explanation.weights if n_targets == 1 else explanation.weights[..., None]
    assert_allclose(
        explanation.contributions, weights * (explanation.targets - mean), atol=1e-10 * np.ptp(y)
    )


def test_predictions_that_are_kept_near_the_targets_add_up(estimator_class):
    X = np.linspace(-1, 1, 80).reshape(-1, 1)
    y = np.hstack([X, 1 - 50 * X])
    model = estimator_class(trend="linear", max_iter=40, n_estimators=2, random_state=0).fit(X, y)
    explanation = model.explain([[-10.0], [0.1], [10.0]], 5)
    assert_parts_sum(explanation, model.predict([[-10.0], [0.1], [10.0]]), np.ptp(y, axis=0))
    low, high = y.min(0) - 0.1 * np.ptp(y, axis=0), y.max(0) + 0.1 * np.ptp(y, axis=0)
    assert_allclose(explanation.prediction[0], [low[0], high[1]])
    assert_allclose(explanation.prediction[2], [high[0], low[1]])


def test_blends_have_a_share():
    """Else the tests above would say little of blends."""
    for kind in ("boosting", "regressor"):
        assert any(
            0 < model.trend_share_ < 1
            for model in (
                fit(estimator_class, kind, *setting)
                for estimator_class in (NONARegressor, SoftStepKNNRegressor)
                for setting in SETTINGS
            )
        )


def test_as_a_frame(model):
    queries, several = make_queries(), model.n_outputs_ > 1
    explanation = model.explain(queries, 3)
    frame = explanation.to_frame()
    names = ["query", "part", "sample", "weight"]
    suffixes = ["_0", "_1"] if several else [""]
    names += [f"{name}{suffix}" for suffix in suffixes for name in ("target", "over_trend")]
    names += [f"contribution{suffix}" for suffix in suffixes]
    assert list(frame.columns) == names
    assert_array_equal(frame["query"], np.repeat(np.arange(len(queries)), 5))
    assert list(frame["part"]) == ["trend", *["neighbor"] * 3, "others"] * len(queries)
    sums = frame.groupby("query").sum(numeric_only=True)
    assert_allclose(sums["weight"], 1)
    predictions = explanation.prediction.reshape(len(queries), -1)
    targets = explanation.targets.reshape(len(queries) * 3, -1)
    neighbors = frame[frame["part"] == "neighbor"]
    for k, suffix in enumerate(suffixes):
        assert_allclose(sums[f"contribution{suffix}"], predictions[:, k])
        assert_array_equal(neighbors[f"target{suffix}"], targets[:, k])
        own = neighbors["weight"] * neighbors[f"over_trend{suffix}"] * (1 - model.trend_share_)
        assert_allclose(own, neighbors[f"contribution{suffix}"])
    assert_array_equal(neighbors["sample"].astype(int), explanation.samples.ravel())
    assert frame[frame["part"] != "neighbor"]["sample"].isna().all()
    assert frame[frame["part"] == "trend"]["weight"].isna().all()


def test_as_text(estimator_class, n_targets):
    model = fit(estimator_class, "linear", n_targets, n_estimators=3)
    explanation = model.explain(make_queries()[:2], 3)
    text = str(explanation)
    assert repr(explanation) == text
    *tables, note = text.split("\n\n")
    assert len(tables) == 2
    assert note.startswith("contribution = weight x (target over the trend at that row). ")
    for i, table in enumerate(tables):
        lines = table.splitlines()
        y_hat = np.atleast_1d(explanation.prediction[i])
        title, written = lines[0].split(": prediction ")
        assert title == f"Query {i}"
        digits = [float(number.replace(",", "")) for number in written.split(", ")]
        assert_allclose(digits, y_hat, atol=1e-3 * np.abs(y_hat).max())
        assert lines[1].split() == ["part", "weight", "target", "over", "trend", "contribution"]
        assert lines[2].startswith("trend")
        for sample, line in zip(explanation.samples[i], lines[3:6], strict=True):
            assert line.startswith(f"row {sample} ")
        assert lines[6].startswith(f"{n_rows_of(model) - 3} others")
        assert lines[7].split("  ")[0] == "sum"
        assert lines[7].endswith(written)
        assert len({len(line) for line in lines[1:]}) == 1
    assert "others" not in str(model.explain(make_queries()[:2], n_rows_of(model)))


def test_weights_of_others_are_never_negative(estimator_class):
    model = fit(estimator_class, "linear", n_estimators=3, softstep="s1")
    explanation = model.explain(make_data()[0], 60)
    assert (explanation.others_weight >= 0).all()
    assert " -0.000 " not in str(explanation)


@pytest.mark.parametrize("n_neighbors", [0, -1, N - 2, 2.0, "3", None, True])
def test_numbers_of_neighbors_out_of_range(estimator_class, n_neighbors):
    model = fit(estimator_class, "linear")
    message = rf"n_neighbors must be an int from 1 to {N - 3}, .*got {n_neighbors!r}"
    with pytest.raises(ValueError, match=message):
        model.explain(make_queries(), n_neighbors)
    if n_neighbors != N - 2:  # equal rows are neighbours of their own here
        with pytest.raises(ValueError, match=rf"n_neighbors must .* from 1 to {N}, the number"):
            model.kneighbors(make_queries(), n_neighbors)


def test_neighbors_there_may_be(estimator_class):
    model, queries = copy.deepcopy(fit(estimator_class, "linear")), make_queries()
    assert model.kneighbors(queries, N)[1].shape == (len(queries), N)
    assert model.kneighbors(n_neighbors=N - 1)[1].shape == (N, N - 1)
    with pytest.raises(ValueError, match=rf"from 1 to {N}, .*got {N + 1}"):
        model.kneighbors(queries, N + 1)
    with pytest.raises(ValueError, match=rf"from 1 to {N - 1}, .*got {N}"):
        model.kneighbors(n_neighbors=N)
    model.forget(np.arange(1, N))
    assert_array_equal(model.kneighbors(queries, 1)[1], np.zeros((len(queries), 1)))
    with pytest.raises(ValueError, match="n_neighbors"):
        model.kneighbors()


def test_weights_are_those_of_the_heads(model):
    queries, n_outputs = make_queries(), model.n_outputs_
    model.append(*make_data(n_outputs, seed=1)).forget([7, 3, N + 40])
    weights = model.neighbor_weights(queries)
    assert isinstance(weights, sparse.csr_array)
    assert weights.shape == (len(queries), 2 * N)
    assert (weights.data > 0).all()
    assert_allclose(weights.sum(axis=1), 1)
    assert_allclose(weights.toarray(), mean_weights(model, queries), rtol=1e-9, atol=1e-12)
    weight = model._fitted.numbering.weight_of
    empty = np.isnan(weight) | (weight == 0)
    assert {7, 3, N + 40, N + 5} <= set(np.flatnonzero(empty))
    assert weights[:, np.flatnonzero(empty)].nnz == 0


def test_a_mask_makes_weights_sparse(estimator_class):
    for n_estimators in (1, 3):
        model = fit(estimator_class, "linear", n_estimators=n_estimators, softstep="s1")
        weights, expected = (
            model.neighbor_weights(make_queries()),
            mean_weights(model, make_queries()),
        )
        assert weights.nnz == np.count_nonzero(expected) < 0.9 * expected.size
        assert_array_equal(weights.toarray() > 0, expected > 0)


@pytest.mark.parametrize("n_estimators", [1, 3])
def test_without_a_trend_weights_make_the_prediction(
    estimator_class, n_targets, weighted, n_estimators
):
    model = fit(estimator_class, "no trend", n_targets, weighted, n_estimators)
    y, queries = make_data(n_targets)[1], make_queries()
    assert_allclose(model.neighbor_weights(queries) @ y, model.predict(queries))


def test_with_a_trend_weights_make_the_rest(estimator_class, n_targets, weighted):
    model = fit(estimator_class, "linear", n_targets, weighted)
    (X, y, _), queries = make_data(n_targets), make_queries()[:12]
    y_hat, margin = model.predict(queries), 0.1 * np.ptp(y, axis=0)
    inside = (y_hat > y.min(0) - 0.99 * margin) & (y_hat < y.max(0) + 0.99 * margin)
    assert inside.sum() > 6 * n_targets
    # At rows of the training set the trend may be cut, too: it is found from few neighbours.
    head, (fitted, bank, encoded) = model._fitted.bank.network.head, model._check_queries(X)
    with torch.no_grad():
        own = head.add_trend(bank.embed(encoded), torch.zeros(1, 1, n_targets).double())[0]
    own = fitted.shape_like_y(fitted.y_scaler.inverse_transform(own.numpy()))
    own += np.average(y - own, axis=0, weights=fitted.numbering.weight_of)
    rest = model.neighbor_weights(queries) @ (y - own)
    parts = model.explain(queries).trend + rest
    assert_allclose(parts[inside], y_hat[inside])
    cut = model.predict(X)
    is_cut = (cut <= y.min(0) - 0.99 * margin) | (cut >= y.max(0) + 0.99 * margin)
    trend = model.explain(X).trend
    assert_allclose(trend[~is_cut], own[~is_cut], atol=1e-9 * np.ptp(y))


def test_the_number_of_neighbors_that_weights_amount_to(estimator_class, trend):
    model = copy.deepcopy(fit(estimator_class, trend, n_estimators=3))
    queries = make_queries()
    for gone in ([], [7, 3, N + 40]):
        model.append(*make_data(seed=1)[:2]).forget(gone)
        n = model.effective_n_neighbors(queries)
        assert n.shape == (len(queries),)
        assert n.dtype == np.float64
        squares = model.neighbor_weights(queries).toarray() ** 2
        assert_allclose(n, 1 / squares.sum(1), rtol=1e-9)
        assert (n > 1 - 1e-9).all()


def test_neighbors_of_equal_weight_are_counted(estimator_class):
    y, weight = np.arange(20.0), np.repeat([1.0, 2.0], 10)
    model = estimator_class(trend=None, n_estimators=2, **QUICK)
    model.fit(np.ones((20, 2)), y, sample_weight=weight)
    assert_allclose(model.effective_n_neighbors([[1, 1], [5, 0]]), 30)
    assert_allclose(model.forget([0, 19]).effective_n_neighbors([[1, 1], [5, 0]]), 27)


def test_a_row_of_weight_two_is_two_rows(estimator_class, trend, n_targets):
    model, queries = fit(estimator_class, trend, n_targets, n_estimators=3), make_queries()
    X, y, _ = make_data(n_targets, seed=1)
    heavy = copy.deepcopy(model).append(X[:30], y[:30], np.full(30, 2.0))
    twice = copy.deepcopy(model).append(X[:30], y[:30]).append(X[:30], y[:30])
    assert_allclose(heavy.predict(queries), twice.predict(queries))
    assert_allclose(
        heavy.effective_n_neighbors(queries), twice.effective_n_neighbors(queries), rtol=1e-9
    )
    weights, pairs = (m.neighbor_weights(queries).toarray() for m in (heavy, twice))
    assert_allclose(weights[:, :N], pairs[:, :N], rtol=1e-9, atol=1e-12)
    assert_allclose(pairs[:, N : N + 30], pairs[:, N + 30 :], rtol=1e-9, atol=1e-12)
    assert_allclose(weights[:, N:], 2 * pairs[:, N : N + 30], rtol=1e-9, atol=1e-12)
    explanations = heavy.explain(queries, 1), twice.explain(queries, 1)
    assert_allclose(explanations[0].trend, explanations[1].trend)


def brute_force(metric, Z, queries, n_neighbors):
    """Distances (n, N), and sorted ones (n, n_neighbors), of the rows themselves if None."""
    others = Z if queries is None else queries
    if metric == "dot":
        distances = -others @ Z.T / Z.shape[1]
        own = np.where(np.eye(len(Z)) > 0, np.inf, distances) if queries is None else distances
        return distances, np.sort(own, axis=1)[:, :n_neighbors]
    name = METRICS[metric]
    search = NearestNeighbors(n_neighbors=n_neighbors, metric=name, algorithm="brute").fit(Z)
    distances = cdist(others, Z, "cityblock" if name == "manhattan" else name)
    return distances, search.kneighbors(queries)[0]


@pytest.mark.parametrize("changed", [False, True], ids=["as fitted", "changed"])
@pytest.mark.parametrize("metric", ["l2", "l1", "cosine", "dot"])
def test_neighbors_in_the_learnt_space(estimator_class, metric, weighted, changed):
    model = fit(estimator_class, "linear", 1, weighted, 2, similarity=metric)
    X, _, weight = make_data()
    weight = weight if weighted else np.ones(N)
    if changed:
        model = copy.deepcopy(model)
        X_more, y_more, weight_more = make_data(seed=1)
        X_more[10:13] = X[7]
        model.append(X_more, y_more, weight_more).forget([7, 3, N + 40])
        X, weight = np.concatenate([X, X_more]), np.concatenate([weight, weight_more])
        weight[[7, 3, N + 40]] = 0
    left = np.flatnonzero(weight > 0)
    Z, own, place = model.transform(X[left]), np.arange(len(left))[:, None], np.full(len(X), -1)
    place[left] = own.ravel()
    scale = np.abs(Z).max()
    for n_neighbors in (1, 3, 10, len(left) - 1):
        for queries in (None, make_queries()):
            embedded = None if queries is None else model.transform(queries)
            all_distances, expected = brute_force(metric, Z, embedded, n_neighbors)
            distances, samples = model.kneighbors(queries, n_neighbors)
            assert distances.shape == samples.shape == expected.shape
            assert samples.dtype == np.int64
            assert (np.diff(distances, axis=1) >= 0).all()
            assert_allclose(distances, expected, rtol=1e-6, atol=2e-7 * max(1, scale))
            rows = place[samples]
            assert (rows >= 0).all()
            found = np.take_along_axis(all_distances, rows, axis=1)
            assert_allclose(found, expected, rtol=1e-6, atol=2e-7 * max(1, scale))
            # Of rows that coincide, each is found once, and never a row itself.
            assert (np.diff(np.sort(rows, axis=1), axis=1) > 0).all()
            assert queries is not None or (rows != own).all()
            alone = model.kneighbors(queries, n_neighbors, return_distance=False)
            assert_array_equal(alone, samples)


def test_five_neighbors_are_found_unless_said_otherwise(estimator_class):
    model = fit(estimator_class, "linear")
    assert model.kneighbors(make_queries())[0].shape == (len(make_queries()), 5)
    assert model.explain(make_queries()).weights.shape == (len(make_queries()), 5)
    for own, others in zip(EQUAL, model.kneighbors(n_neighbors=3)[1][EQUAL], strict=True):
        assert set(others) == set(EQUAL) - {own}


def answers(model, X):
    """All that is told of X."""
    explanation = model.explain(X)
    return [
        *vars(explanation).values(),
        *model.kneighbors(X),
        *model.kneighbors(),
        model.neighbor_weights(X).toarray(),
        model.effective_n_neighbors(X),
    ]


def test_copies_answer_alike(estimator_class):
    model, queries = fit(estimator_class, "linear", n_estimators=3), make_queries()
    expected = answers(model, queries)
    copies = [
        pickle.loads(pickle.dumps(model)),
        clone(model).fit(*make_data()[:2]),
        # All rows are compared, however many candidates there are.
        copy.deepcopy(model).set_params(n_candidates=5, algorithm="brute"),
    ]
    for other in copies:
        for answer, value in zip(answers(other, queries), expected, strict=True):
            assert_array_equal(answer, value)


def test_unfitted(estimator_class):
    model, X = estimator_class(), make_queries()
    calls = model.explain, model.kneighbors, model.neighbor_weights, model.effective_n_neighbors
    for call in calls:
        with pytest.raises(NotFittedError):
            call(X)
    with pytest.raises(NotFittedError):
        model.kneighbors()
