"""Boosted trees as plain arrays, which a file can hold, and their predictions."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .._utils.sklearn_private import boosting_parts, make_predictors


@dataclass(frozen=True, eq=False)
class FlatTrees:
    """What histogram boosting has fitted for one target, its categories the first columns.

    Predicts the same bits.

    Attributes
    ----------
    baseline : float
        What trees are added to.
    known : uint32 ndarray of shape (n_categories, 8)
        Bits of the codes that trees have seen.
    sizes : int ndarray of shape (n_trees,)
        How many nodes trees have; the first of each is its root.
    feature, left, right : int32 ndarray of shape (n_nodes,)
        What a node asks, and the nodes of the same tree where its answers lead; 0 for leaves.
    threshold, value : ndarray of shape (n_nodes,)
    missing_left, is_leaf, is_category : bool ndarray of shape (n_nodes,)
    chosen : int32 ndarray of shape (n_nodes,)
        Row of `categories`.
    categories : uint32 ndarray of shape (n_sets, 8)
        Bits of the codes that go left.
    """

    baseline: float
    known: np.ndarray
    sizes: np.ndarray
    feature: np.ndarray
    left: np.ndarray
    right: np.ndarray
    threshold: np.ndarray
    value: np.ndarray
    missing_left: np.ndarray
    is_leaf: np.ndarray
    is_category: np.ndarray
    chosen: np.ndarray
    categories: np.ndarray

    @classmethod
    def of(cls, boosting):
        """Flatten a fitted HistGradientBoostingRegressor."""
        baseline, parts, known = boosting_parts(boosting)
        nodes = np.concatenate([nodes for nodes, _ in parts])
        sizes, n_sets = (np.array([len(part[i]) for part in parts]) for i in (0, 1))
        first_set = np.repeat(np.cumsum(n_sets) - n_sets, sizes)
        is_leaf = nodes["is_leaf"].astype(bool)
        is_category = nodes["is_categorical"].astype(bool) & ~is_leaf
        trees = cls(
            baseline=baseline,
            known=known,
            sizes=sizes,
            feature=np.where(is_leaf, 0, nodes["feature_idx"]).astype(np.int32),
            left=np.where(is_leaf, 0, nodes["left"]).astype(np.int32),
            right=np.where(is_leaf, 0, nodes["right"]).astype(np.int32),
            threshold=np.where(is_leaf | is_category, 0.0, nodes["num_threshold"]),
            value=nodes["value"].copy(),
            missing_left=nodes["missing_go_to_left"].astype(bool),
            is_leaf=is_leaf,
            is_category=is_category,
            chosen=np.where(is_category, nodes["bitset_idx"] + first_set, 0).astype(np.int32),
            categories=np.concatenate([sets for _, sets in parts]),
        )
        _ = trees._predictors  # what this release of scikit-learn refuses shows here
        return trees

    @cached_property
    def _predictors(self):
        return make_predictors(self)

    def predict(self, X):
        """Predict, to (n_samples,), in the calling thread alone.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        place = np.arange(X.shape[1], dtype=np.uint32)
        y = np.full(len(X), self.baseline)
        for predictor in self._predictors:
            y += predictor.predict(X, self.known, place, 1)
        return y


class SideBySide:
    """Trees of several bags, which predict a row all at once: the same bits.

    A call for each tree takes microseconds, of which here are hundreds.

    Parameters
    ----------
    bags : list of FlatTrees
    n_features : int
        Of each bag, which has its own.
    """

    def __init__(self, bags, n_features):
        def join(name):
            return np.concatenate([getattr(own, name) for own in bags])

        def starts(name):
            ends = np.cumsum([len(getattr(own, name)) for own in bags])
            return np.repeat([0, *ends[:-1]], [len(own.value) for own in bags])

        sizes, is_leaf, feature = join("sizes"), join("is_leaf"), join("feature")
        self._roots, own = np.cumsum(sizes) - sizes, np.arange(len(is_leaf))
        shift = np.repeat(self._roots, sizes)
        # Leaves lead to themselves.
        self._sides = [np.where(is_leaf, own, join(side) + shift) for side in ("left", "right")]
        self._depth = self._find_depth(is_leaf)
        bag = np.repeat(np.arange(len(bags)), [len(own.value) for own in bags])
        self._place = feature + n_features * bag
        self._threshold, self._value = join("threshold"), join("value")
        self._missing_left = join("missing_left")
        self._asks = np.flatnonzero(join("is_category"))
        self._chosen = join("categories")[(join("chosen") + starts("categories"))[self._asks]]
        self._known = join("known")[(feature + starts("known"))[self._asks]]
        self._baselines = [own.baseline for own in bags]
        ends = np.cumsum([len(own.sizes) for own in bags])
        self._trees = [
            slice(end - len(own.sizes), end) for own, end in zip(bags, ends, strict=True)
        ]

    def _find_depth(self, is_leaf):
        depth, level = 0, self._roots
        while len(level := level[~is_leaf[level]]):
            depth, level = depth + 1, np.concatenate([side[level] for side in self._sides])
        return depth

    def predict(self, x):
        """Predict by each bag.

        Parameters
        ----------
        x : ndarray of shape (n_bags * n_features,)
            Features of one row.

        Returns
        -------
        y : list of n_bags floats
        """
        value = x[self._place]
        # All nodes answer; few are on the way.
        goes_left = (value <= self._threshold) | (np.isnan(value) & self._missing_left)
        if len(self._asks):
            goes_left[self._asks] = self._ask_categories(value[self._asks])
        after, node = np.where(goes_left, *self._sides), self._roots
        for _ in range(self._depth):
            node = after[node]
        value = self._value[node]
        parts = zip(self._baselines, self._trees, strict=True)
        # In the order of the trees.
        return [np.concatenate([[first], value[own]]).cumsum()[-1] for first, own in parts]

    def _ask_categories(self, codes):
        present = ~np.isnan(codes)
        codes = np.where(present, codes, 0).astype(int)
        chosen, known = (present & _holds(own, codes) for own in (self._chosen, self._known))
        return chosen | (~known & self._missing_left[self._asks])


def _holds(sets, codes):
    """Whether sets (n, 8) of bits hold codes (n,)."""
    words = sets[np.arange(len(codes)), codes // 32]
    return (words >> (codes % 32).astype(np.uint32) & 1).astype(bool)
