"""What a fitted estimator says of its neighbours: comparables, weights, distances."""

import numpy as np
import torch
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from ._bank import effective_number, find_nearest
from ._columns import Table, find_labels
from ._explanations import ColumnAdjustments, Explanation
from ._shapley import shapley_values
from ._utils.blocks import gather_rows
from ._utils.checks import check_int
from ._utils.memory import explain_out_of_memory

# Of standardised targets: no cut is taken to be smaller.
_ROUNDING = 1e-12
# How often the trend of a query and a row is evaluated to take an adjustment apart.
_N_EVALUATIONS = 200


class ComparablesMixin:
    """Adds :meth:`explain` and what it rests on: neighbours, weights and their number."""

    def explain(self, X, by_column=False):
        """Take predictions apart into rows, their weights, and how their targets are adjusted.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.
        by_column : bool, default=False
            Whether to take the adjustments apart by column, too, as Shapley values of the
            trend with the row as the background: exact where a query differs from a row in at
            most seven columns, else from some 200 evaluations of the trend, in random orders
            of the columns that are always the same.

        Returns
        -------
        explanation : Explanation
            The `n_neighbors` rows of each prediction; the weighted mean of their adjusted
            targets is the prediction. Print it, or see its
            :meth:`~skneighbors.inspection.Explanation.to_frame`.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        ValueError
            If X is not usable, or adjustments are asked for by column although a
            `feature_extractor` knows no columns, or `trend` is a regressor of the user's,
            which takes what only the user knows to take apart.
        MemoryError
            If memory runs out; the message says what to lower.

        Examples
        --------
        >>> from sklearn.datasets import make_friedman1
        >>> from skneighbors import NONARegressor
        >>> X, y = make_friedman1(n_samples=120, random_state=0)
        >>> model = NONARegressor(n_neighbors=10, max_iter=5, random_state=0)
        >>> explanation = model.fit(X[:100], y[:100]).explain(X[100:])
        >>> explanation.samples.shape
        (20, 10)
        """
        n_neighbors = self._check_search()
        fitted, bank, z, other = self._embed(X)
        if by_column:
            self._check_has_columns(fitted)
        with explain_out_of_memory("the number of rows explained at once, or n_neighbors"):
            trends = bank.trends(z, other)
            parts = bank.attend(
                z, lambda near: _compare(bank, near, trends), n_neighbors, self.algorithm
            )
            rows, weights, shares, adjustments, y, cut = (
                torch.cat(part).cpu().numpy() for part in zip(*parts, strict=True)
            )
        scaler, shaped, samples = fitted.y_scaler, fitted.shape_like_y, fitted.samples[rows]
        query_labels, columns = find_labels(X), None
        if by_column:
            columns = _take_apart(fitted, bank, X, rows, shares)
        return Explanation(
            prediction=shaped(scaler.inverse_transform(y)),
            samples=samples,
            labels=fitted.numbering.name(samples),
            weights=weights,
            targets=shaped(scaler.inverse_transform(bank.targets.cpu().numpy()[rows])),
            adjustments=shaped(adjustments * scaler.scale),
            cut=shaped(cut * scaler.scale),
            has_trend=bank.has_trend,
            query_labels=np.arange(len(y)) if query_labels is None else query_labels,
            by_column=columns,
        )

    def _check_has_columns(self, fitted):
        if fitted.matrix is None:
            raise ValueError("by_column=True needs columns, which a feature_extractor has none of.")
        if fitted.trend is not None and not fitted.trend.encoded:
            raise ValueError(
                f"by_column=True needs trend='auto', 'linear', 'boosting' or None; with "
                f"trend={self.trend!r}, which takes X as given, adjustments are known in all alone."
            )

    def kneighbors(self, X=None, n_neighbors=None, return_distance=True):
        """Find the nearest neighbours in the learnt space.

        That is the space of :meth:`transform`, where those of all networks stand side by side.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features), default=None
            Features. None: the neighbours themselves, in the order of their numbers, none
            of which is its own neighbour.
        n_neighbors : int, default=None
            Number of neighbours of each. None: those that predict, the parameter `n_neighbors`,
            or all if there are fewer, or that is None.
        return_distance : bool, default=True
            Whether to return the distances.

        Returns
        -------
        neigh_dist : ndarray of shape (n_queries, n_neighbors)
            Distances by `similarity`, ascending up to rounding: Euclidean for ``"l2"``, Manhattan
            for ``"l1"``, 1 minus the cosine for ``"cosine"``, minus the product divided by the
            number of dimensions for ``"dot"``. Only present if `return_distance` is True.
        neigh_ind : int ndarray of shape (n_queries, n_neighbors)
            Rows of the X given to :meth:`fit`, rows appended later numbered on from there. Rows
            that are equal, which predict as one, are named one by one.

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
        default = self._check_search()
        if X is None:
            fitted = self._fitted
            bank, own = self._on_device(fitted), np.flatnonzero(fitted.numbering.row_of >= 0)
            z = bank.z_n
        else:
            fitted, bank, X = self._check_queries(X)
            z, own = bank.embed(X), None
        numbering = fitted.numbering
        n_samples = np.count_nonzero(numbering.row_of >= 0)
        largest = n_samples if own is None else n_samples - 1
        if n_neighbors is None:
            n_neighbors = largest if default is None else min(default, largest)
        check_int("n_neighbors", n_neighbors, 1, largest, ", the number of neighbours")
        n_found = int(n_neighbors) + (own is not None)
        with explain_out_of_memory("the number of rows at once"):
            found = find_nearest(bank, z, min(n_found, len(bank)), self.algorithm)
        distances, rows = found.distances.cpu().numpy(), found.rows.cpu().numpy()
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
        """Weights of the training rows in the predictions of X.

        Without a trend, predictions are ``neighbor_weights(X) @ y``; with one, targets are
        adjusted by it first; see :meth:`explain`.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)
            Features.

        Returns
        -------
        weights : scipy.sparse.csr_array of shape (n_queries, n_samples)
            A column for each row given to :meth:`fit` or appended, those forgotten
            included. Rows sum to 1; the weight of the `n_neighbors` nearest, and of what equals
            them, is stored if it is not 0.

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
        >>> model = NONARegressor(n_neighbors=10, max_iter=5, random_state=0)
        >>> weights = model.fit(X[:100], y[:100]).neighbor_weights(X[100:])
        >>> weights.shape, int(weights.count_nonzero(axis=1).max())
        ((20, 100), 10)
        """
        n_neighbors = self._check_search()
        fitted, bank, X = self._check_queries(X)
        with explain_out_of_memory("the number of rows at once"):
            parts = bank.attend(
                bank.embed(X), lambda near: _to_csr(near, len(bank)), n_neighbors, self.algorithm
            )
            weights = sparse.vstack(parts, format="csr") @ fitted.numbering.shares()
        weights.sort_indices()
        return weights

    def effective_n_neighbors(self, X):
        """How many neighbours make each prediction.

        The inverse of the sum of the squared weights: k, if k neighbours have the same
        weight and all others none. At most `n_neighbors`, if no row weighs more than 1.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.

        Returns
        -------
        n : ndarray of shape (n_samples,)
            At least 1.

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
        >>> n = model.effective_n_neighbors(X[100:])
        >>> bool((n >= 1).all() and (n <= model.n_neighbors).all())
        True
        """
        n_neighbors = self._check_search()
        _, bank, X = self._check_queries(X)
        with explain_out_of_memory("the number of rows at once"):
            parts = bank.attend(
                bank.embed(X),
                lambda near: effective_number(near, bank),
                n_neighbors,
                self.algorithm,
            )
            return torch.cat(parts).squeeze(1).cpu().numpy()


def _compare(bank, near, trends):
    """Compare b queries with their rows, the heaviest first.

    Returns
    -------
    rows : int Tensor of shape (b, K)
    weights : Tensor of shape (b, K)
    shares : Tensor of shape (b, K, m)
        In which the members weigh each row.
    adjustments : Tensor of shape (b, K, t)
    y, cut : Tensor of shape (b, t)
        Predictions, and what they are more than the mean of the adjusted targets.
    """
    weights, order = near.total_weights.sort(dim=1, descending=True, stable=True)
    rows = order if near.rows is None else near.rows.gather(1, order)
    by_member = near.weights.gather(2, order.expand(len(near.weights), -1, -1)).permute(1, 2, 0)
    total = weights.unsqueeze(2)
    even = bank.member_weight.expand_as(by_member)  # of rows without any weight
    shares = torch.where(total > 0, by_member / total, even)
    targets = gather_rows(bank.targets, rows)
    own = targets.unsqueeze(2) - gather_rows(bank.values, rows)  # the trends of the rows
    differences = trends[near.queries].unsqueeze(1) - own
    adjustments = torch.einsum("bkm,bkmt->bkt", shares, differences)
    means = (total * (targets + adjustments)).sum(1)
    y = means.clamp(*bank.limits)
    cut = y - means
    cut.masked_fill_(cut.abs() <= _ROUNDING, 0)
    return rows, weights, shares, adjustments, y, cut


def _take_apart(fitted, bank, X, rows, shares):
    """Take adjustments of rows (n, K) to X apart; `shares` (n, K, m) are the members' in each."""
    reader, table = fitted.reader, Table.of(X)
    matrix = reader.read(table)
    n, k = rows.shape
    device = bank.z_n.device
    shares = torch.from_numpy(shares.reshape(n * k, -1)).to(device)

    def trend(mixed, pair):
        encoded = torch.from_numpy(fitted.encoder.transform(mixed)).to(device)
        other = fitted.predict_other(None, mixed, device)
        trends = bank.trends(bank.embed(encoded), other)
        return torch.einsum("bm,bmt->bt", shares[pair], trends).cpu().numpy()

    values = shapley_values(
        trend, np.repeat(matrix, k, axis=0), fitted.matrix[rows.ravel()], _N_EVALUATIONS
    )
    values = values.reshape(n, k, matrix.shape[1], -1) * fitted.y_scaler.scale
    row_values = reader.decode(fitted.matrix[rows.ravel()]).reshape(n, k, -1)
    return ColumnAdjustments(
        reader.columns, reader.decode(matrix, table), row_values, fitted.shape_like_y(values)
    )


def _to_csr(near, n_rows):
    """Weights of queries as a CSR array (b, N)."""
    weights = near.total_weights.cpu().numpy()
    if near.rows is None:
        return sparse.csr_array(weights)
    n, k = weights.shape
    own = weights.ravel(), near.rows.cpu().numpy().ravel(), np.arange(0, n * k + 1, k)
    found = sparse.csr_array(own, shape=(n, n_rows))
    found.eliminate_zeros()
    return found
