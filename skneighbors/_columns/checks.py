"""Bad input refused before any work is done, by the name of its column."""

import datetime

import numpy as np
from sklearn.utils.validation import (
    check_array,
    check_consistent_length,
    column_or_1d,
    validate_data,
)

from .._utils.sklearn_private import check_sample_weight
from .merging import check_total_weight

_ENCODE = (
    "encode it as numbers, for instance with sklearn.preprocessing.OneHotEncoder or "
    "TargetEncoder in a ColumnTransformer"
)
# What NumPy, pandas and polars hold of dates, times and durations, as objects.
_TIMES = (
    datetime.date,
    datetime.time,
    datetime.timedelta,
    np.datetime64,
    np.timedelta64,
)
_PANDAS_TIMES = ("Interval", "NaTType", "Period")
_CONVERT = "convert it to numbers, for instance days since a date"


def check_training_data(estimator, X, y, sample_weight, allow_nd):
    """Check what :meth:`fit` is given.

    Parameters
    ----------
    estimator : BaseEstimator
        Is told the number and the names of the features.
    X : array-like of shape (n_samples, n_features), or with more dimensions if `allow_nd`
    y : array-like of shape (n_samples,) or (n_samples, n_targets)
    sample_weight : array-like of shape (n_samples,) or None
    allow_nd : bool

    Returns
    -------
    X, y, sample_weight : float64 ndarrays
        `y` has the dimensions it came with.

    Raises
    ------
    ValueError, TypeError
        If any is not usable.
    """
    _refuse_what_is_no_number(X, "X")
    _refuse_what_is_no_number(y, "y")
    X, y = validate_data(
        estimator,
        X,
        y,
        dtype=np.float64,
        allow_nd=allow_nd,
        multi_output=True,
        y_numeric=True,
        ensure_min_samples=2,
    )
    if not isinstance(y, np.ndarray):
        raise TypeError(f"y must be dense; got {type(y).__name__}.")
    y = y.astype(np.float64, copy=False)
    if y.ndim > 1 and y.shape[1] == 0:
        raise ValueError(f"y must have at least one target; got shape {y.shape}.")
    sample_weight = check_sample_weight(
        sample_weight, X, dtype=np.float64, ensure_non_negative=True
    )
    if not sample_weight.any():
        raise ValueError("sample_weight must have a positive entry; all weights are zero.")
    check_total_weight(sample_weight)
    return X, y, sample_weight


def check_features(estimator, X, shape, allow_nd):
    """Check X given to a fitted estimator; `shape` is that of a row in :meth:`fit`."""
    _refuse_what_is_no_number(X, "X")
    X = validate_data(estimator, X, dtype=np.float64, allow_nd=allow_nd, reset=False)
    if X.shape[1:] != shape:
        raise ValueError(f"Each row of X must have shape {shape}, as in fit; got {X.shape[1:]}.")
    return X


def check_appended_targets(y, n_samples, n_outputs, y_ndim, y_scaler):
    """Check targets of rows that join those of :meth:`fit`, to (n_samples, n_outputs)."""
    _refuse_what_is_no_number(y, "y")
    if y_ndim == 1 or (n_outputs == 1 and np.ndim(y) == 1):
        y = column_or_1d(y, dtype=np.float64, warn=True).reshape(-1, 1)
    y = check_array(y, dtype=np.float64, input_name="y", ensure_min_samples=0)
    check_consistent_length(np.empty(n_samples), y)
    if y.shape[1] != n_outputs:
        raise ValueError(f"y must have {n_outputs} targets, as in fit; got shape {y.shape}.")
    if not y_scaler.fits(y):
        raise ValueError(
            "y has other values of a target that was constant in fit, or values that in "
            "relation to those of fit span more than float64 can hold. Fit anew."
        )
    return y


def _refuse_what_is_no_number(data, name):
    """Raise ValueError for text, times or gaps, which NumPy would turn into numbers silently."""
    if hasattr(data, "collect") and not hasattr(data, "__array__"):
        raise TypeError(f"{name} is a {type(data).__name__}: collect it first.")
    if hasattr(data, "columns") and hasattr(data, "__getitem__"):
        for column in data.columns:
            _refuse_values(data[column], f"Column {column!r} of {name}")
        return
    if isinstance(data, list | tuple):
        try:
            is_number = np.asarray(data).dtype.kind not in "OUSTMm"
            data = data if is_number else np.asarray(data, dtype=object)
        except ValueError:  # ragged: for scikit-learn to refuse
            return
    if hasattr(data, "dtype") and not hasattr(data, "tocsr"):
        _refuse_values(data, name)


def _refuse_values(values, name):
    # Types of pandas and polars have no kind, or that of the values which a category stands for.
    is_numpys = isinstance(getattr(values, "dtype", None), np.dtype)
    if is_numpys and values.dtype.kind not in "OUSTMm":
        return
    values = np.asarray(values)
    if values.dtype.kind not in "OUSTMm":
        return
    text = next((value for value in values.flat if isinstance(value, str | bytes)), None)
    if text is not None:
        text = text if isinstance(text, bytes) else str(text)
        advice = _ENCODE if name.endswith("X") else "convert it to numbers"
        raise ValueError(f"{name} holds text, such as {text!r}: {advice}.")
    if any(
        isinstance(value, _TIMES) or _type_name(value) in _PANDAS_TIMES for value in values.flat
    ):
        raise ValueError(f"{name} holds dates, times or durations: {_CONVERT}.")
    if any(value is None or _type_name(value) == "NAType" for value in values.flat):
        raise ValueError(f"{name} contains NaN, None or NA; every value must be a number.")


def _type_name(value):
    return type(value).__name__
