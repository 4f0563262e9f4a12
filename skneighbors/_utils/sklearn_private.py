"""What is private in scikit-learn, gathered here, where a new version may break it."""

from collections.abc import Callable
from inspect import unwrap
from numbers import Integral, Real
from typing import Any, TypeVar

import narwhals as nw
import numpy as np
from sklearn import config_context
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
    "SETTINGS",
    "HasMethods",
    "Listed",
    "Options",
    "StrOptions",
    "boosting_parts",
    "check_argument",
    "check_sample_weight",
    "counts_from",
    "fit_context",
    "fit_unlogged",
    "give_settings",
    "make_predictors",
    "reals",
    "settings_of",
    "take_samples",
]

# Attributes of an estimator: what `set_callbacks`, `set_output` and `set_fit_request` leave.
CALLBACKS, _OUTPUT, _REQUESTS = "_skl_callbacks", "_sklearn_output_config", "_metadata_request"
SETTINGS = CALLBACKS, _OUTPUT, _REQUESTS

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


def settings_of(estimator):
    """Find what `set_output` and `set_fit_request` have set, as plain values."""
    own = vars(estimator)
    methods = vars(own[_REQUESTS]) if _REQUESTS in own else {}
    requests = {name: getattr(method, "requests", None) for name, method in methods.items()}
    return {
        "transform": own.get(_OUTPUT, {}).get("transform"),
        "requests": {name: dict(asked) for name, asked in requests.items() if asked},
    }


def give_settings(estimator, transform, requests):
    """Set on an estimator what :func:`settings_of` found of another."""
    estimator.set_output(transform=transform)
    with config_context(enable_metadata_routing=True):
        for name, asked in requests.items():
            getattr(estimator, f"set_{name}_request")(**asked)


def boosting_parts(boosting):
    """Parts of a fitted HistGradientBoostingRegressor of one target, its categories first.

    Returns
    -------
    baseline : float
    trees : list of (nodes, sets)
        Nodes as a structured array, and the sets of categories that go left, (n, 8) of 32 bits.
    known : uint32 ndarray of shape (n_categories, 8)
        Categories seen, as bits.
    """
    trees = [(tree.nodes, tree.raw_left_cat_bitsets) for (tree,) in boosting._predictors]
    known, _ = boosting._bin_mapper.make_known_categories_bitsets()
    return float(boosting._baseline_prediction.ravel()[0]), trees, known


def make_predictors(trees):
    """Trees that predict, made of arrays.

    Parameters
    ----------
    trees : FlatTrees

    Returns
    -------
    predictors : list of TreePredictor
    """
    from sklearn.ensemble._hist_gradient_boosting.common import PREDICTOR_RECORD_DTYPE
    from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor

    nodes = np.zeros(len(trees.value), dtype=PREDICTOR_RECORD_DTYPE)
    for ours, theirs in {
        "feature": "feature_idx",
        "left": "left",
        "right": "right",
        "threshold": "num_threshold",
        "value": "value",
        "missing_left": "missing_go_to_left",
        "is_leaf": "is_leaf",
        "is_category": "is_categorical",
        "chosen": "bitset_idx",
    }.items():
        nodes[theirs] = getattr(trees, ours)
    parts = np.split(nodes, np.cumsum(trees.sizes)[:-1])
    return [TreePredictor(own, trees.categories, trees.categories) for own in parts]


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
