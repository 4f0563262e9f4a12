"""What is private in scikit-learn, gathered here, where a new version may break it."""

from collections.abc import Callable
from inspect import unwrap
from numbers import Integral, Real
from typing import Any, TypeVar

import narwhals as nw
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
from sklearn.utils.validation import _check_sample_weight as check_sample_weight

__all__ = [
    "CALLBACKS",
    "OUTPUT_CONFIG",
    "HasMethods",
    "Listed",
    "Options",
    "StrOptions",
    "read_boosting",
    "check_argument",
    "check_sample_weight",
    "counts_from",
    "fit_context",
    "fit_unlogged",
    "reals",
    "take_samples",
]

# Attributes of an estimator's own: what `set_callbacks` and `set_output` leave.
CALLBACKS, OUTPUT_CONFIG = "_skl_callbacks", "_sklearn_output_config"

_Method = TypeVar("_Method", bound=Callable[..., Any])


def take_samples(X, samples):
    """Take samples of X by their numbers; of a frame of narwhals, of what it stands for."""
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame) and not frame.implementation.is_pandas():
        return frame[samples].to_native()
    return _safe_indexing(nw.to_native(X, pass_through=True), samples)


def fit_context(*, prefer_skip_nested_validation: bool) -> Callable[[_Method], _Method]:
    """Make a decorator that checks the parameters first, and leaves a method its type."""
    return _fit_context(prefer_skip_nested_validation=prefer_skip_nested_validation)


def fit_unlogged(kind, estimator, *data):
    """Fit an estimator that is a part of ours by the method of a class of scikit-learn's.

    By the method itself: tools that log what users fit, such as MLflow, wrap it.
    """
    return unwrap(kind.fit)(estimator, *data)


def read_boosting(boosting):
    """Read the trees of a fitted HistGradientBoostingRegressor of one target.

    Returns
    -------
    baseline : float
    trees : list of dict
        Arrays of nodes, as :class:`TreeNodes` names them.

    Raises
    ------
    AttributeError, IndexError, KeyError, TypeError, ValueError
        If this release of scikit-learn keeps them in another way.
    """
    names = dict(
        left="left",
        right="right",
        feature="feature_idx",
        threshold="num_threshold",
        value="value",
        missing_left="missing_go_to_left",
    )
    trees = []
    for (tree,) in boosting._predictors:
        nodes, sets = tree.nodes, tree.raw_left_cat_bitsets
        own = {ours: nodes[theirs] for ours, theirs in names.items()}
        is_category = nodes["is_categorical"].astype(bool) & ~nodes["is_leaf"].astype(bool)
        own["threshold"] = np.where(is_category, 0.0, own["threshold"])
        categories = np.zeros((len(nodes), 8), dtype=np.uint32)
        categories[is_category] = sets[nodes["bitset_idx"][is_category]]
        trees.append(own | dict(is_category=is_category, categories=categories))
    return float(boosting._baseline_prediction.ravel()[0]), trees


class _NumberRange(Interval):
    """Interval of numbers, of which True and False are none."""

    def is_satisfied_by(self, val):
        return not isinstance(val, bool) and super().is_satisfied_by(val)


class Listed(StrOptions):
    """Constraint of a parameter that names an entry of a dict, as it is when it is checked."""

    def __init__(self, entries):
        self._entries = entries
        super().__init__(set(entries))

    def is_satisfied_by(self, val):
        self.options = set(self._entries)
        return super().is_satisfied_by(val)


def check_argument(caller, name, value, allowed):
    """Check an argument as scikit-learn checks parameters, by a list of constraints."""
    validate_parameter_constraints({name: allowed}, {name: value}, caller_name=caller)


def counts_from(low, high=2**31 - 1):
    """Constraint of a parameter that counts, both ends allowed."""
    return _NumberRange(Integral, low, high, closed="both")


def reals(low, high, closed):
    """Constraint of a parameter that is a number."""
    return _NumberRange(Real, low, high, closed=closed)
