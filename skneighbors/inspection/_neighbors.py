"""The neighbors behind one prediction."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np

from .._utils.parameters import check_argument, check_int, counts_from
from .._utils.printing import part_words
from ._common import (
    BLUE,
    GRAY,
    ORANGE,
    as_label,
    check_plottable,
    legend_above,
    make_two_axes,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from typing_extensions import Self

    from .._base import BaseNeighborEstimator
    from .._model import Explanation
    from .._utils.parameters import ArrayLike

# Of the lines of the parts of a blended model.
_PART_STYLES = [":", "-.", "--"]


@dataclass(kw_only=True, eq=False, repr=False)
class NeighborsDisplay:
    """The rows behind one prediction: their weights, targets and adjusted targets.

    Make it by :meth:`from_estimator`. On the left is a bar for the weight of each row, the
    largest first, and one for all others together. On the right is a dot for its target and,
    where a trend adjusts it, a line from there to the adjusted target. The prediction is the mean
    of the adjusted targets, by weight, averaged with what the blended model predicts.

    Parameters
    ----------
    explanation : Explanation
        Of a single query, as ``estimator.explain`` returns it.
    n_neighbors : int, default=10
        Number of rows to show, those of the largest weights; fewer if fewer have any weight.
    target : int, default=0
        Number of the target to show, if there are several.

    Attributes
    ----------
    bars_ : matplotlib BarContainer
        The weights, that of all other rows last, if they have any.
    points_ : matplotlib PathCollection
        The targets.
    adjusted_points_ : matplotlib PathCollection or None
        The adjusted targets; None where nothing adjusts them.
    prediction_line_ : matplotlib Line2D
        The prediction.
    part_lines_ : list of matplotlib Line2D
        What each part of the blended model predicts; none without one.
    axes_ : ndarray of two matplotlib Axes
        Those of the weights and of the targets.
    figure_ : matplotlib Figure
        The figure.

    See Also
    --------
    skneighbors.NONARegressor.explain : The same in numbers.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from skneighbors import NONARegressor
    >>> from skneighbors.inspection import NeighborsDisplay
    >>> X, y = make_friedman1(n_samples=100, random_state=0)
    >>> model = NONARegressor(max_iter=5, random_state=0).fit(X[:80], y[:80])
    >>> display = NeighborsDisplay.from_estimator(model, X[[80]], n_neighbors=5)
    >>> len(display.bars_)  # five rows, and all others
    6
    """

    explanation: Explanation
    n_neighbors: int = 10
    target: int = 0

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseNeighborEstimator,
        X: ArrayLike,
        n_neighbors: int = 10,
        *,
        target: int = 0,
        ax: Axes | ArrayLike | None = None,
        bar_kwargs: dict[str, Any] | None = None,
        point_kwargs: dict[str, Any] | None = None,
        adjusted_point_kwargs: dict[str, Any] | None = None,
    ) -> Self:
        """Show the rows behind the prediction of another one.

        Parameters
        ----------
        estimator : NONARegressor or SoftStepKNNRegressor
            Fitted.
        X : array-like of shape (1, n_features)
            Features of the row to predict.
        n_neighbors : int, default=10
            Number of rows to show, those of the largest weights; fewer if fewer have any weight.
        target : int, default=0
            Number of the target to show, if there are several.
        ax : matplotlib Axes or array of two, default=None
            Axes to draw on, or in whose place to draw two. None for those of a new figure.
        bar_kwargs : dict, default=None
            Keywords for matplotlib's ``barh``.
        point_kwargs : dict, default=None
            Keywords for matplotlib's ``scatter`` of the targets.
        adjusted_point_kwargs : dict, default=None
            Keywords for matplotlib's ``scatter`` of the adjusted targets.

        Returns
        -------
        display : NeighborsDisplay
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
            If X has more than one row or is not usable, or `n_neighbors` or `target` is not.

        Examples
        --------
        >>> from sklearn.datasets import make_friedman1
        >>> from skneighbors import NONARegressor
        >>> from skneighbors.inspection import NeighborsDisplay
        >>> X, y = make_friedman1(n_samples=100, random_state=0)
        >>> model = NONARegressor(max_iter=5, random_state=0).fit(X[:80], y[:80])
        >>> display = NeighborsDisplay.from_estimator(model, X[[80]], n_neighbors=5)
        >>> display.axes_.shape
        (2,)
        """
        check_plottable(cls, estimator, "Print its explain(X).")
        caller = f"{cls.__name__}.from_estimator"
        check_argument(caller, "n_neighbors", n_neighbors, [counts_from(1)])
        check_int("target", target, 0, estimator.n_outputs_ - 1)
        explanation = estimator.explain(X)
        if len(explanation) != 1:
            raise ValueError(f"X must be a single row; got {len(explanation)} rows.")
        display = cls(explanation=explanation, n_neighbors=n_neighbors, target=target)
        kwargs = {"bar_kwargs": bar_kwargs, "point_kwargs": point_kwargs}
        return display.plot(ax, **kwargs, adjusted_point_kwargs=adjusted_point_kwargs)

    def plot(
        self,
        ax: Axes | ArrayLike | None = None,
        *,
        bar_kwargs: dict[str, Any] | None = None,
        point_kwargs: dict[str, Any] | None = None,
        adjusted_point_kwargs: dict[str, Any] | None = None,
    ) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes or array of two, default=None
            See :meth:`from_estimator`.
        bar_kwargs : dict, default=None
            Keywords for matplotlib's ``barh``.
        point_kwargs : dict, default=None
            Keywords for matplotlib's ``scatter`` of the targets.
        adjusted_point_kwargs : dict, default=None
            Keywords for matplotlib's ``scatter`` of the adjusted targets.

        Returns
        -------
        self : NeighborsDisplay
            The display.

        Raises
        ------
        ImportError
            If matplotlib is missing.
        ValueError
            If the explanation is of several queries.

        Examples
        --------
        >>> from sklearn.datasets import make_friedman1
        >>> from skneighbors import NONARegressor
        >>> from skneighbors.inspection import NeighborsDisplay
        >>> X, y = make_friedman1(n_samples=100, random_state=0)
        >>> model = NONARegressor(max_iter=5, random_state=0).fit(X[:80], y[:80])
        >>> explanation = model.explain(X[[80]])
        >>> display = NeighborsDisplay(explanation=explanation, n_neighbors=3).plot()
        >>> len(display.bars_)
        4
        """
        explanation = self.explanation
        if len(explanation) != 1:
            raise ValueError(f"explanation must be of a single query; got {len(explanation)}.")
        weights = explanation.weights[0]
        n_shown = min(self.n_neighbors, np.count_nonzero(weights))
        size = 7, 1.7 + 0.28 * n_shown
        axes = make_two_axes(self, ax, size, stacked=False, ratios=(2, 3))
        self._draw_weights(axes[0], weights[:n_shown], weights[n_shown:], bar_kwargs or {})
        self._draw_targets(axes[1], n_shown, point_kwargs or {}, adjusted_point_kwargs or {})
        for part in axes:
            part.set_ylim(len(self.bars_) - 0.5, -0.5)
        self.axes_, self.figure_ = axes, axes[0].figure
        return self

    def _draw_weights(self, ax, weights, others, kwargs):
        """Draw a bar for each row, from top to bottom, and a gray one for the others."""
        names = [as_label(label) for label in self.explanation.labels[0, : len(weights)]]
        colors = [BLUE] * len(weights)
        if others.any():
            names.append("1 other" if len(others) == 1 else f"{len(others)} others")
            colors.append("0.8")
            weights = np.append(weights, others.sum())
        self.bars_ = ax.barh(range(len(names)), weights, **{"color": colors, **kwargs})
        ax.bar_label(self.bars_, fmt="%.3f", padding=3, fontsize="small")
        ax.set_yticks(range(len(names)), names)
        ax.margins(x=0.25)
        ax.set(xlabel="weight among neighbors", ylabel="row", xlim=(0, None))

    def _draw_targets(self, ax, n_shown, kwargs, adjusted_kwargs):
        """Draw the rows' targets, how they are adjusted, and a line for the prediction."""
        explanation, places = self.explanation, range(n_shown)
        targets, adjusted = (
            part[0, :n_shown].reshape(n_shown, -1)[:, self.target]
            for part in (explanation.targets, explanation.adjusted_targets)
        )
        prediction = explanation.prediction.reshape(-1)[self.target]
        self.adjusted_points_ = None
        if explanation.is_adjusted:
            ax.hlines(places, targets, adjusted, color=GRAY, linewidth=1.2)
            style = {"color": BLUE, "marker": "D", "s": 24, "zorder": 4, "label": "adjusted"}
            self.adjusted_points_ = ax.scatter(adjusted, places, **style | adjusted_kwargs)
        style = {"color": GRAY if explanation.is_adjusted else BLUE, "zorder": 3, "label": "target"}
        self.points_ = ax.scatter(targets, places, **style | kwargs)
        label = f"prediction {prediction:,.6g}"
        self.prediction_line_ = ax.axvline(prediction, color=ORANGE, label=label)
        ax.tick_params(axis="y", left=False, labelleft=False)
        ax.grid(axis="y", color="0.9")
        ax.set_axisbelow(True)
        ax.set_xlabel("target")
        self.part_lines_ = []
        for (name, part), style in zip(explanation.parts.items(), cycle(_PART_STYLES)):
            place = part.reshape(-1)[self.target]
            label = f"{part_words(name)} {place:,.6g}"
            self.part_lines_.append(ax.axvline(place, color=GRAY, linestyle=style, label=label))
        artists = self.points_, self.adjusted_points_, self.prediction_line_, *self.part_lines_
        handles = [artist for artist in artists if artist is not None]
        n_columns = 2 if self.part_lines_ else 3
        legend_above(ax, handles=handles, ncols=n_columns, columnspacing=1.2, handlelength=1.2)
