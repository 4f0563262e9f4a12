"""What `fit` is given, checked, and its unique rows."""

from dataclasses import dataclass

import numpy as np

from .checks import check_groups, check_time, check_training_data, check_validation_data
from .merging import merge_rows
from .reader import ColumnSummary, TableReader
from .table import unwrap
from .tensors import LabeledRows


@dataclass(frozen=True, eq=False)
class TrainingSamples:
    """Samples given to `fit`, and the unique rows among them.

    Attributes
    ----------
    X : array-like of shape (n_samples, ...)
        As given.
    reader : TableReader or None
        What has read it; None if a feature extractor will.
    matrix : ndarray of shape (n_samples, ...)
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
    columns : ColumnSummary or None
        How the columns were read; None if a feature extractor takes X as it is.
    doubts : str or None
        Which columns of text may be meant otherwise.
    """

    X: object
    reader: TableReader | None
    matrix: np.ndarray
    sample_weight: np.ndarray
    y_form: object
    rows: LabeledRows
    row_of: np.ndarray
    time: np.ndarray | None
    validation: LabeledRows | None
    columns: ColumnSummary | None
    doubts: str | None

    @classmethod
    def check(cls, estimator, X, y, sample_weight, groups, time, validation):
        """Check samples; `validation` is X, y and sample_weight of the validation set.

        Raises
        ------
        ValueError, TypeError
            If any is not usable.
        """
        X = unwrap(X)
        read, targets = check_training_data(estimator, X, y, sample_weight)
        reader, matrix = read.reader, read.matrix
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
        validation = check_validation_data(estimator, reader, matrix, targets, *validation)
        first, weight, row_of = merge_rows(matrix, y, sample_weight, groups)
        if len(first) == 1 and weight[0] <= 1:
            raise ValueError(
                "At least 2 samples of positive sample_weight are required; got 1 sample."
            )
        rows = LabeledRows(
            matrix[first], y[first], weight, None if groups is None else groups[first]
        )
        if time is not None:
            counted, given, time = row_of >= 0, time, np.full(len(first), np.nan)
            np.fmax.at(time, row_of[counted], given[counted])
        found = rows, row_of, time, validation, read.columns, read.doubts
        return cls(X, reader, matrix, sample_weight, form, *found)

    @property
    def all_rows(self):
        """Rows, and behind them those of a given validation set."""
        return self.rows if self.validation is None else self.rows.concat(self.validation)
