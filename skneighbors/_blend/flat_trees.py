"""Boosted trees as plain arrays, which a file can hold, and their predictions."""

from dataclasses import dataclass

import numpy as np

from .._utils.sklearn_private import boosting_parts
from .boosting import recode_levels

# Rows times trees to predict at a time.
_N_AT_ONCE = 2**19


@dataclass(frozen=True, eq=False)
class FlatTrees:
    """What :class:`TableBoosting` has fitted for one target; predicts the same bits.

    Attributes
    ----------
    baseline : float
        What trees are added to.
    columns : int ndarray of shape (p,)
        Columns of X in the order of the trees' features.
    codes : list of length p, of ndarrays or None
        Of a column of categories the new code of each old one, NaN for those unknown.
    known : bool ndarray of shape (p, 256)
        New codes that trees have seen.
    starts : int ndarray of shape (n_trees,)
        Roots of the trees, among the nodes.
    feature, left, right : int ndarray of shape (n_nodes,)
        What a node asks, and where its answers lead: for a leaf to itself.
    threshold, value : ndarray of shape (n_nodes,)
    missing_left, is_category : bool ndarray of shape (n_nodes,)
    chosen : int ndarray of shape (n_nodes,)
        Row of `categories`.
    categories : bool ndarray of shape (n_sets, 256)
        Codes that go left.
    depth : int
        Of the deepest tree.
    """

    baseline: float
    columns: np.ndarray
    codes: list
    known: np.ndarray
    starts: np.ndarray
    feature: np.ndarray
    left: np.ndarray
    right: np.ndarray
    threshold: np.ndarray
    value: np.ndarray
    missing_left: np.ndarray
    is_category: np.ndarray
    chosen: np.ndarray
    categories: np.ndarray
    depth: int

    @classmethod
    def of(cls, boosting):
        """Flatten a fitted :class:`TableBoosting`."""
        baseline, trees, known, is_category = boosting_parts(boosting)
        columns = np.flatnonzero(is_category).tolist() + np.flatnonzero(~is_category).tolist()
        nodes = np.concatenate([nodes for nodes, _ in trees])
        sizes, n_sets = ([len(part[i]) for part in trees] for i in (0, 1))
        starts, first_set = np.cumsum(sizes) - sizes, np.repeat(np.cumsum(n_sets) - n_sets, sizes)
        shift, own = np.repeat(starts, sizes), np.arange(len(nodes))
        is_leaf = nodes["is_leaf"].astype(bool)
        is_set = nodes["is_categorical"].astype(bool) & ~is_leaf
        return cls(
            baseline=baseline,
            columns=np.array(columns),
            codes=[boosting.new_codes.get(j) for j in columns],
            known=_bits(known),
            starts=starts,
            feature=np.where(is_leaf, 0, nodes["feature_idx"]),
            left=np.where(is_leaf, own, nodes["left"] + shift),
            right=np.where(is_leaf, own, nodes["right"] + shift),
            threshold=np.where(is_leaf | is_set, 0.0, nodes["num_threshold"]),
            value=nodes["value"].copy(),
            missing_left=nodes["missing_go_to_left"].astype(bool),
            is_category=is_set,
            chosen=np.where(is_set, nodes["bitset_idx"] + first_set, 0),
            categories=_bits(np.concatenate([np.zeros((0, 8), np.uint32), *(s for _, s in trees)])),
            depth=int(nodes["depth"].max()),
        )

    def predict(self, X):
        """Predict, to (n_samples,).

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        new_codes = {j: new for j, new in enumerate(self.codes) if new is not None}
        X = recode_levels(X[:, self.columns], new_codes)
        length = max(1, _N_AT_ONCE // len(self.starts))
        parts = [self._predict(X[i : i + length]) for i in range(0, len(X), length)]
        return np.concatenate(parts) if parts else np.empty(0)

    def _predict(self, X):
        node = np.tile(self.starts, (len(X), 1))
        rows = np.arange(len(X))[:, None]
        for _ in range(self.depth):
            feature = self.feature[node]
            value = X[rows, feature]
            missing = np.isnan(value)
            goes_left = value <= self.threshold[node]
            is_category = self.is_category[node]
            if is_category.any():
                code = np.where(missing | ~is_category, 0, value).astype(int)
                chosen = self.categories[np.where(is_category, self.chosen[node], 0), code]
                goes_left = np.where(is_category, chosen, goes_left)
                missing |= is_category & ~chosen & ~self.known[feature, code]
            goes_left = np.where(missing, self.missing_left[node], goes_left)
            node = np.where(goes_left, self.left[node], self.right[node])
        y = np.full(len(X), self.baseline)
        for own in self.value[node].T:  # in the order in which they were fitted
            y += own
        return y


@dataclass(frozen=True, eq=False)
class StoredTrees:
    """Boosted trees of a file: one for each target."""

    trees: list

    @classmethod
    def of(cls, regressor):
        """Flatten a fitted :class:`TableBoosting`, or several in a MultiOutputRegressor."""
        if isinstance(regressor, cls):
            return regressor
        return cls([FlatTrees.of(own) for own in getattr(regressor, "estimators_", [regressor])])

    def predict(self, X):
        """Predict, to (n_samples, n_targets).

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)

        Returns
        -------
        y : ndarray of shape (n_samples, n_targets)
        """
        return np.column_stack([own.predict(X) for own in self.trees])


def _bits(sets):
    """Bits of sets (n, 8) of 32 each, to bool (n, 256)."""
    bits = np.unpackbits(
        np.ascontiguousarray(sets, "<u4").view(np.uint8), axis=1, bitorder="little"
    )
    return bits.astype(bool)
