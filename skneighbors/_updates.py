"""Labelled rows that join or leave a fitted estimator."""

import numpy as np
import torch
from sklearn.utils.validation import (
    _check_sample_weight,
    check_array,
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
)

from ._preprocessing import check_total_weight


class BankUpdateMixin:
    """Adds :meth:`append` and :meth:`forget` to an estimator with a bank of neighbours.

    Samples are numbered: those given to ``fit`` first, then those appended, in
    their order. `_row_of` holds the bank row of each, -1 for those of weight 0
    and those forgotten, and `_weight_of` their weights, NaN for those forgotten.
    """

    def append(self, X, y, sample_weight=None):
        """Add labelled rows to the neighbours, without training.

        Predictions are, up to rounding (with `n_candidates`, up to the random sample),
        those of a bank that held the rows from the start. Equal rows are not merged,
        as they are in :meth:`fit`. The network, its scaling and its masks stay as
        :meth:`fit` left them; the range of the targets, which bounds predictions,
        follows the neighbours.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights as neighbours. A row of weight 0 is numbered, but is none.

        Returns
        -------
        self : object
            The estimator. Its next rows in :meth:`forget` and
            :meth:`top_neighbors` are numbered from the first one after those
            given to :meth:`fit` and appended so far.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        ValueError
            If the data don't fit those given to :meth:`fit`, or all weights are 0.

        Notes
        -----
        Only the new rows are embedded; the arrays of the bank are copied.
        """
        bank, X = self._check_queries(X)
        y = self._check_appended_targets(y, len(X))
        weight = _check_sample_weight(sample_weight, y, dtype=np.float64, ensure_non_negative=True)
        check_total_weight(self._weight_of[~np.isnan(self._weight_of)], weight)
        present = weight > 0
        rows = torch.from_numpy(np.flatnonzero(present)).to(X.device)
        if len(rows):
            y = torch.from_numpy(self._y_scaler.transform(y[present]))
            own_weight = torch.from_numpy(weight[present])
            bank = bank.extended(X[rows], y.to(X.device), own_weight.to(X.device))
        row_of = np.where(present, len(self._bank) + np.cumsum(present) - 1, -1)
        row_of = np.concatenate([self._row_of, row_of])
        weight = np.concatenate([self._weight_of, weight])
        self._bank, self._row_of, self._weight_of = bank.to(torch.device("cpu")), row_of, weight
        return self

    def _check_appended_targets(self, y, n_samples):
        if self._y_ndim == 1 or (self.n_outputs_ == 1 and np.ndim(y) == 1):
            y = column_or_1d(y, dtype=np.float64, warn=True).reshape(-1, 1)
        y = check_array(y, dtype=np.float64, input_name="y", ensure_min_samples=0)
        check_consistent_length(np.empty(n_samples), y)
        if y.shape[1] != self.n_outputs_:
            raise ValueError(
                f"y must have {self.n_outputs_} targets, as in fit; got shape {y.shape}."
            )
        if not self._y_scaler.fits(y):
            raise ValueError(
                "y has other values of a target that was constant in fit, or values that in "
                "relation to those of fit span more than float64 can hold. Fit anew."
            )
        return y

    def forget(self, indices):
        """Remove rows from the neighbours, without training.

        Predictions are, up to rounding (with `n_candidates`, up to the random sample),
        those of a bank that never held the rows. The network's weights, its scaling
        and its masks still are what they made of them: nothing but the neighbours,
        and the range of targets that bounds predictions, forgets. To remove all
        traces, fit anew.

        Parameters
        ----------
        indices : int or array-like of int
            Rows of the X given to :meth:`fit`; rows appended later are numbered
            on from there. Forgetting changes no number.

        Returns
        -------
        self : object
            The estimator.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        ValueError
            If there is no such row, it is forgotten already, or none would be
            left. Nothing is forgotten then.

        Notes
        -----
        Nothing is embedded anew; the arrays of the bank are copied.
        """
        check_is_fitted(self)
        indices = self._check_indices(indices)
        row_of, weight_of = self._row_of.copy(), self._weight_of.copy()
        row_of[indices], weight_of[indices] = -1, np.nan
        left = row_of >= 0
        n_left = np.bincount(row_of[left], minlength=len(self._bank))
        keep = n_left > 0
        if not keep.any():
            raise ValueError("indices names all rows that are left; at least one must stay.")
        weight = np.bincount(row_of[left], weights=weight_of[left], minlength=len(keep))[keep]
        place = np.where(keep, np.cumsum(keep) - 1, -1)
        bank = self._bank.selected(torch.from_numpy(keep), torch.from_numpy(weight))
        row_of = np.where(left, place[row_of], -1)
        self._bank, self._row_of, self._weight_of = bank, row_of, weight_of
        return self

    def _check_indices(self, indices):
        indices = np.atleast_1d(np.asarray(indices))
        if indices.ndim != 1 or (indices.size and not np.issubdtype(indices.dtype, np.integer)):
            raise ValueError(
                "indices must be ints in one dimension; got an array of dtype "
                f"{indices.dtype} and shape {indices.shape}."
            )
        indices = indices.astype(np.int64)
        n_samples = len(self._row_of)
        unknown = indices[(indices < 0) | (indices >= n_samples)]
        if unknown.size:
            raise ValueError(f"indices must lie between 0 and {n_samples - 1}; got {unknown[0]}.")
        forgotten = indices[np.isnan(self._weight_of[indices])]
        if forgotten.size:
            raise ValueError(f"indices holds {forgotten[0]}, which is forgotten already.")
        values, counts = np.unique(indices, return_counts=True)
        if (counts > 1).any():
            raise ValueError(f"indices holds {values[counts > 1][0]} more than once.")
        return indices

    @property
    def _bank_rows(self):
        """First sample that each row of the bank stands for."""
        samples = np.flatnonzero(self._row_of >= 0)[::-1]
        first = np.empty(len(self._bank), dtype=np.int64)
        first[self._row_of[samples]] = samples  # the last to write, the first sample, stays
        return first
