"""Bad input refused before any work is done, by the name of its column."""

from contextlib import contextmanager
from dataclasses import replace
from typing import NamedTuple

import narwhals as nw
import numpy as np
from sklearn.utils.validation import check_array, check_consistent_length, validate_data

from .column import TEXT, is_missing, show
from .per_row import check_weights
from .reader import TableReader
from .summary import ColumnSummary, summarize_columns
from .table import Table, as_frame, single_column, unwrap

_ENCODE = (
    "Encode it as numbers, for instance with sklearn.preprocessing.OneHotEncoder or "
    "TargetEncoder in a ColumnTransformer"
)
_CLASSES = (
    "Regressors predict numbers. For classes, use a classifier, such as NONAClassifier; convert "
    "numbers that are written as text, for instance with pandas.to_numeric, after removing signs "
    "such as $"
)
_SHOWN = 200  # characters from each end of an error of scikit-learn


class ReadTable(NamedTuple):
    """X as read: the matrix (n_samples, ...), and what has read it; None if that is yet to be.

    `columns` says how columns were read, and `doubts` which may be meant otherwise.
    """

    matrix: np.ndarray
    reader: TableReader | None = None
    columns: ColumnSummary | None = None
    doubts: str | None = None


class ValidationSamples(NamedTuple):
    """Samples given for validation: X as read (n, ...), y (n, k), weights (n,)."""

    matrix: np.ndarray
    y: np.ndarray
    weight: np.ndarray


def check_training_data(estimator, X, y, sample_weight):
    """Check what :meth:`fit` is given.

    Parameters
    ----------
    estimator : BaseEstimator
        Gets the number and the names of the features.
    X : array-like of shape (n_samples, n_features), or more dimensions for a feature extractor
    y : array-like of shape (n_samples,) or (n_samples, n_targets)
    sample_weight : array-like of shape (n_samples,) or None

    Returns
    -------
    read : ReadTable
    y, sample_weight : float64 ndarrays
        `y` has the dimensions it came with.

    Raises
    ------
    ValueError, TypeError
        If any is not usable.
    """
    table, reader, matrix = _read(estimator, X, sample_weight)
    if y is None:
        name = type(estimator).__name__
        raise ValueError(f"{name} requires y to be passed, but the target y is None.")
    y = estimator._task_class.check(estimator._read_targets(y))
    check_consistent_length(matrix, y)
    sample_weight = check_weights(sample_weight, len(matrix))
    y, sample_weight = estimator._settle_targets(y, sample_weight)
    read = ReadTable(matrix)
    if reader is not None:
        reader, matrix = reader.learn(matrix, y.reshape(len(y), -1), sample_weight)
        found = summarize_columns(table, reader, matrix, sample_weight > 0)
        read = ReadTable(matrix, reader, *found)
    return read, y, sample_weight


def _read(estimator, X, sample_weight):
    """Read X, to a table, reader and matrix, and give the estimator its features' names."""
    reader, table, matrix = None, None, X
    if estimator.feature_extractor is not None:
        refuse_what_is_no_number(X, "X")
    elif (table := Table.of(X)) is None:
        with _shortening():
            check_array(X, dtype=None)  # says what is wrong with it
    elif not table.declared:
        matrix = np.empty((len(table.data), 0))  # which scikit-learn refuses
    else:
        weight = check_weights(sample_weight, len(table.data))
        given = estimator.categorical_features
        table = replace(table, categorical_features=given, weight=weight)
        reader = TableReader.of(table)
        matrix = reader.read(table)
    matrix = check_array(
        matrix,
        dtype=np.float64,
        allow_nd=estimator.feature_extractor is not None,
        ensure_all_finite=reader is None,  # a reader has refused infinity
        estimator=estimator,
        input_name="X",
    )
    validate_data(estimator, X, skip_check_array=True)  # takes its features' names and number
    return table, reader, matrix


def check_features(estimator, X, reader, shape):
    """Check and read X given to a fitted estimator, to an ndarray (n_samples, *shape)."""
    table = None if reader is None else Table.of(X)
    if reader is None:
        refuse_what_is_no_number(X, "X")
        X = validate_data(estimator, X, dtype=np.float64, allow_nd=True, reset=False)
    elif table is None:
        with _shortening():
            X = validate_data(estimator, X, dtype=None, reset=False)
    else:
        if table.names is None or table.names != reader.names:
            validate_data(estimator, X, skip_check_array=True, reset=False)
        X = reader.read(table)
        if not len(X):
            check_array(X)  # which refuses it
    if X.shape[1:] != shape:
        raise ValueError(f"Each row of X must have shape {shape}, as in fit; got {X.shape[1:]}.")
    return X


def check_validation_data(estimator, reader, matrix, y, X_val, y_val, sample_weight_val):
    """Check samples given to :meth:`fit` for validation beside `matrix` and `y` (n, k).

    Returns
    -------
    validation : ValidationSamples or None
        Without samples of weight 0.

    Raises
    ------
    ValueError
        If they are not usable.
    """
    if X_val is None or y_val is None:
        if any(part is not None for part in (X_val, y_val, sample_weight_val)):
            raise ValueError(
                "X_val and y_val must be given together, sample_weight_val only with them."
            )
        return None
    with _naming("X_val"):
        read = check_features(estimator, unwrap(X_val), reader, matrix.shape[1:])
    with _naming("y_val"):
        y_val = estimator._task_class.check(estimator._read_more_targets(y_val))
        check_consistent_length(read, y_val)
        y_val = y_val.reshape(len(y_val), -1)
    weight = check_weights(sample_weight_val, len(read), "sample_weight_val")
    if y_val.shape[1] != y.shape[1]:
        raise ValueError(
            f"y_val must have as many targets as y, {y.shape[1]}; got {y_val.shape[1]}."
        )
    kept = np.flatnonzero(weight > 0)
    return ValidationSamples(read[kept], y_val[kept], weight[kept])


@contextmanager
def _naming(argument):
    """Let an error begin with the name of an argument."""
    try:
        yield
    except (ValueError, TypeError) as error:
        raise ValueError(f"{argument}: {error}") from error


@contextmanager
def _shortening():
    """Shorten errors of scikit-learn that show all of an array."""
    try:
        yield
    except ValueError as error:
        text = str(error)
        if len(text) <= 2 * _SHOWN:
            raise
        raise ValueError(f"{text[:_SHOWN]} ... {text[-_SHOWN:]}") from None


def refuse_what_is_no_number(data, name):
    """Raise ValueError for text, times or missing values, which NumPy would convert silently."""
    data = unwrap(data, name)
    frame = as_frame(data, name)
    if isinstance(frame, nw.DataFrame):
        table = Table.of(frame)
        for j, own in enumerate(table.names):
            _refuse_values(replace(table.column(j), name=f"Column {show(own)} of {name}"))
        return
    is_plain = isinstance(data, str | bytes | list | tuple) or hasattr(data, "dtype")
    if is_plain and not hasattr(data, "tocsr"):
        try:
            column = single_column(data, name)
        except ValueError:  # ragged: for scikit-learn to refuse
            return
        _refuse_values(column)


def refuse_missing(missing, what):
    """Raise ValueError if a value of some rows is missing; `missing` (n_samples,) says of which."""
    rows = np.flatnonzero(missing)
    if len(rows):
        raise ValueError(
            f"{what} in {len(rows)} of {len(missing)} rows, such as row {rows[0]}. Leave these "
            "rows out."
        )


def _refuse_values(column):
    dtype = getattr(nw.to_native(column.data, pass_through=True), "dtype", None)
    # Types of pandas and polars have no kind, or that of the values which a category stands for.
    if isinstance(dtype, np.dtype) and dtype.kind not in "OMm":
        return
    shape = column.data.shape or (1,)
    if isinstance(column.data, np.ndarray):
        column = replace(column, data=column.data.ravel())
    if TEXT in column.sorts:
        column.refuse_others(_ENCODE if column.name.endswith("X") else _CLASSES)
    column.refuse_others()
    missing = np.array([*map(is_missing, column.values)], dtype=bool).reshape(shape)
    refuse_missing(
        missing.any(axis=tuple(range(1, len(shape)))), f"{column.name} contains NaN, None or NA"
    )
