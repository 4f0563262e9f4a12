"""Classifiers: probabilities and what else is asked of them, for two and more classes."""

import copy
import datetime
import enum
import pickle
import warnings
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
import torch
from explained import blended_in
from mixed import every_part_weighs
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris, make_classification
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, TunedThresholdClassifierCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skneighbors import ModelFileError, NONAClassifier, SoftStepKNNClassifier, load
from skneighbors._blend import boosting
from skneighbors._blend import trees as growing
from skneighbors._blend.base import N_FOLDS, BlendData, BlendSettings, draw_folds
from skneighbors._task import Classification
from skneighbors._training import EnsembleSplit
from skneighbors._utils.device import CPU
from skneighbors._utils.printing import part_words

SHORT = {"max_iter": 8, "n_estimators": 1, "random_state": 0}


@pytest.fixture(params=[NONAClassifier, SoftStepKNNClassifier])
def classifier(request):
    return request.param


def make_classes(n=300, n_classes=3, seed=0):
    X, codes = make_classification(
        n,
        n_features=6,
        n_informative=4,
        n_classes=n_classes,
        n_clusters_per_class=1,
        class_sep=1.5,
        random_state=seed,
    )
    return X, np.array(["good", "bad", "fair", "poor"])[codes]


@pytest.fixture(scope="module", params=["auto", "boosting", "linear", None])
def fitted(request):
    X, y = make_classes()
    model = NONAClassifier(blend=request.param, max_iter=20, random_state=0)
    with every_part_weighs():
        return model.fit(X[:200], y[:200]), X, y


def test_probabilities(classifier):
    for n_classes in (2, 3):
        X, y = make_classes(n_classes=n_classes)
        model = classifier(max_iter=20, random_state=0).fit(X[:200], y[:200])
        probabilities = model.predict_proba(X[200:])
        assert_array_equal(model.classes_, np.unique(y))
        assert model.n_outputs_ == 1
        assert (probabilities > 0).all()
        assert_allclose(probabilities.sum(axis=1), 1, rtol=1e-12)
        assert_array_equal(model.predict(X), model.classes_[model.predict_proba(X).argmax(1)])
        assert model.score(X[200:], y[200:]) > 0.8
        prior = np.tile([np.mean(y == label) for label in model.classes_], (100, 1))
        assert log_loss(y[200:], probabilities) < 0.6 * log_loss(y[200:], prior)
        assert_allclose(np.exp(model.predict_log_proba(X[200:])), probabilities)


def test_losses_by_definition():
    y = np.array([[0], [2], [1], [2]])
    task = Classification.fit(y, np.array([1.0, 2.0, 1.0, 1.0]), np.arange(3))
    assert_allclose(task.prior, [0.2, 0.2, 0.6])
    values = np.random.default_rng(0).dirichlet(np.ones(3), size=4)
    found = task.losses(*map(torch.from_numpy, (values, task.transform(y))))
    mixed = 0.95 * values + 0.05 * task.prior
    assert_allclose(found, -np.log(mixed[np.arange(4), y[:, 0]]))
    assert_allclose(task.inverse_transform(values), mixed)


def test_boosted_log_odds_are_scikit_learns():
    X, y = make_classes(400, 2)
    y = (y == "good").astype(float)
    settings = dict(learning_rate=0.1, max_features=1.0)
    [trees] = growing.grow(
        X[:250], y[:250], None, 0, np.random.RandomState(0), [30], "log_loss", **settings
    )
    theirs = HistGradientBoostingClassifier(
        early_stopping=False,
        max_iter=30,
        max_leaf_nodes=31,
        min_samples_leaf=5,
        random_state=np.random.RandomState(0),
        **settings,
    ).fit(X[:250], y[:250])
    expected = theirs.predict_proba(X[300:])[:, 1]
    assert_allclose(expit(trees.predict(X[300:])), expected, rtol=1e-6)


def fit_bags(data):
    random_state = np.random.RandomState(0)
    folds = draw_folds(data.group, N_FOLDS, random_state)
    settings = BlendSettings(10, random_state)
    [model], [out_of_fold] = boosting.BOOSTING["log_loss"].fit(data, folds, settings)
    return model, out_of_fold


def test_bags_predict_probabilities():
    X, y = make_classes(n_classes=3)
    values = (y[:, None] == np.unique(y)).astype(float)
    n = len(y)
    data = BlendData(X, values, np.ones(n), np.arange(n), np.zeros(6, dtype=int))
    bags, out_of_fold = fit_bags(data)
    for predicted in (out_of_fold, bags.predict(X)):
        assert_allclose(predicted.sum(axis=1), 1)
        assert (predicted > 0).all()
    of_two = data._replace(y=values[:, :2] + [0, 1] * values[:, 2:])
    bags, out_of_fold = fit_bags(of_two)
    assert len(bags.bags) == 1
    assert_allclose(out_of_fold.sum(axis=1), 1)


class Color(str, enum.Enum):
    RED = "red"
    BLUE = "blue"


@pytest.mark.parametrize(
    ("labels", "dtype"),
    [
        (np.array(["no", "long"]), "<U4"),
        (np.array(["no", "yes"], dtype=object), object),
        (np.array([False, True]), bool),
        (np.array([3, 7], dtype="int8"), "int8"),
        (np.array([1.0, 2.0]), float),
        (np.array([np.str_("q"), "p"], dtype=object), object),
        (np.array(["2020-01-01", "2021-01-01"], dtype="M8[D]"), "M8[D]"),
        (np.array([True, False], dtype=object), bool),
        (np.array([7, np.int8(3)], dtype=object), int),
        (np.array([1.0, 2.0], dtype=object), float),
        (np.array(["no", "long"], dtype=np.dtypes.StringDType()), object),
        (pd.Categorical(["a", "b"]), object),
        (pd.array([False, True], dtype="boolean"), bool),
        (pd.array([3, 7], dtype="Int64"), int),
        (pd.array([3, 7], dtype="int64[pyarrow]"), int),
    ],
)
def test_labels_of_any_type(labels, dtype, tmp_path):
    X, codes = make_classification(80, random_state=0)
    y = labels[codes]
    model = NONAClassifier(blend=None, **SHORT).fit(X, y)
    assert model.classes_.dtype == dtype
    assert set(model.predict(X).tolist()) <= set(np.asarray(y).tolist())
    model.save(tmp_path / "model")
    for again in (load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        assert_array_equal(again.predict(X), model.predict(X))
        assert_array_equal(again.predict_proba(X), model.predict_proba(X))
        assert again.classes_.tolist() == model.classes_.tolist()
        assert again.classes_.dtype == again.explain(X[:1]).targets.dtype == dtype
        assert again.append(X[:2], y[:2]).score(X, y) > 0.5


@pytest.mark.parametrize("n", [20, 120])
def test_one_class_is_constant(classifier, n):
    X, _ = make_classes(n)
    model = classifier(**SHORT).fit(X, ["only"] * n)
    assert_array_equal(model.predict_proba(X), np.ones((n, 1)))
    assert set(model.predict(X)) == {"only"}
    assert_array_equal(
        model.explain(X[:3]).targets,
        np.full_like(model.explain(X[:3]).labels, "only", dtype=object),
    )
    with pytest.raises(ValueError, match="y has a single one"):
        model.suspects()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert model.predict_set(X).all()


def test_without_validation_rows_there_is_no_trend(classifier):
    X, y = make_classes(25)
    model = classifier(**SHORT).fit(X, y)
    assert "trend" not in model.plan_.params
    prior = [np.mean(y == label) for label in model.classes_]
    why = model.explain(X)
    assert_allclose(why.parts["frequencies"], np.tile(prior, (25, 1)))
    assert why.part_weights == {"frequencies": 0.05}


@pytest.mark.parametrize("swapped", [False, True])
def test_a_bag_without_a_class(swapped):
    """The rare class is one group; out of fold, its rows are improbable whichever is first."""
    X = np.random.default_rng(0).normal(size=(200, 3))
    groups = np.arange(200) // 20
    is_rare = groups == 0
    values = np.stack([is_rare, ~is_rare], axis=1).astype(float)
    values = values[:, ::-1] if swapped else values
    rare = int(swapped)
    bags, out_of_fold = fit_bags(BlendData(X, values, np.ones(200), groups, np.zeros(3, dtype=int)))
    assert (out_of_fold[is_rare, rare] < 0.1).all()
    assert bags.predict(X)[:, rare].mean() < 0.5
    assert np.isfinite(bags.predict(X)).all()


def test_many_classes_are_boosted_for_as_long_as_there_is_time(monkeypatch):
    monkeypatch.setattr(boosting, "_STAGES", (1,))
    X, _ = make_classes(300)
    y = np.arange(300) % 30
    model = NONAClassifier(blend="boosting", **SHORT).fit(X, y)
    (bag, *_), *_ = model.blend_.parts["boosting"].bags if model.blend_ else [[None]]
    assert bag is None or len(bag.trees.value) == round(model.plan_.recipe.boosting_iter / 3)
    assert model.predict_proba(X).shape == (300, 30)


def test_images():
    X, y = make_classes(80)
    model = NONAClassifier(feature_extractor=lambda: torch.nn.Linear(6, 8), **SHORT)
    model.fit(X.astype(np.float32), y)
    assert model.score(X, y) > 0.5
    assert model.plan_.params["blend"] is None


def test_a_class_of_one_row_is_trained_on():
    X, y = make_classes(100)
    y[17] = "poor"
    model = NONAClassifier(**SHORT).fit(X, y)
    assert "poor" in model.classes_
    assert not np.isin(17, model._model.samples[model._model.validation.rows])


def test_validation_rows_hold_each_class_in_proportion():
    strata = np.repeat([0, 1, 2], [80, 19, 1])
    split = EnsembleSplit.draw(100, 20, 5, np.random.RandomState(0), strata)
    for rows in split.validation.numpy():
        assert_allclose(np.bincount(strata[rows], minlength=3), [16, 4, 0], atol=1)
        assert 99 not in rows


def test_weights_are_repeats(classifier):
    X, y = make_classes(60)
    times = np.random.default_rng(0).integers(1, 3, size=60)
    weighted = classifier(**SHORT).fit(X, y, sample_weight=times)
    repeated = classifier(**SHORT).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    assert_array_equal(weighted.predict_proba(X), repeated.predict_proba(X))
    again = classifier(**weighted.plan_.params).fit(X, y, sample_weight=times)  # what was planned
    assert_array_equal(again.predict_proba(X), weighted.predict_proba(X))


def test_class_weight():
    X, y = make_classes(120, 2)
    few = np.flatnonzero(y == "bad")[10:]
    X, y = np.delete(X, few, axis=0), np.delete(y, few)
    balanced = NONAClassifier(class_weight="balanced", **SHORT).fit(X, y)
    counts = {label: np.sum(y == label) for label in ("bad", "good")}
    by_hand = {label: len(y) / (2 * count) for label, count in counts.items()}
    given = NONAClassifier(class_weight=by_hand, **SHORT).fit(X, y)
    weights = NONAClassifier(**SHORT).fit(X, y, sample_weight=[by_hand[label] for label in y])
    assert_allclose(balanced._model.task.prior, 0.5)
    for other in (given, weights):
        assert_allclose(other.predict_proba(X), balanced.predict_proba(X))
    with pytest.raises(ValueError, match="class_weight names 'ugly'"):
        NONAClassifier(class_weight={"ugly": 2}, **SHORT).fit(X, y)
    more = NONAClassifier(class_weight=by_hand | {"ugly": 2}, **SHORT).fit(X, y)
    assert_array_equal(more.predict_proba(X), given.predict_proba(X))


@pytest.mark.parametrize("left_out", ["bad", "good"])
def test_classes_without_weight_are_left_out(left_out):
    X, y = make_classes(90)
    alone = NONAClassifier(**SHORT).fit(X[y != left_out], y[y != left_out])
    for model in (
        NONAClassifier(class_weight={left_out: 0}, **SHORT).fit(X, y),
        NONAClassifier(**SHORT).fit(X, y, sample_weight=y != left_out),
    ):
        assert_array_equal(model.classes_, alone.classes_)
        assert_array_equal(model.predict_proba(X), alone.predict_proba(X))
        with pytest.raises(ValueError, match=f"'{left_out}', which is no class of fit"):
            model.append(X[:1], [left_out])


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({"bad": -1}, r"class_weight contains negative values, such as -1\.0"),
        ({"bad": "a"}, "class_weight holds 'a', of type 'str'; it must hold numbers"),
        ({"bad": np.nan}, "class_weight contains NaN"),
        ({"bad": 0, "good": 0, "fair": 0}, "class_weight must have a positive entry"),
        ({"bad": 1e29}, "sample_weight times class_weight must sum to"),
    ],
)
def test_bad_class_weights_are_named(weights, message):
    X, y = make_classes(90)
    with pytest.raises(ValueError, match=message):
        NONAClassifier(class_weight=weights, **SHORT).fit(X, y, sample_weight=np.full(90, 1e3))


@pytest.mark.parametrize("of", [int, np.int64])
def test_class_weights_come_back_from_files(tmp_path, of):
    X, codes = make_classification(60, random_state=0)
    model = NONAClassifier(class_weight={of(0): 1.0, of(1): 3.0}, **SHORT).fit(X, codes)
    model.save(tmp_path / "model")
    assert load(tmp_path / "model").class_weight == {0: 1.0, 1: 3.0}


def test_bad_targets_are_named(fitted):
    model, X, y = fitted
    codes = (y == y[0]).astype(int)
    for bad, message in (
        (
            np.where(np.arange(len(y)) == 3, None, y),
            "missing labels in 1 of 300 rows, such as row 3",
        ),
        (np.where(np.arange(len(y)) < 3, np.nan, 1), "missing labels in 3 of 300 rows"),
        (np.where(y == y[0], np.datetime64("NaT"), np.datetime64("2020-01-01")), "missing labels"),
        (np.ma.array(y, mask=np.arange(len(y)) == 3), "masked labels"),
        (np.random.default_rng(0).normal(size=len(y)), "continuous"),
        (np.column_stack([y, y]), "1d array"),
        (np.where(np.arange(len(y)) == 3, 1, y.astype(object)), "y holds 1, of type 'int'"),
        ([np.nan, *y[1:]], "missing labels in 1 of 300 rows, such as row 0"),
        ([0, *y[1:]], r"y holds 0, of type 'int'.*astype\(str\)"),
        (np.array([True, *codes[1:].tolist()], dtype=object), "of type 'bool'"),
        (pd.cut(pd.Series(X[:, 0]), 3), r"Interval\(.*'Interval'.*astype\(str\)"),
        (pd.period_range("2020-01", periods=2, freq="M")[codes], "'Period'.*astype"),
        ([Decimal(int(code)) for code in codes], "'Decimal'.*astype"),
        ([datetime.date(2020, 1, 1 + code) for code in codes], "'date'.*astype"),
        (y.astype("S"), "'bytes'.*astype"),
        (np.array([2**53 + 1, 2**53, 1.0] * 100, dtype=object), "of type 'int'"),
        ([*list(Color), *y[2:]], "y holds <Color.RED: 'red'>, of type 'Color'"),
        (np.where(y == y[0], np.inf, 1), "infinity"),
    ):
        with pytest.raises((ValueError, TypeError), match=message):
            NONAClassifier(**SHORT).fit(X, bad)
    with pytest.raises(ValueError, match="y holds 'ugly', which is no class of fit"):
        model.append(X[:2], ["good", "ugly"])
    with pytest.raises(ValueError, match="masked labels"):
        model.append(X[:2], np.ma.array(["good", "bad"], mask=[True, False]))
    with pytest.raises(ValueError, match="y holds 'ugly'"):
        NONAClassifier(**SHORT).fit(X, y, X_val=X[:5], y_val=["ugly"] * 5)
    with pytest.raises(ValueError, match="blend"):
        NONAClassifier(blend=HistGradientBoostingClassifier()).fit(X, y)


def test_explanations_sum_to_the_probability(fitted):
    model, X, y = fitted
    why, core = model.explain(X[200:]), model._model
    assert_allclose(why.prediction, model.predict_proba(X[200:]), rtol=1e-12)
    of_class = [(why.weights * (why.targets == label)).sum(axis=1) for label in why.classes]
    total = why.neighbors_weight * np.stack(of_class, axis=1) + blended_in(why)
    assert_allclose(total, why.prediction, rtol=0, atol=1e-9)
    assert_array_equal(why.targets, y[why.indices])
    assert why.adjustments is why.adjusted_targets is why.clipping is None
    assert list(why.parts) == [*model.plan_.parts, "frequencies"]
    for part in why.parts.values():
        assert_allclose(part.sum(axis=1), 1)
    # By column, what the blended model changes.
    why = model.explain(X[200:203], by_column=True)
    found, rows = why.by_column.differences, core.numbering.row_of[why.indices]
    p_rows = core.blend(core.matrix[rows.ravel()], CPU).numpy()
    differences = core.blend(X[200:203], CPU).numpy()[:, None] - p_rows.reshape(*rows.shape, -1)
    weight = (1 - core.task.prior_weight) * model.blend_weight_
    assert_allclose(found.sum(2), weight * differences, atol=1e-9)
    by_hand = np.einsum("nk,nkpc->pc", why.weights, np.abs(found)) / len(why)
    assert_allclose(np.stack(list(why.importances().values())), by_hand)
    frame = why.to_frame(by_column=True)
    names = [f"difference_{label} by x{j}" for label in why.classes for j in range(6)]
    assert list(frame) == ["query", "row", "weight", "share", "class", *names]
    assert_allclose(frame["share"], why.neighbors_weight * frame["weight"])
    assert_array_equal(frame["difference_good by x1"], found[:, :, 1, 2].ravel())
    text = str(why)
    assert all(part_words(name) in text for name in why.parts)
    assert model.predict(X[200:201])[0] in text.splitlines()[0]
    assert ("beside the query" in text) == bool(np.any(found))
    assert model.explain(X[200:201])._repr_html_().count("<table>") == 2


def test_copies_and_single_rows_are_answered_the_same(fitted, tmp_path):
    model, X, _ = fitted
    model.save(tmp_path / "model")
    expected = model.predict_proba(X[200:])
    for again in (load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        assert_array_equal(again.predict_proba(X[200:]), expected)
    assert_allclose(model.predict_proba(X[200:201]), expected[:1], rtol=1e-7)


def test_label_errors_are_found(classifier):
    X, y = make_classes(200)
    wrong = np.random.default_rng(1).choice(200, 8, replace=False)
    turned = y.copy()
    turned[wrong] = np.where(y[wrong] == "good", "bad", "good")
    suspects = classifier(max_iter=20, random_state=0).fit(X, turned).suspects(n_rows=12)
    assert np.isin(suspects.indices, wrong).sum() >= 6
    assert (np.diff(suspects.scores) <= 0).all()
    assert_array_equal(suspects.targets, turned[suspects.indices])
    assert len(str(suspects).splitlines()) > 12
    assert len(suspects.to_frame()) == 12


def test_sets_cover():
    covered = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X, y = make_classes(1200, seed=seed)
        flipped = rng.choice(len(y), 300, replace=False)
        y[flipped] = rng.choice(["good", "bad", "fair"], 300)
        model = NONAClassifier(max_iter=20, random_state=0).fit(X[:700], y[:700])
        sets = model.predict_set(X[700:], confidence_level=0.8)
        covered.append(sets[np.arange(500), np.searchsorted(model.classes_, y[700:])].mean())
        assert (model.predict_set(X[700:], confidence_level=0.95) >= sets).all()
    assert 0.76 < np.mean(covered) < 0.86


def test_append_and_forget(fitted):
    model, X, y = fitted
    before = model.predict_proba(X)
    state = model._model
    try:
        model.append(X[200:], y[200:])
        assert model.score(X[200:], y[200:]) >= 0.9
        model.forget(np.arange(200, 300))
        assert_allclose(model.predict_proba(X), before, atol=1e-12)
    finally:
        model._model = state
    assert model.novelty(X[200:]).shape == (100,)


def test_groups_time_and_validation_sets(classifier):
    X, y = make_classes(150)
    groups = np.arange(150) // 5
    for given in ({"groups": groups}, {"time": np.arange(150)}, {"X_val": X[:30], "y_val": y[:30]}):
        model = classifier(**SHORT).fit(X, y, **given)
        assert model.score(X, y) > 0.6
        assert model.predict_set(X, confidence_level=0.5).shape == (150, 3)
        with pytest.warns(UserWarning, match="validation rows.*sets hold all classes"):
            assert model.predict_set(X, confidence_level=0.999).all()


def test_it_works_in_scikit_learns_meta_estimators():
    X, y = load_iris(return_X_y=True)
    model = NONAClassifier(blend=None, **SHORT)
    grid = {"nonaclassifier__softstep": [None, "s1", "s2"]}
    search = GridSearchCV(make_pipeline(StandardScaler(), model), grid, cv=2).fit(X, y)
    assert search.best_score_ > 0.85
    assert CalibratedClassifierCV(model, cv=2).fit(X, y).score(X, y) > 0.85
    assert OneVsRestClassifier(model).fit(X, y).score(X, y) > 0.8
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        two = TunedThresholdClassifierCV(model, cv=2).fit(X[:100], y[:100])
    assert two.score(X[:100], y[:100]) > 0.9


def with_task(model, **fields):
    """The same model, of another task."""
    known, changed = model._model, copy.copy(model)
    task = replace(known.task, **fields)
    changed._model = replace(known, bank=replace(known.bank, task=task))
    return changed


@pytest.fixture(scope="module")
def uneven():
    """Three classes, one of them frequent, and features that say little."""
    rng = np.random.RandomState(0)
    X, y = rng.normal(size=(400, 3)), rng.choice(["a", "b", "c"], size=400, p=[0.8, 0.12, 0.08])
    return NONAClassifier(**SHORT).fit(X[:300], y[:300]), X[300:]


def test_a_file_whose_classes_do_not_fit_is_refused(uneven, tmp_path):
    for labels in (np.array(["a", "b"]), ["a", "b", "c"]):
        with_task(uneven[0], labels=labels).save(tmp_path / "model")
        with pytest.raises(ModelFileError, match="labels"):
            load(tmp_path / "model")


@pytest.mark.parametrize("prior_weight", [0.0, 0.1, 0.5, 1.0])
def test_sets_are_those_of_the_most_probable_classes(uneven, prior_weight):
    model, X = with_task(uneven[0], prior_weight=prior_weight), uneven[1]
    p, sets = model.predict_proba(X), model.predict_set(X, confidence_level=0.7)
    excluded, included = np.where(sets, -1, p).max(axis=1), np.where(sets, p, 2).min(axis=1)
    assert sets.any()
    assert not sets.all()
    assert (excluded < included).all()
    top = p.argmax(axis=1)
    assert (sets[np.arange(len(X)), top] | ~sets.any(axis=1)).all()


def test_a_validation_row_covers_its_class_by_its_probability(uneven):
    """As many sets of the validation rows hold the class as the confidence says."""
    model = with_task(uneven[0], prior_weight=0.3)
    known, search = model._model, model._check_search()
    judged = known.validation.judge(known.bank, search.n_neighbors)
    values = (judged.targets - judged.residuals).numpy()
    p = 0.7 * values + 0.3 * known.task.prior
    true = np.sort(p[judged.targets.numpy() == 1])[::-1]
    _, threshold = known.predict_region(model._read_queries(uneven[1])[1], search, 0.8)
    assert_allclose(1 - threshold, true[int(np.ceil(0.8 * (len(true) + 1))) - 1])


def test_where_frequencies_alone_predict(uneven):
    model, X = with_task(uneven[0], prior_weight=1.0), uneven[1]
    assert set(model.predict(X)) == {"a"}
    assert_allclose(model.predict_proba(X), np.tile(model._model.task.prior, (len(X), 1)))
    with pytest.warns(UserWarning, match="the frequencies of the classes alone predict"):
        suspects = model.suspects()
    assert len(suspects.indices) == len(suspects.to_frame()) == 0
    why = model.explain(X[:2])
    assert why.neighbors_weight == 0
    assert why.part_weights["frequencies"] == 1
    assert "all is predicted by the frequencies" in str(why)


@pytest.mark.parametrize(("n_rows", "largest"), [(29, 0.1), (30, 1.0)])
def test_few_validation_rows_leave_frequencies_little_weight(n_rows, largest):
    task, rng = Classification(np.array([0.5, 0.5]), np.arange(2)), np.random.RandomState(0)
    y, y_hat = (torch.from_numpy(np.eye(2)[rng.randint(2, size=(1, 60))]) for _ in range(2))
    assert task.calibrate(y, y_hat, None, n_rows).prior_weight == largest
