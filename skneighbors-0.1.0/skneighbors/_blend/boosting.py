"""Bags of boosted trees of what a table's reader reads."""

import math
import time
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit
from scipy.stats import rankdata

from .._utils.arrays import Stored, array_field
from .._utils.device import MAX_SEED
from .._utils.threads import map_in_threads
from .base import (
    N_FOLDS,
    PartFit,
    count_places,
    draw_folds,
    find_categories,
    is_other,
    keep_largest,
    predict_in_batches,
)
from .trees import Trees, grow

# Of the time that is left, for all bags; and iterations by which the time of one is measured.
_FRACTION, _N_TRIED = 1 / 2, 20
# After which parts of the iterations bags may end, and what loss to that before is a gain.
_STAGES, _GAIN = (1 / 8, 1 / 4, 1 / 2, 1), 0.99
# Learning rate times iterations, by loss; and the highest rate, where iterations are few.
_LEARNED, _HIGHEST_RATE = {"squared_error": 15.0, "log_loss": 5.0}, 0.5
# A split chooses among half of the columns, but no fewer than these.
_LEAST_FEATURES = 6
# Of more columns a bag takes those that correlate most with the target.
_MAX_FEATURES = 1000
# Of more classes trees get fewer iterations, as each class has trees.
_MANY_CLASSES = 10
# How many categories of a column histogram boosting can distinguish.
_MAX_CODES = 254
# Rows of the overall mean that a category's mean counts besides its rows.
_N_PRIOR = 10
# Folds of which means leave one out.
_N_MEAN_FOLDS = 10


@dataclass(frozen=True, eq=False)
class CategoryEncoder(Stored):
    """Encoder of each column of categories as three: codes, means of a target, and counts.

    Means are shrunk towards that of all rows, and those of training rows are out of fold.
    Counts are logarithms of 1 + the categories' weight. Missing and
    unknown categories are one category.

    Attributes
    ----------
    n_categories : int ndarray of shape (n_features,)
        0 for a column of numbers.
    codes, means, counts : ndarray of shape (sum of n_categories + 1,)
        Of the categories of all columns, missing ones last in each. A code is NaN for missing
        ones, and for all but those of the 254 largest weights. Of categories of the same weight
        all or none have one: the reader numbers these by their targets, which a choice would leak.
    """

    n_categories: np.ndarray = array_field("int64", "q", equals="expanded")
    codes: np.ndarray = array_field("float64", "places", low=0, below="codes", allows="nan")
    means: np.ndarray = array_field("float64", "places")
    counts: np.ndarray = array_field("float64", "places")

    def _field_sizes(self):
        """Count the categories' places, and the codes there may be."""
        return {"places": count_places(self.n_categories), "codes": _MAX_CODES}

    @classmethod
    def fit_transform(cls, X, y, weight, groups, n_categories, random_state):
        """Fit, and encode the same rows.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)
            As :meth:`TableReader.expand` returns it.
        y : ndarray of shape (n_samples,)
        weight : ndarray of shape (n_samples,)
        groups : int ndarray of shape (n_samples,)
            Rows of one group are in one fold.
        n_categories : int ndarray of shape (n_features,)
        random_state : RandomState

        Returns
        -------
        encoder : CategoryEncoder
        encoded : ndarray of shape (n_samples, n_encoded)
            Codes, numbers, means, counts.
        """
        place, sizes = find_categories(X, n_categories), n_categories[n_categories > 0] + 1
        folds = draw_folds(groups, _N_MEAN_FOLDS, random_state)
        n_folds = folds.max() + 1
        prior = np.average(y, weights=weight)
        totals, sums = (np.zeros((n_folds, sizes.sum())) for _ in range(2))
        for column in place.T:
            np.add.at(totals, (folds, column), weight)
            np.add.at(sums, (folds, column), weight * y)
        total, total_sum = totals.sum(0), sums.sum(0)
        others = (total_sum - sums + _N_PRIOR * prior) / (total - totals + _N_PRIOR)
        means = others[folds[:, None], place]
        parts = np.split(total, sizes.cumsum()[:-1]) if len(sizes) else []
        encoder = cls(
            n_categories,
            np.concatenate([total[:0], *map(_number_largest, parts)]),
            (total_sum + _N_PRIOR * prior) / (total + _N_PRIOR),
            np.log1p(total),
        )
        return encoder, encoder._arrange(X, place, means)

    def transform(self, X):
        """Encode, to (n_samples, n_encoded).

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)

        Returns
        -------
        encoded : ndarray of shape (n_samples, n_encoded)
        """
        place = find_categories(X, self.n_categories)
        return self._arrange(X, place, self.means[place])

    def _arrange(self, X, place, means):
        parts = self.codes[place], X[:, self.n_categories == 0], means, self.counts[place]
        return np.concatenate(parts, axis=1)


def _number_largest(totals):
    """Codes of categories that boosting can distinguish, NaN for others; missing ones are last."""
    kept = totals > 0
    kept[-1] = False
    kept = keep_largest(kept, totals, _MAX_CODES)
    return np.where(kept, np.cumsum(kept) - 1.0, np.nan)


def find_columns(X, y, weight):
    """Find at most 1,000 columns of X (n, p): those whose ranks correlate most with y (n,)."""
    columns = np.arange(X.shape[1], dtype=np.int32)
    if len(columns) <= _MAX_FEATURES:
        return columns
    middle = (1 + np.count_nonzero(~np.isnan(X), axis=0)) / 2
    ranks = np.nan_to_num(rankdata(X, axis=0, nan_policy="omit") - middle)
    covariance = (weight * (y - np.average(y, weights=weight))) @ ranks
    variance = weight @ ranks**2
    correlation = np.abs(covariance) / np.sqrt(np.where(variance > 0, variance, np.inf))
    return np.sort(columns[np.argsort(-correlation, kind="stable")[:_MAX_FEATURES]])


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

    def _field_sizes(self):
        """Count the columns of categories, and all encoded ones."""
        n_categories = self.encoder.n_categories
        n_categorical = np.count_nonzero(n_categories)
        return {"categorical": n_categorical, "encoded": len(n_categories) + 2 * n_categorical}

    @classmethod
    def grow(cls, data, seed, stages, loss):
        """Yield bags of so many iterations, of data whose y has shape (n_samples,)."""
        random_state = np.random.RandomState(seed)
        encoder, X = CategoryEncoder.fit_transform(*data, random_state)
        columns = find_columns(X, data.y, data.weight)
        X = X[:, columns]
        grown = grow(
            np.where(np.isnan(X).all(axis=0), 0.0, X),  # which boosting does not take
            data.y,
            None if (data.weight == 1).all() else data.weight,
            np.count_nonzero(columns < np.count_nonzero(data.n_categories)),
            random_state,
            stages,
            loss,
            max_features=min(1.0, max(0.5, _LEAST_FEATURES / X.shape[1])),
            learning_rate=min(_LEARNED[loss] / stages[-1], _HIGHEST_RATE),
        )
        for trees in grown:
            yield cls(encoder, replace(trees, feature=columns[trees.feature]))

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

    def _check_fields(self, sizes):
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

    @staticmethod
    def _losses(targets, predicted):
        """Losses of predictions, both (n_targets, n_samples)."""
        return (predicted - targets) ** 2

    @classmethod
    def fit(cls, data, folds, settings):
        """Fit a bag to the rows of all folds but one, of each in turn, which it predicts.

        They grow in stages, and end where a stage has not lowered the loss by one percent.

        Parameters
        ----------
        data : BlendData
        folds : int ndarray of shape (n_samples,)
        settings : BlendSettings

        Returns
        -------
        fit : PartFit
            Of a single model.
        """
        n_bags, targets = folds.max() + 1, cls._targets(data.y)
        n_iter = max(1, round(settings.n_iter * cls._fraction_of_iterations(len(targets))))
        stages = sorted({math.ceil(part * n_iter) for part in _STAGES})
        jobs = [(target, fold) for target in targets for fold in range(n_bags)]
        seeds = settings.random_state.randint(MAX_SEED, size=len(jobs))

        def grow_bag(job, seed):
            target, fold = job
            others = data._replace(y=target).select(is_other(folds, fold))
            others = others._replace(weight=others.weight / others.weight.mean())  # whatever it is
            for bag in Bag.grow(others, seed, stages, cls.loss):
                yield bag, bag.predict(data.X[folds == fold])

        growing, lowest, bags = list(map(grow_bag, jobs, seeds)), np.inf, None
        for _ in stages:
            grown = map_in_threads(next, growing, settings.n_threads)
            predicted = np.empty((len(targets), len(folds)))
            for i, (_, own) in enumerate(grown):
                predicted[i // n_bags, folds == i % n_bags] = own
            loss = (cls._losses(targets, predicted) * data.weight).sum()
            gains = loss < _GAIN * lowest
            if bags is None or loss < lowest:
                lowest, out_of_fold, bags = loss, predicted, [bag for bag, _ in grown]
            if not gains:
                break
        bags = [bags[i : i + n_bags] for i in range(0, len(bags), n_bags)]
        return PartFit([cls(bags)], cls._combine(out_of_fold[:, None])[None])

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
    def _losses(targets, predicted):
        return np.logaddexp(0, predicted) - targets * predicted

    @staticmethod
    def _combine(predicted):
        probabilities = expit(predicted).mean(axis=1)
        if len(probabilities) == 1:
            return np.hstack([1 - probabilities.T, probabilities.T])
        return (probabilities / probabilities.sum(axis=0)).T


# Classes of boosted trees, by the loss that a task names.
BOOSTING = {kind.loss: kind for kind in (BaggedBoosting, BaggedLogisticBoosting)}


def count_affordable(data, loss, settings):
    """Count the iterations, at least one, that bags have time for: they may take half of it.

    A bag of few iterations is fitted, to measure its time.

    Parameters
    ----------
    data : BlendData
    loss : str
    settings : BlendSettings

    Returns
    -------
    n_iter : int
        No more than those of the settings.
    """
    if settings.seconds == math.inf:
        return settings.n_iter
    kind, start = BOOSTING[loss], time.monotonic()
    targets = kind._targets(data.y)
    next(Bag.grow(data._replace(y=targets[0]), 0, [_N_TRIED], loss)).predict(data.X)
    n_in_turn = math.ceil(N_FOLDS * len(targets) / settings.n_threads)
    each = n_in_turn * max(time.monotonic() - start, 1e-9) / _N_TRIED
    affordable = _FRACTION * settings.seconds / each / kind._fraction_of_iterations(len(targets))
    return int(max(1, min(settings.n_iter, affordable)))
