"""The neighbours behind one prediction."""

import numpy as np

from .._utils.checks import check_int
from ._common import BLUE, GREY, ORANGE, check_plottable, make_two_axes


class NeighborsDisplay:
    """The neighbours of one query: their weights, and their targets beside the prediction.

    Make it by :meth:`from_estimator`. On the left is a bar for the weight of each neighbour,
    the largest first, and one for all others together; on the right a dot for its target.

    Parameters
    ----------
    explanation : Explanation
        Of a single query, as ``estimator.explain`` returns it.
    target : int, default=0
        Number of the target to show, if there are several.

    Attributes
    ----------
    bars_ : matplotlib BarContainer
        The weights.
    points_ : matplotlib PathCollection
        The targets.
    prediction_line_ : matplotlib Line2D
        The prediction.
    trend_line_ : matplotlib Line2D
        The part of the prediction that no neighbour contributes. With ``trend=None`` it is the
        mean of the neighbours' targets.
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
    >>> X, y = make_friedman1(n_samples=120, random_state=0)
    >>> model = NONARegressor(max_iter=5, random_state=0).fit(X[:100], y[:100])
    >>> display = NeighborsDisplay.from_estimator(model, X[[100]], n_neighbors=5)
    >>> len(display.bars_)  # five neighbours, and all others
    6
    """

    def __init__(self, *, explanation, target=0):
        self.explanation = explanation
        self.target = target

    @classmethod
    def from_estimator(
        cls, estimator, X, n_neighbors=10, *, target=0, ax=None, bar_kwargs=None, point_kwargs=None
    ):
        """Show the neighbours behind the prediction of a row.

        Parameters
        ----------
        estimator : NONARegressor or SoftStepKNNRegressor
            Fitted.
        X : array-like of shape (1, n_features)
            Features of the row.
        n_neighbors : int, default=10
            Number of neighbours to show, those of largest weight.
        target : int, default=0
            Number of the target to show, if there are several.
        ax : matplotlib Axes or array of two, default=None
            Axes to draw on, or in whose place to draw two. None for those of a new figure.
        bar_kwargs : dict, default=None
            Keywords for matplotlib's ``barh``.
        point_kwargs : dict, default=None
            Keywords for matplotlib's ``scatter``.

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
        >>> X, y = make_friedman1(n_samples=120, random_state=0)
        >>> model = NONARegressor(max_iter=5, random_state=0).fit(X[:100], y[:100])
        >>> display = NeighborsDisplay.from_estimator(model, X[[100]], n_neighbors=5)
        >>> display.axes_.shape
        (2,)
        """
        check_plottable(cls, estimator)
        explanation = estimator.explain(X, n_neighbors)
        if len(explanation) != 1:
            raise ValueError(f"X must be a single row; got {len(explanation)} rows.")
        check_int("target", target, 0, estimator.n_outputs_ - 1)
        display = cls(explanation=explanation, target=target)
        return display.plot(ax, bar_kwargs=bar_kwargs, point_kwargs=point_kwargs)

    def plot(self, ax=None, *, bar_kwargs=None, point_kwargs=None):
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes or array of two, default=None
            See :meth:`from_estimator`.
        bar_kwargs : dict, default=None
            Keywords for matplotlib's ``barh``.
        point_kwargs : dict, default=None
            Keywords for matplotlib's ``scatter``.

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
        >>> X, y = make_friedman1(n_samples=120, random_state=0)
        >>> model = NONARegressor(max_iter=5, random_state=0).fit(X[:100], y[:100])
        >>> explanation = model.explain(X[[100]], n_neighbors=3)
        >>> display = NeighborsDisplay(explanation=explanation).plot()
        >>> len(display.bars_)
        4
        """
        own = self.explanation
        if len(own) != 1:
            raise ValueError(f"explanation must be of a single query; got {len(own)}.")
        names = [f"row {sample}" for sample in own.samples[0]]
        weights = own.weights[0]
        if own.n_others:
            names.append(f"{own.n_others} others")
            weights = np.append(weights, own.others_weight[0])
        figsize = (8, 1.4 + 0.28 * len(names))
        axes = make_two_axes(self, ax, figsize, stacked=False, ratios=(2, 3))
        self._draw_weights(axes[0], names, weights, bar_kwargs or {})
        self._draw_targets(axes[1], point_kwargs or {})
        self.axes_, self.figure_ = axes, axes[0].figure
        return self

    def _draw_weights(self, ax, names, weights, kwargs):
        """Draw a bar for each name, from top to bottom, the last in grey if it is the others'."""
        n_neighbors = self.explanation.weights.shape[1]
        colors = [BLUE if i < n_neighbors else "0.8" for i in range(len(names))]
        self.bars_ = ax.barh(range(len(names)), weights, **{"color": colors, **kwargs})
        ax.bar_label(self.bars_, fmt="%.3f", padding=3, fontsize="small")
        ax.set_yticks(range(len(names)), names)
        ax.margins(x=0.2)
        ax.set(xlabel="weight", xlim=(0, None), ylim=(len(names) - 0.5, -0.5))

    def _draw_targets(self, ax, kwargs):
        """Draw the neighbours' targets, and lines for prediction and trend."""
        own = self.explanation
        prediction = own.prediction.reshape(-1)[self.target]
        trend = own.trend.reshape(-1)[self.target]
        targets = own.targets[0].reshape(own.weights.shape[1], -1)[:, self.target]
        self.trend_line_ = ax.axvline(trend, color=GREY, linestyle="--", label=f"trend {trend:.5g}")
        self.prediction_line_ = ax.axvline(
            prediction, color=ORANGE, label=f"prediction {prediction:.5g}"
        )
        kwargs = {"color": BLUE, "zorder": 3, **kwargs}
        self.points_ = ax.scatter(targets, range(len(targets)), **kwargs)
        ax.tick_params(axis="y", left=False, labelleft=False)
        ax.grid(axis="y", color="0.9")
        ax.set_axisbelow(True)
        ax.set_xlabel("target of the neighbour")
        ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2, frameon=False)
