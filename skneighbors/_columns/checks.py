"""Bad input refused before any work is done, by the name of its column."""

import datetime
from contextlib import contextmanager

import numpy as np
from sklearn.utils.validation import (
    check_array,
    check_consistent_length,
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


def check_training_data(estimator, X, y, sample_weight, target):
    """Check what :meth:`fit` is given.

    Parameters
    ----------
    estimator : BaseEstimator
        Is told the number and the names of the features.
    X : array-like of shape (n_samples, n_features), or more dimensions for a feature extractor
    y : array-like of shape (n_samples,) or (n_samples, n_targets)
    sample_weight : array-like of shape (n_samples,) or None
    target : subclass of Target

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
        refuse_what_is_no_number(X, "X")
    elif (table := Table.of(X)) is None:
        check_array(X, dtype=None)  # says what is wrong with it
    elif table.declared:
        reader = TableReader.of(table, estimator.categorical_features)
        matrix = reader.read(table)
    matrix = check_array(
        matrix,
        dtype=np.float64,
        allow_nd=estimator.feature_extractor is not None,
        ensure_all_finite=reader is None,  # a reader has refused infinity
        ensure_min_samples=2,
        estimator=estimator,
        input_name="X",
    )
    validate_data(estimator, X, skip_check_array=True)  # takes its features' names and number
    if y is None:
        name = type(estimator).__name__
        raise ValueError(f"{name} requires y to be passed, but the target y is None.")
    y = target.check(y)
    check_consistent_length(matrix, y)
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
        refuse_what_is_no_number(X, "X")
        X = validate_data(estimator, X, dtype=np.float64, allow_nd=True, reset=False)
    elif table is None:
        X = validate_data(estimator, X, dtype=None, reset=False)
    else:
        validate_data(estimator, X, skip_check_array=True, reset=False)
        X = check_array(reader.read(table), ensure_all_finite=False)
    if X.shape[1:] != shape:
        raise ValueError(f"Each row of X must have shape {shape}, as in fit; got {X.shape[1:]}.")
    return X


def check_validation_data(estimator, reader, matrix, y, target, X_val, y_val, sample_weight_val):
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
        y_val = target.check(y_val)
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


@contextmanager
def _naming(argument):
    """Let an error begin with the name of an argument."""
    try:
        yield
    except (ValueError, TypeError) as error:
        raise ValueError(f"{argument}: {error}") from error


def refuse_what_is_no_number(data, name):
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
