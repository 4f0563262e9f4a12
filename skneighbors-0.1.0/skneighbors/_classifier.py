"""Base of the classifiers: probabilities, classes, sets of classes and label errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from ._base import BaseNeighborEstimator
from ._model import Model
from ._task import Classification, read_labels
from ._utils.parameters import ArrayLike, StrOptions, parameter

if TYPE_CHECKING:
    from ._model import Suspects


@dataclass(kw_only=True, eq=False, repr=False)
class BaseNeighborClassifier(ClassifierMixin, BaseNeighborEstimator):
    """Classifier that predicts from training samples in a learned embedding."""

    class_weight: dict | str | None = parameter(None, dict, StrOptions({"balanced"}), None)

    _task_class = Classification

    def predict_proba(self, X: ArrayLike) -> np.ndarray:
        """Predict the probabilities of the classes for X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features. A row of the training set is a neighbor of itself here.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            Of the classes in the order of `classes_`; float64.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        ValueError
            If X is not usable.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from skneighbors import NONAClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> model = NONAClassifier(max_iter=5, random_state=0).fit(X, y)
        >>> model.predict_proba(X).shape
        (150, 3)
        """
        return self._call(Model.predict, X)

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Predict the classes of X: those of the largest probability.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Labels, as they were given to :meth:`fit`.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        ValueError
            If X is not usable.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from skneighbors import NONAClassifier
        >>> X, y = load_iris(return_X_y=True, as_frame=True)
        >>> model = NONAClassifier(max_iter=5, random_state=0).fit(X, y)
        >>> model.predict(X[:1])
        array([0])
        """
        probabilities = self.predict_proba(X)
        return self.classes_[probabilities.argmax(axis=1)]

    def predict_log_proba(self, X: ArrayLike) -> np.ndarray:
        """Predict logarithms of the probabilities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.

        Returns
        -------
        log_probabilities : ndarray of shape (n_samples, n_classes)
            Of the classes in the order of `classes_`.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from skneighbors import NONAClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> model = NONAClassifier(max_iter=5, random_state=0).fit(X, y)
        >>> bool((model.predict_log_proba(X) <= 0).all())
        True
        """
        return np.log(self.predict_proba(X))

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Accuracy of the predicted classes of X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.
        y : array-like of shape (n_samples,)
            Classes, as :meth:`fit` takes them.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights.

        Returns
        -------
        score : float
            From 0 to 1.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        ValueError
            If X, y or the weights are not usable.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from skneighbors import NONAClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> NONAClassifier(max_iter=5, random_state=0).fit(X, y).score(X, y) <= 1
        True
        """
        check_is_fitted(self)
        return super().score(X, read_labels(y), sample_weight)

    def predict_set(self, X: ArrayLike, confidence_level: float = 0.9) -> np.ndarray:
        """Predict sets of classes that contain the class of X with some confidence.

        Sets are split-conformal: a class is in it if its probability is as high as that of the
        true class is for all but ``1 - confidence_level`` of the validation rows (the score "lac":
        Sadinle, Lei and Wasserman, "Least ambiguous set-valued classifiers with bounded error
        levels", 2019); with `groups`, for the coverage of rows of new groups.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.
        confidence_level : float, default=0.9
            Coverage: fraction of the sets that should contain the class, between 0 and 1.

        Returns
        -------
        is_in : bool ndarray of shape (n_samples, n_classes)
            Whether each class, in the order of `classes_`, is in the set. Sets may be empty:
            no class is as likely as true ones are.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        ValueError
            If X is not usable.

        Warns
        -----
        UserWarning
            If there are no validation rows, or too few for such a confidence: then all classes
            are in all sets.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from skneighbors import NONAClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> model = NONAClassifier(max_iter=5, random_state=0).fit(X, y)
        >>> model.predict_set(X[:2], confidence_level=0.8).shape
        (2, 3)
        """
        return self._predict_region("predict_set", X, confidence_level)

    def suspects(self, n_rows: int = 20) -> Suspects:
        """Find label errors: the training samples whose classes look wrong.

        Each row is predicted by its neighbors without itself: with all its weight, and with its
        group, if :meth:`fit` was given `groups`. Those rows come first whose class is least
        probable beside the most probable other one.

        Parameters
        ----------
        n_rows : int, default=20
            Number of rows to return; all if there are fewer.

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
            If `n_rows` is not usable, there is a single class, or no rows, or rows of no other
            group, are left to compare with.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from skneighbors import NONAClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> y[17] = 2
        >>> model = NONAClassifier(max_iter=30, random_state=0).fit(X, y)
        >>> int(model.suspects(n_rows=5).indices[0])
        17
        """
        check_is_fitted(self)
        return self._call_for_samples(Model.suspects, self._check_n_rows(n_rows))
