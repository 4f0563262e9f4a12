"""A regressor whose predictions are blended with the networks': boosted trees, or the user's."""

from dataclasses import dataclass

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.multioutput import MultiOutputRegressor
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from ._utils.sklearn_private import take_samples

# How many levels of a column histogram boosting can tell apart; codes begin with the heaviest.
_MAX_LEVELS = 254


@dataclass(frozen=True, eq=False)
class BlendedTrend:
    """A fitted regressor and its share in predictions.

    Attributes
    ----------
    regressor : estimator
    share : float
        In (0, 1].
    n_levels : int ndarray of shape (n_features,) or None
        For boosted trees, which take a matrix with the codes of levels, and scaled targets.
        None: X and y as given.
    """

    regressor: BaseEstimator
    share: float
    n_levels: np.ndarray | None

    def blend_with(self, y, X, matrix, y_scaler):
        """Blend the networks' scaled predictions y (n, k) with those for X, read as a matrix."""
        if self.n_levels is None:
            own = y_scaler.transform(as_columns(self.regressor.predict(X)))
        else:
            own = as_columns(self.regressor.predict(keep_heaviest(matrix, self.n_levels)))
        return (1 - self.share) * y + self.share * own


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
        """Regressor fitted to the samples of some rows."""
        samples = np.flatnonzero(np.isin(self._row_of, rows))
        weight = {} if self._weight is None else {"sample_weight": self._weight[samples]}
        X = take_samples(self._X, samples)
        return clone(self._regressor).fit(X, self._y[samples], **weight)

    def predict_held_out(self, split):
        """Fit and predict as each member's split says, to (m, n_validation, k)."""
        _, first = np.unique(self._row_of, return_index=True)
        first = first[-(self._row_of.max() + 1) :]  # samples of the rows, without that of -1
        parts = zip(split.train.cpu().numpy(), split.validation.cpu().numpy(), strict=True)
        return np.stack(
            [
                as_columns(self.fit(train).predict(take_samples(self._X, first[validation])))
                for train, validation in parts
            ]
        )


def make_boosting(n_levels, random_state):
    """Histogram boosting of a matrix whose columns have so many levels, 0 for numbers."""
    return HistGradientBoostingRegressor(
        categorical_features=n_levels > 0, random_state=random_state
    )


def keep_heaviest(X, n_levels):
    """Matrix in which all but a column's heaviest levels are missing, for boosted trees."""
    return np.where((n_levels > 0) & (X >= _MAX_LEVELS), np.nan, X)


def as_columns(y):
    """Predictions as (n, k)."""
    return y.reshape(len(y), -1)
