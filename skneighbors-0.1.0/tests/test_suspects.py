"""Rows whose targets look wrong."""

import copy
import pickle
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from partly_linear import EQUAL, N, make_data
from partly_linear import QUICK as OF_ALL
from sklearn.metrics import average_precision_score

from skneighbors import NONARegressor, Recipe, SoftStepKNNRegressor
from skneighbors._model import residuals

# What it warns of where none are held out has a test of its own.
pytestmark = pytest.mark.filterwarnings("ignore:There are no validation rows")

K = 7
QUICK = OF_ALL | dict(n_neighbors=K, blend=None, early_stopping=False)
SHORT = dict(blend=None, n_estimators=2, max_iter=20, random_state=0)
FORGOTTEN = [3, 41, N + 2]
# Numbers of targets, whether weighted and whether rows have come and gone.
CASES = [(1, False, False), (2, True, False), (2, True, True)]


@cache
def fit(estimator_class, trend="linear", n_targets=1, weighted=False, changed=False, **params):
    """Fitted estimator of two networks."""
    X, y, weight = make_data(n_targets)
    model = estimator_class(trend=trend, n_estimators=2, **QUICK | params)
    model.fit(X, y, sample_weight=weight if weighted else None)
    if changed:
        model.append(*make_data(n_targets, seed=1)).forget(FORGOTTEN)
    return model


def all_rows(n_targets, changed):
    """Everything that such an estimator has been given."""
    parts = [make_data(n_targets, seed)[:2] for seed in range(1 + changed)]
    return tuple(np.concatenate(part) for part in zip(*parts, strict=True))


def without(model, sample):
    """Copy of an estimator that has forgotten a row, with all samples that are part of it."""
    row_of = model._model.numbering.row_of
    return pickle.loads(pickle.dumps(model)).forget(np.flatnonzero(row_of == row_of[sample]))


@pytest.fixture(params=CASES, ids=["one target", "two, weighted", "two, weighted, changed"])
def case(request):
    return request.param


@pytest.mark.parametrize(("trend", "k"), [(None, None), ("linear", K)])
def test_expected_is_what_is_predicted_once_the_row_is_forgotten(estimator_class, case, trend, k):
    model = copy.deepcopy(fit(estimator_class, trend, *case)).set_params(n_neighbors=k)
    X, y = all_rows(case[0], case[2])
    suspects = model.suspects(len(X))
    assert_allclose(suspects.targets, y[suspects.indices], rtol=1e-12)
    for place in range(0, len(suspects), 5):
        sample = suspects.indices[place]
        alone = without(model, sample)
        expected = alone.predict(X[[sample]])[0]
        assert_allclose(suspects.expected[place], expected, rtol=1e-9)
        neighbors = suspects.neighbors[place]
        weights = alone.explain(X[[sample]])
        n = min(5, np.count_nonzero(weights.weights[0]))
        assert_array_equal(neighbors, weights.indices[0, :n])


def test_scores_are_in_units_of_the_neighbors_residuals(estimator_class, case, monkeypatch):
    monkeypatch.setattr(residuals, "_N_SPREAD", 2 * K)
    model = copy.deepcopy(fit(estimator_class, None, *case))
    X = all_rows(case[0], case[2])[0]
    row_of, weight_of = model._model.numbering.row_of, model._model.numbering.weight_of
    rows = [np.flatnonzero(row_of == row) for row in range(row_of.max() + 1)]
    size = np.array([weight_of[own].sum() for own in rows])
    suspects = model.suspects(len(X))
    judged, off = row_of[suspects.indices], np.empty((len(rows), case[0]))
    off[judged] = np.abs(suspects.targets - suspects.expected).reshape(len(rows), -1)
    some = judged[::9]
    near = np.empty((len(some), len(rows)))
    for i, row in enumerate(some):
        alone = without(model, rows[row][0]).set_params(n_neighbors=2 * K)
        weights = alone.neighbor_weights(X[rows[row][:1]]).toarray()[0]
        near[i] = [weights[other].sum() for other in rows]
    n_near = 1 / np.square(near).sum(axis=1, keepdims=True)
    # Of any rows as many as ten count, too.
    spread = (n_near * near @ off + 10 * size @ off / size.sum()) / (n_near + 10)
    expected = (off[some] / spread).max(axis=1)
    assert len(suspects) == len(rows)
    assert (np.diff(suspects.scores) <= 0).all()
    assert_allclose(suspects.scores[::9], expected, rtol=1e-8)


@pytest.mark.parametrize(
    ("estimator_class", "blend"), [(NONARegressor, "boosting"), (SoftStepKNNRegressor, None)]
)
def test_swapped_targets_are_found(estimator_class, X, y, blend):
    y, wrong = y.copy(), np.random.RandomState(0).permutation(len(y))[:8]
    y[wrong] = y[np.roll(wrong, 1)]
    model = estimator_class(blend=blend, max_iter=40, random_state=0).fit(X, y)
    suspects = model.suspects(len(y))
    is_wrong = np.isin(suspects.indices, wrong)
    assert average_precision_score(is_wrong, suspects.scores) > 0.4  # by chance 0.04


def test_one_wrong_target_of_two_will_do(estimator_class, X, y):
    Y = np.column_stack([y, 100 * y])
    Y[11, 1] += 3000
    suspects = estimator_class(**SHORT).fit(X, Y).suspects(3)
    assert suspects.indices[0] == 11
    assert suspects.targets.shape == suspects.expected.shape == (3, 2)
    assert suspects.interval.shape == (3, 2, 2)


def test_rows_of_a_group_say_nothing_of_each_other(estimator_class):
    X, y, _ = make_data()
    groups = np.arange(N) // 4
    model = estimator_class(**QUICK).fit(X, y, groups=groups)
    suspects = model.suspects(N)
    for sample, expected, neighbors in zip(
        suspects.indices, suspects.expected, suspects.neighbors, strict=True
    ):
        assert groups[sample] not in groups[neighbors]
        if sample % 7 == 0 and not set(EQUAL) & {*np.flatnonzero(groups == groups[sample])}:
            others = copy.deepcopy(model).forget(groups == groups[sample])
            assert_allclose(expected, others.predict(X[[sample]])[0], rtol=1e-9)


def test_equal_rows_are_one_and_twins_with_other_targets_are_two(estimator_class):
    X, y, _ = make_data()
    X[20] = X[21]
    suspects = estimator_class(**QUICK).fit(X, y).suspects(N)
    assert sorted(suspects.indices) == sorted({*range(N)} - {*EQUAL[1:]})
    for sample, twin in ((20, 21), (21, 20)):
        assert twin in suspects.neighbors[list(suspects.indices).index(sample)]


def test_appended_rows_are_judged_and_forgotten_ones_are_not(estimator_class, friedman):
    X, X_new, y, y_new = friedman
    model = estimator_class(**SHORT).fit(X, y)
    y_new = y_new.copy()
    y_new[3] += 40
    model.append(X_new, y_new)
    assert model.suspects(1).indices == [203]
    model.forget([203])
    suspects = model.suspects(10**6)
    assert len(suspects) == 299
    assert 203 not in np.concatenate([suspects.indices, *suspects.neighbors])


@pytest.mark.parametrize("group_size", [1, 5])
def test_a_target_typed_wrong_moves_no_limit(estimator_class, group_size):
    """Of its own row, and of those that leave out its group."""
    X, y, _ = make_data()
    y[30] = 1e6
    groups = np.arange(N) // group_size
    model = estimator_class(trend="linear", **QUICK)
    with pytest.warns(UserWarning, match="1e\\+06 in row 30"):
        suspects = model.fit(X, y, groups=groups).suspects(N)
    assert suspects.indices[0] == 30
    others, of_group = y[groups != groups[30]], groups[suspects.indices] == groups[30]
    assert of_group.sum() == group_size
    middle, half = (others.max() + others.min()) / 2, np.ptp(others) / 2
    assert (np.abs(suspects.expected[of_group] - middle) <= 1.2 * half + 1e-6).all()


@pytest.mark.parametrize("blend", ["auto", "boosting", "linear"])
def test_what_the_blended_model_predicts_of_a_row_is_out_of_fold(X, y, blend):
    params = SHORT | dict(max_iter=2, blend=blend, recipe=Recipe(boosting_iter=30))
    model = NONARegressor(**params).fit(X, y)
    before, weight = model.suspects(len(y)), model.blend_weight_
    assert weight > 0
    bank = pickle.loads(pickle.dumps(model))._model.bank  # of which nothing is kept
    rows = replace(bank.rows, blended=bank.rows.blended + 0.01)
    model._model = replace(model._model, bank=replace(bank, rows=rows))
    now = model.suspects(len(y))
    order, other = before.indices.argsort(), now.indices.argsort()
    change = (now.expected[other] - before.expected[order]) / model._model.task.scale
    assert_allclose(np.median(change), 0.01 * weight)


def test_groups_are_left_out_whole_where_some_residuals_are_known(estimator_class, monkeypatch):
    X, y, _ = make_data()
    groups = np.arange(N) // 4
    y = y + 30 * (groups == 3)  # wrong alike
    model, scores = estimator_class(**QUICK).fit(X, y, groups=groups), []
    for most in (10_000, N // 2):
        monkeypatch.setattr(residuals, "_MAX_ROWS", most)
        suspects = pickle.loads(pickle.dumps(model)).suspects(N)  # of which nothing is kept
        scores.append(suspects.scores[np.isin(suspects.indices, np.flatnonzero(groups == 3))])
    assert len(scores[0]) == len(scores[1]) == 4
    assert scores[1].min() > 0.5 * scores[0].min()


def test_where_some_residuals_are_known_no_row_counts_its_own(estimator_class, monkeypatch):
    monkeypatch.setattr(residuals, "_MAX_ROWS", 30)
    X, y, _ = make_data()
    model = estimator_class(**QUICK).fit(X, y)
    far = X[:1] + 50  # its own residual would be most of its spread
    model.append(far, [1000.0])
    last = len(model._model.bank) - 1
    assert last in residuals.sample_rows(last + 1, 30)
    suspects = model.suspects(1)
    assert suspects.indices == [N]
    assert suspects.scores > 20
    assert_allclose(suspects.expected, without(model, N).predict(far))


def test_intervals_are_as_wide_as_scores_say(X, y, estimator_class):
    model = estimator_class(**SHORT | dict(max_iter=5)).fit(X, y)
    suspects, wider = model.suspects(len(y)), model.suspects(len(y), confidence_level=0.95)
    assert_allclose(suspects.interval.mean(axis=1), suspects.expected)
    half = np.diff(suspects.interval)[:, 0] / 2
    factor = half * suspects.scores / np.abs(suspects.targets - suspects.expected)
    assert_allclose(factor, factor[0])
    assert (np.diff(wider.interval) > np.diff(suspects.interval)).all()
    assert_array_equal(wider.indices, suspects.indices)


def test_of_equal_scores_the_first_row_comes_first():
    X = np.random.RandomState(0).normal(size=(40, 2))
    suspects = NONARegressor(**QUICK).fit(X, np.full(40, 3.0)).suspects(5)
    assert_array_equal(suspects.indices, range(5))
    assert_array_equal(suspects.scores, 0)


def test_fewer_are_the_first_of_all(estimator_class):
    model = fit(estimator_class)
    every, few = model.suspects(10**6), model.suspects(n_rows=np.int64(4))
    assert len(every) == N - len(EQUAL) + 1
    assert len(model.suspects()) == 20
    assert_array_equal(few.indices, every.indices[:4])
    assert_array_equal(few.scores, every.scores[:4])
    assert_array_equal(few.interval, every.interval[:4])


@pytest.mark.parametrize(
    "params",
    [
        *[{"n_rows": n} for n in (0, -1, 2.5, "3", None)],
        *[{"confidence_level": level} for level in (0, 1, 1.5, None)],
    ],
)
def test_refuses_parameters(params):
    (name,) = params
    with pytest.raises(ValueError, match=rf"'{name}' parameter of NONARegressor.suspects"):
        fit(NONARegressor).suspects(**params)


def test_one_row_has_none_to_compare_with(estimator_class):
    X, y, _ = make_data()
    X, y, groups = X[8:40], y[8:40], np.arange(32) // 8
    model = copy.deepcopy(fit(estimator_class)).forget(np.arange(2, N))
    with pytest.warns(UserWarning, match="no validation rows.*intervals are infinite"):
        assert len(model.suspects()) == 2
    with pytest.raises(ValueError, match="a single one, or a single group, is left"):
        model.forget([0]).suspects()
    with pytest.raises(ValueError, match="a single one, or a single group, is left"):
        estimator_class(**QUICK).fit(X, y, groups=groups).forget(groups > 0).suspects()


def test_warns_where_none_or_few_were_held_out(X, y):
    with pytest.warns(UserWarning, match="no validation rows") as caught:
        fit(NONARegressor).suspects()
    assert caught[0].filename == __file__
    model = NONARegressor(**SHORT | dict(max_iter=2)).fit(X, y)
    with pytest.warns(UserWarning, match="confidence_level=0.999 needs at least 999") as caught:
        suspects = model.suspects(confidence_level=0.999)
    assert caught[0].filename == __file__
    assert np.isinf(suspects.interval).all()
    assert_array_equal(suspects.scores, model.suspects().scores)
    assert "inf" in str(suspects)


def table(n_targets=1):
    X, y, _ = make_data(n_targets)
    index = [f"home <{i}>" for i in range(N)]
    return pd.DataFrame(X, columns=["a", "b", "c"], index=index), y


def test_rows_are_named_by_the_index(estimator_class):
    X, y = table(2)
    model = estimator_class(**QUICK).fit(X, y)
    model.append(X[:1] + 1, [[1000.0, 1000.0]])
    suspects = model.suspects(4)
    assert suspects.labels[0] == "home <0>"
    assert suspects.indices[0] == N
    names = np.append(X.index, X.index[0])
    assert_array_equal(suspects.labels, names[suspects.indices])
    for labels, samples in zip(suspects.neighbor_labels, suspects.neighbors, strict=True):
        assert_array_equal(labels, names[samples])
    frame = suspects.to_frame()
    names = [f"{name}_{k}" for k in (0, 1) for name in ("target", "expected", "low", "high")]
    assert list(frame) == ["row", "score", *names, "neighbors"]
    assert_array_equal(frame["row"], suspects.labels)
    assert_array_equal(frame["expected_1"], suspects.expected[:, 1])
    assert_array_equal(frame[["low_1", "high_1"]], suspects.interval[:, 1])
    assert frame["neighbors"][0] == list(suspects.neighbor_labels[0])
    assert_array_equal(
        fit(estimator_class).suspects().labels, fit(estimator_class).suspects().indices
    )


def test_as_text_and_html(estimator_class):
    X, y = table()
    model = estimator_class(**QUICK).fit(X, y)
    suspects = model.suspects(25)
    text = str(suspects)
    assert repr(suspects) == text
    title, head, *rows = text.split("\n\n")[0].splitlines()
    columns = ["row", "score", "target", "expected", "low", "high", "neighbors"]
    assert head.split() == list(suspects.to_frame()) == columns
    assert len(rows) == 20
    for label, score, row in zip(suspects.labels, suspects.scores, rows, strict=False):
        assert row.startswith(label)
        assert row.removeprefix(label).split()[0] == f"{score:.1f}"
    assert "... and 5 more rows" in text
    assert "more rows" not in str(model.suspects(20))
    page = suspects._repr_html_()
    assert page.count("<tr>") == 21
    assert "home &lt;" in page
    assert "home <" not in page
    assert title in page


def test_a_feature_extractor(estimator_class):
    X, y, _ = make_data()
    y[9] += 100
    with pytest.warns(UserWarning, match="in row 9"):
        model = estimator_class(feature_extractor=torch.nn.Flatten, **QUICK).fit(X, y)
    assert model.suspects(1).indices == [9]
