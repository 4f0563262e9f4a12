"""What `fit` is given, checked, and its unique rows."""

from dataclasses import dataclass

import numpy as np

from .checks import (
    ValidationSamples,
    check_groups,
    check_time,
    check_training_data,
    check_validation_data,
)
from .merging import merge_rows
from .reader import ColumnSummary, TableReader
from .table import unwrap


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
    y : ndarray of shape (n_samples, n_targets)
    y_ndim : int
        Dimensions of y as given.
    sample_weight : ndarray of shape (n_samples,)
    groups : int ndarray of shape (n_samples,) or None
    time : ndarray of shape (n_samples,) or None
        Ranks of when samples were observed; NaN for those of which it is unknown.
    rows, weight, row_of : ndarray
        See :func:`merge_rows`.
    validation : ValidationSamples or None
    columns : ColumnSummary or None
        How the columns were read; None if a feature extractor takes X as it is.
    doubts : str or None
        Which columns of text may be meant otherwise.
    """

    X: object
    reader: TableReader | None
    matrix: np.ndarray
    y: np.ndarray
    y_ndim: int
    sample_weight: np.ndarray
    groups: np.ndarray | None
    time: np.ndarray | None
    rows: np.ndarray
    weight: np.ndarray
    row_of: np.ndarray
    validation: ValidationSamples | None
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
        read, y, sample_weight = check_training_data(estimator, X, y, sample_weight)
        reader, matrix = read.reader, read.matrix
        y_ndim, y = y.ndim, y.reshape(len(y), -1)
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
        validation = check_validation_data(estimator, reader, matrix, y, *validation)
        rows, weight, row_of = merge_rows(matrix, y, sample_weight, groups)
        if len(rows) == 1 and weight[0] <= 1:
            raise ValueError(
                "At least 2 samples of positive sample_weight are required; got 1 sample."
            )
        last = rows, weight, row_of, validation, read.columns, read.doubts
        return cls(X, reader, matrix, y, y_ndim, sample_weight, groups, time, *last)

    def expand(self, matrix):
        """Add parts of dates to a matrix as read."""
        return matrix if self.reader is None else self.reader.expand(matrix)

    @property
    def row_groups(self):
        """Group of each row, or None."""
        return None if self.groups is None else self.groups[self.rows]

    @property
    def row_time(self):
        """Rank of when each row was observed last, or None."""
        if self.time is None:
            return None
        counted, time = self.row_of >= 0, np.full(len(self.rows), np.nan)
        np.fmax.at(time, self.row_of[counted], self.time[counted])
        return time
