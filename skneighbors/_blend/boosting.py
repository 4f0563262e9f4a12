"""Bags of boosted trees of what a table's reader reads."""

import math
import time
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor

from .._utils.blocks import cut
from .._utils.random import MAX_SEED
from .._utils.sklearn_private import fit_unlogged
from .._utils.threads import map_batches, map_in_threads, one_openmp_thread
from .flat_trees import FlatTrees, SideBySide
from .target_means import CategoryEncoder, draw_folds

_N_BAGS = 5
# Iterations by which to tell what one takes.
_N_TRIED = 10
# benchmarks/second_model.py compares them with others, on splits that are not reported.
_TREES = dict(
    max_leaf_nodes=31,
    min_samples_leaf=5,
    early_stopping=False,
)
# Learning rate times iterations; and the highest rate, where these are few.
_LEARNT, _HIGHEST_RATE = 15.0, 0.5
# A split chooses among half of the columns, but no fewer than these.
_LEAST_FEATURES = 6
# Rows that one thread predicts at a time; up to how many are predicted one by one, by all bags.
_N_AT_ONCE, _FEW = 2000, 8


@dataclass(frozen=True, eq=False)
class Bag:
    """Boosted trees for one target, fitted to some of the rows.

    Attributes
    ----------
    encoder : CategoryEncoder
        Of the same rows.
    trees : FlatTrees or HistGradientBoostingRegressor
        The latter if this release of scikit-learn does not let itself be taken apart.
    """

    encoder: CategoryEncoder
    trees: object

    @classmethod
    def fit(cls, X, y, weight, groups, n_levels, n_iter, seed):
        """Fit; see :meth:`BaggedBoosting.fit`. `y` and `weight` have shape (n_samples,)."""
        random_state = np.random.RandomState(seed)
        encoder, X = CategoryEncoder.fit_transform(X, y, weight, groups, n_levels, random_state)
        X = np.where(np.isnan(X).all(axis=0), 0.0, X)  # which boosting does not take
        is_category = np.arange(X.shape[1]) < (n_levels > 0).sum()
        boosting = HistGradientBoostingRegressor(
            categorical_features=is_category,
            max_features=min(1.0, max(0.5, _LEAST_FEATURES / X.shape[1])),
            max_iter=n_iter,
            learning_rate=min(_LEARNT / n_iter, _HIGHEST_RATE),
            random_state=random_state,
            **_TREES,
        )
        weight = None if (weight == 1).all() else weight
        with one_openmp_thread():
            fit_unlogged(HistGradientBoostingRegressor, boosting, X, y, weight)
        try:
            return cls(encoder, FlatTrees.of(boosting))
        except (AttributeError, ImportError, TypeError, ValueError):
            return cls(encoder, boosting)

    def predict(self, X):
        """Predict, to (n_samples,)."""
        return self.trees.predict(self.encoder.transform(X))


@dataclass(frozen=True, eq=False)
class BaggedBoosting:
    """The mean of boosted trees that each were fitted to other rows.

    Attributes
    ----------
    bags : list of lists of Bag
        Those of each target.
    """

    bags: list

    @classmethod
    def fit(cls, X, y, weight, groups, n_levels, n_iter, random_state, n_threads=1):
        """Fit, and predict each row by the bag that it is not in.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)
            As a :class:`TableReader` reads it.
        y : ndarray of shape (n_samples, n_targets)
        weight : ndarray of shape (n_samples,)
        groups : int ndarray of shape (n_samples,) or None
            Rows of one group are in the same bags.
        n_levels : int ndarray of shape (n_features,)
            How many levels columns have; 0 for those of numbers.
        n_iter : int
            Iterations of each bag.
        random_state : RandomState
        n_threads : int, default=1
            Results don't depend on it.

        Returns
        -------
        fitted : BaggedBoosting
        out_of_bag : ndarray of shape (n_samples, n_targets)
        """
        groups = np.arange(len(X)) if groups is None else groups
        folds = draw_folds(groups, _N_BAGS, random_state)
        n_bags = folds.max() + 1
        jobs = [(target, fold) for target in y.T for fold in range(n_bags)]
        seeds = random_state.randint(MAX_SEED, size=len(jobs))

        def fit_bag(job):
            (target, fold), seed = job
            rows = (folds != fold) | (n_bags == 1)  # a single group has no others
            own = weight[rows] / weight[rows].mean()  # whatever all weigh
            bag = Bag.fit(X[rows], target[rows], own, groups[rows], n_levels, n_iter, seed)
            return bag, bag.predict(X[folds == fold])

        fitted = map_in_threads(fit_bag, zip(jobs, seeds, strict=True), n_threads)
        out_of_bag = np.empty(y.shape)
        for i, (_, predicted) in enumerate(fitted):
            out_of_bag[folds == i % n_bags, i // n_bags] = predicted
        bags = [bag for bag, _ in fitted]
        return cls([bags[i : i + n_bags] for i in range(0, len(bags), n_bags)]), out_of_bag

    @classmethod
    def count_affordable(cls, X, y, weight, n_levels, n_iter, seconds, n_threads=1):
        """Count the iterations, at least one, that a fit may have to take so many seconds.

        See :meth:`fit`. A bag of some iterations is fitted, to see what one takes.

        Returns
        -------
        n_iter : int
            No more than given.
        """
        start = time.monotonic()
        some = np.arange(len(X))
        Bag.fit(X, y[:, 0], weight, some, n_levels, _N_TRIED, 0).predict(X)
        tried = time.monotonic() - start
        seconds /= math.ceil(_N_BAGS * y.shape[1] / n_threads)
        if seconds * _N_TRIED >= tried * n_iter:
            return n_iter
        return max(1, int(seconds * _N_TRIED / tried))

    def predict(self, X):
        """Predict, to (n_samples, n_targets).

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)

        Returns
        -------
        y : ndarray of shape (n_samples, n_targets)
        """
        few = 0 < len(X) <= _FEW and self._side_by_side is not None

        def predict_some(rows):
            parts = self._predict_few(X) if few else self._predict_many(X[rows])
            return np.mean(parts, axis=1).T

        batches = cut(len(X), _N_AT_ONCE) if len(X) else [slice(0)]
        return np.concatenate(map_batches(predict_some, batches))

    def _predict_many(self, X):
        """Predict by each bag, to (n_targets, n_bags, n_samples)."""
        return [[bag.predict(X) for bag in bags] for bags in self.bags]

    def _predict_few(self, X):
        """Do the same, the same bits, row by row."""
        encoded = [bag.encoder.transform(X) for bags in self.bags for bag in bags]
        parts = [self._side_by_side.predict(row) for row in np.concatenate(encoded, axis=1)]
        return np.transpose(parts).reshape(len(self.bags), -1, len(X))

    @cached_property
    def _side_by_side(self):
        bags = [bag for own in self.bags for bag in own]
        if all(isinstance(bag.trees, FlatTrees) for bag in bags):
            return SideBySide([bag.trees for bag in bags], bags[0].encoder.n_outputs)
        return None
