"""Boosted trees: grown by scikit-learn, kept as arrays that a file can hold, and predicting."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.special import logit
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)

from .._utils.arrays import Stored, array_field
from .._utils.process import one_openmp_thread
from .._utils.sklearn_private import fit_unlogged, read_boosting

_SIZES = dict(max_leaf_nodes=31, min_samples_leaf=5)
# Bins of a column, and of all columns, unless some have codes: histograms take the time.
_MAX_BINS, _MAX_ALL = 255, 2**15
# Relative error of sums of weights.
_ROUNDING = 1e-12
# Rows by which the trees read are compared with scikit-learn's.
_N_CHECKED = 64
# Rows of a block, which a cache holds; and from how many on values are ranked first.
_BLOCK = 128
_MAX_LEAVES = 32  # as many as a mask has bits
_MISSING = 255  # stands for a missing category; codes of others are below 254


@dataclass(frozen=True, eq=False)
class Trees(Stored):
    """Boosted trees for one target; category codes are the first columns.

    All splits of all trees are evaluated at once. A row that goes left cannot reach the leaves
    on the right: each split has a mask of these, and the first leaf in no mask is the row's.
    (QuickScorer, Lucchese et al., SIGIR 2015, block by block.)

    Attributes
    ----------
    baseline : float
        What the trees' values are added to.
    value : ndarray of shape (n_trees, n_leaves)
        Of the leaves, at most 32, from right to left.
    feature : int32 ndarray of shape (n_splits, n_trees)
    threshold : ndarray of shape (n_splits, n_trees)
        Values up to it go left.
    missing_left : bool ndarray of shape (n_splits, n_trees)
        Whether missing values go left.
    right_leaves : uint32 ndarray of shape (n_splits, n_trees)
        Leaves to the right, as bits; none where a tree has fewer splits.
    category_split : int64 ndarray of shape (n_sets,)
        Places among all splits of those by category.
    categories : uint32 ndarray of shape (n_sets, 8)
        Codes that go left, as bits.
    """

    baseline: float
    value: np.ndarray = array_field("float64", "t l")
    feature: np.ndarray = array_field("int32", "n t", low=0, below="encoded")
    threshold: np.ndarray = array_field("float64", "n t", allows="inf")
    missing_left: np.ndarray = array_field("bool", "n t")
    right_leaves: np.ndarray = array_field("uint32", "n t")
    category_split: np.ndarray = array_field("int64", "s", low=0, below="splits")
    categories: np.ndarray = array_field("uint32", "s words")

    def _field_sizes(self):
        """Count the splits, and the words that hold a set of categories."""
        return {"splits": self.feature.size, "words": 8}

    def _check_fields(self, sizes):
        """Check that all splits lead to leaves, and those by category compare categories."""
        n_leaves = self.value.shape[1]
        fits = 0 < n_leaves <= _MAX_LEAVES and self.feature.size and np.isfinite(self.baseline)
        # Each split hides leaves of its tree, but the last of them.
        fits = fits and not (self.right_leaves >> np.uint32(n_leaves - 1)).any()
        by_category = self.feature.ravel()[self.category_split]
        if not fits or (by_category >= sizes["categorical"]).any():
            raise ValueError("trees lead nowhere")

    @classmethod
    def of(cls, baseline, trees):
        """Arrange fitted trees.

        Parameters
        ----------
        baseline : float
        trees : list of TreeNodes

        Returns
        -------
        trees : Trees

        Raises
        ------
        ValueError
            If a tree has more than 32 leaves.
        """
        n_leaves = max((len(tree.value) + 1) // 2 for tree in trees)
        if n_leaves > _MAX_LEAVES:
            raise ValueError(f"a tree has {n_leaves} leaves, more than {_MAX_LEAVES}")
        shape = max(1, n_leaves - 1), len(trees)
        value, feature = np.zeros((len(trees), n_leaves)), np.zeros(shape, dtype=np.int32)
        threshold, missing_left = np.zeros(shape), np.zeros(shape, dtype=bool)
        right_leaves = np.zeros(shape, dtype=np.uint32)
        category_split, categories = [], []
        for i, tree in enumerate(trees):
            is_split = tree.left > 0
            splits = slice(np.count_nonzero(is_split)), i
            order, right_leaves[splits] = _number_leaves(tree, is_split)
            value[i, order] = tree.value[~is_split]
            feature[splits] = tree.feature[is_split]
            threshold[splits] = tree.threshold[is_split]
            missing_left[splits] = tree.missing_left[is_split]
            category_split.append(np.flatnonzero(tree.is_category[is_split]) * len(trees) + i)
            categories.append(tree.categories[tree.is_category & is_split])
        return cls(
            baseline=baseline,
            value=value,
            feature=feature,
            threshold=threshold,
            missing_left=missing_left,
            right_leaves=right_leaves,
            category_split=np.concatenate(category_split).astype(np.int64),
            categories=np.concatenate(categories),
        )

    def predict(self, X):
        """Predict, to (n_samples,), in the calling thread alone.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        columns, missing_left, column_of = self._columns
        x, threshold = X.T[columns], self.threshold.ravel()
        np.copyto(x, -np.inf, where=missing_left[:, None] & np.isnan(x))
        if len(X) >= _BLOCK:  # bytes are compared faster, with the same results
            edges, threshold = self._ranks
            x = np.stack([part.searchsorted(v) for part, v in zip(edges, x, strict=True)])
            x = x.astype(threshold.dtype)
        codes = [
            (splits, goes_left, np.where(np.isnan(X[:, j]), _MISSING, X[:, j]).astype(np.intp))
            for j, splits, goes_left in self._category_tables
        ]
        y = np.empty(len(X))
        for start in range(0, len(X), _BLOCK):
            rows = slice(start, start + _BLOCK)
            left = x[:, rows].take(column_of, axis=0) <= threshold[:, None]  # False for NaN
            for splits, goes_left, code in codes:
                left[splits] = goes_left.take(code[rows], axis=1)
            y[rows] = self._add_up(left)
        return y

    def _add_up(self, left):
        """Add values of the leaves that rows reach if they go `left` (all splits, n)."""
        masks = np.multiply(left.view(np.uint8), self.right_leaves.reshape(-1, 1), dtype=np.uint32)
        out = np.bitwise_or.reduce(masks.reshape(*self.feature.shape, -1), axis=0)
        # The lowest bit that is not set; its exponent in floating point is its place.
        leaf = (~out & (out + np.uint32(1))).astype(np.float32).view(np.int32) >> 23
        n_trees, n_leaves = self.value.shape
        leaf += np.arange(n_trees, dtype=np.int32)[:, None] * n_leaves - 127
        value = self.value.ravel().take(leaf)
        value[0] += self.baseline
        return value.cumsum(axis=0)[-1]  # in the order of the trees for any number of rows

    @cached_property
    def _columns(self):
        """Columns that are compared, and where their missing values go; which a split compares."""
        both = np.stack([self.feature.ravel(), self.missing_left.ravel()])
        (columns, missing_left), column_of = np.unique(both, axis=1, return_inverse=True)
        return columns, missing_left.astype(bool), column_of.ravel()

    @cached_property
    def _ranks(self):
        """Thresholds of each column in order, and each split's rank among them."""
        columns, _, column_of = self._columns
        threshold = self.threshold.ravel()
        edges = [np.unique(threshold[column_of == i]) for i in range(len(columns))]
        ranks = np.empty(len(threshold), dtype=np.min_scalar_type(max(map(len, edges))))
        for i, part in enumerate(edges):
            ranks[column_of == i] = part.searchsorted(threshold[column_of == i])
        return edges, ranks

    @cached_property
    def _category_tables(self):
        """Columns of categories, their splits, and whether codes go left, (n_splits, 256)."""
        codes, splits = np.arange(256), self.category_split
        goes_left = (self.categories[:, codes // 32] >> (codes % 32).astype(np.uint32) & 1) == 1
        goes_left[:, _MISSING] = self.missing_left.ravel()[splits]
        columns = self.feature.ravel()[splits]
        return [(j, splits[columns == j], goes_left[columns == j]) for j in np.unique(columns)]


def _number_leaves(tree, is_split):
    """Give numbers to a tree's leaves, from right to left, and masks to its splits.

    A node comes before what is below it.
    """
    left, right = tree.left.tolist(), tree.right.tolist()
    n_below, first = [1] * len(left), [0] * len(left)
    splits = np.flatnonzero(is_split).tolist()
    for node in reversed(splits):
        n_below[node] = n_below[left[node]] + n_below[right[node]]
    for node in splits:
        first[right[node]] = first[node]
        first[left[node]] = first[node] + n_below[right[node]]
    masks = [((1 << n_below[right[node]]) - 1) << first[node] for node in splits]
    return np.array(first)[~is_split], np.array(masks, dtype=np.uint32)


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


def grow(X, y, weight, n_codes, random_state, stages, loss="squared_error", **settings):
    """Grow boosted trees: of numbers, or of the log-odds of 1 beside 0.

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
    stages : sequence of int
        Ascending numbers of iterations.
    loss : {"squared_error", "log_loss"}, default="squared_error"
    **settings : dict
        `learning_rate` and `max_features`.

    Yields
    ------
    trees : Trees
        After each of so many iterations.
    """
    is_logistic = loss == "log_loss"
    if is_logistic and (y == y[0]).all():  # of which boosting forgets the label
        y, is_logistic = np.full(len(y), logit((y.sum() + 0.5) / (len(y) + 1))), False
    ranks, bounds = _rank(X, weight, n_codes)
    n_bins = _MAX_BINS if n_codes else min(_MAX_BINS, _MAX_ALL // X.shape[1])
    kind = HistGradientBoostingClassifier if is_logistic else HistGradientBoostingRegressor
    boosting = kind(
        categorical_features=np.arange(X.shape[1]) < n_codes,
        early_stopping=False,
        max_bins=max(2, min(n_bins, len(X))),  # more would be empty, and take time
        random_state=random_state,
        warm_start=True,
        **_SIZES,
        **settings,
    )
    for n_iter in stages:
        boosting.set_params(max_iter=n_iter)
        with one_openmp_thread():
            fit_unlogged(kind, boosting, ranks, y, weight)
            predict = boosting.decision_function if is_logistic else boosting.predict
            expected = predict(ranks[:_N_CHECKED])
        trees = _read(boosting, bounds, X[:_N_CHECKED], expected)
        if trees is None:
            own = _grow_one_by_one(ranks, y, weight, random_state, is_logistic, n_iter, **settings)
            trees = _by_values(own, bounds)
        yield trees


def _read(boosting, bounds, X, expected):
    """Read fitted trees; None if they cannot be read, or do not predict X as expected."""
    try:
        baseline, trees = read_boosting(boosting)
        trees = Trees.of(baseline, [TreeNodes(**nodes) for nodes in trees])
        trees = _by_values(trees, bounds)
        return trees if np.allclose(trees.predict(X), expected) else None
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        return None


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


def _grow_one_by_one(ranks, y, weight, random_state, is_logistic, n_iter, **settings):
    """Boost scikit-learn's single trees, of ranks; see :func:`grow`."""
    kind = GradientBoostingClassifier if is_logistic else GradientBoostingRegressor
    boosting = kind(
        n_estimators=n_iter, max_depth=None, random_state=random_state, **_SIZES, **settings
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
