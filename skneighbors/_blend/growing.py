"""Boosted trees grown: by scikit-learn's histograms, or by its single trees."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.special import logit
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)

from .._utils.process import one_openmp_thread
from .._utils.sklearn_private import fit_unlogged, read_boosting
from .trees import Trees

_SIZES = dict(max_leaf_nodes=31, min_samples_leaf=5)
_MAX_BINS = 255
# Relative error of sums of weights.
_ROUNDING = 1e-12
# Rows by which the trees read are compared with scikit-learn's.
_N_CHECKED = 64


class TreeNodes(NamedTuple):
    """A fitted tree; a node comes before what is below it.

    Attributes
    ----------
    left, right : int ndarray of shape (n_nodes,)
        Nodes below; no positive number for leaves.
    feature : int ndarray of shape (n_nodes,)
    threshold, value : ndarray of shape (n_nodes,)
    missing_left, is_category : bool ndarray of shape (n_nodes,)
    categories : uint32 ndarray of shape (n_nodes, 8)
        Codes that go left, as bits.
    """

    left: np.ndarray
    right: np.ndarray
    feature: np.ndarray
    threshold: np.ndarray
    value: np.ndarray
    missing_left: np.ndarray
    is_category: np.ndarray
    categories: np.ndarray


def grow(X, y, weight, n_codes, random_state, loss="squared_error", **settings):
    """Fit boosted trees: of numbers, or of the log-odds of 1 beside 0.

    Histogram boosting's trees are private in scikit-learn. Where they cannot be read, or what is
    read does not predict as it does, trees are boosted one by one: as accurate, but slower.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Finite or NaN; no column is missing throughout.
    y : ndarray of shape (n_samples,)
    weight : ndarray of shape (n_samples,) or None
        Positive.
    n_codes : int
        How many columns, the first, hold codes of categories, whole numbers below 254.
    random_state : RandomState
    loss : {"squared_error", "log_loss"}, default="squared_error"
    **settings : dict
        `max_iter`, `learning_rate` and `max_features`.

    Returns
    -------
    trees : Trees
    """
    is_logistic = loss == "log_loss"
    if is_logistic and (y == y[0]).all():  # of which boosting forgets the label
        y, is_logistic = np.full(len(y), logit((y.sum() + 0.5) / (len(y) + 1))), False
    ranks, bounds = _rank(X, weight, n_codes)
    kind = HistGradientBoostingClassifier if is_logistic else HistGradientBoostingRegressor
    boosting = kind(
        categorical_features=np.arange(X.shape[1]) < n_codes,
        early_stopping=False,
        max_bins=_MAX_BINS,
        random_state=random_state,
        **_SIZES,
        **settings,
    )
    with one_openmp_thread():
        fit_unlogged(kind, boosting, ranks, y, weight)
        predict = boosting.decision_function if is_logistic else boosting.predict
        expected = predict(ranks[:_N_CHECKED])
    try:
        baseline, trees = read_boosting(boosting)
        trees = Trees.of(baseline, [TreeNodes(**nodes) for nodes in trees])
        trees = _by_values(trees, bounds)
        if np.allclose(trees.predict(X[:_N_CHECKED]), expected):
            return trees
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        pass
    trees = _grow_one_by_one(ranks, y, weight, random_state, is_logistic, **settings)
    return _by_values(trees, bounds)


def _rank(X, weight, n_codes):
    """Rank the values of each column by thresholds between them; codes are their ranks.

    Returns
    -------
    ranks : ndarray of shape (n_samples, n_features)
        NaN for missing values.
    bounds : ndarray of shape (n_features, 256)
        Of each column -inf, its thresholds, and inf from there on: rank r stands for
        values above ``bounds[r]``, up to ``bounds[r + 1]``.
    """
    ranks, bounds = X.copy(order="F"), np.full((X.shape[1], _MAX_BINS + 1), np.inf)
    bounds[:, 0] = -np.inf
    bounds[:n_codes, 1:-1] = np.arange(_MAX_BINS - 1) + 0.5
    for rank, own in zip(ranks.T[n_codes:], bounds[n_codes:], strict=True):
        edges = _find_edges(rank, weight)
        own[1 : 1 + len(edges)] = edges
        present = ~np.isnan(rank)
        rank[present] = edges.searchsorted(rank[present])
    return ranks, bounds


def _find_edges(x, weight):
    """Find at most 254 ascending thresholds between the values of a column.

    All midpoints or, of more than 255 values, weighted quantiles, by the method
    "averaged_inverted_cdf" of :func:`numpy.quantile`. Those of scikit-learn depend on its
    release, and with weights take longer than the trees.
    """
    order = np.argsort(x, kind="stable")[: np.count_nonzero(~np.isnan(x))]
    x = x[order]
    low, high = x[:-1], x[1:]
    if np.count_nonzero(low < high) < _MAX_BINS:
        return (low / 2 + high / 2)[low < high]
    below = np.arange(1.0, len(x) + 1) if weight is None else weight[order].cumsum()
    quantiles = np.arange(1, _MAX_BINS) * below[-1] / _MAX_BINS
    low = x[below.searchsorted((1 - _ROUNDING) * quantiles)]
    high = x[below.searchsorted((1 + _ROUNDING) * quantiles, side="right")]
    return np.unique(low / 2 + high / 2)


def _by_values(trees, bounds):
    """Replace thresholds between ranks by those between values; see :func:`_rank`."""
    rank = np.floor(trees.threshold).clip(-1, _MAX_BINS - 1).astype(int)
    return replace(trees, threshold=bounds[trees.feature, rank + 1])


def _grow_one_by_one(ranks, y, weight, random_state, is_logistic, max_iter, **settings):
    """Boost scikit-learn's single trees, of ranks; see :func:`grow`."""
    kind = GradientBoostingClassifier if is_logistic else GradientBoostingRegressor
    boosting = kind(
        n_estimators=max_iter, max_depth=None, random_state=random_state, **_SIZES, **settings
    )
    ranks = np.nan_to_num(ranks, nan=-1)  # missing values are below all others
    fit_unlogged(kind, boosting, ranks, y, weight)
    trees = [_read_tree(tree.tree_, boosting.learning_rate) for (tree,) in boosting.estimators_]
    trees = Trees.of(0.0, trees)
    predict = boosting.decision_function if is_logistic else boosting.predict
    return replace(trees, baseline=float(predict(ranks[:1])[0] - trees.predict(ranks[:1])[0]))


def _read_tree(tree, learning_rate):
    """Read a tree; missing values have the lowest rank."""
    return TreeNodes(
        left=tree.children_left,
        right=tree.children_right,
        feature=tree.feature,
        threshold=tree.threshold,
        value=learning_rate * tree.value.ravel(),
        missing_left=np.ones(tree.node_count, dtype=bool),
        is_category=np.zeros(tree.node_count, dtype=bool),
        categories=np.zeros((tree.node_count, 8), dtype=np.uint32),
    )
