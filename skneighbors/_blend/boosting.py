"""Boosted trees of what a table's reader reads."""

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor

from .._utils.sklearn_private import fit_unlogged

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
        self.new_codes = {
            j: _keep_heaviest(X[:, j], weight) for j in np.flatnonzero(self.categorical_features)
        }
        X = recode_levels(X, self.new_codes)
        X = np.where(np.isnan(X).all(axis=0), 0.0, X)
        return fit_unlogged(HistGradientBoostingRegressor, self, X, y, sample_weight)

    def predict(self, X):
        """Predict.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        return super().predict(recode_levels(X, self.new_codes))


def recode_levels(X, new_codes):
    """Give levels new codes, in a copy of X; `new_codes` has an array of them for each column."""
    X = X.copy()
    for j, new in new_codes.items():
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
