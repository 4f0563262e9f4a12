"""Base of the classifiers: probabilities, classes, sets of classes and label errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, check_is_fitted, column_or_1d

from ._base import BaseNeighborEstimator
from ._columns import (
    BOOLS,
    NUMBERS,
    as_array,
    as_categories,
    check_total_weight,
    check_weights,
    is_missing,
    refuse_missing,
    show,
    sorts_of,
)
from ._model import ClassExplanation, Model
from ._plan import TABLE_CLASSES
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

    def _tables(self):
        return (*super()._tables(), TABLE_CLASSES)

    def _read_targets(self, y):
        y = _read_labels(y)
        if y.dtype.kind == "O":
            kinds = set(map(type, y))
            if len(kinds) > 1 and any(issubclass(kind, str) for kind in kinds):
                names = ", ".join(sorted(kind.__name__ for kind in kinds))
                raise ValueError(
                    f"y holds labels of several types, {names}: make all of one, for instance by "
                    "astype(str)."
                )
        check_array(y, ensure_2d=False, dtype=None, input_name="y")  # refuses infinity
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        return codes

    def _read_more_targets(self, y):
        return number_labels(y, self.classes_)

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
        labels = as_categories(list(self.classes_))
        if self.class_weight != "balanced":
            named = as_categories(list(self.class_weight))
            given = dict(zip(named, self.class_weight.values(), strict=True))
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


def number_labels(y, classes):
    """Find the numbers of labels among the classes of a fit.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Labels.
    classes : ndarray of shape (n_classes,)
        What `classes_` holds.

    Returns
    -------
    numbers : int ndarray of shape (n_samples,)
        Places in `classes`.

    Raises
    ------
    ValueError
        If a label is missing or no class.

    Examples
    --------
    >>> import numpy as np
    >>> from skneighbors._classifier import number_labels
    >>> number_labels(["b", "a", "b"], np.array(["a", "b"])).tolist()
    [1, 0, 1]
    """
    labels, classes = (as_categories(list(values)) for values in (_read_labels(y), classes))
    known = {label: code for code, label in enumerate(classes)}
    unknown = next((label for label in labels if label not in known), None)
    if unknown is not None:
        some = ", ".join(map(show, classes[:5]))
        raise ValueError(
            f"y holds {show(unknown)}, which is no class of fit, such as {some}. Classes without "
            "weight are left out."
        )
    return np.array([known[label] for label in labels], dtype=int)


def _read_labels(y):
    """Read labels, to an array (n_samples,) that holds them as they are.

    Raises
    ------
    ValueError
        If some are missing.
    """
    if np.ma.is_masked(y):
        raise ValueError("y holds masked labels. Leave these rows out.")
    # scikit-learn makes floats of nullable integers and bools, NumPy text of all beside text.
    labels = np.asarray(y) if hasattr(y, "__array__") or isinstance(y, list | tuple) else y
    if isinstance(y, list | tuple) and labels.dtype.kind in "SU":
        objects = as_array(y, "y")
        is_text = all(isinstance(label, str | bytes) for label in objects.flat)
        labels = labels if is_text else objects
    if isinstance(labels, np.ndarray) and labels.dtype.kind == "T":
        labels = labels.astype(object)  # for scikit-learn
    labels = column_or_1d(labels, warn=True)
    # NaN and NaT differ from themselves.
    is_object = labels.dtype.kind == "O"
    missing = list(map(is_missing, labels)) if is_object else labels != labels
    refuse_missing(missing, "y holds missing labels")
    if is_object and set(sorts_of(labels)) in ({BOOLS}, {NUMBERS}):
        plain = np.array(labels.tolist())
        is_same = plain.dtype.kind in "biuf" and plain.tolist() == labels.tolist()
        labels = plain if is_same else labels
    return labels
