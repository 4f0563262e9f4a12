"""What a regressor of the user's as `blend` is handed, and what it may be and predict."""

import warnings
from typing import ClassVar

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.cluster import KMeans
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import (
    AdaBoostRegressor,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
    StackingRegressor,
    VotingRegressor,
)
from sklearn.exceptions import NotFittedError, UnsetMetadataPassedError
from sklearn.feature_selection import RFE
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, RidgeCV
from sklearn.metrics import get_scorer
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.multioutput import MultiOutputRegressor
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR
from sklearn.utils.metadata_routing import MetadataRouter, get_routing_for_object

from skneighbors import NONARegressor

QUICK = dict(max_iter=1, hidden_layer_sizes=(4,), n_estimators=1, random_state=0)
N = 150


@pytest.fixture
def routing():
    with config_context(enable_metadata_routing=True):
        yield


@pytest.fixture(scope="module")
def data():
    """Features, targets, weights and groups, all distinct from each other."""
    rng = np.random.RandomState(0)
    X = rng.uniform(-1, 1, size=(N, 3))
    weight = rng.uniform(0.5, 3, N)
    weight[::10] = 0
    return X, 30 * X[:, 0] + rng.normal(size=N), weight, np.array([f"g{i}" for i in range(N)])


class Records(Ridge):
    """Remembers what its `fit` is handed, in all of its clones."""

    calls: ClassVar[list] = []

    def fit(self, X, y, sample_weight=None, groups=None, X_val=None, y_val=None):
        self.calls.append(dict(X=X, y=y, weight=sample_weight, groups=groups, val=(X_val, y_val)))
        return super().fit(X, y, sample_weight)


@pytest.fixture
def calls(monkeypatch):
    monkeypatch.setattr(Records, "calls", [])
    return Records.calls


def requesting(estimator, sample_weight=True, **requests):
    """An estimator that requests weights, or declines them, in fit and score."""
    if hasattr(estimator, "set_score_request"):
        estimator.set_score_request(sample_weight=sample_weight)
    return estimator.set_fit_request(sample_weight=sample_weight, **requests)


def as_it_is(estimator, **_):
    return estimator


def make_blend(name, request):
    """A regressor whose innermost one takes weights, requested if routing needs that."""
    scaler, ridge = request(StandardScaler(), sample_weight=False), request(Ridge())
    scores = get_scorer("r2")
    if request is requesting:
        scores.set_score_request(sample_weight=True)
    both = make_pipeline(scaler, ridge)
    return {
        "regressor": ridge,
        "pipeline": both,
        "search": GridSearchCV(ridge, {"alpha": [1e-3, 1e3]}, cv=3),
        "search of a pipeline": GridSearchCV(both, {"ridge__alpha": [1e-3, 1e3]}, scoring=scores),
        "target": TransformedTargetRegressor(ridge, transformer=StandardScaler()),
        "default": TransformedTargetRegressor(transformer=StandardScaler()),
        "voting": VotingRegressor([("a", ridge), ("b", request(LinearRegression()))]),
        "stacking": StackingRegressor([("a", ridge), ("b", LinearRegression())], Ridge(), cv=3),
    }[name]


ROUTED = "pipeline", "search", "search of a pipeline", "target", "default", "voting"
TAKING = "regressor", "search", "target", "stacking", "voting"
REACHED = [*((name, requesting) for name in ROUTED), *((name, as_it_is) for name in TAKING)]


@pytest.mark.parametrize(("name", "request_"), REACHED)
@pytest.mark.parametrize("n_targets", [1, 2])
def test_weights_reach_what_takes_them(data, name, request_, n_targets):
    X, y, weight, _ = data
    Y, kept = np.column_stack([y, -y])[:, :n_targets], weight > 0
    with config_context(enable_metadata_routing=request_ is requesting):
        blend = make_blend(name, request_)
        known = request_ is as_it_is or get_routing_for_object(blend)
        if known is not True and not known.consumes("fit", ["sample_weight"]):
            pytest.skip("what it makes itself requests nothing in old versions")
        model = NONARegressor(blend=blend, **QUICK).fit(X, Y, sample_weight=weight)
        for own, predicted in zip(Y.T, model.blend_.predict(X).reshape(N, -1).T, strict=True):
            weighted = clone(blend).fit(X[kept], own[kept], sample_weight=weight[kept])
            assert_allclose(predicted, weighted.predict(X), rtol=1e-6)
            assert not np.allclose(predicted, clone(blend).fit(X[kept], own[kept]).predict(X))


def test_each_fit_is_handed_its_samples(data, routing, calls):
    X, y, weight, groups = data
    blend = requesting(Records(), groups=True)
    model = NONARegressor(blend=blend, **QUICK | dict(n_estimators=2))
    model.fit(X, y, sample_weight=weight, groups=groups)
    assert len(calls[0]["y"]) == (weight > 0).sum()
    assert len({len(call["y"]) for call in calls}) == 2  # all, and what is not held out
    for call in calls:
        samples = [int(name[1:]) for name in call["groups"]]
        assert_array_equal(call["X"], X[samples])
        assert_array_equal(call["y"], y[samples])
        assert_array_equal(call["weight"], weight[samples])
        assert call["val"] == (None, None)


def test_names_of_its_own(data, routing, calls):
    """A parameter of another name may be requested by the name of ours."""

    class Renamed(Records):
        def fit(self, X, y, importance=None):
            return super().fit(X, y, importance)

    X, y, weight, _ = data
    blend = Renamed().set_fit_request(importance="sample_weight")
    NONARegressor(blend=blend, **QUICK).fit(X, y, sample_weight=weight)
    assert_array_equal(calls[0]["weight"], weight[weight > 0])


def test_validation_samples_reach_what_requests_them(data, routing, calls):
    X, y, _, _ = data
    given = dict(X_val=X[:20] + 0.1, y_val=y[:20])
    with pytest.raises(UnsetMetadataPassedError, match=r"Records\.fit"):
        NONARegressor(blend=Records(), **QUICK).fit(X, y, **given)
    blend = Records().set_fit_request(X_val=True, y_val=True)
    NONARegressor(blend=blend, **QUICK).fit(X, y, **given)
    (call,) = calls
    assert_array_equal(call["val"][0], given["X_val"])
    assert_array_equal(call["val"][1], given["y_val"])
    blend.set_fit_request(X_val=False, y_val=False)
    NONARegressor(blend=blend, **QUICK).fit(X, y, **given)
    assert calls[1]["val"] == (None, None)


def test_what_knows_no_routing_needs_none(data, routing):
    X, y, weight, _ = data
    model = NONARegressor(blend=AdaBoostRegressor(n_estimators=3), **QUICK)
    model.fit(X, y, sample_weight=(weight > 0).astype(float))
    with pytest.raises(NotImplementedError, match="AdaBoostRegressor"):
        model.fit(X, y, sample_weight=weight)


def test_a_search_by_groups_that_a_column_names(data, routing):
    X, y, _, _ = data
    table, groups = pd.DataFrame(X).add_prefix("x").assign(who=np.arange(N) // 5), np.arange(N) // 5
    blend = GridSearchCV(Ridge(), {"alpha": [0.1, 1.0]}, cv=GroupKFold(3), scoring="r2")
    by_name, by_array = (
        NONARegressor(blend=blend, **QUICK).fit(table, y, groups=own) for own in ("who", groups)
    )
    assert by_name.blend_weight_ == by_array.blend_weight_
    assert_array_equal(by_name.predict(table), by_array.predict(table))


def test_a_search_by_groups_without_routing(data):
    X, y, _, _ = data
    blend = GridSearchCV(Ridge(), {"alpha": [1e-3, 1e3]}, cv=GroupKFold(3))
    with pytest.raises(ValueError, match=r"groups.*parameter should not be None") as caught:
        NONARegressor(blend=blend, **QUICK).fit(X, y, groups=np.arange(N) // 5)
    assert "enable_metadata_routing=True" in "".join(caught.value.__notes__)


def test_what_is_neither_requested_nor_declined(data, routing):
    X, y, weight, groups = data
    with pytest.raises(UnsetMetadataPassedError, match=r"used within NONARegressor\.fit"):
        NONARegressor(blend=Ridge(), **QUICK).fit(X, y, sample_weight=weight)
    with pytest.raises(UnsetMetadataPassedError, match=r"Ridge\.fit"):
        NONARegressor(blend=make_pipeline(Ridge()), **QUICK).fit(X, y, sample_weight=weight)
    with pytest.raises(UnsetMetadataPassedError, match="groups"):
        NONARegressor(blend=Records(), **QUICK).fit(X, y, groups=groups)


DECLINING = [
    lambda: requesting(Ridge(), sample_weight=False),
    lambda: make_pipeline(
        requesting(StandardScaler(), sample_weight=False), requesting(Ridge(), sample_weight=False)
    ),
    lambda: GridSearchCV(requesting(Ridge(), sample_weight=False), {"alpha": [1.0]}, cv=2),
    lambda: requesting(NONARegressor(blend=None, **QUICK), sample_weight=False),
]


@pytest.mark.parametrize("make", DECLINING)
def test_weights_may_be_declined(data, routing, make):
    X, y, weight, _ = data
    model = NONARegressor(blend=make(), **QUICK).fit(X, y, sample_weight=weight)
    kept = weight > 0
    if not isinstance(model.blend_, NONARegressor):
        assert_allclose(model.blend_.predict(X), make().fit(X[kept], y[kept]).predict(X))


NO_WEIGHTS = [
    lambda scaler: KNeighborsRegressor(),
    lambda scaler: make_pipeline(scaler, KNeighborsRegressor()),
    lambda scaler: GridSearchCV(KNeighborsRegressor(), {"n_neighbors": [2]}, cv=2),
    lambda scaler: TransformedTargetRegressor(KNeighborsRegressor()),
]
# What takes weights with routing alone.
UNROUTED = [
    lambda scaler: make_pipeline(scaler, Ridge()),
    lambda scaler: GridSearchCV(make_pipeline(scaler, Ridge()), {"ridge__alpha": [1]}, cv=2),
    lambda scaler: StackingRegressor([("a", KNeighborsRegressor())]),
    lambda scaler: VotingRegressor([("a", make_pipeline(scaler, Ridge()))]),
]


@pytest.mark.filterwarnings("ignore:Scoring failed")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.FitFailedWarning")
@pytest.mark.parametrize(
    ("make", "is_routed"),
    [*((make, True) for make in NO_WEIGHTS), *((make, False) for make in NO_WEIGHTS + UNROUTED)],
)
def test_weights_are_never_dropped(data, make, is_routed):
    X, y, weight, _ = data
    how = "set_fit_request" if is_routed else "metadata_routing"
    with config_context(enable_metadata_routing=is_routed):
        for others_take_them in (False, True):
            scaler = StandardScaler()
            scaler = requesting(scaler, sample_weight=others_take_them) if is_routed else scaler
            model = NONARegressor(blend=make(scaler), **QUICK)
            with pytest.raises(ValueError, match=f"(?s)must take sample_weight in fit.*{how}"):
                model.fit(X, y, sample_weight=weight)
            with pytest.raises(NotFittedError):
                model.predict(X)
        # Weights of 1 are none, and samples of weight 0 are.
        model.fit(X, y, sample_weight=np.ones(N))
        model.fit(X, y, sample_weight=(weight > 0).astype(float))


def test_an_alias_asks_for_what_fit_is_not_given(data):
    X, y, weight, _ = data
    with config_context(enable_metadata_routing=True):
        blend = Ridge().set_fit_request(sample_weight="other")
        with pytest.raises(ValueError, match=r"must take sample_weight .* declines it by False"):
            NONARegressor(blend=blend, **QUICK).fit(X, y, sample_weight=weight)


def test_it_is_a_router_that_takes_weights_itself(estimator_class, routing):
    for blend in (None, "boosting", "auto", Ridge()):
        router = estimator_class(blend=blend).get_metadata_routing()
        assert isinstance(router, MetadataRouter)
        assert not router.consumes("fit", ["sample_weight", "groups"])
        own = estimator_class(blend=blend).set_fit_request(sample_weight=True, groups=True)
        again = clone(own).get_metadata_routing()
        assert again.consumes("fit", ["sample_weight", "groups"]) == {"sample_weight", "groups"}
    model = estimator_class(blend=requesting(Ridge()))
    assert get_routing_for_object(model).consumes("fit", ["sample_weight"]) == {"sample_weight"}


def test_its_own_request_is_for_others(data, routing):
    """What a caller hands it is taken, whatever a pipeline around it would hand on."""
    X, y, weight, _ = data
    model = NONARegressor(blend=requesting(Ridge()), **QUICK)
    expected = clone(model).fit(X, y, sample_weight=weight).predict(X)
    model.set_fit_request(sample_weight=False).fit(X, y, sample_weight=weight)
    assert_array_equal(model.predict(X), expected)


def test_around_it(data, routing, calls):
    """Pipelines, searches and validations around it hand weights and groups through."""
    X, y, weight, _ = data
    groups = np.arange(N) // 5
    blend = requesting(Records(), groups=True)
    model = requesting(NONARegressor(blend=blend, **QUICK), groups=True)
    around = make_pipeline(requesting(StandardScaler()), model)
    search = GridSearchCV(
        around,
        {"nonaregressor__blend__alpha": [0.1]},
        cv=GroupKFold(2),
        scoring=get_scorer("r2").set_score_request(sample_weight=True),
    ).fit(X, y, sample_weight=weight, groups=groups)
    assert len(calls) > 3
    assert all(len(c["weight"]) == len(c["groups"]) == len(c["y"]) for c in calls)
    params = dict(sample_weight=weight, groups=groups)
    scores = cross_val_score(around, X, y, cv=GroupKFold(2), params=params, scoring=search.scoring)
    assert np.isfinite(scores).all()
    assert around.fit_transform(X, y).shape == (N, 64)


LATE = [
    StackingRegressor([("a", Ridge()), ("b", SVR())]),
    TransformedTargetRegressor(Ridge(), transformer=StandardScaler()),
    TransformedTargetRegressor(),
    VotingRegressor([("a", Ridge()), ("b", SVR())]),
    GridSearchCV(SVR(), {"C": [100.0]}, cv=2),
    make_pipeline(StandardScaler(), RidgeCV()),
    RFE(Ridge(), n_features_to_select=2),
    MultiOutputRegressor(SVR(C=100)),
]


@pytest.mark.parametrize("blend", LATE, ids=lambda blend: type(blend).__name__)
@pytest.mark.parametrize("n_targets", [1, 2])
def test_meta_estimators(data, blend, n_targets):
    X, y, _, _ = data
    if isinstance(blend, MultiOutputRegressor) and n_targets == 1:
        pytest.skip("it wants several targets")
    Y = np.column_stack([y, -y]) if n_targets == 2 else y
    model = NONARegressor(blend=blend, **QUICK).fit(X, Y)
    assert model.predict(X).shape == Y.shape
    assert model.blend_.predict(X).shape == Y.shape
    assert not hasattr(blend, "n_features_in_")


@pytest.mark.parametrize("ndim", [1, 2])
def test_one_target_is_handed_as_a_row(data, calls, ndim):
    X, y, _, _ = data
    NONARegressor(blend=Records(), **QUICK).fit(X, y if ndim == 1 else y[:, None])
    assert {call["y"].ndim for call in calls} == {1}


class Unusual(RegressorMixin, BaseEstimator):
    """Predicts what a function makes of a straight line."""

    def __init__(self, change=None):
        self.change = change

    def fit(self, X, y):
        self.line_ = LinearRegression().fit(X, y)

    def predict(self, X):
        return self.change(self.line_.predict(X))


class Duck:
    """Of no class of scikit-learn's."""

    def get_params(self, deep=True):
        return {}

    def fit(self, X, y):
        self.line = LinearRegression().fit(X, y)

    def predict(self, X):
        return self.line.predict(X).tolist()


FORMS = [
    lambda y: y.reshape(len(y), -1),
    lambda y: y.tolist(),
    lambda y: pd.DataFrame(y.reshape(len(y), -1)),
    lambda y: pl.DataFrame(y.reshape(len(y), -1)),
    lambda y: pd.DataFrame(y.reshape(len(y), -1)).astype("Float64"),
    lambda y: y.astype(object),
]
ONE_TARGET = [pd.Series, pl.Series, lambda y: pd.Series(y, index=y).astype("Float64")]


@pytest.mark.parametrize("n_targets", [1, 2])
def test_predictions_of_any_form(data, n_targets):
    X, y, _, _ = data
    Y = np.column_stack([y, -y]) if n_targets == 2 else y
    expected = NONARegressor(blend=Unusual(np.asarray), **QUICK).fit(X, Y).predict(X)
    for change in [*FORMS, *ONE_TARGET] if n_targets == 1 else FORMS:
        model = NONARegressor(blend=Unusual(change), **QUICK).fit(X, Y)
        assert n_targets == 2 or 0 < model.blend_weight_ <= 1
        assert_array_equal(model.predict(X), expected)


@pytest.mark.parametrize("n_targets", [1, 2])
def test_of_no_class_of_scikit_learn(data, n_targets):
    X, y, _, _ = data
    Y = np.column_stack([y, -y]) if n_targets == 2 else y
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        assert NONARegressor(blend=Duck(), **QUICK).fit(X, Y).predict(X).shape == Y.shape


WRONG = {
    "columns": (lambda y: np.column_stack([y, y]), r"shape \(\d+, 2\) for \d+ samples of 1 target"),
    "fewer": (lambda y: y[1:], r"shape \(\d+,\) for \d+ samples"),
    "one": (lambda y: y.mean(), r"shape \(\) for"),
    "a row": (lambda y: y[None], r"shape \(1, \d+\) for"),
    "NaN": (lambda y: np.where(y > 0, np.nan, y), "NaN or infinity"),
    "infinity": (lambda y: np.where(y > 0, np.inf, y), "NaN or infinity"),
    "None": (lambda y: np.where(y > 0, None, y), "NaN or infinity"),
    "masked": (lambda y: np.ma.masked_less(y, 0), "NaN or infinity"),
    "NA": (lambda y: pd.Series(np.where(y > 0, pd.NA, y)), "no numbers"),
    "text": (lambda y: y.astype(str), "no numbers, of dtype <U"),
    "complex": (lambda y: y + 1j, "no numbers, of dtype complex"),
}


@pytest.mark.parametrize(
    ("name", "given"), [*((name, False) for name in WRONG), ("NaN", True), ("columns", True)]
)
def test_other_predictions_are_errors(data, name, given):
    X, y, _, _ = data
    change, message = WRONG[name]
    validation = dict(X_val=X[:30], y_val=y[:30]) if given else {}
    with pytest.raises(ValueError, match=rf"blend predicts .*{message}") as caught:
        NONARegressor(blend=Unusual(change), **QUICK).fit(X, y, **validation)
    assert "blend=Unusual(" in "".join(caught.value.__notes__)


@pytest.mark.parametrize("change", [np.ravel, lambda y: y[:, :1], lambda y: y.T])
def test_another_shape_for_several_targets(data, change):
    X, y, _, _ = data
    with pytest.raises(ValueError, match=r"blend predicts .* samples of 2 targets"):
        NONARegressor(blend=MultiUnusual(change), **QUICK).fit(X, np.column_stack([y, -y]))


class MultiUnusual(Unusual):
    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


def test_a_fault_that_shows_later_is_an_error(data):
    X, y, _, _ = data
    model = NONARegressor(blend=Unusual(lambda y: np.where(y > 1000, np.nan, y)), **QUICK)
    model.fit(X, y)
    model.predict(X)
    with pytest.raises(ValueError, match="blend predicts NaN or infinity"):
        model.predict(1e6 * X)


class Fails(Ridge):
    def __init__(self, error=None):
        super().__init__()
        self.error = error

    def fit(self, X, y):
        raise self.error


class _Error(Exception):
    pass


@pytest.mark.parametrize("error", [_Error("no license"), ValueError("no"), KeyError("k")])
def test_its_own_errors_are_its_own(data, error):
    X, y, _, _ = data
    with pytest.raises(type(error)) as caught:
        NONARegressor(blend=Fails(error), **QUICK).fit(X, y)
    assert caught.value.args == error.args
    (note,) = caught.value.__notes__
    assert note.startswith("blend=Fails(error=")
    assert "text or missing values" not in note


@pytest.mark.parametrize("blend", [LogisticRegression(), KMeans(), StandardScaler()])
def test_what_is_no_regressor(data, blend):
    X, y, _, _ = data
    with pytest.raises(ValueError, match=r"blend must be a regressor; got \w+\(\)"):
        NONARegressor(blend=blend, **QUICK).fit(X, y)


def global_state():
    return np.random.get_state()[1].copy()  # noqa: NPY002


@pytest.mark.parametrize(
    "blend",
    [
        RandomForestRegressor(5),
        make_pipeline(StandardScaler(), RandomForestRegressor(5)),
        HistGradientBoostingRegressor(early_stopping=True),
    ],
)
def test_it_draws_from_the_estimators_random_state(data, blend):
    X, y, _, _ = data
    before = global_state()
    models = [NONARegressor(blend=blend, **QUICK).fit(X, y) for _ in range(2)]
    assert_array_equal(global_state(), before)
    assert_array_equal(*(model.predict(X) for model in models))
    other = NONARegressor(blend=blend, **QUICK | dict(random_state=1)).fit(X, y)
    assert not np.array_equal(other.blend_.predict(X), models[0].blend_.predict(X))
    # What is seeded is left alone.
    seeded = RandomForestRegressor(5, random_state=7)
    model = NONARegressor(blend=seeded, **QUICK).fit(X, y)
    assert_array_equal(model.blend_.predict(X), clone(seeded).fit(X, y).predict(X))


class _OnlyAnArray:
    """What NumPy makes an array of, and nothing else."""

    def __init__(self, values):
        self.values = values

    def __array__(self, dtype=None, copy=None):
        return self.values if dtype is None else self.values.astype(dtype)


FRAMES = [
    pd.DataFrame,
    pl.DataFrame,
    lambda X: pa.table(dict(zip("abc", X.T, strict=True))),
    lambda X: nw.from_native(pl.DataFrame(X)),
    lambda X: nw.from_native(pd.DataFrame(X, columns=[*"abc"])),
]


@pytest.mark.parametrize("form", [_OnlyAnArray, np.ndarray.tolist, *FRAMES])
def test_samples_of_any_form(data, form):
    X, y, weight, _ = data
    model, expected = (
        NONARegressor(blend=Ridge(), **QUICK).fit(
            own(X), y, weight, X_val=own(X[:30]), y_val=y[:30]
        )
        for own in (form, np.asarray)
    )
    assert_allclose(model.predict(form(X)), expected.predict(X))
