"""Linear models of what a table's reader reads."""

from dataclasses import dataclass

import numpy as np
import torch
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

from .._columns import weighted_quantiles
from .._utils.arrays import Stored, array_field
from .._utils.blocks import cut
from .._utils.process import one_blas_thread
from .._utils.threads import map_in_threads
from .base import (
    N_AT_ONCE,
    PartFit,
    count_places,
    find_categories,
    is_other,
    keep_largest,
    predict_in_batches,
)

# Quantiles to which numbers are clipped.
_CLIPPED = 0.002, 0.998
# Categories of so many samples have a column, but no more than the most frequent.
_MIN_SAMPLES, _MAX_ONE_HOT = 5, 500
# Numbers that a model is fitted to, and multiplications of a fit: of wide tables, fewer rows.
_MAX_NUMBERS, _MAX_PRODUCTS = 10_000_000, 1e10
# Of the time that is left, for all fits; multiplications a second that are counted on, and those
# that there is always time for.
_FRACTION, _PRODUCTS_A_SECOND, _MIN_PRODUCTS = 1 / 20, 1e10, 2e5
# An eigendecomposition takes about so many cubes of its size.
_EIGEN = 10
# Strengths to choose from, of ridge regressions and, inverse, of logistic ones.
_STRENGTHS, _INVERSE_STRENGTHS = tuple(10 ** np.linspace(-1, 4, 11)), (0.003, 0.03, 0.3, 3.0)
# L-BFGS ends after so many steps, or as scikit-learn's LogisticRegression does.
_MAX_STEPS, _SMALL = 100, dict(gtol=1e-4, ftol=64 * np.finfo(float).eps, maxls=50)
# Log-odds of a class that no row has: its probability is 0.
_NEVER = -1e3


@dataclass(frozen=True, eq=False)
class LinearFeatures(Stored):
    """Encodes columns for linear models: numbers, flags of missing ones, categories one-hot.

    Numbers are clipped to their 0.002 and 0.998 quantiles and standardized; a missing one is as
    the mean. Categories of fewer than five samples, and all but the 500 most frequent, have no
    column; of categories as frequent, all or none have one. Missing and unknown categories are
    one category.

    Attributes
    ----------
    n_categories : int ndarray of shape (n_features,)
        0 for a column of numbers.
    low, high : ndarray of shape (n_numbers,)
        Between which numbers lie.
    mean, scale : ndarray of shape (n_numbers,)
        Mean and standard deviation of a number that is scaled to 0 at `low` and 1 at `high`.
    flagged : int ndarray of shape (n_flags,)
        Numbers of which some are missing.
    categories : int ndarray of shape (n_one_hot,)
        Places among the categories of all columns, missing ones last in each.
    """

    n_categories: np.ndarray = array_field("int64", "q", equals="expanded")
    low: np.ndarray = array_field("float64", "n")
    high: np.ndarray = array_field("float64", "n")
    mean: np.ndarray = array_field("float64", "n")
    scale: np.ndarray = array_field("float64", "n", low=0)
    flagged: np.ndarray = array_field("int64", "f", low=0, below="n")
    categories: np.ndarray = array_field("int64", "o", low=0, below="places", ascends=True)

    def _field_sizes(self):
        """Count the numbers, and the categories' places."""
        return {"n": int((self.n_categories == 0).sum()), "places": count_places(self.n_categories)}

    @classmethod
    def fit(cls, X, weight, n_categories):
        """Fit.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)
            As :meth:`TableReader.expand` returns it.
        weight : ndarray of shape (n_samples,)
            How many samples each row stands for, unless it is less than one on average.
        n_categories : int ndarray of shape (n_features,)
        """
        numbers, place = X[:, n_categories == 0], find_categories(X, n_categories)
        totals = np.bincount(place.ravel(), np.repeat(weight, place.shape[1]))
        is_frequent = totals >= _MIN_SAMPLES * min(1.0, weight.mean())
        return cls(
            n_categories,
            *_find_scales(numbers, weight),
            flagged=np.flatnonzero(np.isnan(numbers).any(axis=0)),
            categories=np.flatnonzero(keep_largest(is_frequent, totals, _MAX_ONE_HOT)),
        )

    def transform(self, X):
        """Encode, to (n_samples, n_numbers + n_flags + n_one_hot).

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)
        """
        numbers, place = X[:, self.n_categories == 0], find_categories(X, self.n_categories)
        scaled = (_locate(numbers, self.low, self.high) - self.mean) / self.scale
        parts = [np.nan_to_num(scaled), np.isnan(numbers[:, self.flagged])]
        if len(self.categories):
            one_hot = np.zeros((len(X), len(self.categories)))
            found = self.categories.searchsorted(place).clip(max=len(self.categories) - 1)
            rows, columns = np.nonzero(self.categories[found] == place)
            one_hot[rows, found[rows, columns]] = 1
            parts.append(one_hot)
        return np.hstack(parts)


def _count_columns(data):
    """Count the columns that data are encoded as, at most."""
    numbers = data.X[:, data.n_categories == 0]
    n_one_hot = min(data.n_categories.sum(), _MAX_ONE_HOT)
    return numbers.shape[1] + np.isnan(numbers).any(axis=0).sum() + n_one_hot


def _locate(x, low, high):
    """Scale numbers between two to between 0 and 1; those of a constant to 0."""
    width = high / 2 - low / 2  # halved, as a range may exceed the largest float64
    return (x.clip(low, high) / 2 - low / 2) / np.where(width > 0, width, np.inf)


def _find_scales(numbers, weight):
    """Quantiles of columns of numbers, and mean and deviation of the numbers scaled by these."""
    x = np.ascontiguousarray(numbers.T)
    weight = weight * ~np.isnan(x)
    low, high = np.nan_to_num(weighted_quantiles(x, _CLIPPED, weight))
    x = np.nan_to_num(_locate(x, low[:, None], high[:, None]))
    total = weight.sum(axis=1)
    total[total == 0] = 1.0  # of columns without values
    mean = (x * weight).sum(axis=1) / total
    scale = np.sqrt(((x - mean[:, None]) ** 2 * weight).sum(axis=1) / total)
    return low, high, mean, np.where(scale > 0, scale, 1.0)


def _ridge_path(X, y):
    """Coefficients (p, k) of each strength, by eigenvectors of X'X or, of wide X, of XX'."""
    if X.shape[1] > len(X):
        values, vectors = np.linalg.eigh(X @ X.T)
        projected, back = vectors.T @ y, X.T @ vectors
    else:
        values, vectors = np.linalg.eigh(X.T @ X)
        projected, back = vectors.T @ (X.T @ y), vectors
    for strength in _STRENGTHS:
        yield back @ (projected / (values[:, None] + strength))


def _fit_logistic(X, y, weight, C, start):
    """Coefficients and intercepts (k, p + 1) of a multinomial logistic regression, by L-BFGS.

    Minimizes what :class:`~sklearn.linear_model.LogisticRegression` does, of two classes, too,
    whose coefficients are half of the difference there. Warns of nothing, as threads share filters.
    """
    X, shape = np.column_stack([X, np.ones(len(X))]), start.shape
    weight, penalty = weight / weight.sum(), (2 if shape[0] == 2 else 1) / (C * weight.sum())

    def loss(flat):
        coef = flat.reshape(shape)
        shrunk = penalty * coef * (np.arange(shape[1]) < shape[1] - 1)  # but for intercepts
        log_p = log_softmax(X @ coef.T, axis=1)
        gradient = ((np.exp(log_p) - y) * weight[:, None]).T @ X + shrunk
        return (shrunk * coef).sum() / 2 - weight @ (y * log_p).sum(axis=1), gradient.ravel()

    options = _SMALL | {"maxiter": _MAX_STEPS}
    return minimize(loss, start.ravel(), jac=True, method="L-BFGS-B", options=options).x.reshape(
        shape
    )


@dataclass(frozen=True, eq=False)
class LinearModel(Stored):
    """Ridge regressions of all targets.

    Attributes
    ----------
    features : LinearFeatures
    coef : ndarray of shape (n_targets, n_encoded)
    intercept : ndarray of shape (n_targets,)
    """

    features: LinearFeatures
    coef: np.ndarray = array_field("float64", "k e")
    intercept: np.ndarray = array_field("float64", "k")

    def _field_sizes(self):
        """Count the encoded columns."""
        features = self.features
        return {"e": sum(map(len, (features.low, features.flagged, features.categories)))}

    @staticmethod
    def _combine(predicted):
        """Values of linear predictors, both (n_samples, k)."""
        return predicted

    @staticmethod
    def _count_products(n, p, k):
        """Count multiplications of a fit to n rows of p columns and k targets, about."""
        size = min(n, p)
        return n * p * size + _EIGEN * size**3

    @staticmethod
    def _fit_path(X, y, weight):
        """Coefficients (k, n_encoded) and intercepts (k,) for each strength."""
        x_mean, y_mean = (np.average(part, axis=0, weights=weight) for part in (X, y))
        root = np.sqrt(weight)[:, None]
        for coef in _ridge_path(root * (X - x_mean), root * (y - y_mean)):
            yield np.ascontiguousarray(coef.T), y_mean - x_mean @ coef

    @classmethod
    def fit_path(cls, data):
        """Fit a model of each strength, a list.

        Parameters
        ----------
        data : BlendData
        """
        features = LinearFeatures.fit(data.X, data.weight, data.n_categories)
        weight = data.weight / data.weight.mean()  # whatever all weigh
        path = cls._fit_path(features.transform(data.X), data.y, weight)
        return [cls(features, *fitted) for fitted in path]

    @classmethod
    def fit(cls, data, folds, settings):
        """Fit models of several strengths, and predict each row by those of other folds.

        Parameters
        ----------
        data : BlendData
        folds : int ndarray of shape (n_samples,)
        settings : BlendSettings

        Returns
        -------
        fit : PartFit
            Of models that are fitted to all rows or, of large tables, to some at random.
        """
        jobs = [(is_other(folds, fold), folds == fold) for fold in range(folds.max() + 1)]
        jobs.append((folds >= 0, folds < 0))  # the last is fitted to all, and predicts none
        seconds, n_columns = _FRACTION * settings.seconds / len(jobs), _count_columns(data)

        def fit(job):
            rows, is_own = job
            drawn = cls._draw(np.flatnonzero(rows), n_columns, data.y.shape[1], seconds)
            path = cls.fit_path(data.select(drawn))
            own, features = data.X[is_own], path[0].features
            encoded = (features.transform(own[rows]) for rows in cut(len(own), N_AT_ONCE))
            return path, [[model.of_encoded(block) for model in path] for block in encoded]

        with one_blas_thread():
            *fitted, (models, _) = map_in_threads(fit, jobs, settings.n_threads)
        out_of_fold = np.empty((len(models), *data.y.shape))
        for fold, (_, predicted) in enumerate(fitted):
            out_of_fold[:, folds == fold] = np.concatenate(predicted, axis=1)
        return PartFit(models, out_of_fold)

    @classmethod
    def _draw(cls, rows, p, k, seconds):
        """Draw as many rows as memory and time allow a fit to p columns and k targets; in order."""
        most = min(_MAX_PRODUCTS, max(_MIN_PRODUCTS, seconds * _PRODUCTS_A_SECOND))
        n = len(rows)
        while n > 1 and (n * p > _MAX_NUMBERS or cls._count_products(n, p, k) > most):
            n = int(0.9 * n)
        return rows if n == len(rows) else np.sort(np.random.RandomState(0).permutation(rows)[:n])

    def predict(self, X):
        """Predict, to (n_samples, k).

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)
        """
        return predict_in_batches(lambda X: self.of_encoded(self.features.transform(X)), X)

    def of_encoded(self, encoded):
        """Predict encoded rows (n_samples, n_encoded), to (n_samples, k)."""
        coef = torch.from_numpy(np.require(self.coef, requirements="W"))
        products = torch.from_numpy(encoded) @ coef.T
        return self._combine(products.numpy() + self.intercept)


class LogisticModel(LinearModel):
    """The same for probabilities of classes: logistic regressions, multinomial."""

    @staticmethod
    def _combine(predicted):
        return softmax(predicted, axis=1)

    @staticmethod
    def _count_products(n, p, k):
        return 2 * len(_INVERSE_STRENGTHS) * _MAX_STEPS * n * p * k

    @staticmethod
    def _fit_path(X, y, weight):
        is_there = y.any(axis=0)
        fitted = np.zeros((is_there.sum(), X.shape[1] + 1))
        for C in _INVERSE_STRENGTHS:
            fitted = _fit_logistic(X, y[:, is_there], weight, C, fitted)
            coef, intercept = np.zeros((len(is_there), X.shape[1])), np.full(len(is_there), _NEVER)
            coef[is_there], intercept[is_there] = fitted[:, :-1], fitted[:, -1]
            yield coef, intercept


# Classes of linear models, by the loss of a task.
LINEAR = {"squared_error": LinearModel, "log_loss": LogisticModel}
