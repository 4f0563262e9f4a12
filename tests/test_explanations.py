"""Predictions taken apart: neighbors, and the weights that they rest on."""

import copy
import re
from functools import cache

import numpy as np
import pandas as pd
import pytest
import torch
from explained import blended_in, differences_of, predicted_by
from numpy.testing import assert_allclose, assert_array_equal
from partly_linear import EQUAL, QUICK, TRENDS, K, N, make_data, make_queries
from scipy import sparse

from skneighbors import NONARegressor, SoftStepKNNRegressor
from skneighbors._columns import Table
from skneighbors._model.search import NeighborIndex
from skneighbors._utils.printing import part_words


@cache
def fit(estimator_class, trend, n_targets=1, weighted=False, n_estimators=1, **params):
    X, y, weight = make_data(n_targets)
    model = estimator_class(**TRENDS[trend], n_estimators=n_estimators, **QUICK | params)
    return model.fit(X, y, sample_weight=weight if weighted else None)


# Trend, numbers of targets, whether weighted, numbers of networks.
SETTINGS = [
    ("no trend", 1, False, 1),
    ("linear", 2, True, 1),
    ("linear", 1, True, 3),
    ("boosting", 2, True, 1),
    ("boosting", 1, False, 3),
    ("linear model", 2, True, 3),
]


@pytest.fixture(params=SETTINGS, ids=str)
def model(request, estimator_class):
    """Fitted estimator; a copy, that may be changed."""
    return copy.deepcopy(fit(estimator_class, *request.param))


def n_rows_of(model):
    return len(np.unique(model._model.numbering.row_of[model._model.numbering.row_of >= 0]))


def change(model):
    """Let rows join and leave; all targets."""
    X, y, weight = make_data(model.n_outputs_, seed=1)
    model.append(X, y, weight).forget([7, 3, N + 40])
    return np.concatenate([make_data(model.n_outputs_)[1], y])


def test_a_prediction_is_the_mean_of_its_neighbors(model):
    y = make_data(model.n_outputs_)[1]
    for k in (K, None):
        assert_explained(model, y, k)
    y = change(model)
    for k in (1, 500):
        assert_explained(model, y, k)


def assert_explained(model, y, k):
    queries = make_queries()
    model.set_params(n_neighbors=k)
    y_hat, why, scale = model.predict(queries), model.explain(queries), np.ptp(y, axis=0)
    n = n_rows_of(model) if k in (None, 500) else k
    assert len(why) == len(queries)
    assert why.weights.shape == why.indices.shape == why.labels.shape == (len(queries), n)
    assert why.targets.shape == why.adjustments.shape == (len(queries), n, *y.shape[1:])
    assert_allclose(why.prediction / scale, y_hat / scale, rtol=0, atol=1e-9)
    means = predicted_by(why)
    assert_allclose((means + why.clipping) / scale, y_hat / scale, rtol=0, atol=1e-9)
    assert_allclose(why.weights.sum(1), 1, rtol=1e-12)
    assert (np.diff(why.weights, axis=1) <= 0).all()
    assert_allclose(why.targets, y[why.indices], rtol=1e-12)
    low, high = y.min(0) - 0.1 * scale, y.max(0) + 0.1 * scale
    assert_allclose((means.clip(low, high) - means) / scale, why.clipping / scale, atol=1e-9)


def test_rows_are_those_that_kneighbors_names(model):
    change(model)
    queries, numbering = make_queries(), model._model.numbering
    why, weights = model.explain(queries), model.neighbor_weights(queries)
    assert_allclose(weights.sum(axis=1), 1)
    for i, near in enumerate(model.kneighbors(queries, 2 * K)[1]):
        rows = list(dict.fromkeys(numbering.row_of[near].tolist()))[:K]  # equal ones count once
        assert set(numbering.row_of[why.indices[i]]) == set(rows)
        own = weights[[i]].toarray()[0]
        assert set(numbering.row_of[own > 0]) <= set(rows)
        for sample, weight in zip(why.indices[i], why.weights[i], strict=True):
            alike = numbering.row_of == numbering.row_of[sample]
            assert_allclose(own[alike].sum(), weight, rtol=1e-9, atol=1e-15)
            assert sample == np.flatnonzero(alike)[0]
            # Samples that are one row share its weight by their own.
            share = numbering.weight_of[alike] / numbering.weight_of[alike].sum()
            assert_allclose(own[alike], weight * share, rtol=1e-9, atol=1e-15)


def trends_of(model, X):
    """Each network's trend, (m, n, n_targets)."""
    fitted, queries, search = model._read_queries(X)
    bank, embedded = fitted.embed(queries, search)
    z, task = embedded.z.transpose(0, 1), fitted.task
    with torch.no_grad():
        own = bank.network.head.add_trend(z, torch.zeros(1, 1, model.n_outputs_).double()).numpy()
    return np.broadcast_to(own * task.scale + task.mean, (*z.shape[:2], model.n_outputs_))


def test_the_blended_model_predicts_beside_the_neighbors(model):
    change(model)
    queries, task = make_queries(), model._model.task
    why = model.explain(queries)
    assert why.neighbors_weight == 1 - model.blend_weight_
    if not model.blend_weight_:
        assert why.parts == why.part_weights == {}
        return
    matrix = model._model.reader.read(Table.of(queries))
    for name, predicted in model.blend_.predict_parts(matrix).items():
        found, expected = why.parts[name], predicted * task.scale + task.mean
        assert_allclose(found, expected.reshape(found.shape))
        weight = model.blend_weight_ * model.blend_.weights[name]
        assert_allclose(why.part_weights[name], weight)
        cells = str(why).partition(f"{part_words(name)}  ")[2].split()
        assert float(cells[0]) == pytest.approx(100 * weight, abs=0.05)
        assert float(cells[2].strip(",")) == pytest.approx(found[0].flat[0], rel=1e-3)
    expected = model.blend_.predict(matrix) * task.scale + task.mean
    expected = model.blend_weight_ * expected.reshape(why.prediction.shape)
    assert_allclose(blended_in(why), expected)


def test_targets_are_adjusted_by_what_the_trend_differs(model):
    change(model)
    X, queries = np.concatenate([make_data(seed=seed)[0] for seed in (0, 1)]), make_queries()
    why, at_queries, at_rows = (
        model.explain(queries),
        trends_of(model, queries),
        trends_of(model, X),
    )
    differences = at_queries[:, :, None] - at_rows[:, why.indices]  # (m, n, k, n_targets)
    differences = differences.reshape(len(at_queries), *why.adjustments.shape)
    # In the shares in which the networks weigh a row: between the smallest and the largest.
    tolerance = 1e-9 * np.ptp(why.targets)
    assert (why.adjustments >= differences.min(0) - tolerance).all()
    assert (why.adjustments <= differences.max(0) + tolerance).all()
    if len(at_queries) == 1:
        assert_allclose(why.adjustments, differences[0], atol=tolerance)


def test_without_a_trend_nothing_is_adjusted(estimator_class):
    model = fit(estimator_class, "no trend", 2, True, 3)
    y, queries = make_data(2)[1], make_queries()
    why = model.explain(queries)
    assert not why.is_adjusted
    assert_array_equal(why.adjustments, np.zeros_like(why.targets))
    assert_array_equal(why.clipping, np.zeros_like(why.prediction))
    assert_allclose(model.neighbor_weights(queries) @ y, model.predict(queries))
    assert "adjust" not in str(why)
    assert fit(estimator_class, "linear").explain(queries).is_adjusted


@pytest.mark.parametrize("kind", ["boosting", "linear model"])
def test_blends_have_a_weight(kind):
    """Else the tests above would say little of blends."""
    assert any(
        0 < fit(estimator_class, *setting).blend_weight_ < 1
        for estimator_class in (NONARegressor, SoftStepKNNRegressor)
        for setting in SETTINGS
        if setting[0] == kind
    )


TABLE = pd.DataFrame(
    {
        "area": np.linspace(20, 200, 60),
        "town": np.array(["A & Co <b>", "Bern", "Chur"])[np.arange(60) % 3],
        "built": pd.date_range("1990-01-01", periods=60, freq="31D"),
        "garden": np.where(np.arange(60) % 7, 1.0, np.nan),
    },
    index=[f"house {i}" for i in range(60)],
)
PRICE = 3 * TABLE["area"].to_numpy() + 40 * (np.arange(60) % 3) + np.arange(60) % 7


@cache
def fit_table(estimator_class, trend="boosting"):
    model = estimator_class(**TRENDS[trend], n_estimators=2, **QUICK | dict(max_iter=20))
    return model.fit(TABLE, PRICE)


def ask(town="Bern"):
    return pd.DataFrame(
        {"area": [71.5], "town": [town], "built": [pd.Timestamp("1993-05-06")], "garden": [None]},
        index=["mine <i>"],
    ).astype({"garden": float})


@pytest.mark.parametrize(
    ("kind", "changed"),
    [("linear", False), ("boosting", True), ("linear model", False), ("no trend", True)],
)
def test_columns_sum_to_the_difference(estimator_class, kind, changed):
    model = copy.deepcopy(fit_table(estimator_class, kind))
    if changed:
        model.append(TABLE[:5].assign(area=66.0), PRICE[:5]).forget([2, 9])
    queries = pd.concat([ask(), TABLE[10:14]])
    why = model.explain(queries, by_column=True)
    own = why.by_column
    assert own.columns == ["area", "town", "built", "garden"]  # as in X
    assert own.differences.shape == (5, K, 4)
    assert_allclose(own.differences.sum(2), differences_of(model, why), atol=1e-9 * np.ptp(PRICE))
    assert_array_equal(own.query_values[0], [71.5, "Bern", pd.Timestamp("1993-05-06"), None])
    every = pd.concat([TABLE, TABLE[:5].assign(area=66.0)])
    given = every[own.columns].astype(object).where(every[own.columns].notna(), None).to_numpy()
    assert_array_equal(own.row_values, given[why.indices])
    equal = own.row_values == own.query_values[:, None]
    assert (own.differences[equal] == 0).all()
    expected = np.einsum("nk,nkp->p", why.weights, np.abs(own.differences)) / len(why)
    assert_allclose(list(why.importances().values()), expected)
    assert list(why.importances()) == own.columns
    frame = why.to_frame(by_column=True)
    assert list(frame)[-4:] == [f"difference by {name}" for name in own.columns]
    assert_array_equal(frame.iloc[:, -4:], own.differences.reshape(5 * K, 4))
    assert list(frame["query"][::K]) == [*queries.index]
    assert (kind == "no trend") == (expected.max() == 0)


def test_differences_by_column_as_text(estimator_class):
    model = fit_table(estimator_class)
    why = model.explain(ask(), by_column=True)
    _, table, _, _ = str(why).split("\n\n")
    _, head, *rows = table.splitlines()
    assert re.split("  +", head) == ["column", "query", *why.labels[0, :5], "difference"]
    cells = [re.split("  +", row) for row in rows]
    parts = [float(row[-1]) for row in cells]
    assert_allclose(sum(parts), (why.weights * differences_of(model, why)).sum(), atol=0.02)
    sizes = why.importances()
    assert [row[0] for row in cells] == sorted(sizes, key=lambda name: -sizes[name])
    for name, query, *values, _ in cells:
        row_values = TABLE.loc[why.labels[0, :5], name]
        for value, row_value in zip(values, row_values, strict=True):
            is_equal = pd.Series([ask()[name].iloc[0]]).equals(pd.Series([row_value]))
            assert (value == "=") == is_equal
            assert value in ("=", "missing") or value[:4] in str(row_value)
        assert query[:4] in ("miss", str(ask()[name].iloc[0])[:4])


def test_equal_columns_are_not_printed(estimator_class):
    model = fit_table(estimator_class)
    own = model.explain(TABLE[:1].assign(area=71.5), by_column=True)
    assert "-0.0" not in str(own).split()
    assert repr(own.by_column) == f"<differences of 1 queries to {K} rows by 4 columns>"
    X, y = np.tile([[0.0], [1.0]], (20, 1)), np.arange(40.0) % 4
    model = estimator_class(**QUICK | dict(n_neighbors=2)).fit(X, y)
    model.forget(np.flatnonzero(X[:, 0]))
    assert "beside the query" not in str(model.explain([[0.0]]))


def test_what_networks_have_in_common(estimator_class, noted):
    model = copy.deepcopy(fit(estimator_class, "linear", n_estimators=3))
    queries, k = make_queries(), 5
    searches = noted(NeighborIndex, "find", lambda found, *_: found.rows.shape[1])
    why = model.set_params(n_neighbors=20).explain(queries)
    assert why.agreement.shape == (len(queries),)
    assert ((why.agreement >= 0) & (why.agreement <= 1)).all()
    if estimator_class is NONARegressor:  # whose rows all have weights
        # Three networks have three pairs, each of which shares a number of k rows.
        assert_allclose(why.agreement * 3 * k, np.round(why.agreement * 3 * k), atol=1e-9)
    few = model.set_params(n_neighbors=2).explain(queries)
    if estimator_class is NONARegressor:  # of the two rows named, chosen among twenty
        assert_allclose(few.agreement * 3 * 2, np.round(few.agreement * 3 * 2), atol=1e-9)
        assert few.agreement.mean() < 1
    five = model.set_params(n_neighbors=5).explain(queries)
    assert_allclose(five.agreement, why.agreement)  # as it is among twenty
    assert searches == [20, 20, 20]
    alone = fit(estimator_class, "linear").explain(queries)
    assert alone.agreement is None
    assert "random_state" in str(why)
    assert "random_state" not in str(alone)


def test_equal_rows_are_counted(estimator_class):
    X, y, _ = make_data()
    X, y = np.concatenate([X, X[:3], X[:1]]), np.concatenate([y, y[:3], y[:1]])
    model = estimator_class(**QUICK | dict(n_neighbors=None)).fit(X, y)
    why = model.explain(X[:1])
    equal = (np.column_stack([X, y])[:, None] == np.column_stack([X, y])).all(2)
    assert_array_equal(why.counts, equal.sum(0)[why.indices])
    assert f"{why.indices[0, 0]} (x{why.counts[0, 0]})" in str(why) or why.counts[0, 0] == 1
    assert "(x" in str(why)
    model.forget([0])
    assert model.explain(X[:1]).counts.sum() == len(X) - 1


def test_columns_that_are_not_there(estimator_class):
    X, y, _ = make_data()
    model = estimator_class(feature_extractor=torch.nn.Flatten, **QUICK).fit(X, y)
    assert model.explain(X[:2]).by_column is None
    with pytest.raises(ValueError, match="by_column=True needs columns, which a feature_extractor"):
        model.explain(X[:2], by_column=True)
    for call in (lambda why: why.importances(), lambda why: why.to_frame(by_column=True)):
        with pytest.raises(ValueError, match=r"needs explain\(X, by_column=True\)"):
            call(model.explain(X[:2]))
    for other in ("no", "auto"):
        with pytest.raises(ValueError, match=r"'by_column' parameter of .*\.explain must be"):
            model.explain(X[:2], by_column=other)


def test_rows_are_named_by_the_index(estimator_class):
    model = copy.deepcopy(fit_table(estimator_class))
    why = model.explain(ask())
    assert_array_equal(why.labels[0], TABLE.index.to_numpy()[why.indices[0]])
    assert_array_equal(why.query_labels, ["mine <i>"])
    model.append(ask().rename(index={"mine <i>": "house 7"}), [200.0])
    assert model.explain(ask()).labels[0, 0] == "house 7"
    model.forget([7, 60])  # of whose names nothing is left
    assert not np.isin("house 7", model._model.numbering.labels).any()


def test_numbers_go_on_after_an_index():
    X = pd.DataFrame({"a": np.arange(40.0)}, index=np.arange(100, 140))
    model = NONARegressor(**QUICK).fit(X, np.arange(40.0))
    with pytest.warns(UserWarning, match="feature names"):
        model.append(X.to_numpy()[:2] + 0.5, [0.5, 1.5])
    model.append(X[2:3] + 0.5, [2.5])
    labels = model._model.numbering.labels
    assert_array_equal(labels[38:], [138, 139, 40, 41, 102])
    with pytest.raises(ValueError, match="indices must lie between 0 and 42; got 102"):
        model.forget([102])


def test_as_a_frame(model):
    queries, several = make_queries(), model.n_outputs_ > 1
    why = model.explain(queries)
    assert why.classes is None
    assert_array_equal(why.query_labels, np.arange(len(why)))
    frame, suffixes = why.to_frame(), ["_0", "_1"] if several else [""]
    names = [f"{name}{s}" for s in suffixes for name in ("target", "adjustment", "adjusted")]
    assert list(frame.columns) == ["query", "row", "weight", "share", *names]
    assert_array_equal(frame["query"], np.repeat(np.arange(len(queries)), K))
    assert_array_equal(frame["row"], why.indices.ravel())
    assert_array_equal(frame["weight"], why.weights.ravel())
    assert_allclose(frame["share"], why.neighbors_weight * frame["weight"])
    cut = why.clipping.reshape(len(queries), -1)
    for k, suffix in enumerate(suffixes):
        sums = (frame["share"] * frame[f"adjusted{suffix}"]).groupby(frame["query"]).sum()
        y_hat = why.prediction.reshape(len(queries), -1)[:, k]
        if why.parts:
            sums += blended_in(why).reshape(len(queries), -1)[:, k]
        assert_allclose(sums + cut[:, k], y_hat)
        adjusted = frame[f"target{suffix}"] + frame[f"adjustment{suffix}"]
        assert_allclose(adjusted, frame[f"adjusted{suffix}"])


def numbers_in(text):
    return [float(number.replace(",", "")) for number in text.split()]


def test_as_text(estimator_class):
    model = copy.deepcopy(fit(estimator_class, "linear", n_estimators=3)).set_params(n_neighbors=20)
    why = model.explain(make_queries()[:2])
    text = str(why)
    assert repr(why) == text
    *tables, note = text.split("\n\n")
    assert len(tables) == 2
    assert "Adjusted = target + trend(query) - trend(row)" in note
    for i, table in enumerate(tables):
        title, head, *rows, others, last = table.splitlines()
        assert title == f"Query {i}: prediction {last.split()[-1]}"
        assert head.split() == ["row", "share", "target", "adjustment", "adjusted"]
        n_shown = min(10, np.count_nonzero(why.weights[i]))
        assert len(rows) == n_shown
        weights, adjusted = [], []
        for sample, row in zip(why.indices[i], rows, strict=False):
            label, weight, percent, target, adjustment, own = row.split()
            assert percent == "%"
            assert label == str(sample)
            assert_allclose(sum(numbers_in(f"{target} {adjustment}")), float(own), atol=2e-3)
            weights.append(float(weight))
            adjusted.append(float(own))
        assert others.startswith(f"{20 - n_shown} more, mean")
        if len(others.split()) > 5:
            weights.append(float(others.split()[3]))
            adjusted.append(float(others.split()[-1]))
        # A reader can check the sum.
        assert_allclose(sum(weights), 100, atol=1)
        assert_allclose(np.average(adjusted, weights=weights), why.prediction[i], rtol=5e-3)
        assert last.split()[:3] == ["prediction", "100", "%"]


def test_its_title_says_what_makes_the_prediction(estimator_class):
    why = fit(estimator_class, "boosting", n_estimators=3).explain(make_queries()[:1])
    title = str(why).splitlines()[0]
    shares = [why.neighbors_weight, *why.part_weights.values()]
    assert_allclose([float(s) / 100 for s in re.findall(r"([\d.]+) %", title)], shares, atol=6e-4)
    assert title.endswith("boosted trees)")
    assert " % neighbors, " in title


def test_as_html(estimator_class):
    why = fit(estimator_class, "linear").explain(make_data()[0][:15])
    assert "... and 5 more queries" in str(why)
    assert "... and 5 more queries" in why._repr_html_()
    why = fit_table(estimator_class).explain(ask("D & Co <b>"), by_column=True)
    assert why.by_column.query_values[0, 1] == "D & Co <b>"  # which fit has not seen
    assert "D & Co <b>" in str(why)
    page = why._repr_html_()
    assert "mine &lt;i&gt;" in page
    assert "<td>D &amp; Co &lt;b&gt;</td>" in page
    assert "<b>" not in page.replace("<p><b>", "")
    n_shown = np.count_nonzero(why.weights)
    n_shown += n_shown == K - 1
    main, by_column = page.split("</table>")[:-1]
    assert main.count("<tr>") == 1 + n_shown + (n_shown < K) + len(why.parts) + 1
    assert "<th>difference</th>" in by_column
    for label in why.labels[0, :n_shown]:
        assert f"<td>{label}</td>" in page


@pytest.mark.parametrize("n_neighbors", [0, -1, 2.0, "3", True])
def test_numbers_of_neighbors_out_of_range(estimator_class, n_neighbors):
    model = copy.deepcopy(fit(estimator_class, "linear"))
    with pytest.raises(ValueError, match=rf"n_neighbors must .* from 1 to {N}, the number"):
        model.kneighbors(make_queries(), n_neighbors)
    model.set_params(n_neighbors=n_neighbors)
    calls = model.predict, model.explain, model.neighbor_weights, model.predict_quantiles
    for call in (*calls, model.kneighbors, model.effective_n_neighbors):
        with pytest.raises(ValueError, match="The 'n_neighbors' parameter of"):
            call(make_queries())


def test_neighbors_there_may_be(estimator_class):
    model, queries = copy.deepcopy(fit(estimator_class, "linear")), make_queries()
    assert model.kneighbors(queries)[1].shape == (len(queries), K)
    assert model.kneighbors(queries, N)[1].shape == (len(queries), N)
    assert model.kneighbors(n_neighbors=N - 1)[1].shape == (N, N - 1)
    with pytest.raises(ValueError, match=rf"from 1 to {N}, .*got {N + 1}"):
        model.kneighbors(queries, N + 1)
    with pytest.raises(ValueError, match=rf"from 1 to {N - 1}, .*got {N}"):
        model.kneighbors(n_neighbors=N)
    model.set_params(n_neighbors=None)
    assert model.kneighbors(queries)[1].shape == (len(queries), N)
    model.forget(np.arange(1, N)).set_params(n_neighbors=K)
    assert_array_equal(model.kneighbors(queries)[1], np.zeros((len(queries), 1)))
    with pytest.raises(ValueError, match="no other sample is left"):
        model.kneighbors()
    for own, others in zip(
        EQUAL, fit(estimator_class, "linear").kneighbors(n_neighbors=3)[1][EQUAL], strict=True
    ):
        assert set(others) == set(EQUAL) - {own}


@pytest.mark.parametrize("k", [K, None])
def test_weights_are_sparse(estimator_class, k):
    model = copy.deepcopy(fit(estimator_class, "linear", 2, True)).set_params(n_neighbors=k)
    change(model)
    weights = model.neighbor_weights(make_queries())
    assert isinstance(weights, sparse.csr_array)
    assert weights.shape == (len(make_queries()), 2 * N)
    assert (weights.data > 0).all()
    weight = model._model.numbering.weight_of
    empty = np.flatnonzero(np.isnan(weight) | (weight == 0))
    assert {7, 3, N + 40, N + 5} <= set(empty)
    assert weights[:, empty].nnz == 0


def test_the_number_of_neighbors_that_weights_amount_to(estimator_class):
    model = copy.deepcopy(fit(estimator_class, "linear", n_estimators=3))
    queries = make_queries()
    for k in (K, None):
        n = model.set_params(n_neighbors=k).effective_n_neighbors(queries)
        assert n.shape == (len(queries),)
        assert n.dtype == np.float64
        squares = model.neighbor_weights(queries).toarray() ** 2
        assert_allclose(n, 1 / squares.sum(1), rtol=1e-9)
        assert (n > 1 - 1e-9).all()


def test_neighbors_of_equal_weight_are_counted(estimator_class):
    y, weight = np.arange(20.0), np.repeat([1.0, 2.0], 10)
    model = estimator_class(
        trend=None, blend=None, n_estimators=2, **QUICK | dict(n_neighbors=None)
    )
    model.fit(np.ones((20, 2)), y, sample_weight=weight)
    assert_allclose(model.effective_n_neighbors([[1, 1], [5, 0]]), 30)
    assert_allclose(model.forget([0, 19]).effective_n_neighbors([[1, 1], [5, 0]]), 27)
