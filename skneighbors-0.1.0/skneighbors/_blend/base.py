"""What the parts of the blended model are fitted to, in which folds, and by which interface.

A part is a frozen dataclass that has

- ``fit(data, folds, settings)``, a classmethod that returns a :class:`PartFit`;
- ``predict(X)``: values, an ndarray of shape (n_samples, k).
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .._columns import number_groups
from .._utils.blocks import cut
from .._utils.threads import map_batches

N_FOLDS = 5
N_AT_ONCE = 2_000  # rows that one thread predicts at a time


class BlendData(NamedTuple):
    """What the parts of the blended model are fitted to.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features)
        As :meth:`TableReader.expand` returns it.
    y : ndarray of shape (n_samples, k)
        Values of the task.
    weight : ndarray of shape (n_samples,)
    group : int ndarray of shape (n_samples,)
        Rows of one group are in the same fold.
    n_categories : int ndarray of shape (n_features,)
        How many categories columns have; 0 for those of numbers.
    """

    X: np.ndarray
    y: np.ndarray
    weight: np.ndarray
    group: np.ndarray
    n_categories: np.ndarray

    def select(self, rows):
        """Take some rows."""
        return BlendData(*(part[rows] for part in self[:4]), self.n_categories)


@dataclass(frozen=True, eq=False)
class BlendSettings:
    """How the parts of the blended model are fitted.

    Attributes
    ----------
    n_iter : int
        Iterations of boosted trees.
    random_state : RandomState
    n_threads : int, default=1
        Results don't depend on it.
    seconds : float, default=inf
        That are left of a limit.
    """

    n_iter: int
    random_state: np.random.RandomState
    n_threads: int = 1
    seconds: float = math.inf


class PartFit(NamedTuple):
    """Models to choose one from, such as of several strengths.

    Attributes
    ----------
    models : list of object
        Each fitted to all rows.
    out_of_fold : ndarray of shape (n_models, n_samples, k)
        Predictions of the rows of each fold by what was fitted to the others.
    """

    models: list
    out_of_fold: np.ndarray

    def predict(self, X):
        """Predict rows X by all models, to (n_models, n_samples, k)."""
        return np.stack([model.predict(X) for model in self.models])


def draw_folds(groups, n_folds, random_state):
    """Deal groups out to folds at random, whatever their names; at most as many folds as groups.

    Parameters
    ----------
    groups : int ndarray of shape (n_samples,)
    n_folds : int
    random_state : RandomState

    Returns
    -------
    folds : int ndarray of shape (n_samples,)
    """
    groups = number_groups(groups)
    return (random_state.permutation(groups.max() + 1) % n_folds)[groups]


def is_other(folds, fold):
    """Which rows are in other folds: what predicts a fold is fitted to. Of a single one, all."""
    return (folds != fold) | (folds.max() == 0)


def predict_in_batches(predict, X):
    """Predict rows of X (n_samples, n_features) some at a time, each batch in one thread."""
    batches = cut(len(X), N_AT_ONCE) if len(X) else [slice(0)]
    return np.concatenate(map_batches(lambda rows: predict(X[rows]), batches))


def count_places(n_categories):
    """Count the places of the categories of all columns, and one of each for missing ones."""
    return int((n_categories + (n_categories > 0)).sum())


def keep_largest(is_kept, totals, most):
    """Keep at most so many of some, those of the largest totals; of the same total all or none."""
    if is_kept.sum() <= most:
        return is_kept
    return is_kept & (totals > np.sort(totals[is_kept])[-most - 1])


def find_categories(X, n_categories):
    """Places of categories among those of all columns, to (n_samples, n_categories)."""
    n_categories, X = n_categories[n_categories > 0], X[:, n_categories > 0]
    starts = np.cumsum(n_categories + 1) - n_categories - 1
    return np.where(X >= 0, X, n_categories).astype(np.int64) + starts
