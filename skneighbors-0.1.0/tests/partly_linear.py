"""Partly linear targets, and estimators of them, that several files of tests share."""

import numpy as np

TRENDS = {
    "no trend": dict(trend=None, blend=None),
    "linear": dict(blend=None),
    "boosting": dict(blend="boosting"),
    "linear model": dict(blend="linear"),
}
K, N = 9, 70
QUICK = dict(n_neighbors=K, hidden_layer_sizes=(16,), max_iter=3, random_state=0)
EQUAL = [7, 40, 41, 42]  # rows that are equal


def make_data(n_targets=1, seed=0):
    """X, y and weights, some of which are 0."""
    rng = np.random.RandomState(seed)
    X = rng.normal(size=(N, 3))
    y = 20 + 3 * X[:, [0]] + np.sin(3 * X[:, [1]]) + rng.normal(size=(N, n_targets))
    y = y * [1, -100][:n_targets]
    X[EQUAL], y[EQUAL] = X[7], y[7]
    weight = rng.randint(1, 4, size=N).astype(float)
    weight[[5, 41]] = 0
    return X, y[:, 0] if n_targets == 1 else y, weight


def make_queries():
    """Queries near and far, and some that are neighbors."""
    X = np.random.RandomState(9).normal(size=(12, 3))
    return np.concatenate([X, 20 * X[:2], make_data()[0][6:9]])
