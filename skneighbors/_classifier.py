"""Base of the classifiers: probabilities, classes, sets of classes and label errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, check_is_fitted, column_or_1d

from ._base import BaseNeighborEstimator
from ._columns import check_total_weight, check_weights, is_missing, refuse_missing, show
from ._model import ClassExplanation, Model
from ._task import Classification
from ._utils.parameters import StrOptions, parameter
from ._utils.typing import ArrayLike

if TYPE_CHECKING:
    from ._model import ClassSuspects


@dataclass(kw_only=True, eq=False, repr=False)
class BaseNeighborClassifier(ClassifierMixin, BaseNeighborEstimator):
    """Classifier that predicts from training samples in a learned embedding."""

    class_weight: dict | str | None = parameter(None, dict, StrOptions({"balanced"}), None)

    _task_class = Classification

    def _read_targets(self, y):
        y = _read_labels(y)
        check_array(y, ensure_2d=False, dtype=None, input_name="y")  # refuses infinity
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        return codes

    def _read_more_targets(self, y):
        codes = {label: code for code, label in enumerate(self.classes_.tolist())}
        labels = _read_labels(y).tolist()
        unknown = next((label for label in labels if label not in codes), None)
        if unknown is not None:
            some = ", ".join(map(show, list(codes)[:5]))
            raise ValueError(
                f"y holds {show(unknown)}, which is no class of fit, such as {some}. Classes "
                "without weight are left out."
            )
        return np.array([codes[label] for label in labels])

    def _settle_targets(self, y, sample_weight):
        """Weigh classes, and leave those without weight out."""
        codes = self._keep_classes(y.astype(int), sample_weight)
        if self.class_weight is not None:
            sample_weight = sample_weight * self._weigh_classes(codes, sample_weight)
            check_total_weight(sample_weight, name="sample_weight times class_weight")
            codes = self._keep_classes(codes, sample_weight)
        return codes.astype(np.float64), sample_weight

    def _keep_classes(self, codes, sample_weight):
        """Leave classes without weight out; the new codes, of any class for rows without weight."""
        present = np.unique(codes[sample_weight > 0])
        self.classes_ = self.classes_[present]
        return np.searchsorted(present, codes).clip(max=len(present) - 1)

    def _weigh_classes(self, codes, sample_weight):
        """Weight by `class_weight` of each sample."""
        labels, given = self.classes_.tolist(), self.class_weight
        if given != "balanced":
            unknown = next(iter(given.keys() - set(labels)), None)
            if unknown is not None and not given.keys() >= set(labels):
                raise ValueError(f"class_weight names {show(unknown)}, which is no class of y.")
            weights = [given.get(label, 1.0) for label in labels]
            return check_weights(weights, len(labels), "class_weight")[codes]
        totals = np.bincount(codes, sample_weight)
        return (totals.sum() / (len(totals) * totals))[codes]

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
        level = self._check_level("predict_set", confidence_level)
        is_in, threshold = self._call(Model.predict_set, X, level)
        self._warn_of(threshold, confidence_level, "sets hold all classes")
        return is_in

    def explain(self, X: ArrayLike, by_column: bool | Literal["auto"] = "auto") -> ClassExplanation:
        """Explain probabilities by rows, their weights and classes, and the blended model.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.
        by_column : bool or "auto", default="auto"
            Whether to say by column, too, how much more probable each class is to the blended model
            for a query than for a row; see :meth:`NONARegressor.explain`.

        Returns
        -------
        explanation : ClassExplanation
            The `n_neighbors` rows of each prediction. Print it, or see its
            :meth:`~skneighbors.inspection.ClassExplanation.to_frame`.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        ValueError
            If X is not usable, or `by_column` is True and there is a `feature_extractor`, which
            knows no columns.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from skneighbors import NONAClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> model = NONAClassifier(n_neighbors=5, max_iter=5, random_state=0).fit(X, y)
        >>> model.explain(X[:2]).indices.shape
        (2, 5)
        """
        check_is_fitted(self)
        self._check_by_column(by_column)
        return self._call(Model.explain_classes, X, by_column, self.classes_)

    def suspects(self, n_rows: int = 20) -> ClassSuspects:
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
        suspects : ClassSuspects
            The rows, the most suspect first.

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
        n_rows = self._check_n_rows(n_rows)
        return self._call_for_samples(Model.class_suspects, n_rows, self.classes_)


def _read_labels(y):
    """Read labels, to an array (n_samples,).

    Raises
    ------
    ValueError
        If some are missing, or objects that are no text.
    """
    if np.ma.is_masked(y):
        raise ValueError("y holds masked labels. Leave these rows out.")
    # Beside text NumPy makes text of everything, and scikit-learn floats of nullable integers.
    labels = np.asarray(y)
    if labels.dtype.kind == "T":
        raise ValueError("y is of NumPy's StringDType, which no score takes: use y.astype(str).")
    may_be_text = labels.dtype.kind in "OU"
    cells = column_or_1d(np.asarray(y, dtype=object) if may_be_text else labels, warn=True)
    refuse_missing(np.array([*map(is_missing, cells)]), "y holds missing labels")
    other = next((cell for cell in cells if type(cell) not in (str, np.str_)), None)
    if may_be_text and other is not None:
        raise ValueError(
            f"Unknown label type: y holds {show(other)}, of type {type(other).__name__!r}. Labels "
            "must all be text, or have a dtype of numbers or bools: convert them, for instance by "
            "astype(str)."
        )
    return labels.ravel() if labels.dtype.kind == "U" else cells
