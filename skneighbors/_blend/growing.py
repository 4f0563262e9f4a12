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
_MAX_EDGES = 255
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
        No column is missing throughout.
    y : ndarray of shape (n_samples,)
    weight : ndarray of shape (n_samples,) or None
    n_codes : int
        How many columns, the first, hold codes of categories.
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
    kind = HistGradientBoostingClassifier if is_logistic else HistGradientBoostingRegressor
    boosting = kind(
        categorical_features=np.arange(X.shape[1]) < n_codes,
        early_stopping=False,
        random_state=random_state,
        **_SIZES,
        **settings,
    )
    with one_openmp_thread():
        fit_unlogged(kind, boosting, X, y, weight)
        predict = boosting.decision_function if is_logistic else boosting.predict
        expected = predict(X[:_N_CHECKED])
    try:
        baseline, trees = read_boosting(boosting)
        trees = Trees.of(baseline, [TreeNodes(**nodes) for nodes in trees])
        if np.allclose(trees.predict(X[:_N_CHECKED]), expected):
            return trees
    except (AttributeError, ImportError, IndexError, KeyError, TypeError, ValueError):
        pass
    return _grow_one_by_one(X, y, weight, random_state, is_logistic, **settings)


def _grow_one_by_one(X, y, weight, random_state, is_logistic, max_iter, **settings):
    """Boost scikit-learn's single trees, of ranks (-1 for missing values); see :func:`grow`."""
    edges = [_find_edges(x) for x in X.T]
    ranks = [between.searchsorted(x) for between, x in zip(edges, X.T, strict=True)]
    ranks = np.where(np.isnan(X), -1, np.stack(ranks, axis=1))
    kind = GradientBoostingClassifier if is_logistic else GradientBoostingRegressor
    boosting = kind(
        n_estimators=max_iter, max_depth=None, random_state=random_state, **_SIZES, **settings
    )
    fit_unlogged(kind, boosting, ranks, y, weight)
    rate = boosting.learning_rate
    trees = Trees.of(0.0, [_read_tree(tree.tree_, edges, rate) for (tree,) in boosting.estimators_])
    predict = boosting.decision_function if is_logistic else boosting.predict
    return replace(trees, baseline=float(predict(ranks[:1])[0] - trees.predict(X[:1])[0]))


def _find_edges(x):
    """Find at most 255 thresholds between the values of a column."""
    values = np.unique(x[~np.isnan(x)])
    n_kept = min(len(values), _MAX_EDGES + 1)
    values = values[np.linspace(0, len(values) - 1, n_kept).astype(int)]
    return values[:-1] / 2 + values[1:] / 2


def _read_tree(tree, edges, learning_rate):
    """Read a tree of ranks, which lie beside its thresholds; missing values have the rank -1."""
    bounds = [np.array([-np.inf, *own, np.inf]) for own in edges]
    threshold = [
        bounds[j][int(np.floor(rank)) + 1] if j >= 0 else 0.0
        for j, rank in zip(tree.feature, tree.threshold, strict=True)
    ]
    return TreeNodes(
        left=tree.children_left,
        right=tree.children_right,
        feature=tree.feature,
        threshold=np.array(threshold),
        value=learning_rate * tree.value.ravel(),
        missing_left=np.ones(tree.node_count, dtype=bool),
        is_category=np.zeros(tree.node_count, dtype=bool),
        categories=np.zeros((tree.node_count, 8), dtype=np.uint32),
    )
