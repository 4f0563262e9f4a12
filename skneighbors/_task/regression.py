"""Numbers as targets."""

from dataclasses import dataclass

import numpy as np
import torch
from scipy.sparse import issparse
from sklearn.utils.validation import check_array, check_consistent_length, column_or_1d

from .._columns import refuse_missing, refuse_what_is_no_number
from .._utils.arrays import array_field
from .base import Task

# How far beyond the targets' range a prediction may lie, as a fraction of the range.
_MARGIN = 0.1


@dataclass(frozen=True, eq=False)
class Regression(Task):
    """Numbers, standardized.

    A subclass may change the scale first, by :meth:`forward` and :meth:`backward`.

    Attributes
    ----------
    mean, scale : ndarray of shape (n_targets,)
        Of the targets after :meth:`forward`; the standard deviation of a constant target is 0.
    ndim : int
        Dimensions of y as given, 1 or 2.
    """

    loss_name = "squared_error"
    score_name = "R2"

    mean: np.ndarray = array_field("float64", "k")
    scale: np.ndarray = array_field("float64", "k", low=0)
    ndim: int

    @classmethod
    def check(cls, y):
        """Check targets given to `fit`, to float64 (n_samples,) or (n_samples, n_targets)."""
        refuse_what_is_no_number(y, "y")
        try:
            y = check_array(
                y,
                dtype=np.float64,
                ensure_2d=False,
                ensure_all_finite="allow-nan",
                input_name="y",
                ensure_min_samples=0,
            )
        except (TypeError, OverflowError) as error:
            if issparse(y):
                raise
            raise ValueError(f"y cannot be read as numbers: {error}") from error
        if y.ndim not in (1, 2):
            raise ValueError(f"y must have one or two dimensions; got shape {y.shape}.")
        if y.ndim == 2 and y.shape[1] == 0:
            raise ValueError(f"y must have at least one target; got shape {y.shape}.")
        refuse_missing(np.isnan(y).any(axis=tuple(range(1, y.ndim))), "Input y contains NaN")
        return y

    @classmethod
    def fit(cls, y, sample_weight, ndim):
        """Standardize by the weighted columns of y (n_samples, n_targets)."""
        y = cls.forward(y)
        with np.errstate(over="ignore", invalid="ignore"):
            mean = np.average(y, axis=0, weights=sample_weight)
            largest = np.abs(y - mean).max(axis=0)
            # Differences within the rounding of the mean are none.
            constant = largest <= 10 * np.finfo(float).eps * np.abs(mean)
            largest = np.where(constant, 1.0, largest)
            # Squared relative to the largest, so that no square overflows.
            relative = np.average(((y - mean) / largest) ** 2, axis=0, weights=sample_weight)
            scale = np.where(constant, 0.0, largest * np.sqrt(relative))
        if not np.isfinite([mean, scale]).all():
            raise ValueError("y spans more than float64 can hold; rescale it.")
        return cls(mean, scale, ndim)

    def check_fields(self, sizes):
        """Raise ValueError if `ndim` does not fit."""
        if self.ndim not in (1, 2) or (self.ndim == 1 and len(self.mean) != 1):
            raise ValueError("bank.task.ndim does not fit")

    @property
    def n_values(self):
        """Number of targets."""
        return len(self.mean)

    @staticmethod
    def forward(y):
        """Bring targets to the scale on which they are averaged."""
        return y

    @staticmethod
    def backward(y):
        """Undo :meth:`forward`, which may never fall."""
        return y

    def check_more(self, y, n_samples):
        """Check targets of further samples, to (n_samples, n_targets); see :meth:`check`."""
        refuse_what_is_no_number(y, "y")
        if self.ndim == 1 or (len(self.mean) == 1 and np.ndim(y) == 1):
            y = column_or_1d(y, dtype=np.float64, warn=True)
        y = self.check(y).reshape(len(y), -1)
        check_consistent_length(np.empty(n_samples), y)
        if y.shape[1] != len(self.mean):
            raise ValueError(f"y must have {len(self.mean)} targets, as in fit; got {y.shape}.")
        with np.errstate(over="ignore"):
            finite = np.isfinite(self.transform(y)).all()
        tolerance = 10 * np.finfo(float).eps * np.abs(self.mean)
        moved = np.abs(self.forward(y) - self.mean) > tolerance
        if not finite or (moved & (self.scale == 0)).any():
            raise ValueError(
                "y has other values of a target that was constant in fit, or values that in "
                "relation to those of fit span more than float64 can hold. Fit again."
            )
        return y

    def transform(self, y):
        """Standardize targets (n_samples, n_targets)."""
        return (self.forward(y) - self.mean) / np.where(self.scale > 0, self.scale, np.inf)

    def inverse_transform(self, y):
        """Undo :meth:`transform`, for (..., n_targets)."""
        # Ends of intervals may be infinite, whatever the scale.
        scaled = np.multiply(y, self.scale, where=np.isfinite(y), out=np.array(y, dtype=np.float64))
        return self.shape_like_y(self.backward(scaled + self.mean))

    def on_scale(self, y):
        """Standardized targets (..., n_targets) on the scale on which they are averaged."""
        return self.shape_like_y(y * self.scale + self.mean)

    def differences_on_scale(self, y):
        """Do the same for differences."""
        return self.shape_like_y(y * self.scale)

    def shape_like_y(self, values):
        """Values (..., n_targets) without the last axis if y had none."""
        return values[..., 0] if self.ndim == 1 else values

    @staticmethod
    def losses(y_hat, y):
        """Errors (..., b) of standardized predictions (..., b, n_targets): mean squares."""
        return (y_hat - y).square().mean(-1)

    @staticmethod
    def limits(low, high):
        """Smallest and largest prediction, (2, ..., n_targets): a tenth beyond the targets."""
        margin = _MARGIN * (high - low)
        return torch.stack([low - margin, high + margin])
