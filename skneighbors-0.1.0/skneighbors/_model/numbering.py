"""Which row of the bank each training sample is part of."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from .._columns import check_row_numbers
from .._utils.arrays import Stored, array_field


@dataclass(frozen=True, eq=False)
class SampleNumbering(Stored):
    """Numbers of samples: first of those given to ``fit``, then of those appended, in order.

    Forgetting changes no number. Immutable: each method returns a new numbering.

    Attributes
    ----------
    row_of : int ndarray of shape (n_samples,)
        The bank's row of each sample; -1 for those of weight 0 and those forgotten.
    weight_of : ndarray of shape (n_samples,)
        Their weights; NaN for those forgotten.
    labels : ndarray of shape (n_samples,) or None
        Their labels in the index of the frames they came in; numbers for those that came
        without, None if all did.
    """

    row_of: np.ndarray = array_field("int64", "S", low=-1, below="N")
    weight_of: np.ndarray = array_field("float64", "S", allows="nan")
    labels: np.ndarray | None = None

    def _check_fields(self, sizes):
        """Check that each row has a sample, and each sample a label."""
        used = np.unique(self.row_of[self.row_of >= 0])
        if len(used) != sizes["N"] or not len(used):
            raise ValueError("numbering.row_of does not name every row")
        if self.labels is not None and len(self.labels) != len(self):
            raise ValueError("numbering.labels has another length")

    def __len__(self):
        return len(self.row_of)

    @property
    def weights_left(self):
        """Weights of the samples that are not forgotten."""
        return self.weight_of[~np.isnan(self.weight_of)]

    def append(self, weight, row_of, labels=None):
        """Add further samples (n,), with their weights and rows; those of weight 0 have none."""
        if labels is not None or self.labels is not None:
            old, new = np.arange(len(self)), np.arange(len(self), len(self) + len(weight))
            old = old if self.labels is None else self.labels
            new = new if labels is None else labels
            if old.dtype != new.dtype:  # which NumPy would convert to one
                old, new = old.astype(object), new.astype(object)
            labels = np.concatenate([old, new])
        return SampleNumbering(
            np.concatenate([self.row_of, row_of]), np.concatenate([self.weight_of, weight]), labels
        )

    def forget(self, indices, n_rows):
        """Let samples go; those left keep their numbers, the rows left are counted from 0.

        Returns
        -------
        numbering : SampleNumbering
        keep : bool ndarray of shape (n_rows,)
            Rows of which samples are left.
        """
        row_of, weight_of = self.row_of.copy(), self.weight_of.copy()
        row_of[indices], weight_of[indices] = -1, np.nan
        left = row_of >= 0
        keep = np.bincount(row_of[left], minlength=n_rows) > 0
        place = np.where(keep, np.cumsum(keep) - 1, -1)
        row_of, labels = np.where(left, place[row_of], -1), self.labels
        if labels is not None:  # nothing is left of those forgotten
            labels = labels.copy()
            labels[indices] = indices
        return SampleNumbering(row_of, weight_of, labels), keep

    def row_weights(self):
        """Total weights (n_rows,) of the rows' samples."""
        samples = self.row_of >= 0
        return np.bincount(self.row_of[samples], weights=self.weight_of[samples])

    def counts(self):
        """Count the samples (n_rows,) of each row of the bank."""
        return np.bincount(self.row_of[self.row_of >= 0])

    def first_samples(self, n_rows):
        """First sample that each row of the bank stands for."""
        samples = np.flatnonzero(self.row_of >= 0)[::-1]
        first = np.empty(n_rows, dtype=np.int64)
        first[self.row_of[samples]] = samples  # the last to write, the first sample, stays
        return first

    def expand_rows(self, rows, n_samples):
        """Name the samples of rows (n, c), of all rows in turn, `n_samples` for each query.

        Returns
        -------
        samples : int ndarray of shape (n, n_samples)
        column : int ndarray of shape (n, n_samples)
            Which of the c rows each is of.
        """
        order = np.argsort(self.row_of, kind="stable")
        order = order[np.count_nonzero(self.row_of < 0) :]  # samples, row by row
        sizes, (n, c) = self.counts(), rows.shape
        starts, n_named = np.cumsum(sizes) - sizes, np.minimum(sizes[rows], n_samples).ravel()
        column, begins = np.repeat(np.tile(np.arange(c), n), n_named), np.cumsum(n_named) - n_named
        within = np.arange(len(column)) - np.repeat(begins, n_named)
        samples = order[np.repeat(starts[rows].ravel(), n_named) + within]
        place = begins[::c, None] + np.arange(n_samples)
        return samples[place], column[place]

    def fractions(self):
        """Fractions of samples in the weights of their rows, CSR of shape (n_rows, n_samples)."""
        samples = np.flatnonzero(self.row_of >= 0)
        rows, weight = self.row_of[samples], self.weight_of[samples]
        fraction = weight / np.bincount(rows, weights=weight)[rows]
        return sparse.csr_array((fraction, (rows, samples)), shape=(rows.max() + 1, len(self)))

    def name(self, samples):
        """Labels of samples; their numbers if they have none."""
        return samples if self.labels is None else self.labels[samples]

    def check_indices(self, indices):
        """Numbers of samples to forget, from ints or a mask; ValueError where one cannot be."""
        indices = check_row_numbers(indices, len(self))
        forgotten = indices[np.isnan(self.weight_of[indices])]
        if forgotten.size:
            raise ValueError(f"indices holds {forgotten[0]}, which is forgotten already.")
        values, counts = np.unique(indices, return_counts=True)
        if (counts > 1).any():
            raise ValueError(f"indices holds {values[counts > 1][0]} more than once.")
        return indices
