"""Whose rows are whose neighbours: groups, and rows given for validation."""

import numpy as np
import pandas as pd
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context
from sklearn.linear_model import Ridge
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skneighbors import NONARegressor, Recipe, SoftStepKNNRegressor
from skneighbors._columns import TrainingSamples, draw_groups
from skneighbors._network import NeighborNetwork
from skneighbors._target import Target
from skneighbors._training.loop import Training
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
def friedman_rows(friedman):
    X, X_test, y, y_test = friedman
    return X, y, X_test, y_test


@pytest.mark.parametrize("wanted", [1, 15, 60, 190, 400])
def test_groups_are_drawn_whole(wanted):
    groups = np.random.RandomState(1).randint(20, size=400)
    for seed in range(9):
        held_out = draw_groups(groups, wanted, np.random.RandomState(seed))
        assert not set(groups[held_out]) & set(groups[~held_out])
        assert min(wanted, 200 - np.bincount(groups).max()) <= held_out.sum() <= 200
        # No group too many.
        sizes = np.bincount(groups)[np.unique(groups[held_out])]
        assert held_out.sum() - sizes.max() < wanted


@pytest.mark.parametrize("sizes", [(97, 1, 1, 1), (60, 30, 10), (34, 33, 33), (1, 1, 1)])
def test_most_rows_and_two_groups_are_left(sizes):
    groups = np.repeat(np.arange(len(sizes)), sizes)
    for seed in range(9):
        held_out = draw_groups(groups, 15, np.random.RandomState(seed))
        assert 0 < held_out.sum() <= max(len(groups) / 2, min(sizes))
        assert len(set(groups[~held_out])) >= 2


@pytest.mark.slow
def test_one_large_group_among_small_ones(estimator_class):
    X, y = np.random.RandomState(0).normal(size=(2, 3000))
    groups = np.zeros(3000, dtype=int)
    groups[-3:] = [1, 2, 3]
    for seed in range(3):
        model = estimator_class(**QUICK | dict(random_state=seed))
        assert model.fit(X[:, None], y, groups=groups).plan_.n_validation <= 3


def test_rows_of_a_group_are_no_neighbours_of_each_other():
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


def test_a_query_whose_neighbours_are_all_of_its_group(estimator_class):
    X, y = np.random.RandomState(0).normal(size=(2, 30))
    groups = np.r_[np.zeros(29), 1]
    with pytest.raises(ValueError, match="at least 2 groups to train on"):
        estimator_class(**QUICK).fit(X[:, None], y, groups=np.zeros(30), X_val=X[:, None], y_val=y)
    model = estimator_class(early_stopping=False, **QUICK).fit(X[:, None], y, groups=groups)
    assert np.isfinite(model.predict(X[:, None])).all()


@pytest.mark.slow
def test_twins_in_another_row_but_the_same_group_give_no_skill(estimator_class):
    rng = np.random.RandomState(0)
    groups = np.repeat(np.arange(150), 2)
    X, y = rng.normal(size=(150, 3))[groups], rng.normal(size=150)[groups]
    X = X + 1e-6 * rng.normal(size=X.shape)
    model = estimator_class(max_iter=100, random_state=0)
    looked_up = model.fit(X, y).validation_scores_
    assert max(looked_up) > 0.3
    told = model.fit(X, y, groups=groups).validation_scores_
    assert max(told) < 0.1
    fresh = rng.normal(size=(300, 3))
    assert r2_score(rng.normal(size=300), model.predict(fresh)) < 0.05


def test_groups_are_held_out_together_by_all_members(episodes, monkeypatch):
    X, y, groups = episodes
    samples = TrainingSamples.check(NONARegressor(), X, y, None, groups, (None,) * 3, Target)
    trainings, run = [], Training.run
    monkeypatch.setattr(Training, "run", lambda self: trainings.append(self) or run(self))
    model = NONARegressor(**QUICK)
    model.fit(X, y, groups=groups)
    (training,) = trainings
    split = training._split
    assert model.plan_ is training._plan
    assert model.plan_.n_validation == split.validation.shape[1] == 60
    for train, validation in zip(split.train, split.validation, strict=True):
        own, other = samples.row_groups[train], samples.row_groups[validation]
        assert len(own) + len(other) == 400
        assert not set(own) & set(other)


def test_names_of_groups_do_not_matter(estimator_class, episodes):
    X, y, groups = episodes
    expected = estimator_class(**QUICK).fit(X, y, groups=groups).predict(X)
    for names in (groups + 7.5, [f"{group:02d}" for group in groups], pd.Series(groups)):
        assert_array_equal(estimator_class(**QUICK).fit(X, y, groups=names).predict(X), expected)


def test_groups_work_with_near_rows_and_a_blend_and_harm(episodes, auto):
    auto(harm_in_standard_errors=-1e9, min_steps=3)
    X, y, groups = episodes
    recipe = Recipe(context_size=32, context_neighbors=2)
    for blend in ("boosting", Ridge()):
        model = NONARegressor(blend=blend, batch_size=64, recipe=recipe, random_state=0)
        model.set_params(max_iter=10, hidden_layer_sizes=(16,)).fit(X, y, groups=groups)
        assert model.plan_.recipe.context_neighbors == 2
        assert np.isfinite(model.predict(X)).all()


@pytest.mark.slow
def test_groups_reach_a_fit_in_cross_validation(estimator_class, episodes):
    X, y, groups = episodes
    with config_context(enable_metadata_routing=True):
        model = estimator_class(**QUICK).set_fit_request(groups=True)
        scores = cross_validate(
            model, X, y, cv=GroupKFold(3), params={"groups": groups}, return_estimator=True
        )
        for fitted in scores["estimator"]:
            assert fitted.plan_.n_validation % 10 == 0
        search = GridSearchCV(model, {"max_iter": [1, 2]}, cv=GroupKFold(2))
        search.fit(X, y, groups=groups)
        assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_validation_rows_choose_the_epoch_and_are_no_neighbours(estimator_class, friedman_rows):
    X, y, X_val, y_val = friedman_rows
    model = estimator_class(trend="linear", blend=None, max_iter=40, n_estimators=2, random_state=0)
    model.fit(X, y, X_val=X_val, y_val=y_val)
    assert model.plan_.n_validation == 100
    assert model.plan_.n_samples == model.n_samples_fit_ == len(model._model.bank) == 200
    assert not model.plan_.join_last_cycle
    assert not model.plan_.refits
    assert model.best_iter_ == model.validation_iters_[np.argmax(model.validation_scores_)]
    # The weights that are kept are those that were validated.
    score = max(model.validation_scores_)
    assert len(model.estimator_weights_) == 2
    assert score - 0.02 < model.score(X_val, y_val)  # of the mean of both, sharpened


def test_validation_rows_train_nothing(estimator_class, friedman_rows):
    X, y, X_val, y_val = friedman_rows
    recipe = Recipe(sharpness=1.0)
    fit = estimator_class(trend="linear", blend=None, recipe=recipe, **QUICK | dict(max_iter=1)).fit
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


@pytest.mark.parametrize("n_rows", [3, 50, 300])
def test_validation_rows_turn_validation_on(estimator_class, friedman_rows, n_rows):
    X, y, X_val, y_val = friedman_rows
    model = estimator_class(**QUICK).fit(X[:n_rows], y[:n_rows], X_val=X_val, y_val=y_val)
    assert len(model.validation_scores_) == 3


def test_later_rows_validate_and_join(friedman_rows):
    X, y, X_val, y_val = friedman_rows
    table = pd.DataFrame(X).add_prefix("x").assign(kind=np.where(X[:, 0] > 0.5, "a", "b"))
    later = pd.DataFrame(X_val).add_prefix("x").assign(kind="c")
    model = NONARegressor(max_iter=40, random_state=0)
    model.fit(table, y, X_val=later[:50], y_val=y_val[:50])
    before = model.score(later[50:], y_val[50:])
    model.append(later[:50], y_val[:50])
    assert model.score(later[50:], y_val[50:]) > before - 0.05
    assert len(model._model.bank) == 250


@pytest.mark.parametrize("blend", ["boosting", Ridge()])
@pytest.mark.parametrize("estimator", [NONARegressor, SoftStepKNNRegressor])
def test_validation_rows_choose_the_share(estimator, friedman_rows, blend):
    X, y, X_val, y_val = friedman_rows
    model = estimator(trend="auto", blend=blend, **QUICK)
    model.fit(X, y, X_val=X_val, y_val=y_val)
    assert 0 < model.blend_share_ <= 1


def test_validation_rows_through_a_pipeline(friedman_rows):
    X, y, X_val, y_val = friedman_rows
    scaler = StandardScaler().fit(X)
    expected = NONARegressor(**QUICK).fit(
        scaler.transform(X), y, X_val=scaler.transform(X_val), y_val=y_val
    )
    with config_context(enable_metadata_routing=True):
        model = NONARegressor(**QUICK).set_fit_request(X_val=True, y_val=True)
        pipeline = make_pipeline(StandardScaler(), model, transform_input=["X_val"])
        pipeline.fit(X, y, X_val=X_val, y_val=y_val)
    assert_array_equal(pipeline.predict(X_val), expected.predict(scaler.transform(X_val)))


def test_with_a_feature_extractor(estimator_class, friedman_rows):
    X, y, X_val, y_val = friedman_rows
    model = estimator_class(feature_extractor=lambda: torch.nn.Linear(10, 5), **QUICK)
    model.fit(X, y, X_val=X_val, y_val=y_val, groups=np.arange(200) // 4)
    assert np.isfinite(model.predict(X_val)).all()
