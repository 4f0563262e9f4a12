"""Whose rows are whose neighbors: groups, and rows given for validation."""

import datetime
from decimal import Decimal

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV, KFold, cross_validate

from skneighbors import NONARegressor, Recipe
from skneighbors._columns.checks import check_groups
from skneighbors._network import NeighborNetwork
from skneighbors._training import EnsembleSplit
from skneighbors.nn import NONA, MLPEmbedder

QUICK = dict(max_iter=3, hidden_layer_sizes=(16,), n_estimators=2, random_state=0)


@pytest.fixture
def episodes():
    """Rows in groups: their target is the group's alone, and so are their features nearly."""
    rng = np.random.RandomState(0)
    groups = np.repeat(np.arange(40), 10)
    X = rng.normal(size=(40, 4))[groups] + 0.01 * rng.normal(size=(400, 4))
    return X, rng.normal(size=40)[groups], groups


@pytest.fixture
def friedman_rows(X, y, X_test, y_test):
    return X, y, X_test, y_test


@pytest.mark.parametrize("n_members", [1, 3])
@pytest.mark.parametrize("wanted", [1, 15, 60, 190, 400])
def test_groups_are_drawn_whole(wanted, n_members):
    groups = np.random.RandomState(1).randint(20, size=400)
    sizes = np.bincount(groups)
    for seed in range(9):
        split = EnsembleSplit.draw_groups(groups, wanted, n_members, np.random.RandomState(seed))
        assert split.train.shape[0] == split.validation.shape[0] == n_members
        n_neither = 400 - split.train.shape[1] - split.validation.shape[1]
        assert n_neither <= (n_members > 1) * sizes.max()
        for train, held_out in zip(*map(np.asarray, split), strict=True):
            assert_array_equal(train, np.unique(train))
            assert_array_equal(held_out, np.unique(held_out))
            assert not set(groups[train]) & set(groups[held_out])
            assert min(wanted, 200 - sizes.max()) <= len(held_out) <= 200
            # No group too many.
            own = sizes[np.unique(groups[held_out])]
            assert own.sum() - own.max() < wanted or n_members > 1


def test_members_hold_out_other_groups():
    groups = np.repeat(np.arange(40), 3)
    for seed in range(9):
        split = EnsembleSplit.draw_groups(groups, 20, 4, np.random.RandomState(seed))
        assert len(np.unique(split.validation)) == 4 * 21
        # Once each has been, they are again.
        split = EnsembleSplit.draw_groups(groups, 20, 7, np.random.RandomState(seed))
        counts = np.bincount(split.validation.flatten())
        assert set(counts) == {1, 2}


@pytest.mark.parametrize("sizes", [(97, 1, 1, 1), (60, 30, 10), (34, 33, 33), (1, 1, 1)])
def test_most_rows_and_two_groups_are_left(sizes):
    groups = np.repeat(np.arange(len(sizes)), sizes)
    for seed in range(9):
        split = EnsembleSplit.draw_groups(groups, 15, 3, np.random.RandomState(seed))
        for train, held_out in zip(*map(np.asarray, split), strict=True):
            assert 0 < len(held_out) <= max(len(groups) / 2, min(sizes))
            assert len(set(groups[train])) >= 2


def test_rows_of_a_group_are_no_neighbors_of_each_other():
    torch.manual_seed(0)
    X, y, group = torch.randn(1, 12, 3), torch.randn(1, 12, 1), torch.arange(12)[None] % 4
    weight = torch.rand(1, 12) + 0.5
    network = NeighborNetwork(None, [MLPEmbedder(3, (8,), 4)], [NONA(4, softstep=None)]).eval()
    for sample_weight in (None, weight):
        y_hat = network(X, y, 6, sample_weight, None, group)
        z = network.embed(X)[0]
        for i in range(6):
            others = group[0] != group[0, i]
            weights = torch.softmax(-torch.cdist(z[i : i + 1], z[others]), 1)
            if sample_weight is not None:
                weights = weights * sample_weight[0, others]
                weights = weights / weights.sum()
            assert_allclose(y_hat[0, i].detach(), (weights @ y[0, others])[0].detach(), rtol=1e-4)


def test_a_query_whose_neighbors_are_all_of_its_group(estimator_class):
    X, y = np.random.RandomState(0).normal(size=(2, 30))
    groups = np.r_[np.zeros(29), 1]
    with pytest.raises(ValueError, match="at least 2 groups to train on"):
        estimator_class(**QUICK).fit(
            X[:, None], y, groups=np.zeros(30), X_val=X[:9, None], y_val=y[:9]
        )
    model = estimator_class(early_stopping=False, **QUICK).fit(X[:, None], y, groups=groups)
    assert np.isfinite(model.predict(X[:, None])).all()


@pytest.mark.slow
def test_twins_in_another_row_but_the_same_group_give_no_skill(estimator_class):
    rng = np.random.RandomState(0)
    groups = np.repeat(np.arange(100), 4)
    X, y = rng.normal(size=(100, 3))[groups], rng.normal(size=100)[groups]
    X = X + 1e-6 * rng.normal(size=X.shape)
    model = estimator_class(max_iter=100, random_state=0)
    looked_up = model.fit(X, y).validation_scores_
    assert max(looked_up) > 0.3
    told = model.fit(X, y, groups=groups).validation_scores_
    assert max(told) < 0.1
    fresh = rng.normal(size=(300, 3))
    assert r2_score(rng.normal(size=300), model.predict(fresh)) < 0.05


def test_names_of_groups_do_not_matter(estimator_class, episodes):
    X, y, groups = episodes
    expected = estimator_class(**QUICK).fit(X, y, groups=groups).predict(X)
    other = np.random.RandomState(2).permutation(40)[groups] * 3 - 7.5
    for names in (other, [f"{name}" for name in other], pd.Series(groups)):
        assert_array_equal(estimator_class(**QUICK).fit(X, y, groups=names).predict(X), expected)


def test_a_group_of_no_weight_is_none():
    X = pd.DataFrame({"who": np.repeat(["a", "b", "c", "d"], 5), "x": np.arange(20.0)})
    weight = np.where(X["who"] == "d", 0.0, 1.0)
    model = NONARegressor(**QUICK).fit(X, X["x"], weight, groups=X["who"])
    expected = NONARegressor(**QUICK).fit(X[:15], X["x"][:15], groups=X["who"][:15])
    assert_array_equal(model.predict(X[:15]), expected.predict(X[:15]))


SAME_GROUPS = {
    "texts": np.array(["a", "b", "b"]),
    "objects": np.array(["a", "b", "b"], dtype=object),
    "text of NumPy": np.array(["a", "b", "b"], dtype=np.dtypes.StringDType()),
    "category": pd.Series(["a", "b", "b"], dtype="category"),
    "polars": pl.Series(["a", "b", "b"], dtype=pl.Categorical),
    "narwhals": nw.from_native(pl.Series(["a", "b", "b"]), series_only=True),
    "Arrow": pa.chunked_array([pa.array(["a", "b", "b"]).dictionary_encode()]),
    "singles": np.float32([0.1, 0.2, 0.2]),
    "of one value": [0.1, np.float32(0.2), 0.2],
    "decimals": pl.Series([Decimal("0.1"), Decimal("0.2"), Decimal("0.2")]),
    "nullable": pd.Series([1, 2, 2], dtype="Int64"),
    "bools": [False, True, True],
    "days": pd.to_datetime(["2020", "2021", "2021"]),
    "days as objects": [datetime.date(2020, 1, 1), *pd.to_datetime(["2021", "2021"])],
    "intervals": pd.cut(pd.Series([1, 5, 6]), [0, 3, 9]),
}


@pytest.mark.parametrize("groups", SAME_GROUPS.values(), ids=SAME_GROUPS)
def test_groups_are_found_by_value(groups):
    codes = check_groups(groups, 3)
    assert codes.dtype.kind == "i"
    assert codes.tolist() == [0, 1, 1]


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([1, "1", 2], r"groups holds '1', of type 'str', beside 1\. .*astype"),
        ((1.5, True, 2), r"groups holds True, of type 'bool', beside 1\.5"),
        (pd.Categorical([1, "1", 2]), r"groups must be all numbers or all text; got 1 and '1'"),
        (pd.MultiIndex.from_arrays([["a", "b"], [1, 2]]).repeat([1, 2]), "of type 'tuple'"),
        (pd.period_range("2020", periods=3), "of type 'Period'"),
        (["a", float("nan"), "b"], "groups contains NaN, None or NA; every sample"),
        (pa.array(["a", None, "b"]).dictionary_encode(), "contains NaN, None or NA"),
        ("who", r"groups must have one entry for each of 3 samples; got 'who'\."),
        ([{"a": "b" * 1000}] * 3, r"groups holds \{'a': 'bbb.*\.\.\., of type 'dict'"),
    ],
)
def test_groups_that_are_none(groups, message):
    with pytest.raises(ValueError, match=message) as error:
        check_groups(groups, 3)
    assert len(str(error.value)) < 300


def test_groups_work_with_near_rows_and_a_blend_and_harm(episodes, auto):
    auto(overfitting_in_standard_errors=-1e9, min_steps=3)
    X, y, groups = episodes
    recipe = Recipe(context_size=32, context_neighbors=2)
    model = NONARegressor(blend="boosting", batch_size=64, recipe=recipe, random_state=0)
    model.set_params(max_iter=10, hidden_layer_sizes=(16,)).fit(X, y, groups=groups)
    assert model.plan_.recipe.context_neighbors == 2
    assert np.isfinite(model.predict(X)).all()


def test_validation_rows_choose_the_epoch_and_are_no_neighbors(estimator_class, friedman_rows):
    X, y, X_val, y_val = friedman_rows
    model = estimator_class(blend=None, max_iter=40, n_estimators=2, random_state=0)
    model.fit(X, y, X_val=X_val, y_val=y_val)
    assert model.plan_.n_validation == 100
    assert model.plan_.n_samples == model.n_samples_fit_ == len(model._model.bank) == 200
    assert not any(phase.on_all for phase in model.plan_.schedule.phases)
    assert not model.plan_.schedule.refits_after
    assert model.best_iter_ == model.validation_iters_[np.argmax(model.validation_scores_)]
    # The weights that are kept are those that were validated.
    score = max(model.validation_scores_)
    assert model.plan_.n_estimators == 2
    assert score - 0.02 < model.score(X_val, y_val)  # of the mean of both, calibrated


def test_validation_rows_train_nothing(estimator_class, friedman_rows):
    X, y, X_val, y_val = friedman_rows
    recipe = Recipe(temperature="learned")
    fit = estimator_class(blend=None, recipe=recipe, **QUICK | dict(max_iter=1)).fit
    expected = fit(X, y, X_val=X_val, y_val=y_val).predict(X)
    assert_array_equal(fit(X, y, X_val=X_val[::-1], y_val=y_val[::-1]).predict(X), expected)
    assert_array_equal(fit(X, y, X_val=X_val[:50], y_val=y_val[:50]).predict(X), expected)


def test_validation_weights(friedman_rows):
    X, y, X_val, y_val = friedman_rows
    weight = np.random.RandomState(0).randint(3, size=len(y_val))
    copies = np.repeat(np.arange(len(y_val)), weight)
    model = NONARegressor(**QUICK)
    weighted = model.fit(X, y, X_val=X_val, y_val=y_val, sample_weight_val=weight)
    scores = weighted.validation_scores_
    copied = NONARegressor(**QUICK).fit(X, y, X_val=X_val[copies], y_val=y_val[copies])
    assert_allclose(scores, copied.validation_scores_, rtol=1e-5)


@pytest.mark.parametrize("blend", ["auto", "boosting", "linear"])
def test_validation_rows_choose_the_weight_however_few_rows_there_are(
    estimator_class, friedman_rows, blend
):
    X, y, X_val, y_val = friedman_rows
    model = estimator_class(blend=blend, **QUICK)
    for n_rows in (200, 3):
        model.fit(X[:n_rows], y[:n_rows], X_val=X_val, y_val=y_val)
        assert len(model.validation_scores_) == 3
        assert n_rows == 3 or 0 < model.blend_weight_ <= 1


@pytest.mark.parametrize(
    ("n_rows", "as_given"), [(100, np.asarray), (100, pd.DataFrame), (100, list), (30, list)]
)
def test_a_search_splits_validation_rows_as_many_as_those_of_x(friedman_rows, n_rows, as_given):
    X, y, X_val, y_val = (part[:100] for part in friedman_rows)
    given = X_val[:n_rows], y_val[:n_rows], np.arange(1, n_rows + 1)
    names = "X_val", "y_val", "sample_weight_val"

    def take(rows):
        return dict(zip(names, (part[rows] for part in given), strict=True))

    whole = take(slice(None))
    whole["X_val"] = as_given(whole["X_val"])
    model = NONARegressor(**QUICK)
    found = cross_validate(model, X, y, cv=3, params=whole, return_estimator=True)
    for (train, _), fitted in zip(KFold(3).split(X), found["estimator"], strict=True):
        own = take(train if n_rows == len(X) else slice(None))
        expected = NONARegressor(**QUICK).fit(X[train], y[train], **own)
        assert_array_equal(fitted.predict(X), expected.predict(X))
        assert fitted.validation_scores_ == expected.validation_scores_
    search = GridSearchCV(model, {"softstep": [None]}, cv=3).fit(X, y, **whole)
    expected = NONARegressor(softstep=None, **QUICK).fit(X, y, **whole)
    assert_array_equal(search.predict(X), expected.predict(X))


def test_with_a_feature_extractor(estimator_class, friedman_rows):
    X, y, X_val, y_val = friedman_rows
    model = estimator_class(feature_extractor=lambda: torch.nn.Linear(10, 5), **QUICK)
    model.fit(X, y, X_val=X_val, y_val=y_val, groups=np.arange(200) // 4)
    assert np.isfinite(model.predict(X_val)).all()
