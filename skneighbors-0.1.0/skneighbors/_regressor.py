"""Base of the regressors: predictions of numbers, quantiles, intervals and label errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, overload

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from ._base import BaseNeighborEstimator
from ._columns import check_weights
from ._model import Model, warn_unless_validated
from ._task import Regression
from ._utils.parameters import ArrayLike, StrOptions, check_quantiles, parameter

if TYPE_CHECKING:
    from ._model import Suspects


@dataclass(kw_only=True, eq=False, repr=False)
class BaseNeighborRegressor(MultiOutputMixin, RegressorMixin, BaseNeighborEstimator):
    """Regressor that predicts from training samples in a learned embedding."""

    trend: str | None = parameter("linear", StrOptions({"linear"}), None)

    _task_class = Regression

    @overload
    def predict(  # numpydoc ignore=GL08
        self, X: ArrayLike, return_std: Literal[False] = ...
    ) -> np.ndarray: ...

    @overload
    def predict(  # numpydoc ignore=GL08
        self, X: ArrayLike, return_std: Literal[True]
    ) -> tuple[np.ndarray, np.ndarray]: ...

    def predict(
        self, X: ArrayLike, return_std: bool = False
    ) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
        """Predict the targets of X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features. A row of the training set is a neighbor of itself here.
        return_std : bool, default=False
            Whether to return standard deviations, too.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_targets)
            Predictions, float64, of the shape of the `y` given to :meth:`fit`.
        std : ndarray of the shape of `y`
            Root mean squares of the neighbors' residuals, as :meth:`predict_quantiles`
            weighs them. Only present if `return_std` is True.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        ValueError
            If X is not usable, or `n_neighbors`, `algorithm` or `device` has been set to
            what :meth:`fit` would not take.
        ImportError
            If `algorithm` needs FAISS and it is missing.

        Warns
        -----
        UserWarning
            If `return_std` is True, and :meth:`fit` had no validation rows.

        Examples
        --------
        >>> from sklearn.datasets import make_friedman1
        >>> from skneighbors import NONARegressor
        >>> X, y = make_friedman1(n_samples=100, random_state=0)
        >>> model = NONARegressor(max_iter=5, random_state=0).fit(X[:80], y[:80])
        >>> y_hat, std = model.predict(X[80:], return_std=True)
        >>> y_hat.shape, std.shape
        ((20,), (20,))
        """
        if not return_std:
            return self._call(Model.predict, X)
        y, std = self._call(Model.predict_std, X)
        warn_unless_validated(self._model)
        return y, std

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Coefficient of determination R2 of the predictions of X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights.

        Returns
        -------
        score : float
            At most 1; of several targets the mean.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        ValueError
            If X, y or the weights are not usable.

        Examples
        --------
        >>> from sklearn.datasets import make_friedman1
        >>> from skneighbors import NONARegressor
        >>> X, y = make_friedman1(n_samples=120, random_state=0)
        >>> model = NONARegressor(max_iter=5, random_state=0).fit(X[:100], y[:100])
        >>> model.score(X[100:], y[100:]) <= 1
        True
        """
        check_is_fitted(self)
        y = self._model.task.check(y)
        if sample_weight is not None:
            sample_weight = check_weights(sample_weight, len(y))
        return super().score(X, y, sample_weight)

    def predict_quantiles(
        self, X: ArrayLike, quantiles: ArrayLike = (0.05, 0.5, 0.95)
    ) -> np.ndarray:
        """Predict quantiles of the targets of X.

        A prediction's distribution is that of its neighbors' residuals around it: each neighbor,
        of at least 80, is predicted without itself. The validation rows of :meth:`fit` set its
        scale, but unlike that of :meth:`predict_interval` its coverage is
        not calibrated. Without validation rows, as by default with fewer
        than 30 unique rows, it is much too narrow. See :ref:`Prediction intervals <intervals>`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.
        quantiles : float or array-like of float, default=(0.05, 0.5, 0.95)
            Probabilities, from 0 to 1.

        Returns
        -------
        y : ndarray of shape (n_samples, n_quantiles) or (n_samples, n_targets, n_quantiles)
            Quantiles, in the order of `quantiles`; they never cross. There is no last axis if
            there is a single one.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        ValueError
            If X or `quantiles` is not usable.

        Warns
        -----
        UserWarning
            If there are no validation rows.

        Notes
        -----
        The first call after :meth:`fit`, :meth:`append` or :meth:`forget` predicts all
        neighbors, or 10,000 drawn at random, each left out itself; what comes of that is kept.

        Examples
        --------
        >>> from sklearn.datasets import make_friedman1
        >>> from skneighbors import NONARegressor
        >>> X, y = make_friedman1(n_samples=100, random_state=0)
        >>> model = NONARegressor(max_iter=5, random_state=0).fit(X[:80], y[:80])
        >>> low, median, high = model.predict_quantiles(X[80:], [0.1, 0.5, 0.9]).T
        >>> bool((low <= median).all() and (median <= high).all())
        True
        """
        levels = check_quantiles(quantiles)
        y = self._call(Model.predict_quantiles, X, levels)
        warn_unless_validated(self._model)
        return y[..., 0] if len(levels) == 1 else y

    def predict_interval(self, X: ArrayLike, confidence_level: float = 0.9) -> np.ndarray:
        """Predict intervals that cover the targets of X with some confidence.

        Intervals are split-conformal: their width, relative to the spread of the neighbors'
        residuals, is calibrated on the validation rows of :meth:`fit`; with `groups`, for the
        coverage of rows of new groups. Without validation rows, as by default with fewer than 30
        unique rows, they are much too narrow; with too few for the confidence, the ends are
        infinite. See :ref:`Prediction intervals <intervals>` for when there is a guarantee.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.
        confidence_level : float, default=0.9
            Coverage: fraction of the targets that intervals should contain, between 0 and 1.

        Returns
        -------
        interval : ndarray of shape (n_samples, 2) or (n_samples, n_targets, 2)
            Lower and upper ends; the prediction is the middle.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        ValueError
            If X is not usable.

        Warns
        -----
        UserWarning
            If there are no validation rows, or too few for such a confidence: then the ends are
            infinite.

        Examples
        --------
        >>> from sklearn.datasets import make_friedman1
        >>> from skneighbors import NONARegressor
        >>> X, y = make_friedman1(n_samples=100, random_state=0)
        >>> model = NONARegressor(max_iter=5, random_state=0).fit(X[:80], y[:80])
        >>> low, high = model.predict_interval(X[80:], confidence_level=0.8).T
        >>> bool((low < high).all())
        True
        """
        return self._predict_region("predict_interval", X, confidence_level)

    def suspects(self, n_rows: int = 20, confidence_level: float = 0.9) -> Suspects:
        """Find label errors: the training samples whose targets look wrong.

        Each row is predicted by its neighbors without itself: with all its weight, and with
        its group, if :meth:`fit` was given `groups`. Those rows come first whose targets differ
        most from that, relative to how far their neighbors are off themselves.

        Parameters
        ----------
        n_rows : int, default=20
            Number of rows to return; all if there are fewer.
        confidence_level : float, default=0.9
            Of the intervals; see :meth:`predict_interval`.

        Returns
        -------
        suspects : Suspects
            The rows, the most suspect first. Print it, or see its
            :meth:`~skneighbors.inspection.Suspects.to_frame`.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        ValueError
            If `n_rows` or `confidence_level` is not usable, or no rows, or rows of no other
            group, are left to compare with.

        Warns
        -----
        UserWarning
            If there are no validation rows, or too few for such a confidence: then the ends are
            infinite.

        Notes
        -----
        Forgotten rows take no part; appended rows do. A row of :meth:`fit` is no neighbor of
        itself, and the blended model predicts it out of fold; the networks were fitted to it and
        may have learned a part of its error.

        Examples
        --------
        >>> from sklearn.datasets import make_friedman1
        >>> from skneighbors import NONARegressor
        >>> X, y = make_friedman1(n_samples=150, random_state=0)
        >>> y[17] += 15
        >>> model = NONARegressor(max_iter=30, random_state=0).fit(X, y)
        >>> suspects = model.suspects(n_rows=5)
        >>> int(suspects.indices[0])
        17
        """
        check_is_fitted(self)
        n_rows = self._check_n_rows(n_rows)
        level = self._check_level("suspects", confidence_level)
        suspects = self._call_for_samples(Model.suspects, n_rows, level)
        self._warn_of(suspects.interval, confidence_level)
        return suspects
