"""The blended model: boosted trees, or a regressor of the user's, fitted."""

from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import torch
from sklearn.base import BaseEstimator
from sklearn.utils import indexable

from .._utils.process import one_openmp_thread
from .._utils.sklearn_private import take_samples

# Largest number of rows for which one thread is faster, if other work has the cores.
_FEW_ROWS = 10_000


@dataclass(frozen=True, eq=False)
class BlendedRegressor:
    """A fitted regressor of the user's, of X and y as given.

    Attributes
    ----------
    regressor : estimator
    weight : float
        Its weight in predictions, in [0, 1].
    """

    regressor: BaseEstimator
    weight: float = 0.0
    takes_matrix = False

    def predict(self, X, matrix, task):
        """Predict, standardized.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            As given.
        matrix : ndarray of shape (n_samples, n_features)
            X as :meth:`TableReader.expand` returns it.
        task : Task

        Returns
        -------
        y : ndarray of shape (n_samples, n_targets)
        """
        # A copy: the user's may write in place.
        X = take_samples(*indexable(X), np.arange(len(matrix)))
        with one_openmp_thread() if len(matrix) <= _FEW_ROWS else nullcontext():
            return task.transform(as_columns(self.regressor.predict(X), len(matrix), task.n_values))


class BlendedBoosting(BlendedRegressor):
    """Bags of boosted trees of X as read, for standardized targets."""

    takes_matrix = True

    def predict(self, X, matrix, task):
        """Predict, standardized; see :class:`BlendedRegressor`."""
        return self.regressor.predict(matrix)


@dataclass(frozen=True, eq=False)
class NoBlendedModel:
    """No blended model: predictions of 0, with weight 0."""

    regressor = None
    weight = 0.0
    takes_matrix = True

    def predict(self, X, matrix, task):
        """Predict, standardized; see :class:`BlendedRegressor`."""
        return np.zeros((len(matrix), task.n_values))


class BlendFit(NamedTuple):
    """A blended model and what it predicts, standardized.

    Attributes
    ----------
    model : BlendedRegressor or NoBlendedModel
    training : Tensor of shape (n_rows, n_targets)
        Of the rows that it was fitted to, by bags that were not fitted to them, if there are bags.
    validation : Tensor of shape (m, n, n_targets)
        Of each member's validation rows, by what was not fitted to them.
    """

    model: object
    training: torch.Tensor
    validation: torch.Tensor

    @classmethod
    def of(cls, model, *predictions):
        """Take predictions from NumPy's arrays."""
        return cls(model, *map(torch.from_numpy, predictions))

    def weigh(self, validation, task):
        """Give the model its weight beside the members' predictions; a weight of 0 removes it."""
        parts = validation.y, validation.y_hat, self.validation
        y, y_hat, blended = (part.double().cpu() for part in parts)
        rows = validation.weight
        rows = torch.ones_like(y[..., 0]) if rows is None else rows.cpu()
        weight = task.weigh_blended(y, y_hat, blended, rows)
        if not weight:
            return no_blend(self.training)
        return self._replace(model=replace(self.model, weight=weight))


def no_blend(y):
    """No blended model, for targets of this shape (n_rows, n_targets)."""
    return BlendFit(NoBlendedModel(), *[torch.zeros_like(y)] * 2)


def as_columns(y, n_samples, n_targets):
    """Arrange a regressor's predictions as (n_samples, n_targets).

    Parameters
    ----------
    y : array-like of shape (n_samples, n_targets); (n_samples,) if there is one target
    n_samples, n_targets : int

    Returns
    -------
    y : float64 ndarray of shape (n_samples, n_targets)

    Raises
    ------
    ValueError
        If they have another shape, or are no finite numbers.
    """
    values = np.asarray(y)
    shape = values.shape
    if shape != (n_samples, n_targets) and not (n_targets == 1 and shape == (n_samples,)):
        raise ValueError(
            f"blend predicts an array of shape {shape} for {n_samples} samples of {n_targets} "
            f"{'target' if n_targets == 1 else 'targets'}."
        )
    if values.dtype.kind not in "biufO":
        raise ValueError(f"blend predicts what are no numbers, of dtype {values.dtype}.")
    try:
        values = values.astype(np.float64).reshape(n_samples, n_targets)
    except (TypeError, ValueError) as error:
        raise ValueError(f"blend predicts what are no numbers: {error}") from error
    if np.ma.is_masked(y) or not np.isfinite(values).all():
        raise ValueError("blend predicts NaN or infinity.")
    return values
