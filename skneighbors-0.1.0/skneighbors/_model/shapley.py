"""Shapley values of the columns in which pairs of rows differ."""

from itertools import product
from math import comb

import numpy as np

from .._utils.blocks import cut

# Largest number of columns of which all subsets are evaluated.
_MAX_EXACT = 5
# Number of rows to evaluate at a time.
_N_AT_ONCE = 16_384


def shapley_values(function, queries, rows, n_evaluations=50, seed=0, column_of=None):
    """Split the differences of a function between pairs of rows by columns.

    The value of a set of columns is that of the row with the query's entries in these columns
    (interventional Shapley values with a background of one row). Where a pair differs in more
    than five columns, they are means over random orders of these and the orders reversed,
    as in Castro, Gomez and Tejada, "Polynomial calculation of the Shapley value based on
    sampling" (2009); their sum is exact all the same.

    Parameters
    ----------
    function : callable
        Called with rows (b, q) and the numbers (b,) of the pairs they belong to, returns
        (b, k).
    queries, rows : ndarray of shape (n, q)
        Pairs; NaN equals NaN.
    n_evaluations : int, default=50
        Of the function for each pair, about; at least those of two orders.
    seed : int, default=0
    column_of : int ndarray of shape (q,), default=None
        Which of p columns each of the arrays' belongs to; None: each is one.

    Returns
    -------
    values : ndarray of shape (n, p, k)

    Examples
    --------
    >>> import numpy as np
    >>> from skneighbors._model.shapley import shapley_values
    >>> query, row = np.array([[2.0, 3.0, 5.0]]), np.array([[0.0, 1.0, 5.0]])
    >>> shapley_values(lambda X, pair: X[:, :1] * X[:, 1:2], query, row)[0, :, 0].tolist()
    [4.0, 2.0, 0.0]
    """
    column_of = np.arange(queries.shape[1]) if column_of is None else column_of
    differs = ~((queries == rows) | (np.isnan(queries) & np.isnan(rows)))
    differs = np.stack([differs[:, column_of == j].any(1) for j in range(column_of.max() + 1)], 1)
    # The same for every pair, so that one alone is the same as one among others.
    plans = {
        d: _all_subsets(d) if d <= _MAX_EXACT else _some_orders(d, n_evaluations, seed)
        for d in np.unique(differs.sum(axis=1)).tolist()
    }
    n_sets, out = max(len(members) for members, _ in plans.values()), []
    for batch in cut(len(queries), max(1, _N_AT_ONCE // n_sets)):
        pairs, mixed = np.arange(len(queries))[batch], []
        for pair in pairs:
            members, _ = plans[differs[pair].sum()]
            takes = np.zeros((len(members), differs.shape[1]), dtype=bool)
            takes[:, differs[pair]] = members
            mixed.append(np.where(takes[:, column_of], queries[pair], rows[pair]))
        sizes = list(map(len, mixed))
        found = function(np.concatenate(mixed), np.repeat(pairs, sizes))
        for pair, own in zip(pairs, np.split(found, np.cumsum(sizes)[:-1]), strict=True):
            _, weights = plans[differs[pair].sum()]
            values = np.zeros((differs.shape[1], own.shape[1]))
            values[differs[pair]] = weights @ own
            out.append(values)
    return np.stack(out)


def _all_subsets(d):
    """All sets of d columns (2^d, d), and what each counts for each column (d, 2^d)."""
    members = np.array(list(product([False, True], repeat=d)), dtype=bool).reshape(2**d, d)
    others = members.sum(axis=1, keepdims=True) - members
    # Fraction of all orders in which just these others come before a column.
    fractions = 1 / (d * np.array([comb(d - 1, n) for n in range(d)]))
    return members, np.where(members, 1, -1).T * fractions[others].T


def _some_orders(d, n_evaluations, seed):
    """Draw orders of d columns; the sets that grow along these and along their reverses."""
    n_pairs = max(1, n_evaluations // (2 * (d + 1)))
    rng = np.random.default_rng(seed)
    orders = [rng.permutation(d) for _ in range(n_pairs)]
    orders += [order[::-1] for order in orders]
    members, weights = [], np.zeros((d, len(orders) * (d + 1)))
    for i, order in enumerate(orders):
        place = np.argsort(order)
        members.append(place < np.arange(d + 1)[:, None])
        first = i * (d + 1) + place
        weights[np.arange(d), first + 1] += 1 / len(orders)
        weights[np.arange(d), first] -= 1 / len(orders)
    return np.concatenate(members), weights
