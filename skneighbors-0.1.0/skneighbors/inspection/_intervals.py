"""Intervals beside the truth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats

from .._utils.parameters import check_argument, counts_from
from ._common import (
    BLUE,
    GRAY,
    ORANGE,
    check_plottable,
    legend_above,
    make_two_axes,
    select_target,
    type_name,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from typing_extensions import Self

    from .._regressor import BaseNeighborRegressor
    from .._utils.parameters import ArrayLike

# Probability that the coverage of well-calibrated intervals lies in the band drawn.
_BAND = 0.95


@dataclass(kw_only=True, eq=False, repr=False)
class IntervalDisplay:
    """Prediction intervals and the targets, and their coverage by size of prediction.

    Make it by :meth:`from_estimator`, with rows that the estimator has not seen. Above, a bar for
    the interval of each row, in the order of the predictions, and a dot for its target. Below, the
    coverage in bins of as many rows each: the fraction of their intervals that contain the target.
    The band around the confidence level is where 95 of 100 such fractions lie, if each target
    falls into its interval with that probability.

    Parameters
    ----------
    y_true : ndarray of shape (n_samples,)
        Targets.
    y_pred : ndarray of shape (n_samples,)
        Predictions.
    interval : ndarray of shape (n_samples, 2)
        Lower and upper ends of the intervals.
    confidence_level : float
        Coverage: fraction of the targets that intervals should contain.

    Attributes
    ----------
    covers_ : bool ndarray of shape (n_samples,)
        Whether each interval contains the target.
    coverage_ : float
        The fraction of those that do.
    bin_coverage_ : ndarray of shape (n_bins,)
        Coverage in each bin, by increasing prediction.
    bars_ : list of two matplotlib LineCollection
        The intervals that contain their target, and those that do not.
    points_ : matplotlib PathCollection
        The targets.
    coverage_line_ : matplotlib Line2D
        The coverage in each bin, as dots.
    level_line_ : matplotlib Line2D
        The confidence level.
    axes_ : ndarray of two matplotlib Axes
        Those of the intervals and of the coverage.
    figure_ : matplotlib Figure
        The figure.

    See Also
    --------
    skneighbors.NONARegressor.predict_interval : Predicts intervals.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from skneighbors import NONARegressor
    >>> from skneighbors.inspection import IntervalDisplay
    >>> X, y = make_friedman1(n_samples=100, random_state=0)
    >>> model = NONARegressor(max_iter=5, random_state=0).fit(X[:80], y[:80])
    >>> display = IntervalDisplay.from_estimator(model, X[80:], y[80:], 0.8)
    >>> 0 <= display.coverage_ <= 1
    True
    """

    y_true: np.ndarray
    y_pred: np.ndarray
    interval: np.ndarray
    confidence_level: float

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseNeighborRegressor,
        X: ArrayLike,
        y: ArrayLike,
        confidence_level: float = 0.9,
        *,
        n_bins: int = 5,
        target: int = 0,
        max_bars: int = 300,
        ax: Axes | ArrayLike | None = None,
        bar_kwargs: dict[str, Any] | None = None,
        point_kwargs: dict[str, Any] | None = None,
    ) -> Self:
        """Show intervals of rows whose targets are known.

        Parameters
        ----------
        estimator : NONARegressor or SoftStepKNNRegressor
            Fitted.
        X : array-like of shape (n_samples, n_features)
            Features, of rows that were not given to ``fit``.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets.
        confidence_level : float, default=0.9
            Coverage: fraction of the targets that intervals should contain, between 0 and 1.
        n_bins : int, default=5
            Number of bins; as many as rows, if these are fewer.
        target : int, default=0
            Number of the target to show, if there are several.
        max_bars : int, default=300
            Of more rows, as many are drawn, evenly spread over the order of the predictions. The
            coverage is that of all.
        ax : matplotlib Axes or array of two, default=None
            Axes to draw on, or in whose place to draw two. None for those of a new figure.
        bar_kwargs : dict, default=None
            Keywords for matplotlib's ``vlines``.
        point_kwargs : dict, default=None
            Keywords for matplotlib's ``scatter``.

        Returns
        -------
        display : IntervalDisplay
            The display, drawn.

        Raises
        ------
        ImportError
            If matplotlib is missing.
        TypeError
            If the estimator is another one.
        NotFittedError
            If the estimator is not fitted.
        ValueError
            If X, y or another parameter is not usable, or validation rows by ``fit`` are too few
            for such a confidence.

        Examples
        --------
        >>> from sklearn.datasets import make_friedman1
        >>> from skneighbors import NONARegressor
        >>> from skneighbors.inspection import IntervalDisplay
        >>> X, y = make_friedman1(n_samples=100, random_state=0)
        >>> model = NONARegressor(max_iter=5, random_state=0).fit(X[:80], y[:80])
        >>> display = IntervalDisplay.from_estimator(model, X[80:], y[80:], 0.8, n_bins=2)
        >>> display.bin_coverage_.shape
        (2,)
        """
        check_plottable(cls, estimator, "See its predict_set(X).")
        interval = estimator.predict_interval(X, confidence_level)
        if np.isinf(interval).any():
            raise ValueError(
                f"{type_name(cls)} draws no infinite intervals, as those of confidence_level="
                f"{confidence_level}: lower it, or fit with more validation rows or groups."
            )
        y = select_target(y, target, len(interval))
        interval = interval.reshape(len(y), -1, 2)[:, target]
        y_pred, level = interval.mean(axis=1), confidence_level
        display = cls(y_true=y, y_pred=y_pred, interval=interval, confidence_level=level)
        kwargs = {"bar_kwargs": bar_kwargs, "point_kwargs": point_kwargs}
        return display.plot(ax, n_bins=n_bins, max_bars=max_bars, **kwargs)

    def plot(
        self,
        ax: Axes | ArrayLike | None = None,
        *,
        n_bins: int = 5,
        max_bars: int = 300,
        bar_kwargs: dict[str, Any] | None = None,
        point_kwargs: dict[str, Any] | None = None,
    ) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes or array of two, default=None
            See :meth:`from_estimator`.
        n_bins : int, default=5
            Number of bins.
        max_bars : int, default=300
            See :meth:`from_estimator`.
        bar_kwargs : dict, default=None
            Keywords for matplotlib's ``vlines``.
        point_kwargs : dict, default=None
            Keywords for matplotlib's ``scatter``.

        Returns
        -------
        self : IntervalDisplay
            The display.

        Examples
        --------
        >>> import numpy as np
        >>> from skneighbors.inspection import IntervalDisplay
        >>> y = np.arange(20.0)
        >>> ends = np.stack([y - 1, y + 1], axis=-1)
        >>> display = IntervalDisplay(y_true=y, y_pred=y, interval=ends, confidence_level=0.9)
        >>> float(display.plot().coverage_)
        1.0
        """
        check_argument(f"{type(self).__name__}.plot", "n_bins", n_bins, [counts_from(1)])
        n_bins = min(n_bins, len(self.y_true))
        check_argument(f"{type(self).__name__}.plot", "max_bars", max_bars, [counts_from(1)])
        axes = make_two_axes(self, ax, (7, 5.5), stacked=True, ratios=(2, 1))
        low, high = self.interval.T
        self.covers_ = (low <= self.y_true) & (self.y_true <= high)
        self.coverage_ = float(self.covers_.mean())
        order = np.argsort(self.y_pred, kind="stable")
        self._draw_intervals(axes[0], order, max_bars, bar_kwargs or {}, point_kwargs or {})
        self._draw_coverage(axes[1], order, n_bins)
        self.axes_, self.figure_ = axes, axes[0].figure
        return self

    def _draw_intervals(self, ax, order, max_bars, bar_kwargs, point_kwargs):
        """Draw a bar and a dot for each row, or for some, in the order given."""
        place = np.linspace(0, len(order) - 1, min(len(order), max_bars)).round().astype(int)
        rows = order[place]
        covers, self.bars_ = self.covers_[rows], []
        for mask, color, name in ((covers, BLUE, "contains"), (~covers, ORANGE, "misses")):
            style = {"color": color, "linewidth": 1.5, "alpha": 0.7} | bar_kwargs
            style["label"] = f"interval {name} the target"
            self.bars_.append(ax.vlines(place[mask], *self.interval[rows[mask]].T, **style))
        style = {"color": "black", "s": 5, "zorder": 3, "label": "target"}
        self.points_ = ax.scatter(place, self.y_true[rows], **style | point_kwargs)
        ax.set_ylabel("target")
        legend_above(ax)

    def _draw_coverage(self, ax, order, n_bins):
        """Draw the coverage in bins of as many rows each, below those rows."""
        bins = np.array_split(order, n_bins)
        self.bin_coverage_ = np.array([self.covers_[rows].mean() for rows in bins])
        sizes, level = np.array([len(rows) for rows in bins]), self.confidence_level
        edges = np.concatenate([[0], np.cumsum(sizes)]) - 0.5
        low, high = np.array(stats.binom.interval(_BAND, sizes, level)) / sizes
        name = f"range by chance ({100 * _BAND:g} %)"
        ax.bar(edges[:-1], high - low, sizes, low, align="edge", color="0.85", label=name)
        style = {"color": GRAY, "linestyle": "--", "label": f"level {level:g}"}
        self.level_line_ = ax.axhline(level, **style)
        centers, name = (edges[:-1] + edges[1:]) / 2, f"coverage ({self.coverage_:.2f} in all)"
        self.coverage_line_ = ax.plot(centers, self.bin_coverage_, "o", color=BLUE, label=name)[0]
        ends = self.y_pred[order[np.append(edges[:-1] + 0.5, len(order) - 1).astype(int)]]
        ax.set_xticks(edges, [f"{float(f'{end:.3g}'):g}" for end in ends])
        lowest = min(low.min(), self.bin_coverage_.min())
        bottom = max(lowest - 0.08, -0.03)
        ax.set(xlabel="prediction (rows in its order)", ylabel="coverage", ylim=(bottom, 1.03))
        legend_above(ax)
