"""How sure a prediction is, and how far a row is from all that was labelled."""

import warnings

import numpy as np
import torch

from ._bank import novelty
from ._utils.memory import explain_out_of_memory
from ._utils.sklearn_private import reals, validate_parameter_constraints


class UncertaintyMixin:
    """Adds quantiles, intervals and novelty, all from the labelled neighbours."""

    def predict_quantiles(self, X, quantiles=(0.05, 0.5, 0.95)):
        """Predict quantiles of the targets of X.

        A prediction's distribution is that of its neighbours' residuals around it, weighted as
        they are in the prediction: each neighbour is predicted without itself. Where
        :meth:`fit` held no rows out, as by default of fewer than 100 distinct ones, it is much
        too narrow. See :ref:`How sure <how_sure>`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.
        quantiles : float or array-like of float, default=(0.05, 0.5, 0.95)
            Probabilities, from 0 to 1.

        Returns
        -------
        y : ndarray of shape (n_samples, n_quantiles) or (n_samples, n_targets, n_quantiles)
            Quantiles, in the order asked for, which never cross. There is no last axis if
            there is a single one.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        ValueError
            If X or `quantiles` is not usable.

        Notes
        -----
        The first call after :meth:`fit`, :meth:`append` or :meth:`forget` predicts all
        neighbours, or 10,000 drawn at random, each left out itself; what comes of that is kept.

        Examples
        --------
        >>> from sklearn.datasets import make_friedman1
        >>> from skneighbors import NONARegressor
        >>> X, y = make_friedman1(n_samples=120, random_state=0)
        >>> model = NONARegressor(max_iter=5, random_state=0).fit(X[:100], y[:100])
        >>> low, median, high = model.predict_quantiles(X[100:], [0.1, 0.5, 0.9]).T
        >>> bool((low <= median).all() and (median <= high).all())
        True
        """
        levels = _check_quantiles(quantiles)
        y, offsets, fitted = self._predict(X, lambda residuals, z: residuals.quantiles(z, levels))
        y = fitted.shape_like_y(y[:, None] + offsets)
        y = np.moveaxis(y, 1, -1)
        return y[..., 0] if len(levels) == 1 else y

    def predict_interval(self, X, confidence_level=0.9):
        """Predict intervals that hold the targets of X with some confidence.

        Split-conformal: as wide, relative to the spread of the neighbours' residuals, as the
        rows ask for that :meth:`fit` held out. Where it held none out, as by default of fewer
        than 100 distinct rows, they are much too narrow. See :ref:`How sure <how_sure>` for
        when there is a guarantee.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.
        confidence_level : float, default=0.9
            Share of the targets that intervals shall hold, between 0 and 1.

        Returns
        -------
        interval : ndarray of shape (n_samples, 2) or (n_samples, n_targets, 2)
            Lower and upper ends; the prediction is the middle.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        ValueError
            If X is not usable, or rows held out are too few for such a confidence.

        Warns
        -----
        UserWarning
            If no rows were held out.

        Examples
        --------
        >>> from sklearn.datasets import make_friedman1
        >>> from skneighbors import NONARegressor
        >>> X, y = make_friedman1(n_samples=120, random_state=0)
        >>> model = NONARegressor(max_iter=5, random_state=0).fit(X[:100], y[:100])
        >>> low, high = model.predict_interval(X[100:], confidence_level=0.8).T
        >>> bool((low < high).all())
        True
        """
        validate_parameter_constraints(
            {"confidence_level": [reals(0, 1, "neither")]},
            {"confidence_level": confidence_level},
            caller_name=f"{type(self).__name__}.predict_interval",
        )
        y, half_width, fitted = self._predict(
            X, lambda residuals, z: residuals.half_widths(z, confidence_level)
        )
        if not fitted.bank.has_held_out:
            warnings.warn(
                "No rows were held out in fit: intervals are much too narrow. Fit with "
                "early_stopping=True, or give rows as X_val.",
                UserWarning,
                stacklevel=2,
            )
        return np.stack(
            [fitted.shape_like_y(y - half_width), fitted.shape_like_y(y + half_width)], axis=-1
        )

    def novelty(self, X):
        """How unlike anything labelled each row of X is.

        The share of the neighbours that are nearer to their own nearest ones, in the learnt
        space, than the row is to its: about uniform for rows like those of :meth:`fit`,
        near 1 for rows unlike all of them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.

        Returns
        -------
        novelty : ndarray of shape (n_samples,)
            From 0 to 1.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.

        Notes
        -----
        Distances are means over the five nearest. Of more than 10,000 neighbours, as many, drawn
        at random, are compared with. The first call after :meth:`fit`, :meth:`append` or
        :meth:`forget` computes their distances, which are kept.

        Examples
        --------
        >>> from sklearn.datasets import make_friedman1
        >>> from skneighbors import NONARegressor
        >>> X, y = make_friedman1(n_samples=120, random_state=0)
        >>> model = NONARegressor(max_iter=5, random_state=0).fit(X[:100], y[:100])
        >>> float(model.novelty(X[[100]] + 10)[0])
        1.0
        """
        _, bank, X = self._check_queries(X)
        with explain_out_of_memory("the number of rows at once"):
            return novelty(bank, bank.embed(X)).numpy()


def _check_quantiles(quantiles):
    """Quantiles as a tensor (n_quantiles,)."""
    levels = np.atleast_1d(np.asarray(quantiles))
    if levels.ndim != 1 or not levels.size or levels.dtype.kind not in "iuf":
        raise ValueError(f"quantiles must be a number or some numbers; got {quantiles!r}.")
    wrong = levels[~((levels >= 0) & (levels <= 1))]
    if wrong.size:
        raise ValueError(f"quantiles must lie between 0 and 1; got {wrong[0]}.")
    return torch.from_numpy(levels.astype(np.float64))
