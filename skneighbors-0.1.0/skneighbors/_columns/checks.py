"""Bad input refused before any work is done, by the name of its column or argument.

:class:`TrainingSamples` is what is left of the input of a fit.
"""

import datetime
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral, Number
from typing import NamedTuple

import narwhals as nw
import numpy as np
from sklearn.utils.validation import check_array, validate_data

from .._utils.warn import warn
from .categories import find_quantity
from .column import BOOLS, CATEGORIES, DURATIONS, NUMBERS, TEXT, TIMES, Column, is_missing, show
from .reader import ColumnSummary, ColumnWarning, TableReader, summarize_columns
from .rows import LabeledRows, check_total_weight, merge_rows
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
    """X as read: the matrix (n_samples, ...), and what has read it; None: a feature extractor will.

    `columns` says how columns were read, and `doubts` which of text may be meant otherwise.
    """

    matrix: np.ndarray
    reader: TableReader | None = None
    columns: ColumnSummary | None = None
    doubts: str | None = None


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
    read : ReadTable
    targets : Targets

    Raises
    ------
    ValueError, TypeError
        If any is not usable.
    """
    table, reader, matrix = _read(estimator, X, sample_weight)
    if y is None:
        name = type(estimator).__name__
        raise ValueError(f"{name} requires y to be passed, but the target y is None.")
    sample_weight = check_weights(sample_weight, len(matrix))
    targets = estimator._task_class.read(y, sample_weight, estimator._read_parameters())
    if reader is None:
        return ReadTable(matrix), targets
    reader, matrix = reader.learn(matrix, targets.y, targets.weight)
    found = summarize_columns(table, reader, matrix, targets.weight > 0)
    return ReadTable(matrix, reader, *found), targets


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


def check_validation_data(estimator, table, targets, X_val, y_val, sample_weight_val):
    """Check samples given to :meth:`fit` for validation beside `table` and `targets`.

    Returns
    -------
    validation : LabeledRows or None
        Unique rows; of no group, -1.

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
        shape = table.matrix.shape[1:]
        read = check_features(estimator, unwrap(X_val), table.reader, shape)
    with _naming("y_val"):
        y_val = estimator._task_class.read_others(y_val, targets.form, len(read))
    weight = check_weights(sample_weight_val, len(read), "sample_weight_val")
    n_targets = targets.y.shape[1]
    if y_val.shape[1] != n_targets:
        raise ValueError(
            f"y_val must have as many targets as y, {n_targets}; got {y_val.shape[1]}."
        )
    first, weight, _ = merge_rows(read, y_val, weight)
    return LabeledRows(read[first], y_val[first], weight, np.full(len(first), -1))


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


def read_per_row(values, name, n_samples=None):
    """Read an argument with a value for each row, as a column.

    Parameters
    ----------
    values : array-like of shape (n_samples,)
        Of any library; masked values are missing.
    name : str
        For messages.
    n_samples : int, default=None
        How many rows there are; None: any number.

    Returns
    -------
    column : Column

    Raises
    ------
    ValueError
        If it has another shape.
    TypeError
        If it cannot be read.
    """
    column = single_column(values, name)
    wanted = (
        "a single dimension" if n_samples is None else f"one entry for each of {n_samples} samples"
    )
    shape = column.data.shape
    if len(shape) != 1 if n_samples is None else shape != (n_samples,):
        found = show(values) if isinstance(values, str) else f"an array of shape {shape}"
        raise ValueError(f"{name} must have {wanted}; got {found}.")
    return column


def _is_single(value):
    """Whether an argument is a single value, not one for each row."""
    return isinstance(value, Number) or getattr(value, "ndim", None) == 0


def check_weights(sample_weight, n_samples, name="sample_weight"):
    """Check weights, to float64 (n_samples,); those of None are 1.

    Parameters
    ----------
    sample_weight : array-like of shape (n_samples,), number or None
    n_samples : int
    name : str, default="sample_weight"
        For messages.

    Raises
    ------
    ValueError
        If they are not numbers from 0 on, one for each row, of which some are positive.
    """
    if sample_weight is None:
        return np.ones(n_samples)
    if _is_single(sample_weight):
        sample_weight = np.full(n_samples, unwrap(sample_weight, name))
    column = read_per_row(sample_weight, name, n_samples)
    column.refuse_others()
    weight = _finite_numbers(column)
    if np.isnan(weight).any():
        raise ValueError(f"{name} contains NaN, None or NA; every sample must have a weight.")
    if (weight < 0).any():
        raise ValueError(f"{name} contains negative values, such as {weight[weight < 0][0]}.")
    if not weight.any():
        raise ValueError(f"{name} must have a positive entry; all weights are zero.")
    check_total_weight(weight, name=name)
    return weight


def _finite_numbers(column):
    """Numbers of a column, to float64; NaN where missing. ValueError if one is infinite."""
    numbers = np.array(column.numbers(), dtype=np.float64)
    if np.isinf(numbers).any():
        raise ValueError(f"{column.name} contains infinity.")
    return numbers


def check_row_numbers(numbers, n_samples):
    """Check `indices`, numbers of rows or a mask of them, to int64 (n,).

    Parameters
    ----------
    numbers : int, array-like of int, or bool array-like of shape (n_samples,)
    n_samples : int

    Raises
    ------
    ValueError
        If they are no numbers of rows.
    """
    is_one = _is_single(numbers) or isinstance(numbers, str | bytes)
    column = read_per_row(np.full(1, numbers) if is_one else numbers, "indices")
    values = column.values
    if any(map(is_missing, values)):
        raise ValueError("indices contains NaN, None or NA; every entry must name a row.")
    if column.sorts.keys() == {BOOLS} or (column.declared == CATEGORIES and not values):
        if len(values) != n_samples:
            raise ValueError(
                f"indices is a mask of shape ({len(values)},); it must have shape ({n_samples},), "
                "one entry for each sample so far."
            )
        return np.flatnonzero(values)
    others = [column.sorts[sort] for sort in column.sorts.keys() - {NUMBERS}]
    others += [value for value in values if not isinstance(value, Integral)]
    if others:
        raise ValueError(f"indices must be ints or a mask; got {show(others[0])}.")
    unknown = [value for value in values if not 0 <= value < n_samples]
    if unknown:
        raise ValueError(f"indices must lie between 0 and {n_samples - 1}; got {unknown[0]}.")
    return np.array(values, dtype=np.int64)


def check_groups(groups, n_samples):
    """Check groups and count them from 0, to int64 (n_samples,).

    Parameters
    ----------
    groups : array-like of shape (n_samples,)
    n_samples : int

    Raises
    ------
    ValueError
        If there is not one group for each sample.
    """
    column = read_per_row(groups, "groups", n_samples)
    if any(map(is_missing, column.values)):
        raise ValueError("groups contains NaN, None or NA; every sample must have a group.")
    if column.kind in (TIMES, DURATIONS):
        return column.ranks().astype(np.int64)
    categories = column.categories
    try:
        codes = {category: code for code, category in enumerate(sorted(set(categories)))}
    except TypeError as error:  # of a dtype of categories
        found = " and ".join(map(show, column.sorts.values()))
        raise ValueError(f"groups must be all numbers or all text; got {found}.") from error
    return np.array([codes[category] for category in categories])


def _read_text(column, counted):
    """Column of the numbers or days that text stands for, of rows that count; else the column."""
    texts = column.count_texts(counted)
    reading = find_quantity(texts)
    if reading is None:
        return column
    if reading.is_assumed:
        what = reading.describe_example(texts)
        warn(f"{column.name} is read as {what}. Give dates or numbers if not.", ColumnWarning)
    numbers = np.where(counted, reading.parse_all(column.values), np.nan)
    unread = reading.find_unread(column, np.flatnonzero(np.isnan(numbers) & counted))
    if unread:
        raise ValueError(f"{column.name} holds {show(unread[0])} beside {reading.describe()}.")
    is_clock = reading.name == DURATIONS and reading.how != "units"
    if is_clock and not (numbers >= 1).any():
        raise ValueError(
            f"{column.name} holds times of day: times need their dates. Give elapsed times as "
            "numbers, or by pandas.to_timedelta."
        )
    return Column(numbers, column.name, NUMBERS)


def check_time(time, sample_weight):
    """Check when rows were observed, and rank them.

    Parameters
    ----------
    time : array-like of shape (n_samples,)
    sample_weight : ndarray of shape (n_samples,)

    Returns
    -------
    ranks : ndarray of shape (n_samples,)
        NaN for rows without a time.

    Raises
    ------
    ValueError
        If they are no numbers or times, of which at least two differ among the samples that count.
    """
    column = read_per_row(time, "time", len(sample_weight))
    if column.is_text():
        column = _read_text(column, sample_weight > 0)
    if column.kind == CATEGORIES:
        raise ValueError("time must hold numbers, dates or times; it holds categories or text.")
    if isinstance(column.sorts.get(DURATIONS), datetime.time):
        raise ValueError("time holds times of day: times need their dates.")
    if column.kind == NUMBERS:
        _finite_numbers(column)
    ranks = column.ranks()
    counted = ranks[sample_weight > 0]
    n_times = len(np.unique(counted[~np.isnan(counted)]))
    if n_times < 2:
        raise ValueError(
            f"time must hold at least 2 different numbers, dates or times; got {n_times}."
        )
    return ranks


@dataclass(frozen=True, eq=False)
class TrainingSamples:
    """Samples given to `fit`, and the unique rows among them.

    Attributes
    ----------
    X : array-like of shape (n_samples, ...)
        As given.
    table : ReadTable
        X as read.
    sample_weight : ndarray of shape (n_samples,)
    y_form : object
        How predictions are given back; see `Targets`.
    rows : LabeledRows
        The unique rows; see :func:`merge_rows`.
    row_of : int ndarray of shape (n_samples,)
        The row that each sample is part of, -1 for none.
    time : ndarray of shape (n_rows,) or None
        Rank of when each row was observed last; NaN where it is unknown.
    validation : LabeledRows or None
        A validation set that was given.
    """

    X: object
    table: ReadTable
    sample_weight: np.ndarray
    y_form: object
    rows: LabeledRows
    row_of: np.ndarray
    time: np.ndarray | None
    validation: LabeledRows | None

    @classmethod
    def check(cls, estimator, X, y, sample_weight, groups, time, validation):
        """Check samples; `validation` is X, y and sample_weight of the validation set.

        Raises
        ------
        ValueError, TypeError
            If any is not usable.
        """
        X = unwrap(X)
        table, targets = check_training_data(estimator, X, y, sample_weight)
        y, sample_weight, form = targets.y, targets.weight, targets.form
        if groups is not None:
            groups = check_groups(groups, len(y))
            if len(np.unique(groups[sample_weight > 0])) < 2:
                raise ValueError("groups must hold at least 2 groups to train on; got 1.")
        if time is not None:
            if validation[0] is not None:
                raise ValueError(
                    "time cannot be given with X_val: each says which rows validate. Give one."
                )
            time = check_time(time, sample_weight)
        validation = check_validation_data(estimator, table, targets, *validation)
        first, weight, row_of = merge_rows(table.matrix, y, sample_weight, groups)
        if len(first) == 1 and weight[0] <= 1:
            raise ValueError(
                "At least 2 samples of positive sample_weight are required; got 1 sample."
            )
        rows = LabeledRows(
            table.matrix[first], y[first], weight, None if groups is None else groups[first]
        )
        if time is not None:
            counted, given, time = row_of >= 0, time, np.full(len(first), np.nan)
            np.fmax.at(time, row_of[counted], given[counted])
        return cls(X, table, sample_weight, form, rows, row_of, time, validation)

    @cached_property
    def all_rows(self):
        """Rows, and behind them those of a given validation set."""
        return self.rows if self.validation is None else self.rows.concat(self.validation)
