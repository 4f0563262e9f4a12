"""The second model that is blended in: boosted trees, or a regressor of the user's."""

from contextlib import nullcontext
from dataclasses import dataclass

import numpy as np
import torch
from sklearn.base import BaseEstimator, clone
from sklearn.multioutput import MultiOutputRegressor
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from .._utils.sklearn_private import take_samples
from .._utils.threads import one_openmp_thread
from .boosting import TableBoosting

# So many are predicted faster by one thread, if other work has the cores.
_FEW_ROWS = 10_000


@dataclass(frozen=True, eq=False)
class GivenModel:
    """A fitted regressor of the user's, of X and y as given.

    Attributes
    ----------
    regressor : estimator
    share : float
        Its share in predictions, in [0, 1].
    """

    regressor: BaseEstimator
    share: float = 0.0
    takes_matrix = False

    def predict(self, X, matrix, target):
        """Predict, standardised.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            As given.
        matrix : ndarray of shape (n_samples, n_features)
            X as a :class:`TableReader` reads it.
        target : Target

        Returns
        -------
        y : ndarray of shape (n_samples, n_targets)
        """
        with one_openmp_thread() if len(matrix) <= _FEW_ROWS else nullcontext():
            y = as_columns(self.regressor.predict(matrix if self.takes_matrix else X))
        return y if self.takes_matrix else target.transform(y)


class BoostedTrees(GivenModel):
    """Boosted trees of what is read, for standardised targets."""

    takes_matrix = True


@dataclass(frozen=True, eq=False)
class NoSecondModel:
    """None: it predicts 0, and its share is 0."""

    regressor = None
    share = 0.0
    takes_matrix = True

    def predict(self, X, matrix, target):
        """Predict, standardised; see :class:`GivenModel`."""
        return np.zeros((len(matrix), len(target.mean)))


def fit_second_model(blend, samples, target, split, random_state):
    """Fit a second model to all samples, and clones that predict what they were not fitted to.

    Parameters
    ----------
    blend : "boosting" or estimator
    samples : TrainingSamples
    target : Target
    split : EnsembleSplit
    random_state : RandomState

    Returns
    -------
    fitted : GivenModel
        Without a share yet.
    held_out : Tensor of shape (m, n, n_targets)
        Standardised predictions of the samples that each member holds out.

    Raises
    ------
    ValueError
        If there are weights, and the regressor takes none.
    """
    rows, validation = samples.rows, samples.validation
    if isinstance(blend, str):
        kind = BoostedTrees
        fitter = Fitter(
            TableBoosting(
                categorical_features=samples.reader.n_levels > 0,
                random_state=random_state.randint(np.iinfo(np.int32).max),
            ),
            samples.matrix[rows],
            target.transform(samples.y[rows]),
            samples.weight,
            np.arange(len(rows)),
        )
    else:
        kind = GivenModel
        fitter = Fitter(blend, samples.X, samples.y, samples.sample_weight, samples.row_of)
    fitted = kind(fitter.fit(np.arange(len(rows))))
    if validation is not None:
        held_out = fitted.predict(validation.X, validation.matrix, target)[None]
    else:
        held_out = fitter.predict_held_out(split)
        held_out = held_out if kind.takes_matrix else target.transform(held_out)
    return fitted, torch.from_numpy(held_out)


class Fitter:
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
                f"blend must take sample_weight in fit, as it is given; {regressor!r} does not."
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
                f"blend={regressor!r} failed on X and y as given; what it does not take, such as "
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
        raise ValueError("blend predicts NaN or infinity.")
    return y.reshape(len(y), -1)
