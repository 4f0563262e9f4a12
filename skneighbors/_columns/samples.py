"""Input of a fit and of a fitted estimator, checked before any work is done."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from sklearn.utils.validation import check_array, validate_data

from .per_row import check_groups, check_time, check_weights
from .reader import ColumnSummary, TableReader, summarize_columns
from .refusals import naming, refuse_what_is_no_number, shortening
from .rows import LabeledRows, merge_rows
from .table import Table, unwrap


class ReadTable(NamedTuple):
    """X as read: the matrix (n_samples, ...), and what has read it; None: a feature extractor will.

    `columns` says how columns were read, and `doubts` which of text may be meant otherwise.
    """

    matrix: np.ndarray
    reader: TableReader | None = None
    columns: ColumnSummary | None = None
    doubts: str | None = None


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
        with shortening():
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
        with shortening():
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
    with naming("X_val"):
        shape = table.matrix.shape[1:]
        read = check_features(estimator, unwrap(X_val), table.reader, shape)
    with naming("y_val"):
        y_val = estimator._task_class.read_others(y_val, targets.form, len(read))
    weight = check_weights(sample_weight_val, len(read), "sample_weight_val")
    n_targets = targets.y.shape[1]
    if y_val.shape[1] != n_targets:
        raise ValueError(
            f"y_val must have as many targets as y, {n_targets}; got {y_val.shape[1]}."
        )
    first, weight, _ = merge_rows(read, y_val, weight)
    return LabeledRows(read[first], y_val[first], weight, np.full(len(first), -1))
