"""Sample weights of the estimators: weight 2 is a row twice, weight 0 none."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skneighbors import NONARegressor


def predict(estimator_class, X, y, sample_weight, X_test, **params):
    model = estimator_class(max_iter=50, random_state=0, **params)
    return model.fit(X, y, sample_weight=sample_weight).predict(X_test)


@pytest.mark.slow
@pytest.mark.parametrize("early_stopping", [False, True])
def test_integer_weights_are_copies(estimator_class, X, y, X_test, early_stopping):
    weight = np.random.RandomState(0).randint(0, 4, len(X))
    params = dict(early_stopping=early_stopping)
    weighted = predict(estimator_class, X, y, weight, X_test, **params)
    copies = np.repeat(np.arange(len(X)), weight)
    copied = predict(estimator_class, X[copies], y[copies], None, X_test, **params)
    assert_array_equal(weighted, copied)


@pytest.mark.slow
def test_unit_weights_are_no_weights(estimator_class, X, y, X_test):
    unweighted = predict(estimator_class, X, y, None, X_test)
    assert_array_equal(predict(estimator_class, X, y, np.ones(len(X)), X_test), unweighted)


@pytest.mark.slow
def test_rows_of_weight_zero_are_never_seen(estimator_class, X, y, X_test):
    weight = np.ones(len(X))
    weight[::4] = 0
    spoilt_X, spoilt_y = X.copy(), y.copy()
    spoilt_X[::4], spoilt_y[::4] = 1e6, -1e6
    clean = predict(estimator_class, X, y, weight, X_test)
    assert_array_equal(predict(estimator_class, spoilt_X, spoilt_y, weight, X_test), clean)


@pytest.mark.slow
def test_fractional_weights_pull_towards_the_heavy_rows(estimator_class):
    rng = np.random.RandomState(0)
    X = rng.normal(size=(200, 2))
    y = np.tile([0.0, 1.0], 100)
    weight = np.where(y == 1, 0.9, 0.1)
    y_hat = predict(estimator_class, X, y, weight, rng.normal(size=(100, 2)))
    assert abs(y_hat.mean() - 0.9) < 0.1


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


@pytest.mark.slow
def test_a_scalar_weight_and_several_targets(estimator_class, X, y, X_test):
    Y = np.column_stack([y, -y])
    twice = predict(estimator_class, X, Y, 2.0, X_test, early_stopping=False)
    copied = predict(
        estimator_class,
        np.tile(X, (2, 1)),
        np.tile(Y, (2, 1)),
        None,
        X_test,
        early_stopping=False,
    )
    assert_allclose(twice, copied)
