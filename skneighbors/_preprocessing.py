"""From arrays to arrays: merging, scaling and splitting of training rows."""

from dataclasses import dataclass

import numpy as np

# Inputs are clipped smoothly into this many robust standard units.
_CLIP = 3.0
# So far out a scaled input may as well be anywhere, if only it is finite.
_FAR = 1e300
# Of the weights of all rows: leaves room for products in float32.
_LEAST_WEIGHT, _LARGEST_WEIGHT = 1e-30, 1e30


def check_total_weight(*sample_weights):
    """Check that single precision can hold the sum of all weights.

    Raises
    ------
    ValueError
        If it is beyond 1e30, or below 1e-30.
    """
    with np.errstate(over="ignore"):
        total = sum(weight.sum() for weight in sample_weights)
    if not _LEAST_WEIGHT <= total <= _LARGEST_WEIGHT:
        raise ValueError(
            f"sample_weight must sum to between {_LEAST_WEIGHT:g} and {_LARGEST_WEIGHT:g}, for "
            f"training in single precision; got {total:g}."
        )


def merge_rows(X, y, sample_weight):
    """Merge equal rows and bring the rest into an order of their own.

    Rows that agree in X and y become one, with the sum of their weights; rows
    of weight 0 disappear. So a row of weight 2 and a row that stands twice are
    the same training set, in whatever order it comes.

    Parameters
    ----------
    X : ndarray of shape (n_samples, ...)
        Features, float64.
    y : ndarray of shape (n_samples, n_targets)
        Targets, float64.
    sample_weight : ndarray of shape (n_samples,)
        Non-negative weights.

    Returns
    -------
    rows : int ndarray of shape (n_rows,)
        For each merged row the first sample that it stands for.
    weight : ndarray of shape (n_rows,)
        Their weights.
    row_of : int ndarray of shape (n_samples,)
        The merged row that each sample is part of, -1 for none.
    """
    present = np.flatnonzero(sample_weight > 0)
    flat = np.column_stack([X[present].reshape(len(present), -1), y[present]])
    flat = np.ascontiguousarray(flat + 0.0)  # -0.0 becomes 0.0: equal rows, equal bytes
    keys = flat.view(np.dtype((np.void, flat.itemsize * flat.shape[1]))).ravel()
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    weight = np.bincount(inverse.ravel(), weights=sample_weight[present])
    row_of = np.full(len(X), -1)
    row_of[present] = inverse.ravel()
    return present[first], weight, row_of


@dataclass(frozen=True)
class FeatureScaler:
    """Robust scaling to median 0 and quartile distance 1, and a smooth clip.

    ``x -> s / sqrt(1 + (s / 3)^2)`` with ``s = (x - center) / scale`` is
    Holzmueller et al. (2024)'s scaling. Constant columns become 0.
    """

    center: np.ndarray
    scale: np.ndarray

    @classmethod
    def fit(cls, X, sample_weight):
        """Scaler of the columns of X (n_samples, n_features), weighted."""
        low, center, high = np.quantile(
            X, [0.25, 0.5, 0.75], axis=0, weights=sample_weight, method="inverted_cdf"
        )
        # Divided before subtracting: a range can exceed the largest float64.
        scale = 2 * (high / 2 - low / 2)
        spread = X.max(axis=0) / 2 - X.min(axis=0) / 2
        scale = np.where(scale > 0, scale, spread)
        return cls(center, np.where(scale > 0, scale, np.inf))

    def transform(self, X):
        """Scale X (n_samples, n_features)."""
        with np.errstate(over="ignore"):
            scaled = X / self.scale
        scaled = np.clip(scaled, -_FAR, _FAR) - self.center / self.scale
        return scaled / np.hypot(1.0, scaled / _CLIP)


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
