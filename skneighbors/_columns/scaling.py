"""Scaling of targets, and back."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class TargetScaler:
    """Standardisation of the targets; the scale of a constant one is 0."""

    mean: np.ndarray
    scale: np.ndarray

    @classmethod
    def fit(cls, y, sample_weight):
        """Scaler of the columns of y (n_samples, n_targets), weighted."""
        with np.errstate(over="ignore", invalid="ignore"):
            mean = np.average(y, axis=0, weights=sample_weight)
            largest = np.abs(y - mean).max(axis=0)
            # Rounding of the mean is no spread.
            constant = largest <= 10 * np.finfo(float).eps * np.abs(mean)
            largest = np.where(constant, 1.0, largest)
            # Squared relative to the largest, so that no square overflows.
            relative = np.average(((y - mean) / largest) ** 2, axis=0, weights=sample_weight)
            scale = np.where(constant, 0.0, largest * np.sqrt(relative))
        if not np.isfinite([mean, scale]).all():
            raise ValueError("y spans more than float64 can hold; rescale it.")
        return cls(mean, scale)

    def fits(self, y):
        """Whether no entry of y leaves a target that was constant, or float64's range."""
        with np.errstate(over="ignore"):
            finite = np.isfinite(self.transform(y)).all()
        tolerance = 10 * np.finfo(float).eps * np.abs(self.mean)
        return finite and not ((np.abs(y - self.mean) > tolerance) & (self.scale == 0)).any()

    def transform(self, y):
        """Standardise y (n_samples, n_targets)."""
        return (y - self.mean) / np.where(self.scale > 0, self.scale, np.inf)

    def inverse_transform(self, y):
        """Undo :meth:`transform`."""
        return y * self.scale + self.mean
