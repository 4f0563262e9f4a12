"""Fits that go on with the weights of the last one."""

import warnings

import numpy as np
import pandas as pd
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from skneighbors import NONARegressor, Recipe, SoftStepKNNRegressor, load

# Nothing is chosen by rows held out, and nothing but the weights moves.
PLAIN = dict(early_stopping=False, recipe=Recipe(batch_norm=False), embedding_dim=8, random_state=0)
STILL = dict(learning_rate_init=1e-30, max_iter=1)
TRAINED_BEFORE = "Rows held out were trained on in the last fit"


@pytest.fixture(scope="module")
def table():
    """Numbers with gaps, few levels, many levels, and a target of these."""
    rng = np.random.RandomState(0)
    X = pd.DataFrame(
        {
            "size": rng.normal(size=90),
            "age": np.where(np.arange(90) % 7, rng.normal(size=90), np.nan),
            "kind": rng.choice(["flat", "house", "villa"], 90),
            "town": np.resize([f"town {i}" for i in range(15)], 90),
        }
    )
    return X, (X["size"] + 2 * (X["kind"] == "villa")).to_numpy()


@pytest.mark.parametrize("n_estimators", [1, 3])
@pytest.mark.parametrize("trend", ["linear", None])
def test_a_further_fit_starts_from_the_weights_that_are_there(
    estimator_class, friedman, n_estimators, trend
):
    X, X_test, y, _ = friedman
    settings = PLAIN | dict(n_estimators=n_estimators, trend=trend)
    model = estimator_class(warm_start=True, max_iter=3, **settings).fit(X, y)
    before = model.predict(X_test)
    cold = estimator_class(max_iter=3, **settings).fit(X, y)
    assert_array_equal(before, cold.predict(X_test))  # the first fit is as any
    assert_array_equal(model.set_params(**STILL).fit(X, y).predict(X_test), before)
    assert model.n_iter_ == 1
    anew = model.set_params(warm_start=False).fit(X, y).predict(X_test)
    assert abs(anew - before).max() > 1e-3


def test_training_goes_on(friedman):
    X, _, y, _ = friedman
    model = NONARegressor(warm_start=True, max_iter=10, n_estimators=1, **PLAIN).fit(X, y)
    first = model.loss_curve_
    assert model.fit(X, y).loss_curve_[0] < first[0] / 2


def test_columns_are_read_as_they_were(table):
    X, y = table
    model = NONARegressor(warm_start=True, max_iter=3, n_estimators=1, **PLAIN).fit(X, y)
    before = model.transform(X)
    # Fewer levels, one that is new, no gaps where some were, other medians and another scale.
    some = X[X["kind"] != "flat"].assign(age=lambda own: own["age"].fillna(9.0) * 50)
    some.iloc[0, 3] = "town 99"
    model.set_params(**STILL).fit(some, 10 * y[some.index] - 4)
    assert_array_equal(model.transform(X), before)
    assert_allclose(model._model.target.mean, np.mean(10 * y[some.index] - 4))


def test_the_target_is_scaled_anew(friedman):
    X, X_test, y, _ = friedman
    settings = PLAIN | dict(trend=None, n_estimators=1)
    model = NONARegressor(warm_start=True, max_iter=3, **settings).fit(X, y)
    before = model.predict(X_test)
    model.set_params(**STILL).fit(X, 1000 * y + 5)
    assert_allclose(model.predict(X_test), 1000 * before + 5, rtol=1e-6)


def test_how_sharp_networks_are_is_chosen_anew(friedman):
    X, _, y, _ = friedman
    model = NONARegressor(warm_start=True, max_iter=1, n_estimators=2, **PLAIN)
    model.set_params(recipe__sharpness=2.0).fit(X, y)
    assert_array_equal(model.sharpness_, 2.0)
    assert_array_equal(model.set_params(recipe__sharpness=0.5).fit(X, y).sharpness_, 0.5)


class Features(torch.nn.Linear):
    def __init__(self, width=3):
        super().__init__(5, width)


def test_feature_extractors_go_on(friedman):
    X, X_test, y, _ = (part[..., :5] if part.ndim == 2 else part for part in friedman)
    model = NONARegressor(
        feature_extractor=Features, warm_start=True, max_iter=3, n_estimators=2, **PLAIN
    )
    before = model.fit(X, y).predict(X_test)
    assert_array_equal(model.set_params(**STILL).fit(X, y).predict(X_test), before)
    model.set_params(feature_extractor=lambda: Features(4))
    with pytest.raises(ValueError, match="feature_extractor must return a module of the same sh"):
        model.fit(X, y)
    with pytest.raises(ValueError, match="feature_extractor must stay None, or be given again"):
        model.set_params(feature_extractor=None).fit(X, y)


def test_auto_is_what_it_was(friedman, auto):
    """Else a few rows more could ask for other networks."""
    X, _, y, _ = friedman
    settings = dict(max_iter=2, random_state=0, warm_start=True)
    auto(n_estimators=3, hidden_layer_sizes=(16,), start=100)
    auto(n_estimators=1, hidden_layer_sizes=(8, 8), trends=("linear",), start=200)
    model = NONARegressor(**settings).fit(X[:150], y[:150])
    before = model.plan_
    with pytest.warns(UserWarning, match=TRAINED_BEFORE):
        model.fit(X, y)
    assert model.plan_.trends == before.trends == ("linear", None, "linear")
    assert model.plan_.hidden_layer_sizes == (16,)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n_estimators", 3),
        ("trend", None),
        ("hidden_layer_sizes", (16, 16)),
        ("embedding_dim", 4),
        ("softstep", "s1"),
        ("softstep_parameters", "global"),
        ("recipe__batch_norm", True),
        ("recipe__numerical_embedding", None),
        ("recipe__temperature", None),
    ],
)
def test_other_networks_are_refused_by_name(friedman, name, value):
    X, X_test, y, _ = friedman
    model = SoftStepKNNRegressor if name == "recipe__temperature" else NONARegressor
    model = model(warm_start=True, max_iter=1, hidden_layer_sizes=16, **PLAIN)
    if name == "softstep":
        model.set_params(softstep="s2")
    before = model.fit(X, y).predict(X_test)
    with pytest.raises(ValueError, match=f"^{name.split('__')[-1]} must stay .* warm_start=True"):
        clone_of_fit(model).set_params(**{name: value}).fit(X, y)
    assert_array_equal(model.predict(X_test), before)


def clone_of_fit(model):
    """Another estimator of the same fit."""
    other = clone(model)
    vars(other).update({name: own for name, own in vars(model).items() if name not in vars(other)})
    return other


def test_other_columns_and_targets_are_refused_by_name(table):
    X, y = table
    model = NONARegressor(warm_start=True, max_iter=1, **PLAIN).fit(X, y)
    with pytest.raises(ValueError, match="missing:\n- town"):
        model.fit(X.drop(columns="town"), y)
    with pytest.raises(ValueError, match="Column 'size' of X holds categories, such as 'big'"):
        model.fit(X.assign(size="big"), y)
    with pytest.raises(ValueError, match=r"y must have 1 targets with warm_start=True.* got 2"):
        model.fit(X, np.column_stack([y, y]))


def test_clones_start_anew_and_files_go_on(friedman, tmp_path):
    X, X_test, y, _ = friedman
    model = NONARegressor(warm_start=True, max_iter=3, n_estimators=1, **PLAIN).fit(X, y)
    assert_array_equal(clone(model).fit(X, y).predict(X_test), model.predict(X_test))
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.warm_start is True
    assert_array_equal(again.fit(X, y).predict(X_test), model.fit(X, y).predict(X_test))


def test_rows_held_out_that_were_trained_on_are_told(friedman):
    """Networks that have seen them predict them too well, and make too narrow intervals."""
    X, X_test, y, y_test = friedman
    model = NONARegressor(
        warm_start=True, max_iter=2, n_estimators=1, blend=None, early_stopping=True, random_state=0
    )
    first, new = slice(0, 100), slice(100, 200)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(X[first], y[first])
        model.fit(X[new], y[new])
        model.fit(X, y, X_val=X_test, y_val=y_test)
        clone_of_fit(model).set_params(early_stopping=False).fit(X, y)
    with pytest.warns(UserWarning, match=TRAINED_BEFORE) as warned:
        model.fit(X, y)
    assert warned[0].filename == __file__
