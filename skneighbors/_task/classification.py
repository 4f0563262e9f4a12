"""Classes as targets."""

from dataclasses import dataclass

import numpy as np
import torch
from sklearn.utils.validation import check_consistent_length

from .._utils.arrays import array_field
from .base import Task

# How much the classes' frequencies count in a probability, for classes that no neighbor has: as one
# of twenty neighbors.
_PRIOR_WEIGHT = 0.05


@dataclass(frozen=True, eq=False)
class Classification(Task):
    """Classes, numbered from 0, whose values are 1 for the class of a row and 0 for others.

    Neighbors average these; with the probabilities of the blended model they are mixed by its
    weight, so that all are probabilities.

    Attributes
    ----------
    prior : ndarray of shape (n_classes,)
        Frequencies of the classes, by weight.
    """

    boosting = "log_loss"

    prior: np.ndarray = array_field("float64", "k", low=0)

    @classmethod
    def check(cls, y):
        """Check numbers of classes, to float64 (n_samples,)."""
        return np.asarray(y, dtype=np.float64)

    @classmethod
    def fit(cls, y, sample_weight, ndim):
        """Take the frequencies of classes y (n_samples, 1)."""
        counts = np.bincount(y[:, 0].astype(int), weights=sample_weight)
        return cls(counts / counts.sum())

    @property
    def n_values(self):
        """Number of classes."""
        return len(self.prior)

    def check_more(self, y, n_samples):
        """Check numbers of classes of further samples, to (n_samples, 1)."""
        y = self.check(y).reshape(-1, 1)
        check_consistent_length(np.empty(n_samples), y)
        return y

    def transform(self, y):
        """Make values (n_samples, n_classes) of classes (n_samples, 1)."""
        return (y == np.arange(self.n_values)).astype(np.float64)

    def inverse_transform(self, values):
        """Make probabilities of values, both (..., n_classes)."""
        probabilities = self.on_scale(values).clip(0, 1)
        return probabilities / probabilities.sum(axis=-1, keepdims=True)

    def on_scale(self, values):
        """Mix values (..., n_classes) with the classes' frequencies."""
        return (1 - _PRIOR_WEIGHT) * values + _PRIOR_WEIGHT * self.prior

    def differences_on_scale(self, differences):
        """Do the same for differences of values."""
        return (1 - _PRIOR_WEIGHT) * differences

    def losses(self, y_hat, y):
        """Log losses (..., b) of predicted values (..., b, n_classes)."""
        prior = torch.from_numpy(self.prior).to(y_hat)
        probabilities = (1 - _PRIOR_WEIGHT) * y_hat + _PRIOR_WEIGHT * prior
        smallest = torch.finfo(y_hat.dtype).tiny  # of a class without weight
        return -(y * probabilities.clamp(smallest, 1).log()).sum(-1)

    def limits(self, low, high):
        """Smallest and largest values, (2, ..., n_classes): 0 and 1."""
        return torch.stack([torch.zeros_like(low), torch.ones_like(high)])

    @staticmethod
    def neighbor_blended(blended, values):
        """Take the rows' own classes, so that the blended model is mixed with the neighbors."""
        return values

    @staticmethod
    def strata(y):
        """Class (n_samples,) of each row."""
        return y[:, 0].astype(np.int64)
