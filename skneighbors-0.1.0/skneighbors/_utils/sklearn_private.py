"""What is private in scikit-learn, gathered here, where a new version may break it."""

from collections.abc import Callable
from inspect import unwrap
from typing import Any, TypeVar

import numpy as np
from sklearn import config_context
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval as Interval
from sklearn.utils._param_validation import StrOptions as StrOptions
from sklearn.utils._param_validation import (
    validate_parameter_constraints as validate_parameter_constraints,
)

_Method = TypeVar("_Method", bound=Callable[..., Any])
# Decorator of `fit`, whose type stays: parameters are checked before it, but not within it.
fit_context: Callable[[_Method], _Method] = _fit_context(prefer_skip_nested_validation=True)
# Attributes of an estimator: what `set_output` and `set_fit_request` leave.
SETTINGS = _OUTPUT, _REQUESTS = "_sklearn_output_config", "_metadata_request"


def fit_unlogged(kind, estimator, *data):
    """Fit an estimator that is a part of ours by the method of a class of scikit-learn's.

    By the method itself: tools that log what users fit, such as MLflow, wrap it.
    """
    return unwrap(kind.fit)(estimator, *data)


def settings_of(estimator):
    """Find what `set_output` and `set_fit_request` have set, as plain values."""
    attributes = vars(estimator)
    methods = vars(attributes[_REQUESTS]) if _REQUESTS in attributes else {}
    requests = {name: getattr(method, "requests", None) for name, method in methods.items()}
    return {
        "transform": attributes.get(_OUTPUT, {}).get("transform"),
        "requests": {name: dict(request) for name, request in requests.items() if request},
    }


def give_settings(estimator, transform, requests):
    """Set on an estimator what :func:`settings_of` found of another."""
    estimator.set_output(transform=transform)
    with config_context(enable_metadata_routing=True):
        for name, request in requests.items():
            getattr(estimator, f"set_{name}_request")(**request)


def read_boosting(boosting):
    """Read the trees of fitted histogram boosting, of one target or two classes.

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
        read = {ours: nodes[theirs] for ours, theirs in names.items()}
        is_category = nodes["is_categorical"].astype(bool) & ~nodes["is_leaf"].astype(bool)
        read["threshold"] = np.where(is_category, 0.0, read["threshold"])
        categories = np.zeros((len(nodes), 8), dtype=np.uint32)
        categories[is_category] = sets[nodes["bitset_idx"][is_category]]
        trees.append(read | dict(is_category=is_category, categories=categories))
    return float(boosting._baseline_prediction.ravel()[0]), trees
