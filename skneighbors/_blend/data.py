"""What the parts of the blended model are fitted to, and in which folds."""

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
    y : ndarray of shape (n_samples, n_targets)
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
