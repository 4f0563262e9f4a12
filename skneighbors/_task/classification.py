"""Classes as targets."""

from dataclasses import dataclass, replace

import numpy as np
import torch
from sklearn.utils.validation import check_consistent_length

from .._utils.arrays import array_field
from .base import Task

# How much the classes' frequencies count in a probability, for classes that no neighbor has: in
# training as one of twenty neighbors, in the end what the validation rows choose; of few rows a
# chance could leave nothing else.
_PRIOR_WEIGHT, _PRIOR_WEIGHTS = 0.05, (0.05, 0.1, 0.02, 0.01, 0.005, 0.002)
_LARGE_PRIOR_WEIGHTS, _MIN_ROWS = (0.2, 0.3, 0.5, 0.7, 0.85, 1.0), 30


@dataclass(frozen=True, eq=False)
class Classification(Task):
    """Classes, numbered from 0, whose values are 1 for the class of a row and 0 for others.

    Neighbors average these; with the probabilities of the blended model they are mixed by its
    weight, so that all are probabilities.

    Attributes
    ----------
    prior : ndarray of shape (n_classes,)
        Frequencies of the classes, by weight.
    prior_weight : float
        How much these count in a probability.
    """

    loss_name = "log_loss"
    score_name = "gain in log loss"

    prior: np.ndarray = array_field("float64", "k", low=0)
    prior_weight: float = _PRIOR_WEIGHT

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
    def can_be_blended(self):
        """Whether there are two classes."""
        return len(self.prior) > 1

    def check_fields(self, sizes):
        """Raise ValueError if `prior_weight` is no weight."""
        if not 0 <= self.prior_weight <= 1:
            raise ValueError("bank.task.prior_weight is out of range")

    def calibrate(self, y, y_hat, weight, n_rows):
        """Choose the weight of the frequencies that predicts validation rows best."""
        prior_weights = _PRIOR_WEIGHTS + (_LARGE_PRIOR_WEIGHTS if n_rows >= _MIN_ROWS else ())
        tasks = [replace(self, prior_weight=prior_weight) for prior_weight in prior_weights]
        weight = torch.ones_like(y[..., 0]) if weight is None else weight
        return min(tasks, key=lambda task: float((task.losses(y_hat, y) * weight).sum()))

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
        mixed = (1 - self.prior_weight) * values + self.prior_weight * self.prior
        probabilities = mixed.clip(0, 1)
        return probabilities / probabilities.sum(axis=-1, keepdims=True)

    def on_scale(self, values):
        """Values as they are, before the classes' frequencies are mixed in."""
        return values

    def differences_on_scale(self, differences):
        """Do the same for differences of values."""
        return (1 - self.prior_weight) * differences

    def losses(self, y_hat, y):
        """Log losses (..., b) of predicted values (..., b, n_classes)."""
        prior = torch.from_numpy(self.prior).to(y_hat)
        probabilities = (1 - self.prior_weight) * y_hat + self.prior_weight * prior
        smallest = torch.finfo(y_hat.dtype).tiny  # of a class without weight
        return -(y * probabilities.clamp(smallest, 1).log()).sum(-1)

    def limits(self, low, high):
        """Smallest and largest values, (2, ..., n_classes): 0 and 1."""
        return torch.stack([torch.zeros_like(low), torch.ones_like(high)])

    @staticmethod
    def strata(y):
        """Class (n_samples,) of each row."""
        return y[:, 0].astype(np.int64)
