"""What a fitted estimator answers: predictions, embeddings, neighbours."""

from numbers import Integral

import numpy as np
import torch
from sklearn.base import TransformerMixin
from sklearn.utils._param_validation import validate_parameter_constraints
from sklearn.utils.validation import check_is_fitted, validate_data

from ._torch_utils import resolve_device_or_cpu


class BankQueryMixin(TransformerMixin):
    """Adds :meth:`predict`, :meth:`transform` and :meth:`top_neighbors` to an estimator."""

    def predict(self, X):
        """Predict the targets of X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features. A row of the training set has itself as a neighbour here.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_targets)
            Predictions, float64, of the shape of the `y` given to :meth:`fit`.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        ValueError
            If X is not usable, or `n_candidates` or `algorithm` has been set to
            what :meth:`fit` would not take.
        ImportError
            If `algorithm` needs FAISS and it is missing.
        """
        names = ("n_candidates", "algorithm")  # they may have changed since fit
        validate_parameter_constraints(
            {name: self._parameter_constraints[name] for name in names},
            {name: getattr(self, name) for name in names},
            caller_name=type(self).__name__,
        )
        bank, X = self._check_queries(X)
        n_candidates = None if self.n_candidates is None else int(self.n_candidates)
        y = bank.predict(X, n_candidates, self.algorithm).cpu().numpy()
        y = self._y_scaler.inverse_transform(y)
        return y.ravel() if self._y_ndim == 1 else y

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
        """
        bank, X = self._check_queries(X)
        return bank.embed(X).transpose(0, 1).flatten(1).cpu().numpy()

    def top_neighbors(self, X, n_neighbors=5):
        """Training rows that weigh most in the predictions of X.

        All rows are compared, whatever `n_candidates` is.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.
        n_neighbors : int, default=5
            Number of training rows to name for each prediction.

        Returns
        -------
        weights : ndarray of shape (n_samples, n_neighbors)
            Weights, the mean over the ensemble's networks, weighted by
            `estimator_weights_`, largest first; all weights of a prediction sum to 1.
            Networks with a trend weight the rows' residuals of their own trend.
        rows : int ndarray of shape (n_samples, n_neighbors)
            Rows of the X given to :meth:`fit`, of which the first that is not forgotten
            stands for all that are equal in X and y; appended rows, each for itself,
            are numbered on from there.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        ValueError
            If `n_neighbors` is not between 1 and the number of neighbours, equal rows
            given to :meth:`fit` counted once.
        """
        bank, X = self._check_queries(X)
        n_rows = len(bank)
        if not isinstance(n_neighbors, Integral) or not 1 <= n_neighbors <= n_rows:
            raise ValueError(
                f"n_neighbors must be an int from 1 to {n_rows}, the number of neighbours "
                f"(equal rows given to fit count once); got {n_neighbors!r}."
            )
        weights, rows = bank.top_weights(X, int(n_neighbors))
        return weights.cpu().numpy(), self._bank_rows[rows.cpu().numpy()]

    def _check_queries(self, X):
        """Bring the bank to its device, and X, scaled, beside it."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, allow_nd=self._x_scaler is None, reset=False)
        if X.shape[1:] != self._x_shape:
            raise ValueError(
                f"Each row of X must have shape {self._x_shape}, as in fit; got {X.shape[1:]}."
            )
        bank = self._bank.to(resolve_device_or_cpu(self.device))
        X = X if self._x_scaler is None else self._x_scaler.transform(X)
        return bank, torch.from_numpy(X).to(bank.z_n.device)
