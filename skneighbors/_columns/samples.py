"""What `fit` is given, checked, and its unique rows."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .checks import ValidationSamples, check_training_data, check_validation_data
from .doubts import find_doubts
from .merging import merge_rows
from .per_row import check_groups, check_time
from .reader import TableReader
from .summary import summarize_columns
from .table import Table, unwrap


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
    y_form : object
        How predictions are given back; see `Targets`.
    sample_weight : ndarray of shape (n_samples,)
    groups : int ndarray of shape (n_samples,) or None
    time : ndarray of shape (n_samples,) or None
        Ranks of when samples were observed; NaN for those of which it is unknown.
    rows, weight, row_of : ndarray
        See :func:`merge_rows`.
    validation : ValidationSamples or None
    """

    X: object
    reader: TableReader | None
    matrix: np.ndarray
    y: np.ndarray
    y_form: object
    sample_weight: np.ndarray
    groups: np.ndarray | None
    time: np.ndarray | None
    rows: np.ndarray
    weight: np.ndarray
    row_of: np.ndarray
    validation: ValidationSamples | None

    @classmethod
    def check(cls, estimator, X, y, sample_weight, groups, time, validation):
        """Check samples; `validation` is X, y and sample_weight of the validation set.

        Raises
        ------
        ValueError, TypeError
            If any is not usable.
        """
        X = unwrap(X)
        reader, matrix, targets = check_training_data(estimator, X, y, sample_weight)
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
        rows, weight, row_of = merge_rows(matrix, y, sample_weight, groups)
        if len(rows) == 1 and weight[0] <= 1:
            raise ValueError(
                "At least 2 samples of positive sample_weight are required; got 1 sample."
            )
        merged = rows, weight, row_of
        return cls(X, reader, matrix, y, form, sample_weight, groups, time, *merged, validation)

    @cached_property
    def columns(self):
        """Summarize how the columns were read; None if a feature extractor takes X as it is."""
        return None if self.reader is None else summarize_columns(self._counted, self.reader)

    @cached_property
    def _counted(self):
        """Table of the samples that count."""
        rows = np.flatnonzero(self.sample_weight > 0)
        table = Table.of(self.X)
        return table if len(rows) == len(self.sample_weight) else table.take(rows)

    def expand(self, matrix):
        """Add parts of dates to a matrix as read."""
        return matrix if self.reader is None else self.reader.expand(matrix)

    def find_doubts(self, categorical_features):
        """Describe columns of text that were hardly meant as categories; None if all were."""
        if self.reader is None:
            return None
        counted = self.matrix[self.sample_weight > 0]
        return find_doubts(self._counted, self.reader, counted, categorical_features)

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
