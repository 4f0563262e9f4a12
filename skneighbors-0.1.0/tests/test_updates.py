"""Rows that join or leave the bank of a fitted estimator."""

import copy
import pickle

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from rebuilt import rebuilt
from sklearn.exceptions import NotFittedError


@pytest.fixture(params=[1, 3], ids=["one target", "three targets"])
def data(request):
    rng = np.random.RandomState(0)
    X, y = rng.normal(size=(60, 3)), rng.normal(size=(60, request.param))
    X[10:13], y[10:13] = X[7], y[7]  # equal rows are merged in the bank
    weight = rng.uniform(0.5, 2.0, size=60)
    weight[[5, 11, 45]] = 0
    return X, y[:, 0] if request.param == 1 else y, weight, rng.normal(size=(20, 3))


def fitted(estimator_class, X, y, weight, **params):
    params = dict(n_neighbors=9, hidden_layer_sizes=(16,), max_iter=5, random_state=0) | params
    model = estimator_class(**params)
    return model.fit(X, y, sample_weight=weight)


def expected(model, X, y, weight, queries):
    """Predictions of the model's network with a bank of these rows from the start."""
    return rebuilt(model, X, y, weight, None).predict(queries)


def test_a_mask_forgets_what_numbers_do(estimator_class, data):
    X, y, weight, queries = data
    model = fitted(estimator_class, X[:40], y[:40], weight[:40]).append(X[40:], y[40:], weight[40:])
    twin, gone = copy.deepcopy(model), np.array([7, 12, 0, 59, 5])
    mask = np.isin(np.arange(60), gone)
    assert model.forget(mask.tolist()) is model
    assert_array_equal(model.predict(queries), twin.forget(gone).predict(queries))
    # Of all rows so far, those forgotten too.
    with pytest.raises(ValueError, match=r"mask of shape \(55,\); it must have shape \(60,\)"):
        model.forget(np.ones(55, dtype=bool))
    with pytest.raises(ValueError, match="indices holds 0, which is forgotten already"):
        model.forget(mask)
    mask = ~mask & (np.arange(60) < 50)
    y_hat = twin.forget(np.flatnonzero(mask)).predict(queries)
    assert_array_equal(model.forget(mask).predict(queries), y_hat)


def test_weights_left_are_exact(estimator_class, data):
    X, y, _, queries = data
    weight = np.ones(60)
    weight[[7, 10]] = 1e9, 0.1  # with 11 and 12, one row of the bank
    model = fitted(estimator_class, X, y, weight)
    weight_given = weight.copy()
    weight[:] = np.nan  # the caller's array is the caller's
    model.forget([7, 11])
    left = np.setdiff1d(np.arange(60), [7, 11])
    y_hat = expected(model, X[left], y[left], weight_given[left], queries)
    assert_allclose(model.predict(queries), y_hat)
    assert model.forget([10])._model.bank.rows.sample_weight is None


def test_numbers_of_the_rows_last(estimator_class, data):
    X, y, _, _ = data
    model = fitted(estimator_class, X[:40], y[:40], None)
    model.append(X[40:], y[40:]).forget([7, 20, 45])
    rows = model.set_params(n_neighbors=None).explain(X).indices
    # Row 7 stood for 10, 11 and 12 as well: now 10 does.
    assert_array_equal(np.sort(rows[0]), np.setdiff1d(np.arange(60), [7, 11, 12, 20, 45]))
    embedded = model._model.bank.rows.z.flatten(1).numpy()
    assert_allclose(embedded, model.transform(X)[model._model.samples])
    assert_array_equal(model._model.matrix, X[model._model.samples])


def test_updates_are_kept(estimator_class, data):
    X, y, weight, queries = data
    model = fitted(estimator_class, X[:40], y[:40], None)
    twin = copy.deepcopy(model)
    assert model.append(X[40:], y[40:], weight[40:]).forget([3]) is model
    assert model.n_samples_fit_ == 40
    loaded = pickle.loads(pickle.dumps(model))
    assert_array_equal(loaded.predict(queries), model.predict(queries))
    assert_array_equal(loaded.forget([41]).predict(queries), model.forget([41]).predict(queries))
    assert not np.allclose(twin.predict(queries), model.predict(queries))
    refitted = model.fit(X[:40], y[:40])
    assert_array_equal(refitted.predict(queries), twin.predict(queries))


def test_bad_rows_change_nothing(estimator_class, data):
    X, y, weight, queries = data
    model = fitted(estimator_class, X, y, weight)
    before = model.predict(queries)
    unfit = [
        ((X[:, :2], y), "expecting 3 features"),
        ((np.where(X > 2, np.inf, X), y), "Column [012] of X contains infinity"),
        ((X, y[:50]), "inconsistent numbers of samples"),
        ((X, np.where(y > 2, np.nan, y)), "contains NaN"),
        ((X, np.column_stack([y, y])), "targets, as in fit|1d array"),
        ((X, y, np.full(60, 1e308)), "sample_weight must sum to between"),
    ]
    for arguments, message in unfit:
        with pytest.raises(ValueError, match=message):
            model.append(*arguments)
    assert_array_equal(model.predict(queries), before)


def test_bad_indices_change_nothing(estimator_class, data):
    X, y, weight, queries = data
    model = fitted(estimator_class, X, y, weight)
    before = model.predict(queries)
    for indices, message in (
        ([0, 60], "between 0 and 59; got 60"),
        (np.arange(60), "at least one must stay"),
    ):
        with pytest.raises(ValueError, match=message):
            model.forget(indices)
    assert_array_equal(model.forget([]).predict(queries), before)


def test_targets_beyond_the_range_of_fit(estimator_class):
    X = np.random.RandomState(0).normal(size=(20, 2))
    model = fitted(estimator_class, X, 1e-200 * X[:, 0], None)
    with pytest.raises(ValueError, match="more than float64 can hold"):
        model.append(X, np.full(20, 1e200))


def test_rows_of_more_dimensions(estimator_class):
    X = np.random.RandomState(0).normal(size=(30, 1, 3))
    model = fitted(estimator_class, X[:20], X[:20, :, 0], None, feature_extractor=torch.nn.Flatten)
    before = model.predict(X)
    model.append(X[20:], X[20:, 0, 0])  # one target may come without its axis
    assert np.abs(model.predict(X) - before).max() > 1e-6
    assert_allclose(model.forget(range(20, 30)).predict(X), before)
    with pytest.raises(ValueError, match=r"shape \(1, 3\), as in fit"):
        model.append(X[:, :, :2], X[:, 0, 0])


def test_unfitted(estimator_class):
    for call in (lambda model: model.append([[0.0]], [0.0]), lambda model: model.forget([0])):
        with pytest.raises(NotFittedError):
            call(estimator_class())
