"""What a fitted estimator answers, and labelled rows that join or leave it."""

from dataclasses import dataclass, replace

import numpy as np
import torch
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ._bank import NeighborBank, ResidualDistribution, SampleNumbering, check_algorithm
from ._columns import (
    FeatureEncoder,
    TableReader,
    TargetScaler,
    check_appended_targets,
    check_features,
    check_total_weight,
    find_labels,
)
from ._trend import BlendedTrend
from ._utils.device import CPU, resolve_device
from ._utils.locks import ForkSafeLock
from ._utils.memory import explain_out_of_memory
from ._utils.sklearn_private import (
    check_sample_weight,
    validate_parameter_constraints,
)

# Held while rows join or leave, so that threads that change one estimator lose none.
_changing = ForkSafeLock()


@dataclass(frozen=True, eq=False)
class FittedState:
    """All that a fitted estimator predicts from: read once by each call, replaced whole."""

    bank: NeighborBank
    numbering: SampleNumbering
    matrix: np.ndarray | None  # the bank's rows as the reader has read them; None without one
    reader: TableReader | None  # None, and no encoder, if a feature extractor takes X as it is
    encoder: FeatureEncoder | None
    y_scaler: TargetScaler
    x_shape: tuple
    y_ndim: int
    trend: BlendedTrend | None

    @property
    def samples(self):
        """First sample that each row of the bank stands for."""
        return self.numbering.first_samples(len(self.bank))

    def shape_like_y(self, values):
        """Values (..., n_targets) without the last axis if y had none."""
        return values[..., 0] if self.y_ndim == 1 else values

    def predict_other(self, X, matrix, device):
        """Predictions, scaled, of the regressor beside the networks for X as given and as read."""
        if self.trend is None:
            return None
        return torch.from_numpy(self.trend.predict(X, matrix, self.y_scaler)).to(device)


class LabelledNeighborsMixin(TransformerMixin):
    """Adds what needs a bank: predictions, embeddings, :meth:`append`, :meth:`forget`.

    `_fitted` holds the :class:`FittedState`.
    """

    def predict(self, X, return_std=False):
        """Predict the targets of X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features. A row of the training set has itself as a neighbour here.
        return_std : bool, default=False
            Whether to return standard deviations, too.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_targets)
            Predictions, float64, of the shape of the `y` given to :meth:`fit`.
        std : ndarray of the shape of `y`
            Root mean squares of the neighbours' residuals, as :meth:`predict_quantiles`
            weighs them. Only present if `return_std` is True.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        ValueError
            If X is not usable, or `n_neighbors`, `algorithm` or `device` has been set to
            what :meth:`fit` would not take.
        ImportError
            If `algorithm` needs FAISS and it is missing.
        MemoryError
            If memory runs out; the message says what to lower.

        Examples
        --------
        >>> from sklearn.datasets import make_friedman1
        >>> from skneighbors import NONARegressor
        >>> X, y = make_friedman1(n_samples=120, random_state=0)
        >>> model = NONARegressor(max_iter=5, random_state=0).fit(X[:100], y[:100])
        >>> y_hat, std = model.predict(X[100:], return_std=True)
        >>> y_hat.shape, std.shape
        ((20,), (20,))
        """
        if not return_std:
            y, _, fitted = self._predict(X)
            return fitted.shape_like_y(y)
        y, std, fitted = self._predict(X, lambda residuals, z: residuals.std(z))
        return fitted.shape_like_y(y), fitted.shape_like_y(std)

    def _predict(self, X, offsets=None):
        """Predict X, to (n, k), and offsets from there (n, ..., k), with what is fitted.

        `offsets` is a function of a ResidualDistribution and embedded queries.
        """
        n_neighbors = self._check_search()
        fitted, bank, z, other = self._embed(X)
        with explain_out_of_memory("the number of rows predicted at once"):
            y = bank.predict(z, n_neighbors, self.algorithm, other).cpu().numpy()
            if offsets is not None:
                offsets = offsets(ResidualDistribution.of(bank, n_neighbors), z).cpu().numpy()
                offsets = offsets * fitted.y_scaler.scale
        return fitted.y_scaler.inverse_transform(y), offsets, fitted

    def _check_search(self):
        """Check what says which rows predict, and may have changed since fit; how many."""
        names = ("n_neighbors", "algorithm")
        validate_parameter_constraints(
            {name: self._parameter_constraints[name] for name in names},
            {name: getattr(self, name) for name in names},
            caller_name=type(self).__name__,
        )
        check_algorithm(self.algorithm, self.similarity)
        return None if self.n_neighbors is None else int(self.n_neighbors)

    def _embed(self, X):
        """Find what is fitted, its bank on the device to use, X embedded, and the blend's word."""
        fitted, matrix = self._read(X)
        bank, encoded = self._encode(fitted, matrix)
        with explain_out_of_memory("the number of rows at once"):
            other = fitted.predict_other(X, matrix, encoded.device)
            return fitted, bank, bank.embed(encoded), other

    def transform(self, X):
        """Embed X in the learnt space.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.

        Returns
        -------
        Z : ndarray of shape (n_samples, n_networks * embedding_dim)
            Embeddings, float64; those of the ensemble's networks side by side.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.

        Examples
        --------
        >>> from sklearn.datasets import make_friedman1
        >>> from skneighbors import NONARegressor
        >>> X, y = make_friedman1(n_samples=120, random_state=0)
        >>> model = NONARegressor(max_iter=5, random_state=0).fit(X[:100], y[:100])
        >>> model.transform(X[100:]).shape  # four networks side by side
        (20, 256)
        """
        _, bank, X = self._check_queries(X)
        return bank.embed(X).flatten(1).cpu().numpy()

    def append(self, X, y, sample_weight=None):
        """Add labelled rows to the neighbours, without training.

        Predictions are, up to rounding, those of a bank that held the rows from the start.
        Equal rows are not merged, as they are in :meth:`fit`. The network, its scaling and its
        masks stay as :meth:`fit` left them; the range of the targets, which bounds predictions,
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
            :meth:`explain` are numbered from the first one after those
            given to :meth:`fit` and appended so far.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        ValueError
            If the data don't fit those given to :meth:`fit`, or all weights are 0.

        Notes
        -----
        Only the new rows are embedded; the arrays of the bank are copied. Threads may
        append and forget at once: they take turns.

        Examples
        --------
        >>> from sklearn.datasets import make_friedman1
        >>> from skneighbors import NONARegressor
        >>> X, y = make_friedman1(n_samples=120, random_state=0)
        >>> model = NONARegressor(max_iter=5, random_state=0).fit(X[:100], y[:100])
        >>> model.append(X[100:], y[100:]).kneighbors(X[[119]], 1, return_distance=False)
        array([[119]])
        """
        with _changing:
            fitted, matrix = self._read(X)
            labels, (bank, encoded) = find_labels(X), self._encode(fitted, matrix)
            y = check_appended_targets(
                y, len(encoded), self.n_outputs_, fitted.y_ndim, fitted.y_scaler
            )
            weight = check_sample_weight(
                sample_weight, y, dtype=np.float64, ensure_non_negative=True
            )
            check_total_weight(fitted.numbering.weights_left, weight)
            numbering = fitted.numbering.append(weight, len(bank), labels)
            rows = np.flatnonzero(weight > 0)
            if len(rows):
                y = torch.from_numpy(fitted.y_scaler.transform(y[rows])).to(encoded.device)
                own_weight = torch.from_numpy(weight[rows]).to(encoded.device)
                other = fitted.predict_other(X, matrix, encoded.device)
                other = None if other is None else other[rows]
                encoded = encoded[torch.from_numpy(rows).to(encoded.device)]
                bank = bank.extend(encoded, y, own_weight, other)
                if fitted.matrix is not None:
                    matrix = np.concatenate([fitted.matrix, matrix[rows]])
                    fitted = replace(fitted, matrix=matrix)
            self._fitted = replace(fitted, bank=bank.to(CPU), numbering=numbering)
        return self

    def forget(self, indices=None, *, labels=None):
        """Remove rows from the neighbours, without training.

        Predictions are, up to rounding, those of a bank that never held the rows: the nearest
        of those left take their places. The network's weights, its scaling, its masks and the
        regressor blended with it still are what the rows made of them: nothing but the
        neighbours, and the range of targets that bounds predictions, forgets. To remove all
        traces, fit anew.

        Parameters
        ----------
        indices : int, array-like of int or bool array-like of shape (n_samples,), default=None
            Rows of the X given to :meth:`fit`, counted from 0; rows appended later are numbered
            on from there. Forgetting changes no number. Or a mask with an entry for
            each of all these rows.
        labels : array-like, default=None
            Labels of rows in the index of the DataFrames given to :meth:`fit` and
            :meth:`append`, instead of `indices`. All rows of a label are forgotten.

        Returns
        -------
        self : object
            The estimator.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        ValueError
            If there is no such row, it is forgotten already, none would be
            left, or not just one of `indices` and `labels` is given. Nothing is forgotten then.

        Notes
        -----
        Nothing is embedded anew; the arrays of the bank are copied.

        Examples
        --------
        >>> from sklearn.datasets import make_friedman1
        >>> from skneighbors import NONARegressor
        >>> X, y = make_friedman1(n_samples=120, random_state=0)
        >>> model = NONARegressor(max_iter=5, random_state=0).fit(X[:100], y[:100])
        >>> model.forget([0, 1]).neighbor_weights(X[100:])[:, [0, 1]].sum().item()
        0.0
        """
        check_is_fitted(self)
        with _changing:
            fitted = self._fitted
            if (indices is None) == (labels is None):
                raise ValueError("forget takes either indices or labels.")
            if labels is None:
                indices = fitted.numbering.check_indices(indices)
            else:
                indices = fitted.numbering.find(labels)
            numbering, keep, weight = fitted.numbering.forget(indices, len(fitted.bank))
            if not keep.any():
                raise ValueError("These are all rows that are left; at least one must stay.")
            bank = fitted.bank.select(torch.from_numpy(keep), torch.from_numpy(weight))
            matrix = None if fitted.matrix is None else fitted.matrix[keep]
            self._fitted = replace(fitted, bank=bank, numbering=numbering, matrix=matrix)
        return self

    def _check_queries(self, X):
        """Find what is fitted, its bank on the device to use, and X, encoded, beside it."""
        fitted, matrix = self._read(X)
        return fitted, *self._encode(fitted, matrix)

    def _read(self, X):
        """Find what is fitted, and X as a matrix."""
        check_is_fitted(self)
        fitted = self._fitted
        return fitted, check_features(self, X, fitted.reader, fitted.x_shape)

    def _encode(self, fitted, matrix):
        """Bank on the device to use, and the encoded matrix beside it."""
        bank = self._on_device(fitted)
        X = matrix if fitted.encoder is None else fitted.encoder.transform(matrix)
        return bank, torch.from_numpy(X).to(bank.z_n.device)

    def _on_device(self, fitted):
        """Bank on the device to use."""
        return fitted.bank.to(resolve_device(self.device, missing_ok=True))

    @property
    def _n_features_out(self):
        return self._fitted.bank.z_n[0].numel()

    def __sklearn_is_fitted__(self):
        return hasattr(self, "_fitted")
