"""Bad input refused before any work is done, by the name of its column."""

from contextlib import contextmanager
from dataclasses import replace

import narwhals as nw
import numpy as np
from sklearn.utils.validation import check_array, validate_data

from .per_row import check_weights
from .reader import TableReader
from .table import Table, as_frame, single_column, unwrap
from .tensors import LabeledRows
from .values import TEXT, is_missing, show

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


def check_training_data(estimator, X, y, sample_weight):
    """Check what :meth:`fit` is given.

    Parameters
    ----------
    estimator : BaseNeighborEstimator
        Gets the number and the names of the features; its task reads y.
    X : array-like of shape (n_samples, n_features), or more dimensions for a feature extractor
    y : array-like of shape (n_samples,) or (n_samples, n_targets)
    sample_weight : array-like of shape (n_samples,) or None

    Returns
    -------
    reader : TableReader or None
        None if a feature extractor reads X.
    matrix : float64 ndarray of shape (n_samples, ...)
        Missing values are NaN.
    targets : Targets

    Raises
    ------
    ValueError, TypeError
        If any is not usable.
    """
    reader, matrix = _read(estimator, X, sample_weight)
    if y is None:
        name = type(estimator).__name__
        raise ValueError(f"{name} requires y to be passed, but the target y is None.")
    sample_weight = check_weights(sample_weight, len(matrix))
    targets = estimator._task_class.read(y, sample_weight, estimator._read_parameters())
    if reader is not None:
        reader, matrix = reader.settle(matrix, targets.y, targets.weight)
    return reader, matrix, targets


def _read(estimator, X, sample_weight):
    """Read X, to the reader and the matrix, and give the estimator its features' names."""
    reader, matrix = None, X
    if estimator.feature_extractor is not None:
        refuse_what_is_no_number(X, "X")
    elif (table := Table.of(X)) is None:
        with _shortening():
            check_array(X, dtype=None)  # says what is wrong with it
    elif not table.declared:
        matrix = np.empty((len(table.data), 0))  # which scikit-learn refuses
    else:
        sample_weight = check_weights(sample_weight, len(table.data))
        reader = TableReader.of(table, estimator.categorical_features, sample_weight)
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
    return reader, matrix


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


def check_validation_data(estimator, reader, matrix, targets, X_val, y_val, sample_weight_val):
    """Check samples given to :meth:`fit` for validation beside `matrix` and `targets`.

    Returns
    -------
    validation : LabeledRows or None
        Without samples of weight 0; of no group, -1.

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
        y_val = estimator._task_class.read_others(y_val, targets.form, len(read))
    weight = check_weights(sample_weight_val, len(read), "sample_weight_val")
    n_targets = targets.y.shape[1]
    if y_val.shape[1] != n_targets:
        raise ValueError(
            f"y_val must have as many targets as y, {n_targets}; got {y_val.shape[1]}."
        )
    kept = np.flatnonzero(weight > 0)
    return LabeledRows(read[kept], y_val[kept], weight[kept], np.full(len(kept), -1))


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
