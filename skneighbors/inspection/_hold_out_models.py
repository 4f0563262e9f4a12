"""Two quick models that predict the rows held out: boosted trees and a neighbour search."""

import numpy as np
from sklearn.neighbors import KNeighborsRegressor
from threadpoolctl import threadpool_limits

from .._blend import Bag
from .._columns import FeatureEncoder
from .._utils.random import MAX_SEED
from .._utils.threads import map_batches, one_openmp_thread

MODELS = ("trees", "neighbors")

_N_ITERATIONS = 100
_N_NEIGHBORS = 10
# A level of a column of many is a random point of so many dimensions.
_N_DIMENSIONS = 16


class QuickModels:
    """Boosted trees, and neighbours by the distance of scaled columns.

    Parameters
    ----------
    matrix : ndarray of shape (n_samples, n_features)
        What a reader has read.
    n_levels : int ndarray of shape (n_features,)
        Number of levels of each column, 0 for numbers.
    y : ndarray of shape (n_samples,)
    random_state : RandomState
    """

    def __init__(self, matrix, n_levels, y, random_state):
        has_values = ~np.isnan(matrix).all(axis=0)
        self._matrix, n_levels = matrix[:, has_values], n_levels[has_values]
        self._points = _as_points(self._matrix, n_levels, random_state)
        self._n_levels, self._seed = n_levels, random_state.randint(MAX_SEED)
        self._mean, self._scale = y.mean(), y.std()
        self._z = (y - self._mean) / self._scale

    def predict(self, parts):
        """Predict rows by models that are fitted without them.

        Parameters
        ----------
        parts : list of (fold, test)
            Int arrays: rows that are not trained on, and those of them to predict.

        Returns
        -------
        predictions : list of ndarray of shape (2, n_test)
        """
        # Each search limits BLAS to a thread and undoes it, which does not go side by side.
        with threadpool_limits(1, user_api="blas"):
            return map_batches(lambda part: self._predict(*part), parts)

    def _predict(self, fold, test):
        if not len(test):
            return np.empty((len(MODELS), 0))
        train = np.delete(np.arange(len(self._z)), fold)
        z = self._z[train]
        trees = Bag.fit(
            self._matrix[train],
            z,
            np.ones(len(z)),
            train,
            self._n_levels,
            _N_ITERATIONS,
            self._seed,
        )
        neighbors = KNeighborsRegressor(
            min(_N_NEIGHBORS, len(train)), weights="distance", algorithm="brute"
        )
        with one_openmp_thread():
            by_neighbors = neighbors.fit(self._points[train], z).predict(self._points[test])
        by_trees = trees.predict(self._matrix[test])
        return self._mean + self._scale * np.stack([by_trees, by_neighbors])


def _as_points(matrix, n_levels, random_state):
    """Encode rows as points whose distance says how unlike they are.

    Numbers are scaled, and two levels of a column are at distance 1, or about 1 where there are
    many. It knows no targets, so all rows may be encoded at once.
    """
    encoder = FeatureEncoder.fit(matrix, np.ones(len(matrix)), n_levels)
    encoded = encoder.transform(matrix)
    n_numbers, n_coded = len(encoder.numbers) + len(encoder.gaps), len(encoder.coded)
    numbers, one_hot, codes = np.split(encoded, [n_numbers, encoded.shape[1] - n_coded], axis=1)
    parts = [numbers, one_hot / np.sqrt(2)]
    for own, n_own in zip(codes.T, n_levels[encoder.coded], strict=True):
        levels = random_state.normal(size=(n_own + 1, _N_DIMENSIONS))
        parts.append(levels[own.astype(int)] / np.sqrt(2 * _N_DIMENSIONS))
    return np.hstack(parts)
