"""Bags of boosted trees of what a table's reader reads."""

import math
import time
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from .._utils.arrays import Stored
from .._utils.random import MAX_SEED
from .._utils.threads import map_in_threads
from .data import N_FOLDS, is_other, predict_in_batches
from .growing import grow
from .target_means import CategoryEncoder
from .trees import Trees

# Iterations by which the time of one is measured.
_N_TRIED = 20
# Learning rate times iterations, by loss; and the highest rate, where iterations are few.
_LEARNED, _HIGHEST_RATE = {"squared_error": 15.0, "log_loss": 5.0}, 0.5
# A split chooses among half of the columns, but no fewer than these.
_LEAST_FEATURES = 6
# Of more classes trees get fewer iterations, as each class has trees.
_MANY_CLASSES = 10


@dataclass(frozen=True, eq=False)
class Bag(Stored):
    """Boosted trees for one target, fitted to some of the rows.

    Attributes
    ----------
    encoder : CategoryEncoder
        Of the same rows.
    trees : Trees
    """

    encoder: CategoryEncoder
    trees: Trees

    def field_sizes(self):
        """Count the columns of categories, and all encoded ones."""
        n_categories = self.encoder.n_categories
        n_categorical = np.count_nonzero(n_categories)
        return {"categorical": n_categorical, "encoded": len(n_categories) + 2 * n_categorical}

    @classmethod
    def fit(cls, data, seed, n_iter, loss):
        """Fit to data whose y has shape (n_samples,); see :meth:`BaggedBoosting.fit`."""
        random_state = np.random.RandomState(seed)
        encoder, X = CategoryEncoder.fit_transform(*data, random_state)
        trees = grow(
            np.where(np.isnan(X).all(axis=0), 0.0, X),  # which boosting does not take
            data.y,
            None if (data.weight == 1).all() else data.weight,
            (data.n_categories > 0).sum(),
            random_state,
            loss=loss,
            max_features=min(1.0, max(0.5, _LEAST_FEATURES / X.shape[1])),
            max_iter=n_iter,
            learning_rate=min(_LEARNED[loss] / n_iter, _HIGHEST_RATE),
        )
        return cls(encoder, trees)

    def predict(self, X):
        """Predict, to (n_samples,)."""
        return self.trees.predict(self.encoder.transform(X))


@dataclass(frozen=True, eq=False)
class BaggedBoosting(Stored):
    """The mean of boosted trees that each were fitted to other rows.

    Attributes
    ----------
    bags : list of lists of Bag
        Those of each target.
    """

    bags: list[list[Bag]]
    loss = "squared_error"

    def check_fields(self, sizes):
        """Check that each target has bags."""
        if len(self.bags) != self.count_targets(sizes["k"]) or not all(self.bags):
            raise ValueError("the boosted trees have other targets")

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
    def fit(cls, data, folds, n_iter, random_state, n_threads=1):
        """Fit, and make out-of-fold predictions: each row by the bag not fitted to it.

        Parameters
        ----------
        data : BlendData
        folds : int ndarray of shape (n_samples,)
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
        n_bags, targets = folds.max() + 1, cls._targets(data.y)
        n_iter = max(1, round(n_iter * cls._fraction_of_iterations(len(targets))))
        jobs = [(target, fold) for target in targets for fold in range(n_bags)]
        seeds = random_state.randint(MAX_SEED, size=len(jobs))

        def fit_bag(job):
            (target, fold), seed = job
            rows = is_other(folds, fold)
            others = data._replace(y=target).select(rows)
            others = others._replace(weight=others.weight / others.weight.mean())  # whatever it is
            bag = Bag.fit(others, seed, n_iter, cls.loss)
            return bag, bag.predict(data.X[folds == fold])

        fitted = map_in_threads(fit_bag, zip(jobs, seeds, strict=True), n_threads)
        out_of_fold = np.empty((len(targets), len(folds)))
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
        start = time.monotonic()
        Bag.fit(data._replace(y=targets[0]), 0, _N_TRIED, cls.loss).predict(data.X)
        n_in_turn = math.ceil(N_FOLDS * len(targets) / n_threads)
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

        def predict(X):
            return self._combine(np.array([[bag.predict(X) for bag in bags] for bags in self.bags]))

        return predict_in_batches(predict, X)


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


# Classes of boosted trees, by the loss that a task names.
BOOSTING = {kind.loss: kind for kind in (BaggedBoosting, BaggedLogisticBoosting)}


def fit_boosting(data, folds, loss, n_threads, n_iter, random_state):
    """Fit as :meth:`BaggedBoosting.fit`, and return what :func:`fit_linear` does."""
    model, out_of_fold = BOOSTING[loss].fit(data, folds, n_iter, random_state, n_threads)
    return [model], out_of_fold[None]
