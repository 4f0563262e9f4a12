"""Bags of boosted trees of what a table's reader reads."""

import math
import time
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from .._utils.blocks import cut
from .._utils.random import MAX_SEED
from .._utils.threads import map_batches, map_in_threads
from .growing import grow
from .target_means import CategoryEncoder, draw_folds
from .trees import Trees

_N_BAGS = 5
# Iterations by which the time of one is measured.
_N_TRIED = 20
# Learning rate times iterations; and the highest rate, where these are few.
_LEARNED, _HIGHEST_RATE = 15.0, 0.5
# A split chooses among half of the columns, but no fewer than these.
_LEAST_FEATURES = 6
# Of more classes trees get fewer iterations, as each class has trees.
_MANY_CLASSES = 10
_N_AT_ONCE = 2000  # rows that one thread predicts at a time


@dataclass(frozen=True, eq=False)
class Bag:
    """Boosted trees for one target, fitted to some of the rows.

    Attributes
    ----------
    encoder : CategoryEncoder
        Of the same rows.
    trees : Trees
    """

    encoder: CategoryEncoder
    trees: Trees

    @classmethod
    def fit(cls, X, y, weight, groups, n_categories, seed, *, n_iter, **settings):
        """Fit; see :meth:`BaggedBoosting.fit`. `y` and `weight` have shape (n_samples,)."""
        random_state = np.random.RandomState(seed)
        encoder, X = CategoryEncoder.fit_transform(X, y, weight, groups, n_categories, random_state)
        trees = grow(
            np.where(np.isnan(X).all(axis=0), 0.0, X),  # which boosting does not take
            y,
            None if (weight == 1).all() else weight,
            (n_categories > 0).sum(),
            random_state,
            **settings,
            max_features=min(1.0, max(0.5, _LEAST_FEATURES / X.shape[1])),
            max_iter=n_iter,
            learning_rate=min(_LEARNED / n_iter, _HIGHEST_RATE),
        )
        return cls(encoder, trees)

    def predict(self, X):
        """Predict, to (n_samples,)."""
        return self.trees.predict(self.encoder.transform(X))


class BoostingData(NamedTuple):
    """What trees are fitted to.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features)
        As :meth:`TableReader.expand` returns it.
    y : ndarray of shape (n_samples, n_targets)
    weight : ndarray of shape (n_samples,)
    groups : int ndarray of shape (n_samples,)
        Rows of one group are in the same bags.
    n_categories : int ndarray of shape (n_features,)
        How many categories columns have; 0 for those of numbers.
    """

    X: np.ndarray
    y: np.ndarray
    weight: np.ndarray
    groups: np.ndarray
    n_categories: np.ndarray

    def select(self, rows):
        """Take some rows."""
        return BoostingData(*(part[rows] for part in self[:4]), self.n_categories)


@dataclass(frozen=True, eq=False)
class BaggedBoosting:
    """The mean of boosted trees that each were fitted to other rows.

    Attributes
    ----------
    bags : list of lists of Bag
        Those of each target.
    """

    bags: list
    loss = "squared_error"

    @staticmethod
    def count_targets(k):
        """Count the targets that k values are boosted as."""
        return k

    @staticmethod
    def _fraction_of_iterations(n_targets):
        """Fraction of the iterations that so many targets get."""
        return 1.0

    @classmethod
    def _targets(cls, y):
        """Targets (n_targets, n_samples) to boost, of values (n_samples, k): the last."""
        return y.T[y.shape[1] - cls.count_targets(y.shape[1]) :]

    @staticmethod
    def _combine(predicted):
        """Values (n_samples, k) of predictions (n_targets, n_bags, n_samples)."""
        return predicted.mean(axis=1).T

    @classmethod
    def fit(cls, data, n_iter, random_state, n_threads=1):
        """Fit, and make out-of-fold predictions: each row by the bag not fitted to it.

        Parameters
        ----------
        data : BoostingData
        n_iter : int
            Iterations of each bag.
        random_state : RandomState
        n_threads : int, default=1
            Results don't depend on it.

        Returns
        -------
        fitted : BaggedBoosting
        out_of_fold : ndarray of shape (n_samples, n_targets)
        """
        X, y, weight, groups, n_categories = data
        folds = draw_folds(groups, _N_BAGS, random_state)
        n_bags, targets = folds.max() + 1, cls._targets(y)
        n_iter = max(1, round(n_iter * cls._fraction_of_iterations(len(targets))))
        jobs = [(target, fold) for target in targets for fold in range(n_bags)]
        seeds = random_state.randint(MAX_SEED, size=len(jobs))

        def fit_bag(job):
            (target, fold), seed = job
            rows = (folds != fold) | (n_bags == 1)  # a single group has no others
            relative = weight[rows] / weight[rows].mean()  # whatever all weigh
            sample = X[rows], target[rows], relative, groups[rows], n_categories
            bag = Bag.fit(*sample, seed, n_iter=n_iter, loss=cls.loss)
            return bag, bag.predict(X[folds == fold])

        fitted = map_in_threads(fit_bag, zip(jobs, seeds, strict=True), n_threads)
        out_of_fold = np.empty((len(targets), len(y)))
        for i, (_, predicted) in enumerate(fitted):
            out_of_fold[i // n_bags, folds == i % n_bags] = predicted
        bags = [bag for bag, _ in fitted]
        bags = [bags[i : i + n_bags] for i in range(0, len(bags), n_bags)]
        return cls(bags), cls._combine(out_of_fold[:, None])

    @classmethod
    def count_affordable(cls, data, n_iter, seconds, n_threads=1):
        """Count the iterations, at least one, that a fit has time for in so many seconds.

        See :meth:`fit`. A bag of few iterations is fitted, to measure its time.

        Returns
        -------
        n_iter : int
            No more than given.
        """
        targets = cls._targets(data.y)
        sample = data.X, targets[0], data.weight, data.groups, data.n_categories
        start = time.monotonic()
        Bag.fit(*sample, 0, n_iter=_N_TRIED, loss=cls.loss).predict(data.X)
        n_in_turn = math.ceil(_N_BAGS * len(targets) / n_threads)
        each = n_in_turn * max(time.monotonic() - start, 1e-9) / _N_TRIED
        affordable = seconds / each / cls._fraction_of_iterations(len(targets))
        return int(max(1, min(n_iter, affordable)))

    def predict(self, X):
        """Predict, to (n_samples, n_targets).

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)

        Returns
        -------
        y : ndarray of shape (n_samples, n_targets)
        """

        def predict_some(rows):
            parts = [[bag.predict(X[rows]) for bag in bags] for bags in self.bags]
            return self._combine(np.array(parts))

        batches = cut(len(X), _N_AT_ONCE) if len(X) else [slice(0)]
        return np.concatenate(map_batches(predict_some, batches))


class BaggedLogisticBoosting(BaggedBoosting):
    """The same for probabilities of classes, each against all others; of two, of the second."""

    loss = "log_loss"

    @staticmethod
    def count_targets(k):
        return 1 if k == 2 else k

    @staticmethod
    def _fraction_of_iterations(n_targets):
        return min(1.0, _MANY_CLASSES / n_targets)

    @staticmethod
    def _combine(predicted):
        probabilities = expit(predicted).mean(axis=1)
        if len(probabilities) == 1:
            return np.hstack([1 - probabilities.T, probabilities.T])
        return (probabilities / probabilities.sum(axis=0)).T


# Classes of boosted trees, by the loss that a task names as `boosting`.
BOOSTING = {kind.loss: kind for kind in (BaggedBoosting, BaggedLogisticBoosting)}
