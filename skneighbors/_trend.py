"""A regressor whose predictions are blended with the networks': boosted trees, or the user's."""

from contextlib import nullcontext
from dataclasses import dataclass

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.multioutput import MultiOutputRegressor
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from ._utils.sklearn_private import take_samples
from ._utils.threads import one_openmp_thread

# So many are predicted faster by one thread, if other work has the cores.
_FEW_ROWS = 10_000
# How many levels of a column histogram boosting can tell apart.
_MAX_LEVELS = 254


class TableBoosting(HistGradientBoostingRegressor):
    """Histogram boosting of what a :class:`TableReader` reads.

    At most the 254 heaviest levels of a column count, and the others as missing. Its
    parameters are the base class's; `categorical_features` must be a mask.
    """

    def fit(self, X, y, sample_weight=None):
        """Fit; unlike the base class's, with columns that are missing throughout.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)
        y : ndarray of shape (n_samples,)
        sample_weight : ndarray of shape (n_samples,), default=None

        Returns
        -------
        self : object
        """
        weight = np.ones(len(X)) if sample_weight is None else sample_weight
        self._new_codes = {
            j: _keep_heaviest(X[:, j], weight) for j in np.flatnonzero(self.categorical_features)
        }
        X = self._encode(X)
        return super().fit(np.where(np.isnan(X).all(axis=0), 0.0, X), y, sample_weight)

    def predict(self, X):
        """Predict.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        return super().predict(self._encode(X))

    def _encode(self, X):
        X = X.copy()
        for j, new in self._new_codes.items():
            known = X[:, j] < len(new)
            X[~known, j] = np.nan
            X[known, j] = new[X[known, j].astype(int)]
        return X


def _keep_heaviest(codes, weight):
    """Find new codes for those levels that boosting can tell apart; NaN for others.

    Of levels of the same weight all or none are kept: which of them are known must say nothing
    of their targets, by which such levels are ordered.
    """
    present = ~np.isnan(codes)
    totals = np.bincount(codes[present].astype(int), weight[present])
    kept = totals > 0
    if kept.sum() > _MAX_LEVELS:
        kept = totals > np.sort(totals)[-_MAX_LEVELS - 1]
    return np.where(kept, np.cumsum(kept) - 1.0, np.nan)


@dataclass(frozen=True, eq=False)
class BlendedTrend:
    """A fitted regressor and its share in predictions.

    Attributes
    ----------
    regressor : estimator
    encoded : bool
        Whether it takes X as a matrix and scaled targets; or else both as given.
    share : float
        In (0, 1].
    """

    regressor: BaseEstimator
    encoded: bool
    share: float

    def predict(self, X, matrix, y_scaler):
        """Predict, scaled.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            As given.
        matrix : ndarray of shape (n_samples, n_features)
            X as a :class:`TableReader` reads it.
        y_scaler : TargetScaler

        Returns
        -------
        y : ndarray of shape (n_samples, n_targets)
        """
        with one_openmp_thread() if len(matrix) <= _FEW_ROWS else nullcontext():
            y = as_columns(self.regressor.predict(matrix if self.encoded else X))
        return y if self.encoded else y_scaler.transform(y)


class TrendFitter:
    """Fits a regressor to parts of the training samples.

    Parameters
    ----------
    regressor : estimator
    X : array-like of shape (n_samples, n_features)
        What the regressor takes.
    y : ndarray of shape (n_samples, n_targets)
    sample_weight : ndarray of shape (n_samples,)
    row_of : int ndarray of shape (n_samples,)
        Rows that a split is of; -1 for samples without weight.

    Raises
    ------
    ValueError
        If there are weights, and the regressor takes none.
    """

    def __init__(self, regressor, X, y, sample_weight, row_of):
        if y.shape[1] == 1:
            y = y.ravel()
        elif not get_tags(regressor).target_tags.multi_output:
            regressor = MultiOutputRegressor(regressor)
        self._regressor, self._X, self._y, self._row_of = regressor, X, y, row_of
        self._weight = None if (sample_weight[row_of >= 0] == 1).all() else sample_weight
        if self._weight is not None and not has_fit_parameter(regressor, "sample_weight"):
            raise ValueError(
                f"trend must take sample_weight in fit, as it is given; {regressor!r} does not."
            )

    def fit(self, rows):
        """Fit to the samples of some rows.

        Parameters
        ----------
        rows : int ndarray

        Returns
        -------
        fitted : estimator
        """
        samples = np.flatnonzero(np.isin(self._row_of, rows))
        weight = {} if self._weight is None else {"sample_weight": self._weight[samples]}
        X, regressor = take_samples(self._X, samples), clone(self._regressor)
        try:
            return regressor.fit(X, self._y[samples], **weight)
        except (ValueError, TypeError) as error:
            raise ValueError(
                f"trend={regressor!r} failed on X and y as given; what it does not take, such as "
                f"text or gaps, must be encoded in a pipeline: {error}"
            ) from error

    def predict_held_out(self, split):
        """Fit and predict as the split of each of m members says.

        Parameters
        ----------
        split : EnsembleSplit

        Returns
        -------
        predictions : ndarray of shape (m, n_validation, n_targets)
        """
        _, first = np.unique(self._row_of, return_index=True)
        first = first[-(self._row_of.max() + 1) :]  # samples of the rows, without that of -1
        fitted, predictions = {}, []
        for train, validation in zip(split.train.numpy(), split.validation.numpy(), strict=True):
            key = train.tobytes()  # members may share a split
            if key not in fitted:
                fitted[key] = self.fit(train)
            X = take_samples(self._X, first[validation])
            predictions.append(as_columns(fitted[key].predict(X)))
        return np.stack(predictions)


def as_columns(y):
    """Arrange a regressor's predictions as (n, k).

    Parameters
    ----------
    y : array-like of shape (n,) or (n, k)

    Returns
    -------
    y : ndarray of shape (n, k)

    Raises
    ------
    ValueError
        If they are not finite.
    """
    y = np.asarray(y, dtype=np.float64)
    if not np.isfinite(y).all():
        raise ValueError("trend predicts NaN or infinity.")
    return y.reshape(len(y), -1)
