"""Unique rows, each with the sum of the weights of the samples equal to it."""

import numpy as np

# Bounds of the sum of all weights, which leave room for products in float32.
_LEAST_WEIGHT, _LARGEST_WEIGHT = 1e-30, 1e30


def check_total_weight(*sample_weights, name="sample_weight"):
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
            f"{name} must sum to between {_LEAST_WEIGHT:g} and {_LARGEST_WEIGHT:g}, for "
            f"training in single precision; got {total:g}."
        )


def merge_rows(X, y, sample_weight, groups=None):
    """Find the unique rows, in an order that depends on nothing but them.

    Rows that agree in X, y and group become one, with the sum of their weights; rows
    of weight 0 disappear. So a row of weight 2 and a row that stands twice are
    the same training set, in whatever order it comes.

    Parameters
    ----------
    X : ndarray of shape (n_samples, ...)
        Features, float64; NaN equals NaN.
    y : ndarray of shape (n_samples, n_targets)
        Targets, float64.
    sample_weight : ndarray of shape (n_samples,)
        Non-negative weights.
    groups : int ndarray of shape (n_samples,), default=None

    Returns
    -------
    rows : int ndarray of shape (n_rows,)
        For each unique row the first sample that it stands for.
    weight : ndarray of shape (n_rows,)
        Their weights.
    row_of : int ndarray of shape (n_samples,)
        The unique row that each sample is part of, -1 for none.
    """
    present = np.flatnonzero(sample_weight > 0)
    parts = [X[present].reshape(len(present), -1), y[present]]
    flat = np.column_stack(parts if groups is None else [*parts, groups[present]])
    flat = np.ascontiguousarray(flat + 0.0)  # -0.0 becomes 0.0: equal rows, equal bytes
    flat[np.isnan(flat)] = np.nan
    keys = flat.view(np.dtype((np.void, flat.itemsize * flat.shape[1]))).ravel()
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    weight = np.bincount(inverse.ravel(), weights=sample_weight[present])
    row_of = np.full(len(X), -1)
    row_of[present] = inverse.ravel()
    return present[first], weight, row_of
