"""Checks, axes and colors of the displays."""

import numpy as np
from sklearn.base import is_classifier
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_array, check_is_fitted

from .._base import BaseNeighborEstimator
from .._utils.parameters import check_int

BLUE, ORANGE, GRAY = "tab:blue", "tab:orange", "0.5"


def _import_pyplot(display):
    """Import matplotlib, which is loaded only when something is plotted."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            f"{type_name(display)} needs matplotlib: pip install matplotlib."
        ) from error
    return plt


def check_plottable(display, estimator, instead):
    """Check, before any work, that matplotlib is there and the estimator is fitted and ours.

    `instead` says what classifiers have instead of such a picture.
    """
    _import_pyplot(display)
    if is_classifier(estimator):
        raise TypeError(
            f"{type_name(display)} needs a regressor; got {type(estimator).__name__}. {instead}"
        )
    if not isinstance(estimator, BaseNeighborEstimator):
        raise TypeError(
            f"{type_name(display)} needs a fitted estimator of this package, such as "
            f"NONARegressor; got {type(estimator).__name__}.{_say_where_ours_is(estimator)}"
        )
    check_is_fitted(estimator)


def _say_where_ours_is(estimator):
    """Advise what to give instead of a fitted search or a pipeline with one of our estimators."""
    inner, path, steps = estimator, "estimator", None
    if hasattr(inner, "best_estimator_"):
        inner, path = inner.best_estimator_, f"{path}.best_estimator_"
    if isinstance(inner, Pipeline) and len(inner) > 1:
        inner, path, steps = inner[-1], f"{path}[-1]", f"{path}[:-1]"
    if inner is estimator or not isinstance(inner, BaseNeighborEstimator):
        return ""
    return f" Give {path}" + (f", and {steps}.transform(X) for X." if steps else ".")


def select_target(y, target, n_samples):
    """Values (n_samples,) of one target, by its number."""
    y = check_array(y, dtype=float, ensure_2d=False, ensure_all_finite=False, input_name="y")
    if y.ndim not in (1, 2) or len(y) != n_samples:
        raise ValueError(
            f"y must have shape ({n_samples},) or ({n_samples}, n_targets), as X has "
            f"{n_samples} rows; got {y.shape}."
        )
    if not np.isfinite(y).all():
        raise ValueError("y must be finite; it holds NaN or infinity.")
    y = y.reshape(n_samples, -1)
    check_int("target", target, 0, y.shape[1] - 1)
    return y[:, target]


def make_two_axes(display, ax, figsize, *, stacked, ratios):
    """Two axes that are given, or drawn in the place of one, or in a new figure.

    They are `stacked` or side by side, and share the axis between them.
    """
    if ax is None:
        ax = _import_pyplot(display).subplots(figsize=figsize, layout="constrained")[1]
    axes = np.ravel(ax)
    if len(axes) == 2:
        return axes
    spec = axes[0].get_subplotspec() if len(axes) == 1 else None
    if spec is None:
        raise ValueError("ax must be two axes, or a single one that plt.subplots has made.")
    axes[0].set_axis_off()
    if stacked:
        return spec.subgridspec(2, 1, height_ratios=ratios).subplots(sharex=True)
    return spec.subgridspec(1, 2, width_ratios=ratios).subplots(sharey=True)


def legend_above(ax, **kwargs):
    """Draw a legend above axes."""
    style = {"loc": "lower center", "bbox_to_anchor": (0.5, 1), "ncols": 3, "frameon": False}
    ax.legend(**style | kwargs)


def as_label(value):
    """Text for a picture, in which no ``$`` begins a formula."""
    return str(value).replace("$", r"\$")


def type_name(display):
    """Name of a display or of its class."""
    return (display if isinstance(display, type) else type(display)).__name__
