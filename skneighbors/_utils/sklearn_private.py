"""What is private in scikit-learn, gathered here, where a new version may break it."""

from collections.abc import Callable
from inspect import unwrap
from numbers import Integral, Real
from typing import Any, TypeVar

import numpy as np
from sklearn.base import _fit_context
from sklearn.utils import _safe_indexing
from sklearn.utils._param_validation import (
    HasMethods,
    Interval,
    Options,
    StrOptions,
    validate_parameter_constraints,
)
from sklearn.utils.validation import _check_sample_weight

__all__ = [
    "HasMethods",
    "Interval",
    "Options",
    "StrOptions",
    "boosting_parts",
    "check_sample_weight",
    "counts_from",
    "fit_context",
    "fit_unlogged",
    "listed",
    "reals",
    "take_samples",
    "validate_parameter_constraints",
]

check_sample_weight = _check_sample_weight
take_samples = _safe_indexing
_Method = TypeVar("_Method", bound=Callable[..., Any])


def fit_context(*, prefer_skip_nested_validation: bool) -> Callable[[_Method], _Method]:
    """Make a decorator that checks the parameters first, and leaves a method its type."""
    return _fit_context(prefer_skip_nested_validation=prefer_skip_nested_validation)


def fit_unlogged(kind, estimator, *data):
    """Fit an estimator that is a part of ours by the method of a class of scikit-learn's.

    By the method itself: tools that log what users fit, such as MLflow, wrap it.
    """
    return unwrap(kind.fit)(estimator, *data)


def boosting_parts(boosting):
    """Parts of a fitted HistGradientBoostingRegressor of one target.

    Returns
    -------
    baseline : float
    trees : list of (nodes, sets)
        Nodes as a structured array, and the sets of categories that go left, (n, 8) of 32 bits.
    known : ndarray of shape (n_features, 8)
        Categories seen, as bits; features in the order of the trees.
    is_category : bool ndarray of shape (n_features,)
        In the order of X; the trees' order is categories first.
    """
    trees = [(tree.nodes, tree.raw_left_cat_bitsets) for (tree,) in boosting._predictors]
    seen, place = boosting._bin_mapper.make_known_categories_bitsets()
    n_features = boosting.n_features_in_
    is_category = np.zeros(n_features, dtype=bool)
    if boosting.is_categorical_ is not None:
        is_category = boosting.is_categorical_
    known = np.zeros((n_features, 8), dtype=np.uint32)
    for feature in range(is_category.sum()):
        known[feature] = seen[place[feature]]
    return float(boosting._baseline_prediction.ravel()[0]), trees, known, is_category


class _NumberRange(Interval):
    """Interval of numbers, of which True and False are none."""

    def is_satisfied_by(self, val):
        return not isinstance(val, bool) and super().is_satisfied_by(val)


class _Listed(StrOptions):
    """Constraint of a parameter that names an entry of a list, which may grow."""

    def __init__(self, entries):
        self._entries = entries
        super().__init__(set(entries))

    def is_satisfied_by(self, val):
        self.options = set(self._entries)
        return super().is_satisfied_by(val)


def listed(entries):
    """Constraint of a parameter that names an entry of a dict, as it is when it is checked."""
    return _Listed(entries)


def counts_from(low, high=2**31 - 1):
    """Constraint of a parameter that counts, both ends allowed."""
    return _NumberRange(Integral, low, high, closed="both")


def reals(low, high, closed):
    """Constraint of a parameter that is a number."""
    return _NumberRange(Real, low, high, closed=closed)
