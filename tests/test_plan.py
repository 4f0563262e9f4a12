"""What every "auto" becomes, and how a recipe is given, searched, copied and shown."""

import math
import pickle
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from planned import all_of, plan_for
from sklearn.base import clone

from skneighbors import PAPER, NONARegressor, Recipe, SoftStepKNNRegressor
from skneighbors._settings import TABLE, TABLE_SOFTSTEP_KNN, values_for

SMALL = dict(max_iter=2, n_estimators=1, hidden_layer_sizes=4, random_state=0)


def check_nothing_is_auto(plan):
    """But what is not of the training, and the blend of all parts, which has no other name."""
    values = all_of(plan)
    auto = {name for name, value in values.items() if isinstance(value, str) and value == "auto"}
    assert auto == {"algorithm", "device"} | ({"blend"} if len(plan.parts) == 2 else set())


@pytest.fixture(autouse=True, scope="module")
def small_defaults():
    """Leave the defaults as users have them."""


def test_the_table_is_in_order_and_its_first_line_names_all():
    tables = {0: dict(a=1, b=1), 10: dict(a=2)}, {0: dict(b=3), 20: dict(a=4)}
    for n_samples, a in {9: 1, 10: 2, 20: 4}.items():
        assert values_for(n_samples, tables) == dict(a=a, b=3)
    for table in (TABLE, TABLE_SOFTSTEP_KNN):
        assert list(table) == sorted(table)
        assert all(set(line) <= set(TABLE[0]) for line in table.values())


@pytest.mark.parametrize(
    "n_samples", [2, 29, 30, 99, 100, 499, 500, 999, 1000, 2000, 4999, 5000, 10**6]
)
def test_nothing_is_auto_any_more(estimator_class, n_samples):
    plan = plan_for(estimator_class(), n_samples)
    check_nothing_is_auto(plan)
    assert plan.n_samples == n_samples
    with pytest.raises(FrozenInstanceError):
        plan.settings.parts = ()
    assert repr(plan).startswith(f"Plan(n_samples={n_samples}, n_validation=")
    assert len(repr(plan)) < 140


CALIBRATIONS = tuple(2 ** (power / 2) for power in (0, -1, 1, -2, 2, -4, 3, 4, -6, 5, 6, -8))
LIKENESSES = 0.0, 0.5, 1.0, 2.0, 4.0
BOTH = "boosting", "linear"
# From so many unique samples on, by hand.
EXPECTED = {
    "n_validation": {
        29: 0,
        30: 4,
        100: 15,
        1000: 150,
        6827: 1024,
        99_999: 1024,
        10**5: 512,
        10**6: 256,
    },
    "parallel": {999: False, 1000: True},
    "parts": {29: (), 30: ("linear",), 99: ("linear",), 100: BOTH, 10**6: BOTH},
    "blend": {29: None, 30: "linear", 99: "linear", 100: "auto", 10**6: "auto"},
    "refits_after": {29: (), 30: ("overfitting",), 10**6: ("overfitting",)},
    "refit": {0: True, 10**6: True},
    "temperature": {29: "learned", 30: "both", 10**6: "both"},
    "calibrations": {29: (), 30: CALIBRATIONS, 10**6: CALIBRATIONS},
    "likeness": {29: 0.0, 30: "calibrated", 10**6: "calibrated"},
    "likenesses": {29: (0.0,), 30: LIKENESSES, 19_999: LIKENESSES, 20_000: (0.0, 1.0, 4.0)},
}


def test_what_auto_becomes(estimator_class):
    for name, values in EXPECTED.items():
        for n_samples, expected in values.items():
            plan = plan_for(estimator_class(), max(2, n_samples))
            assert all_of(plan)[name] == expected, (name, n_samples)
    eps = {NONARegressor: 1e-6, SoftStepKNNRegressor: 1e-2}
    assert plan_for(estimator_class(), 5000).recipe.eps == eps[estimator_class]


def test_parts_that_are_asked_for_need_rows_held_out(estimator_class):
    assert plan_for(estimator_class(early_stopping=False), 200).parts == ()
    assert plan_for(estimator_class(blend=None), 200).parts == ()
    for blend in ("boosting", "linear"):
        for n_samples, parts in {2: (), 3: (blend,), 200: (blend,)}.items():
            assert plan_for(estimator_class(blend=blend), n_samples).parts == parts


@pytest.mark.parametrize("temperature", ["learned", "calibrated", "both", 0.5])
@pytest.mark.parametrize("n_samples", [29, 200])
def test_a_given_temperature_stays(estimator_class, temperature, n_samples):
    plan = plan_for(estimator_class(recipe=Recipe(temperature=temperature)), n_samples)
    assert plan.recipe.temperature == temperature
    chosen = temperature in ("calibrated", "both")
    assert plan.settings.calibrations == (CALIBRATIONS if chosen else ())
    assert (plan.n_validation > 0) == (chosen or n_samples >= 30)


@pytest.mark.parametrize(
    ("params", "n_samples", "n_validation"),
    [
        ({"early_stopping": True}, 3, 1),
        ({"early_stopping": True}, 50, 8),
        ({"early_stopping": False}, 10**4, 0),
        ({"early_stopping": True, "validation_fraction": 0.99}, 10, 8),  # two are left
        ({"early_stopping": True, "validation_fraction": 0.01}, 10, 1),
        ({"validation_fraction": 0.5}, 10**5, 50_000),
    ],
)
def test_how_many_samples_are_held_out(estimator_class, params, n_samples, n_validation):
    assert plan_for(estimator_class(**params), n_samples).n_validation == n_validation


@pytest.mark.parametrize(
    ("params", "fields", "checks", "refits"),
    [
        ({}, {}, True, True),
        ({}, {"refit": False}, True, False),
        ({"early_stopping": False}, {}, False, False),
        ({"max_iter": 100}, {}, False, False),  # too short to judge by its cycles
        ({}, {"n_iter_no_change": 5}, False, False),
        ({}, {"learning_rate_schedule": "constant"}, False, False),
    ],
)
def test_when_there_are_checks_and_a_refit(estimator_class, params, fields, checks, refits):
    plan = plan_for(estimator_class(**params, recipe=Recipe(**fields)), 300)
    assert has_checks(plan) == checks
    assert bool(plan.schedule.refits_after) == plan.schedule.phases[-1].on_all == refits


def has_checks(plan):
    return plan.schedule.phases[-2].check


def test_epochs_that_predict_rows_more_than_once_are_fewer():
    for given, n_epochs, near in [
        ({}, 70, 4),
        ({"context_size": 128}, 95, 4),
        ({"context_neighbors": None}, 140, None),
        ({"context_size": None}, 140, None),
    ]:
        plan = plan_for(NONARegressor(recipe=Recipe(**given)), 4000)
        assert (plan.max_iter, plan.recipe.context_neighbors) == (n_epochs, near)
    # All rows are in the batch already.
    big = plan_for(NONARegressor(batch_size=3200), 4000)
    assert big.recipe.context_neighbors is None


def test_few_rows_make_as_many_steps_as_there_must_be(estimator_class):
    auto = values_for(50, estimator_class()._tables())
    assert auto["min_steps"] > auto["min_epochs"]
    for batch_size, n_epochs in (
        (256, auto["min_steps"]),
        (25, math.ceil(auto["min_steps"] / 2)),
        (5, auto["min_epochs"]),
    ):
        without = estimator_class(batch_size=batch_size, early_stopping=False)
        assert plan_for(without, 50).max_iter == n_epochs
        # Five cycles of growing length become six.
        plan = plan_for(estimator_class(batch_size=batch_size), 50)
        assert plan.max_iter == math.ceil(n_epochs * 63 / 31)
        assert plan.schedule.n_cycles == 6
    assert plan_for(estimator_class(max_iter=7), 50).max_iter == 7


@pytest.mark.parametrize(("n_samples", "most"), [(50, 6), (700, 7)])
def test_cycles_by_the_number_of_samples(estimator_class, n_samples, most):
    """The first five are needed, and checks begin at the end of the third."""
    phases = plan_for(estimator_class(), n_samples).schedule.phases
    assert [phase.check for phase in phases] == [3 <= n < most for n in range(1, most + 1)]
    assert [phase.is_optional for phase in phases] == [n > 5 for n in range(1, most + 1)]


def test_samples_that_are_equal_count_once(estimator_class, X, y, X_test, auto):
    auto(201, hidden_layer_sizes=(8,), context_size=16)
    model = estimator_class(max_iter=2, random_state=0)
    once = model.fit(X, y).predict(X_test)
    assert model.plan_.n_samples == 200
    twice = clone(model).fit(np.repeat(X, 2, 0), np.repeat(y, 2), np.full(400, 0.5))
    assert all_of(twice.plan_) == all_of(model.plan_)
    assert_allclose(twice.predict(X_test), once, rtol=1e-4)
    more = clone(model).fit(np.vstack([X, X[:1] + 1]), np.append(y, 0.0))
    assert more.plan_.hidden_layer_sizes == (8,)
    assert more.plan_.recipe.context_size == 16


@pytest.mark.parametrize("n_samples", [2, 29, 30, 99, 100, 499, 500, 2000, 6000, 20_000])
@pytest.mark.parametrize("known", [{}, {"source": "X_val", "n_given": 30}, {"drawn": (1, 1)}])
@pytest.mark.parametrize(
    "params",
    [
        {},
        PAPER,
        *[{"blend": given} for given in ("boosting", "linear", None)],
        *[
            {"recipe": Recipe(temperature=given)}
            for given in ("learned", "calibrated", "both", 0.5)
        ],
    ],
)
def test_a_plan_of_the_parameters_of_a_plan_is_the_same(estimator_class, n_samples, known, params):
    if "drawn" in known:  # so rows are held out
        params = params | {"early_stopping": True}
    plan = plan_for(estimator_class(**params), n_samples, **known)
    assert plan.params.keys() == estimator_class().get_params(deep=False).keys()
    again = plan_for(estimator_class(**plan.params), n_samples, **known)
    assert all_of(again) == all_of(plan)


def test_fields_are_parameters_of_the_estimator(estimator_class):
    model = estimator_class(recipe=Recipe(ema_decay=0.9))
    assert model.get_params()["recipe__ema_decay"] == 0.9
    assert "ema_decay=0.9" in repr(model)
    copy = pickle.loads(pickle.dumps(clone(model).set_params(recipe__dropout=0.1)))
    assert copy.recipe.get_params() == Recipe(ema_decay=0.9, dropout=0.1).get_params()
    assert model.recipe.dropout == "auto"


def test_fields_are_set_where_there_is_no_recipe_and_on_a_copy(estimator_class):
    model = estimator_class().set_params(recipe__dropout=0.1, max_iter=3)
    assert (model.recipe.dropout, model.max_iter) == (0.1, 3)
    with pytest.raises(ValueError, match="Invalid parameter 'droput' for estimator Recipe"):
        model.set_params(recipe__droput=0.1)
    assert model.set_params(recipe=None, max_iter=3).recipe is None
    assert model.set_params(recipe=None, recipe__tol=0.1).recipe.tol == 0.1
    estimator_class(recipe=PAPER["recipe"]).set_params(recipe__ema_decay=0.5)
    model.set_params(recipe=PAPER["recipe"], recipe__ema_decay=0.5)
    assert model.recipe.ema_decay == 0.5
    assert PAPER["recipe"].ema_decay is None


def test_a_recipe_out_of_range_trains_nothing(estimator_class, X, y):
    model = estimator_class(recipe=Recipe(dropout=1.0))
    with pytest.raises(ValueError, match="'dropout' parameter of Recipe must be"):
        model.fit(X, y)
    assert not hasattr(model, "n_features_in_")


def test_the_papers_setting(X, y, X_test):
    model = NONARegressor(**PAPER, random_state=0).fit(X, y)
    head = model._model.bank.network.head
    assert head.log_temperature is None
    assert head.trend is None
    assert_array_equal(model.temperature_, 1.0)
    y_hat = model.predict(X_test)
    # Without a trend it is a weighted mean of targets.
    assert y.min() <= y_hat.min() <= y_hat.max() <= y.max()
    assert model.n_iter_ == 200 or model.n_iter_ == model.best_iter_ + 10
    assert not model.plan_.schedule.refits_after
