"""Linear models of what a table's reader reads."""

import warnings
from dataclasses import dataclass

import numpy as np
import torch
from scipy.special import softmax
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from .._utils.arrays import Stored, array_field
from .._utils.blocks import cut
from .._utils.process import one_blas_thread
from .._utils.sklearn_private import fit_unlogged
from .._utils.threads import map_in_threads
from .data import N_AT_ONCE, is_other, predict_in_batches
from .target_means import count_places, find_categories

# Quantiles to which numbers are clipped.
_CLIPPED = 0.002, 0.998
# Categories of so much weight, in rows, have a column, but no more than the most frequent.
_MIN_ROWS, _MAX_ONE_HOT = 5, 500
# Numbers that a model is fitted to: of wide tables, fewer rows.
_MAX_NUMBERS = 10_000_000
# Strengths to choose from, of ridge regressions and, inverse, of logistic ones.
_STRENGTHS, _INVERSE_STRENGTHS = tuple(10 ** np.linspace(-1, 4, 11)), (0.003, 0.03, 0.3, 3.0)
_MAX_ITER = 100


@dataclass(frozen=True, eq=False)
class LinearFeatures(Stored):
    """Encodes columns for linear models: numbers, flags of missing ones, categories one-hot.

    Numbers are clipped to their 0.002 and 0.998 quantiles and standardized; a missing one is as
    the mean. Categories of fewer than five rows, and all but the 500 most frequent, have no
    column. Missing and unknown categories are one category.

    Attributes
    ----------
    n_categories : int ndarray of shape (n_features,)
        0 for a column of numbers.
    low, high : ndarray of shape (n_numbers,)
        Between which numbers lie.
    mean, scale : ndarray of shape (n_numbers,)
        Of where they lie: 0 at `low`, 1 at `high`.
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

    def field_sizes(self):
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
            Of mean 1.
        n_categories : int ndarray of shape (n_features,)
        """
        numbers, place = X[:, n_categories == 0], find_categories(X, n_categories)
        scales = [_find_scale(x, weight) for x in numbers.T]
        totals = np.bincount(place.ravel(), np.repeat(weight, place.shape[1]))
        most = np.argsort(-totals, kind="stable")[:_MAX_ONE_HOT]
        return cls(
            n_categories,
            *np.array(scales).reshape(-1, 4).T,
            flagged=np.flatnonzero(np.isnan(numbers).any(axis=0)),
            categories=np.sort(most[totals[most] >= _MIN_ROWS]),
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


def _locate(x, low, high):
    """Where numbers lie between two, from 0 to 1; of a constant 0."""
    width = high / 2 - low / 2  # halved, as a range may exceed the largest float64
    return (x.clip(low, high) / 2 - low / 2) / np.where(width > 0, width, np.inf)


def _find_scale(x, weight):
    """Quantiles of numbers, and mean and standard deviation of where they lie between these."""
    present = ~np.isnan(x)
    if not present.any():
        return 0.0, 0.0, 0.0, 1.0
    x, weight = x[present], weight[present]
    low, high = np.quantile(x, _CLIPPED, weights=weight, method="inverted_cdf")
    x = _locate(x, low, high)
    mean = np.average(x, weights=weight)
    return low, high, mean, np.sqrt(np.average((x - mean) ** 2, weights=weight)) or 1.0


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

    def field_sizes(self):
        """Count the encoded columns."""
        features = self.features
        return {"e": sum(map(len, (features.low, features.flagged, features.categories)))}

    @staticmethod
    def _combine(predicted):
        """Values of linear predictors, both (n_samples, k)."""
        return predicted

    @staticmethod
    def _fit_path(X, y, weight):
        """Coefficients (k, n_encoded) and intercepts (k,) for each strength."""
        x_mean, y_mean = (np.average(part, axis=0, weights=weight) for part in (X, y))
        root = np.sqrt(weight)[:, None]
        for coef in _ridge_path(root * (X - x_mean), root * (y - y_mean)):
            yield np.ascontiguousarray(coef.T), y_mean - x_mean @ coef

    @classmethod
    def fit_path(cls, data):
        """Fit a model of each strength, from the weakest to the strongest or the reverse, a list.

        Parameters
        ----------
        data : BlendData
        """
        weight = data.weight / data.weight.mean()  # whatever all weigh
        features = LinearFeatures.fit(data.X, weight, data.n_categories)
        path = cls._fit_path(features.transform(data.X), data.y, weight)
        return [cls(features, *fitted) for fitted in path]

    def predict(self, X):
        """Predict, to (n_samples, k).

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)
        """
        return predict_in_batches(lambda X: self.of_encoded(self.features.transform(X)), X)

    def of_encoded(self, encoded):
        """Predict encoded rows (n_samples, n_encoded), to (n_samples, k)."""
        products = torch.from_numpy(encoded) @ torch.from_numpy(self.coef).T
        return self._combine(products.numpy() + self.intercept)


class LogisticModel(LinearModel):
    """The same for probabilities of classes: logistic regressions, multinomial."""

    @staticmethod
    def _combine(predicted):
        return softmax(predicted, axis=1)

    @staticmethod
    def _fit_path(X, y, weight):
        labels = y.argmax(axis=1)
        classes = np.unique(labels)  # others have no probability
        logistic = LogisticRegression(max_iter=_MAX_ITER, warm_start=True)
        for C in _INVERSE_STRENGTHS:
            coef, intercept = np.zeros((y.shape[1], X.shape[1])), np.full(y.shape[1], -np.inf)
            intercept[classes] = 0.0
            if len(classes) > 1:
                fit_unlogged(LogisticRegression, logistic.set_params(C=C), X, labels, weight)
                fitted = classes[1:] if len(classes) == 2 else classes
                coef[fitted], intercept[fitted] = logistic.coef_, logistic.intercept_
            yield coef, intercept


# Classes of linear models, by the loss of a task.
LINEAR = {"squared_error": LinearModel, "log_loss": LogisticModel}


def fit_linear(data, folds, loss, n_threads):
    """Fit linear models of several strengths, and predict each row by those of other folds.

    Parameters
    ----------
    data : BlendData
    folds : int ndarray of shape (n_samples,)
    loss : {"squared_error", "log_loss"}
    n_threads : int
        Results don't depend on it.

    Returns
    -------
    models : list of LinearModel
        Fitted to all rows or, of large tables, to every second, third and so on.
    out_of_fold : ndarray of shape (n_models, n_samples, k)
    """
    n_columns = 2 * data.X.shape[1] + min(data.n_categories.sum(), _MAX_ONE_HOT)

    def fit(fold):
        others = np.flatnonzero(is_other(folds, fold))
        step = -(-len(others) * n_columns // _MAX_NUMBERS)
        path = LINEAR[loss].fit_path(data.select(others[::step]))
        own, features = data.X[folds == fold], path[0].features
        encoded = (features.transform(own[rows]) for rows in cut(len(own), N_AT_ONCE))
        return path, [[model.of_encoded(block) for model in path] for block in encoded]

    with one_blas_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        # All rows are others than those of the last of these folds, which has none.
        *fitted, (models, _) = map_in_threads(fit, range(folds.max() + 2), n_threads)
    out_of_fold = np.empty((len(models), *data.y.shape))
    for fold, (_, predicted) in enumerate(fitted):
        out_of_fold[:, folds == fold] = np.concatenate(predicted, axis=1)
    return models, out_of_fold
