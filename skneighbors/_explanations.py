"""Why a prediction is what it is: the labelled rows that make it."""

import math
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from ._bank import find_nearest
from ._utils.checks import check_int
from ._utils.memory import explain_out_of_memory

# Of so many queries tables are printed.
_N_PRINTED = 10
_NOTE = (
    "Rows are those of the\ntraining data, counted from 0; rows that are equal in all columns and "
    "the target count as one."
)


@dataclass(frozen=True, eq=False)
class Explanation:
    """Predictions taken apart; made by ``explain``.

    For every query ``trend + contributions.sum(axis=1) + others`` is `prediction`. Printed, it
    is a table for each query; :meth:`to_frame` makes a DataFrame of it.

    Attributes
    ----------
    prediction : ndarray of shape (n_queries,) or (n_queries, n_targets)
        What the estimator predicts, looking at all rows.
    trend : ndarray of shape (n_queries,) or (n_queries, n_targets)
        The part that no neighbour contributes: what the trends of the networks, or the mean
        target, and the regressor blended with them, say of the query.
    samples : int ndarray of shape (n_queries, n_neighbors)
        Rows of the X given to ``fit`` that weigh most, the first of those that are equal
        in X and y; rows appended later are numbered on from there.
    weights : ndarray of shape (n_queries, n_neighbors)
        Their weights, largest first: the mean over the networks, by `estimator_weights_`. All
        weights of a query sum to 1.
    targets : ndarray of shape (n_queries, n_neighbors) or (n_queries, n_neighbors, n_targets)
        Their targets.
    contributions : ndarray of the shape of `targets`
        What each adds to the prediction: its weight in each network times how far its
        target is from that network's trend, which is the mean target if it has none.
        Trends are shifted to be right on average over the neighbours.
    others : ndarray of the shape of `prediction`
        What all other neighbours add.
    others_weight : ndarray of shape (n_queries,)
        Their weight.
    trend_share : float
        Share of the regressor that is blended with the networks, `trend_share_`; the
        contributions of all neighbours are scaled by what is left of 1.
    n_others : int
        Number of these other neighbours, equal rows counted once.

    See Also
    --------
    skneighbors.NONARegressor.explain : Explains predictions.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from skneighbors import NONARegressor
    >>> X, y = make_friedman1(n_samples=300, random_state=0)
    >>> model = NONARegressor(max_iter=30, random_state=0).fit(X[:250], y[:250])
    >>> explanation = model.explain(X[250:252], n_neighbors=3)
    >>> explanation.samples.shape
    (2, 3)
    >>> parts = explanation.trend + explanation.contributions.sum(axis=1) + explanation.others
    >>> bool(abs(parts - model.predict(X[250:252])).max() < 1e-9)
    True
    """

    prediction: np.ndarray
    trend: np.ndarray
    samples: np.ndarray
    weights: np.ndarray
    targets: np.ndarray
    contributions: np.ndarray
    others: np.ndarray
    others_weight: np.ndarray
    trend_share: float
    n_others: int

    @property
    def over_trend(self):
        """How far each target lies over the trend at its row.

        Returns
        -------
        over_trend : ndarray of the shape of `targets`
            Times the weight, and what `trend_share` leaves of 1, it is the contribution.

        Examples
        --------
        >>> from sklearn.datasets import make_friedman1
        >>> from skneighbors import NONARegressor
        >>> X, y = make_friedman1(n_samples=120, random_state=0)
        >>> model = NONARegressor(max_iter=5, random_state=0).fit(X[:100], y[:100])
        >>> model.explain(X[100:], n_neighbors=3).over_trend.shape
        (20, 3)
        """
        scale = (1 - self.trend_share) * self.weights
        scale = scale.reshape(*scale.shape, *[1] * (self.contributions.ndim - scale.ndim))
        scaled = np.zeros_like(self.contributions)
        return np.divide(self.contributions, scale, out=scaled, where=scale > 0)

    def __len__(self):
        return len(self.prediction)

    def to_frame(self):
        """Arrange the parts as a DataFrame, one row for each.

        Returns
        -------
        frame : pandas.DataFrame
            Of columns query, part ("trend", "neighbor" or "others"), sample, weight, target,
            over_trend and contribution, the last three with the number of the target
            behind their name if there are several. The contributions of a query sum to its
            prediction.

        Raises
        ------
        ImportError
            If pandas is missing.

        Examples
        --------
        >>> from sklearn.datasets import make_friedman1
        >>> from skneighbors import NONARegressor
        >>> X, y = make_friedman1(n_samples=120, random_state=0)
        >>> model = NONARegressor(max_iter=5, random_state=0).fit(X[:100], y[:100])
        >>> frame = model.explain(X[100:], n_neighbors=3).to_frame()
        >>> list(frame["part"][:5])
        ['trend', 'neighbor', 'neighbor', 'neighbor', 'others']
        """
        import pandas as pd

        n_queries, n_neighbors = self.weights.shape
        columns = {
            "query": np.repeat(np.arange(n_queries), n_neighbors + 2),
            "part": ["trend", *["neighbor"] * n_neighbors, "others"] * n_queries,
            "sample": pd.array(self._rows(np.nan, self.samples, np.nan), dtype="Int64"),
            "weight": self._rows(np.nan, self.weights, self.others_weight),
        }
        for k, suffix in self._targets():
            columns[f"target{suffix}"] = self._rows(np.nan, self.targets[k], np.nan)
            columns[f"over_trend{suffix}"] = self._rows(np.nan, self.over_trend[k], np.nan)
        for k, suffix in self._targets():
            columns[f"contribution{suffix}"] = self._rows(
                self.trend[k], self.contributions[k], self.others[k]
            )
        return pd.DataFrame(columns)

    def _targets(self):
        """Index of each target, and what to put behind the names of its columns."""
        if self.prediction.ndim == 1:
            return [(..., "")]
        return [((..., k), f"_{k}") for k in range(self.prediction.shape[1])]

    @staticmethod
    def _rows(trend, own, others):
        """Put neighbours' values (n, c) between those of trend and others, flat."""
        first, last = (np.broadcast_to(end, len(own))[:, None] for end in (trend, others))
        return np.concatenate([first, own, last], axis=1).ravel()

    def __str__(self):
        scaled = f" x {1 - self.trend_share:.3g}" if self.trend_share else ""
        note = f"contribution = weight x (target over the trend at that row){scaled}. {_NOTE}"
        shown = min(len(self), _N_PRINTED)
        rest = [f"... and {len(self) - shown} more queries"] if shown < len(self) else []
        return "\n\n".join([*map(self._describe, range(shown)), *rest, note])

    __repr__ = __str__

    def _describe(self, i):
        """Write one query's parts as text."""
        write = _same_decimals(self.prediction[i], self.targets[i])
        cells = [["part", "weight", "target", "over trend", "contribution"]]
        cells += [["trend", "", "", "", write(self.trend[i])]]
        parts = self.samples, self.weights, self.targets, self.over_trend, self.contributions
        for sample, weight, target, over, own in zip(*(part[i] for part in parts), strict=True):
            numbers = write(target), write(over, "+"), write(own, "+")
            cells += [[f"row {sample}", f"{weight:.3f}", *numbers]]
        if self.n_others:
            weight, own = f"{self.others_weight[i]:.3f}", write(self.others[i], "+")
            cells += [[f"{self.n_others} others", weight, "", "", own]]
        cells += [["sum", "", "", "", write(self.prediction[i])]]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = [
            "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])])
            for row in cells
        ]
        return "\n".join([f"Query {i}: prediction {write(self.prediction[i])}", *lines])


class ExplanationMixin:
    """Adds :meth:`explain` and what it rests on: neighbours, weights and their number."""

    def explain(self, X, n_neighbors=5):
        """Take predictions apart into what neighbours contribute.

        All rows are compared, whatever `n_candidates` is.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.
        n_neighbors : int, default=5
            Number of neighbours to name for each prediction, those of largest weight.

        Returns
        -------
        explanation : Explanation
            Trend, contributions of the neighbours named, and of all others; their sum is the
            prediction. Print it, or see its :meth:`~skneighbors.inspection.Explanation.to_frame`.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        ValueError
            If X is not usable, or `n_neighbors` is not between 1 and the number of
            neighbours, equal rows given to :meth:`fit` counted once.
        MemoryError
            If memory runs out; the message says what to lower.

        Examples
        --------
        >>> from sklearn.datasets import make_friedman1
        >>> from skneighbors import NONARegressor
        >>> X, y = make_friedman1(n_samples=120, random_state=0)
        >>> model = NONARegressor(max_iter=5, random_state=0).fit(X[:100], y[:100])
        >>> explanation = model.explain(X[100:], n_neighbors=3)
        >>> explanation.samples.shape
        (20, 3)
        """
        fitted, matrix = self._read(X)
        bank, encoded = self._encode(fitted, matrix)
        remark = ", the number of neighbours (equal rows count once)"
        check_int("n_neighbors", n_neighbors, 1, len(bank), remark)
        with explain_out_of_memory("the number of rows explained at once"):
            parts = bank.explain(encoded, int(n_neighbors))
        y_hat, averages, weights, rows, largest = (part.cpu().numpy() for part in parts)
        share, trend = 1.0, y_hat - averages
        if fitted.trend is not None:
            share = 1 - fitted.trend.share
            trend = fitted.trend.blend_with(trend, X, matrix, fitted.y_scaler)
        unit, shaped = share * fitted.y_scaler.scale, fitted.shape_like_y
        trend, contributions = fitted.y_scaler.inverse_transform(trend), largest * unit
        others = averages * unit - contributions.sum(1)
        targets = fitted.y_scaler.inverse_transform(bank.targets().cpu().numpy())
        return Explanation(
            prediction=shaped(trend + averages * unit),
            trend=shaped(trend),
            samples=fitted.samples[rows],
            weights=weights,
            targets=shaped(targets[rows]),
            contributions=shaped(contributions),
            others=shaped(others),
            others_weight=np.maximum(1 - weights.sum(1), 0),
            trend_share=1 - share,
            n_others=len(bank) - n_neighbors,
        )

    def kneighbors(self, X=None, n_neighbors=5, return_distance=True):
        """Find the nearest neighbours in the learnt space.

        That is the space of :meth:`transform`, where those of all networks stand side by side.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features), default=None
            Features. None: the neighbours themselves, in the order of their numbers, none
            of which is its own neighbour.
        n_neighbors : int, default=5
            Number of neighbours of each.
        return_distance : bool, default=True
            Whether to return the distances.

        Returns
        -------
        neigh_dist : ndarray of shape (n_queries, n_neighbors)
            Distances by `similarity`, ascending: Euclidean for ``"l2"``, Manhattan for
            ``"l1"``, 1 minus the cosine for ``"cosine"``, minus the product divided by the
            number of dimensions for ``"dot"``. Only present if `return_distance` is True.
        neigh_ind : int ndarray of shape (n_queries, n_neighbors)
            Rows of the X given to :meth:`fit`, rows appended later numbered on from there.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        ValueError
            If X is not usable, or `n_neighbors` is not between 1 and the number of
            neighbours (one less without X).

        Examples
        --------
        >>> from sklearn.datasets import make_friedman1
        >>> from skneighbors import NONARegressor
        >>> X, y = make_friedman1(n_samples=120, random_state=0)
        >>> model = NONARegressor(max_iter=5, random_state=0).fit(X[:100], y[:100])
        >>> distances, rows = model.kneighbors(X[100:], n_neighbors=3)
        >>> rows.shape
        (20, 3)
        """
        check_is_fitted(self)
        if X is None:
            fitted = self._fitted
            bank, samples = self._on_device(fitted), np.flatnonzero(fitted.numbering.row_of >= 0)
            z, own = bank.z_n, samples
        else:
            fitted, bank, X = self._check_queries(X)
            z, own = bank.embed(X), None
        numbering = fitted.numbering
        n_samples = np.count_nonzero(numbering.row_of >= 0)
        largest = n_samples if own is None else n_samples - 1
        check_int("n_neighbors", n_neighbors, 1, largest, ", the number of neighbours")
        n_found = int(n_neighbors) + (own is not None)
        with explain_out_of_memory("the number of rows at once"):
            distances, rows = find_nearest(bank, z, min(n_found, len(bank)))
        distances, rows = distances.cpu().numpy(), rows.cpu().numpy()
        if own is not None:
            distances, rows = distances[numbering.row_of[own]], rows[numbering.row_of[own]]
        found, column = numbering.expand_rows(rows, n_found)
        distances = np.take_along_axis(distances, column, axis=1)
        if own is not None:
            # Of more rows that coincide than are asked for it may be missing; then the last goes.
            is_other = found != own[:, None]
            is_other[is_other.all(axis=1), -1] = False
            found, distances = (part[is_other].reshape(len(own), -1) for part in (found, distances))
        return (distances, found) if return_distance else found

    def neighbor_weights(self, X):
        """Weights of all training rows in the predictions of X.

        Without a trend, predictions are ``neighbor_weights(X) @ y``. With one, neighbours
        contribute how far their targets are from it; see :meth:`explain`.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)
            Features.

        Returns
        -------
        weights : scipy.sparse.csr_array of shape (n_queries, n_samples)
            A column for each row given to :meth:`fit` or appended, those forgotten
            included. Rows sum to 1; zeros, as of neighbours that the mask rejects, are not
            stored. Of large banks, smallest weights of less than 1e-10 in total may be left out.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        MemoryError
            If memory runs out; the message says what to lower.

        Examples
        --------
        >>> from sklearn.datasets import make_friedman1
        >>> from skneighbors import NONARegressor
        >>> X, y = make_friedman1(n_samples=120, random_state=0)
        >>> model = NONARegressor(max_iter=5, random_state=0).fit(X[:100], y[:100])
        >>> weights = model.neighbor_weights(X[100:])
        >>> weights.shape
        (20, 100)
        >>> bool(abs(weights.sum(axis=1) - 1).max() < 1e-9)
        True
        """
        fitted, bank, X = self._check_queries(X)
        with explain_out_of_memory("the number of rows at once"):
            parts = bank.attend(
                X, lambda weights: sparse.csr_array(bank.mean_weights(weights).cpu().numpy())
            )
            weights = sparse.vstack(parts, format="csr") @ fitted.numbering.shares()
        weights.sort_indices()
        return weights

    def effective_n_neighbors(self, X):
        """How many neighbours make each prediction.

        The inverse of the sum of the squared weights: k, if k neighbours have the same
        weight and all others none.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.

        Returns
        -------
        n : ndarray of shape (n_samples,)
            Float64. A row of weight 2 counts as two.

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
        >>> n = model.effective_n_neighbors(X[100:])
        >>> bool((n >= 1).all() and (n <= 100).all())
        True
        """
        _, bank, X = self._check_queries(X)
        with explain_out_of_memory("the number of rows at once"):
            return bank.effective_n_neighbors(X).cpu().numpy()


def _same_decimals(*values):
    """Make a function that writes numbers so that the largest of the values has five digits."""
    largest = max(np.abs(value).max() for value in values)
    digits = 4 - math.floor(math.log10(largest)) if largest > 0 else 0
    style = f",.{max(0, digits)}f" if -11 < digits < 11 else ".4e"

    def write(value, sign=""):
        return ", ".join(f"{number:{sign}{style}}" for number in np.atleast_1d(value))

    return write
