"""What a user of both estimators sees: fitting, predicting, embedding, explaining."""

import itertools
import re
import sys
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.metrics import r2_score
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline

from skneighbors import NONAClassifier, NONARegressor, Recipe
from skneighbors._utils import progress


def test_learns_what_a_linear_model_and_plain_neighbors_cannot(
    estimator_class, X, y, X_test, y_test
):
    score = estimator_class(random_state=0, max_iter=60).fit(X, y).score(X_test, y_test)
    assert score > Ridge().fit(X, y).score(X_test, y_test) + 0.05
    assert score > KNeighborsRegressor().fit(X, y).score(X_test, y_test) + 0.05


def test_fitted_attributes(estimator_class, X, y):
    model = estimator_class(max_iter=4, early_stopping=True, random_state=0).fit(X, y)
    assert model.n_iter_ == 4
    assert len(model.loss_curve_) == len(model.validation_scores_) == 4
    assert model.validation_iters_ == [1, 2, 3, 4]
    assert model.best_iter_ == 1 + np.argmax(model.validation_scores_)
    assert model.n_features_in_ == X.shape[1]
    assert model.n_samples_fit_ == len(X)
    assert model.n_outputs_ == 1
    unvalidated = estimator_class(max_iter=4, early_stopping=False).fit(X, y)
    assert unvalidated.validation_scores_ is None
    assert unvalidated.validation_iters_ is None
    assert unvalidated.best_iter_ == 1 + np.argmin(unvalidated.loss_curve_)


def test_eps_bounds_the_masks(estimator_class, X, y):
    model = estimator_class(n_estimators=1, max_iter=1, recipe=Recipe(eps=0.49)).fit(X, y)
    z = torch.from_numpy(model.transform(X))[None]
    *_, t = model.network_.head.softstep.thresholds(z)
    assert 0.49 <= t.min() <= t.max() <= 0.51


def test_same_seed_same_bits_and_row_order_does_not_matter(estimator_class, X, y, X_test):
    fit = estimator_class(max_iter=3, random_state=3).fit
    once = fit(X, y).predict(X_test)
    assert_array_equal(once, fit(X, y).predict(X_test))
    assert_array_equal(once, fit(X[::-1], y[::-1]).predict(X_test))
    other = estimator_class(max_iter=3, random_state=4).fit(X, y).predict(X_test)
    assert not np.array_equal(once, other)


@pytest.mark.parametrize("likeness", [0, 2.0, "calibrated"])
def test_row_alone_equals_row_in_batch(estimator_class, X, y, X_test, likeness):
    model = estimator_class(recipe=Recipe(likeness=likeness), max_iter=3, random_state=0).fit(X, y)
    together = model.predict(X_test[:20])
    alone = np.concatenate([model.predict(X_test[i : i + 1]) for i in range(20)])
    assert_allclose(alone, together, rtol=1e-10)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int64, np.uint8, bool])
def test_real_dtypes(estimator_class, dtype):
    X = np.random.RandomState(0).randint(0, 2 if dtype is bool else 20, (40, 3)).astype(dtype)
    y = X.sum(1).astype(np.float32 if dtype is bool else dtype)
    y_hat = estimator_class(max_iter=2, random_state=0).fit(X, y).predict(X)
    assert y_hat.dtype == np.float64
    assert np.isfinite(y_hat).all()


@pytest.mark.slow
def test_transformer_before_neighbors(estimator_class, X, y, X_test, y_test):
    pipeline = make_pipeline(
        estimator_class(max_iter=60, random_state=0), KNeighborsRegressor(weights="distance")
    ).fit(X, y)
    assert pipeline.score(X_test, y_test) > KNeighborsRegressor().fit(X, y).score(X_test, y_test)


def test_no_neighbor_of_a_training_row_weighs_more_than_itself(estimator_class, X, y):
    model = estimator_class(max_iter=5, random_state=0).fit(X, y)
    explanation = model.explain(X)
    weights, rows = explanation.weights, explanation.indices
    own = weights[rows == np.arange(len(X))[:, None]]
    assert_allclose(own, weights[:, 0])


@pytest.mark.parametrize("n_samples", [2, 3, 4])
def test_tiny(estimator_class, n_samples):
    X, y = np.arange(n_samples)[:, None], 10.0 * np.arange(n_samples)
    y_hat = estimator_class(max_iter=30, random_state=0).fit(X, y).predict(X)
    assert np.isfinite(y_hat).all()
    assert abs(y_hat.mean() - y.mean()) < 15


def test_a_constant_column_says_nothing_whatever_a_query_brings(estimator_class, X, y, X_test):
    def widen(X, *values):
        return np.column_stack([X, np.tile(values, (len(X), 1))])

    model = estimator_class(max_iter=3, random_state=0).fit(widen(X, 7.0, 0.0), y)
    strange, usual = widen(X_test, 1e3, 1e3), widen(X_test, 7.0, 0.0)
    assert_allclose(model.predict(strange), model.predict(usual))


def test_constant_features_only(estimator_class):
    X, y = np.ones((10, 2)), np.arange(10.0)
    model = estimator_class(max_iter=20, random_state=0).fit(X, y)
    assert_allclose(model.predict(X[:1]), y.mean(), atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("value", [0.0, 3.7, -1e30, 1e300])
def test_constant_y(estimator_class, value, X, X_test):
    model = estimator_class(max_iter=3, random_state=0).fit(X, np.full(len(X), value))
    assert_allclose(model.predict(X_test), value)


@pytest.mark.slow
@pytest.mark.parametrize("scale", [1e-200, 1e-30, 1e30, 1e200])
def test_extreme_scales(estimator_class, scale, X, y, X_test, y_test):
    model = estimator_class(max_iter=40, random_state=0).fit(X * scale, y * scale)
    assert r2_score(y_test, model.predict(X_test * scale) / scale) > 0.6


@pytest.mark.slow
def test_equal_rows_get_the_mean_of_their_targets(estimator_class):
    # Two places, each with copies of different targets; nothing tells copies apart.
    X = np.repeat([[0.0, 1.0], [5.0, -1.0]], 20, axis=0)
    rng = np.random.RandomState(0)
    y = np.repeat([10.0, 20.0], 20) + rng.normal(size=40)
    params = dict(n_neighbors=None, trend=None, blend=None, random_state=1, max_iter=300)
    model = estimator_class(**params).fit(X, y)
    y_hat, of_some = model.predict(X), clone(model).set_params(n_neighbors=12).fit(X, y).predict(X)
    for part in (slice(0, 20), slice(20, 40)):
        assert_allclose(y_hat[part], y[part].mean(), atol=0.3)
        assert np.ptp(y_hat[part]) < 1e-7
        assert np.ptp(of_some[part]) < 1e-7
    weights = model.neighbor_weights(X[:1]).toarray()[0]
    for place in (weights[:20], weights[20:]):
        assert_allclose(place, place[0], atol=1e-9)


def test_which_of_tied_rows_predict_says_nothing_of_their_targets(estimator_class):
    # Rows are numbered by X and y; of each place more are tied than predict.
    X, y = np.repeat([[0.0], [1.0], [2.0]], 399, axis=0), np.tile(np.arange(1.0, 400), 3)
    params = dict(
        n_neighbors=30, trend=None, blend=None, max_iter=3, hidden_layer_sizes=(8,), random_state=0
    )
    y_hat = estimator_class(**params).fit(X, y).predict([[0.0], [1.0], [2.0]])
    assert_allclose(y_hat, 200, atol=40)


@pytest.mark.slow
def test_feature_extractor_on_images(estimator_class):
    rng = np.random.RandomState(0)
    X = rng.uniform(size=(60, 1, 6, 6))
    X[:30, :, :, ::2] = 0
    y = np.repeat([0.0, 1.0], 30)
    before = torch.get_rng_state()

    def extractor():
        convolution, dropout = torch.nn.Conv2d(1, 4, 3), torch.nn.Dropout(0.2)
        return torch.nn.Sequential(convolution, torch.nn.ReLU(), torch.nn.Flatten(), dropout)

    params = dict(feature_extractor=extractor, max_iter=60, random_state=0)
    model = estimator_class(**params).fit(X, y)
    assert torch.equal(before, torch.get_rng_state())
    assert model.score(X, y) > 0.8
    assert model.transform(X).shape == (60, 2 * 64)
    assert_array_equal(estimator_class(**params).fit(X, y).predict(X), model.predict(X))


def test_a_module_itself_is_copied(estimator_class, X, y, X_test):
    module = torch.nn.Sequential(torch.nn.Linear(10, 4), torch.nn.Tanh())
    before = {name: value.clone() for name, value in module.state_dict().items()}
    params = dict(max_iter=2, hidden_layer_sizes=8, random_state=0)
    model = clone(estimator_class(feature_extractor=module, **params)).fit(X, y)
    made = estimator_class(feature_extractor=lambda: module, **params).fit(X, y)
    assert_array_equal(model.predict(X_test), made.predict(X_test))
    assert module.training
    for name, value in module.state_dict().items():
        assert torch.equal(value, before[name])


@pytest.fixture(params=[(NONARegressor, "R2"), (NONAClassifier, "gain in log loss")])
def scored(request, X, y):
    """An estimator that tells of a fit, data for it, and the name of its score."""
    kind, name = request.param
    y = y > np.median(y) if kind is NONAClassifier else y
    return kind(max_iter=3, n_estimators=1, blend=None, verbose=1), X, y, name


@pytest.fixture
def no_tqdm(monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm", None)
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)


def test_verbose_shows_a_bar_and_silence_is_silent(scored, capfd):
    model, X, y, name = scored
    clone(model).set_params(verbose=0).fit(X, y)
    assert capfd.readouterr() == ("", "")
    model.fit(X, y)
    out, err = capfd.readouterr()
    assert out == ""
    scores = model.validation_scores_
    assert "epoch 3 of at most 3" in err
    assert f", validation {name}={scores[-1]:.4f}, best={max(scores):.4f}" in err


def test_without_a_bar_lines_tell_the_time_left(scored, no_tqdm, monkeypatch, capfd):
    model, X, y, name = scored
    clock = SimpleNamespace(monotonic=itertools.count(0, 3).__next__)
    monkeypatch.setattr(progress, "time", clock)
    model.fit(X, y)
    out, err = capfd.readouterr()
    assert out == ""
    losses, scores = model.loss_curve_, model.validation_scores_
    assert (
        err.splitlines()
        == [  # none of the first epoch, three seconds after the start
            f"epoch {n} of at most 3, at most {left} s left, loss={losses[n - 1]:.4g}, "
            f"validation {name}={scores[n - 1]:.4f}, best={max(scores[:n]):.4f}"
            for n, left in [(2, 3), (3, 0)]
        ]
    )


def test_the_last_line_tells_of_the_last_epoch_of_a_fit_that_ends_early(X, no_tqdm, capfd):
    noise = np.random.RandomState(0).normal(size=len(X))
    recipe = Recipe(n_iter_no_change=1, refit=False)
    model = NONARegressor(verbose=1, n_estimators=1, recipe=recipe, random_state=0).fit(X, noise)
    assert model.n_iter_ < model.plan_.schedule.max_epochs
    assert capfd.readouterr().err.splitlines()[-1].startswith(f"epoch {model.n_iter_} of at most ")


def test_rows_of_another_shape_for_a_feature_extractor(estimator_class):
    X = np.random.RandomState(0).normal(size=(20, 1, 4, 4))
    model = estimator_class(feature_extractor=torch.nn.Flatten, max_iter=1).fit(X, X[:, 0, 0, 0])
    with pytest.raises(ValueError, match=r"shape \(1, 4, 4\), as in fit; got \(1, 4, 2\)"):
        model.predict(X[..., :2])


def test_the_bar_tells_of_training_on_all_rows(X, capfd):
    noise = np.random.RandomState(0).normal(size=len(X))
    model = NONARegressor(verbose=1, n_estimators=1, random_state=0).fit(X, noise)
    assert model.n_iter_ < model.plan_.max_iter  # stopped, and trained again
    first, *_, last = capfd.readouterr().err.strip().split("\r")
    assert f"epoch 0 of at most {model.plan_.max_iter} " in first
    assert "on all rows" in last
    assert f"best={max(model.validation_scores_):.4f}" in last
    assert "validation R2" not in last
    n_epochs = model.n_iter_ + model.best_iter_
    assert f"epoch {n_epochs} of at most {n_epochs} " in last


@pytest.mark.parametrize("time", [None, np.arange(200.0)])
def test_lines_name_a_bound_that_holds(friedman, no_tqdm, monkeypatch, capfd, time):
    """It never grows, no epoch exceeds it, and a refit is known to the epoch."""
    monkeypatch.setattr(progress, "_SECONDS_BETWEEN_LINES", 0)
    noise = np.random.RandomState(0).normal(size=200)
    model = NONARegressor(verbose=1, n_estimators=1, random_state=0)
    model.fit(friedman[0], noise, time=time)
    lines = capfd.readouterr().err.splitlines()
    totals = [int(re.search(r"of at most (\d+),", line)[1]) for line in lines]
    assert totals == sorted(totals, reverse=True)
    assert len(totals) <= min(totals)
    assert len(totals) > model.n_iter_  # trained again
    assert set(totals[model.n_iter_ :]) == {len(totals)}
    assert all(line.startswith("on all rows: ") for line in lines[model.n_iter_ :])


@pytest.mark.slow
def test_fractional_weights_pull_towards_the_heavy_rows(estimator_class):
    rng = np.random.RandomState(0)
    X, y = rng.normal(size=(200, 2)), np.tile([0.0, 1.0], 100)
    model = estimator_class(max_iter=50, random_state=0).fit(X, y, np.where(y == 1, 0.9, 0.1))
    assert abs(model.predict(rng.normal(size=(100, 2))).mean() - 0.9) < 0.1


@pytest.mark.slow
@pytest.mark.parametrize("early_stopping", [False, True])
def test_weights_above_1_do_not_teach_rows_to_look_themselves_up(
    estimator_class, X, y, X_test, y_test, early_stopping
):
    params = dict(early_stopping=early_stopping, n_estimators=1)
    scores = []
    for scale in (1, 2, 1000):
        model = estimator_class(max_iter=50, random_state=0, **params)
        scores.append(model.fit(X, y, sample_weight=scale * np.ones(len(X))).score(X_test, y_test))
    # Rows that look themselves up cost 0.1 and 0.4; scores vary by 0.01 and 0.15.
    assert min(scores) > scores[0] - (0.05 if estimator_class is NONARegressor else 0.25)


def test_a_scalar_weight_and_several_targets(estimator_class, X, y, X_test):
    model = estimator_class(max_iter=5, early_stopping=False, random_state=0)
    Y = np.column_stack([y, -y])
    heavy = model.fit(X, Y, sample_weight=2.0).predict(X_test)
    assert_allclose(model.fit(np.tile(X, (2, 1)), np.tile(Y, (2, 1))).predict(X_test), heavy)


@pytest.mark.slow
@pytest.mark.parametrize("trend", ["linear", None])
@pytest.mark.parametrize("n_copies", [1, 8])
def test_no_row_sees_its_own_label_however_many_copies_there_are(
    estimator_class, leave_one_out, n_copies, trend
):
    rng = np.random.RandomState(0)
    X, y = np.repeat(rng.normal(size=(240 // n_copies, 3)), n_copies, axis=0), rng.normal(size=240)
    X_test, y_test = rng.normal(size=(400, 3)), rng.normal(size=400)
    model = estimator_class(trend=trend, blend=None, random_state=0, max_iter=150).fit(X, y)
    test_score = r2_score(y_test, model.predict(X_test))
    score = r2_score(y, leave_one_out(model, X))
    assert test_score <= 0.05
    # A leak would show as a score above 0; few, noisy neighbors as one below.
    assert -0.5 < score < 0.1
    assert score - test_score < 0.2


class _Single(torch.nn.Module):
    def forward(self, x):
        return x.to(torch.float16)


def test_a_feature_extractor_may_return_another_dtype(estimator_class, X, y):
    model = estimator_class(feature_extractor=_Single(), max_iter=1, random_state=0).fit(X, y)
    assert np.isfinite(model.predict(X)).all()
