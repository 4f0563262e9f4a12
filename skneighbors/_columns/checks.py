"""Bad input refused before any work is done, by the name of its column."""

import datetime
from contextlib import contextmanager

import numpy as np
from sklearn.utils.validation import (
    check_array,
    check_consistent_length,
    check_X_y,
    column_or_1d,
    validate_data,
)

from .._utils.sklearn_private import check_sample_weight, take_samples
from .merging import check_total_weight
from .reader import TableReader
from .table import Table, is_missing, refuse_lazy

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


def check_training_data(estimator, X, y, sample_weight):
    """Check what :meth:`fit` is given.

    Parameters
    ----------
    estimator : BaseEstimator
        Is told the number and the names of the features.
    X : array-like of shape (n_samples, n_features), or more dimensions for a feature extractor
    y : array-like of shape (n_samples,) or (n_samples, n_targets)
    sample_weight : array-like of shape (n_samples,) or None

    Returns
    -------
    reader : TableReader or None
        None if a feature extractor reads X.
    X, y, sample_weight : float64 ndarrays
        `y` has the dimensions it came with. Gaps in X are NaN.

    Raises
    ------
    ValueError, TypeError
        If any is not usable.
    """
    reader, matrix = None, X
    if estimator.feature_extractor is not None:
        _refuse_what_is_no_number(X, "X")
    elif (table := Table.of(X)) is None:
        check_array(X, dtype=None)  # says what is wrong with it
    elif table.declared:
        reader = TableReader.of(table, estimator.categorical_features)
        matrix = reader.read(table)
    _refuse_what_is_no_number(y, "y")
    matrix, y = check_X_y(
        matrix,
        y,
        dtype=np.float64,
        allow_nd=estimator.feature_extractor is not None,
        ensure_all_finite=reader is None,  # a reader has refused infinity
        multi_output=True,
        y_numeric=True,
        ensure_min_samples=2,
        estimator=estimator,
    )
    validate_data(estimator, X, skip_check_array=True)  # takes its features' names and number
    if not isinstance(y, np.ndarray):
        raise TypeError(f"y must be dense; got {type(y).__name__}.")
    y = y.astype(np.float64, copy=False)
    if y.ndim > 1 and y.shape[1] == 0:
        raise ValueError(f"y must have at least one target; got shape {y.shape}.")
    sample_weight = check_sample_weight(
        sample_weight, matrix, dtype=np.float64, ensure_non_negative=True
    )
    if not sample_weight.any():
        raise ValueError("sample_weight must have a positive entry; all weights are zero.")
    check_total_weight(sample_weight)
    if reader is not None:
        reader, matrix = reader.settle(matrix, y.reshape(len(y), -1), sample_weight)
    return reader, matrix, y, sample_weight


def check_features(estimator, X, reader, shape):
    """Check X given to a fitted estimator; `shape` is that of a row of what is returned."""
    table = None if reader is None else Table.of(X)
    if reader is None:
        _refuse_what_is_no_number(X, "X")
        X = validate_data(estimator, X, dtype=np.float64, allow_nd=True, reset=False)
    elif table is None:
        X = validate_data(estimator, X, dtype=None, reset=False)
    else:
        validate_data(estimator, X, skip_check_array=True, reset=False)
        X = check_array(reader.read(table), ensure_all_finite=False)
    if X.shape[1:] != shape:
        raise ValueError(f"Each row of X must have shape {shape}, as in fit; got {X.shape[1:]}.")
    return X


def check_validation_data(estimator, reader, matrix, y, X_val, y_val, sample_weight_val):
    """Check samples given to :meth:`fit` for validation beside `matrix` and `y` (n, k).

    Returns
    -------
    validation : tuple of X as given, X read, y and weights, or None
        Without samples of weight 0.

    Raises
    ------
    ValueError
        If they are not usable.
    """
    if X_val is None or y_val is None:
        if not X_val is y_val is sample_weight_val is None:
            raise ValueError(
                "X_val and y_val must be given together, sample_weight_val only with them."
            )
        return None
    with _naming("X_val"):
        read = check_features(estimator, X_val, reader, matrix.shape[1:])
    with _naming("y_val"):
        _refuse_what_is_no_number(y_val, "y")
        y_val = check_array(y_val, dtype=np.float64, ensure_2d=False, input_name="y")
        check_consistent_length(read, y_val)
        y_val = y_val.reshape(len(y_val), -1)
    with _naming("sample_weight_val"):
        weight = check_sample_weight(
            sample_weight_val, read, dtype=np.float64, ensure_non_negative=True
        )
        check_total_weight(weight)
    if y_val.shape[1] != y.shape[1]:
        raise ValueError(
            f"y_val must have as many targets as y, {y.shape[1]}; got {y_val.shape[1]}."
        )
    kept = np.flatnonzero(weight > 0)
    return take_samples(X_val, kept), read[kept], y_val[kept], weight[kept]


def check_groups(groups, n_samples):
    """Check groups and count them from 0, to int64 (n_samples,).

    Raises
    ------
    ValueError
        If there is not one group for each sample.
    """
    groups = np.asarray(groups)
    if groups.shape != (n_samples,):
        raise ValueError(
            f"groups must have one entry for each of {n_samples} samples; got an array of shape "
            f"{groups.shape}."
        )
    if any(map(is_missing, groups.tolist())):
        raise ValueError("groups contains NaN, None or NA; every sample must have a group.")
    try:
        return np.unique(groups, return_inverse=True)[1].ravel()
    except TypeError as error:
        raise ValueError(f"groups must be all numbers or all text: {error}") from error


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


@contextmanager
def _naming(argument):
    """Let an error begin with the name of an argument."""
    try:
        yield
    except (ValueError, TypeError) as error:
        raise ValueError(f"{argument}: {error}") from error


def _refuse_what_is_no_number(data, name):
    """Raise ValueError for text, times or gaps, which NumPy would turn into numbers silently."""
    refuse_lazy(data, name)
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
