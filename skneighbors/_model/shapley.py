"""Shapley values of the columns in which pairs of rows differ."""

from itertools import combinations
from math import comb

import numpy as np

# Largest number of columns of which all subsets are evaluated.
_MAX_EXACT = 7
# Number of rows to evaluate at a time.
_N_AT_ONCE = 16_384


def shapley_values(function, queries, rows, n_evaluations=200, seed=0, column_of=None):
    """Split the differences of a function between pairs of rows by columns.

    The value of a set of columns is that of the row with the query's entries in these columns
    (interventional Shapley values with a background of one row). Where a pair differs in more
    than seven columns, they are means over random orders of these and the orders reversed,
    as in Castro, Gomez and Tejada, "Polynomial calculation of the Shapley value based on
    sampling" (2009); their sum is exact all the same.

    Parameters
    ----------
    function : callable
        Called with rows (b, q) and the numbers (b,) of the pairs they belong to, returns
        (b, k).
    queries, rows : ndarray of shape (n, q)
        Pairs; NaN equals NaN.
    n_evaluations : int, default=200
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
    values = None
    pending, n_pending = [], 0
    for pair in range(len(queries)):
        columns = np.flatnonzero(differs[pair])
        members, weights = plans[len(columns)]
        pending.append((pair, columns, members, weights))
        n_pending += len(members)
        if n_pending >= _N_AT_ONCE or pair == len(queries) - 1:
            evaluated = _evaluate(function, queries, rows, column_of, pending)
            if values is None:
                values = np.zeros((*differs.shape, evaluated[0].shape[1]))
            for (done, changed, _, by_set), found in zip(pending, evaluated, strict=True):
                values[done, changed] = by_set @ found
            pending, n_pending = [], 0
    return values


def _evaluate(function, queries, rows, column_of, pending):
    """Values of the function for all sets of columns of some pairs, a list of (n_sets, k)."""
    mixed = []
    for pair, columns, members, _ in pending:
        points = np.repeat(rows[[pair]], len(members), axis=0)
        for column, is_member in zip(columns, members.T, strict=True):
            points[np.ix_(is_member, column_of == column)] = queries[pair, column_of == column]
        mixed.append(points)
    sizes = [len(points) for points in mixed]
    pairs = np.repeat([pair for pair, *_ in pending], sizes)
    found = function(np.concatenate(mixed), pairs)
    return np.split(found, np.cumsum(sizes)[:-1])


def _all_subsets(d):
    """All sets of d columns (2^d, d), and what each counts for each column (d, 2^d)."""
    subsets = [subset for size in range(d + 1) for subset in combinations(range(d), size)]
    members = np.zeros((len(subsets), d), dtype=bool)
    weights = np.zeros((d, len(subsets)))
    for i, subset in enumerate(subsets):
        members[i, list(subset)] = True
        for column in range(d):
            if column in subset:
                weights[column, i] = 1 / (d * comb(d - 1, len(subset) - 1))
            else:
                weights[column, i] = -1 / (d * comb(d - 1, len(subset)))
    return members, weights


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
