"""Likely label errors, beside the expected targets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .._utils.checks import check_int
from ._common import BLUE, GREY, ORANGE, as_label, check_plottable, legend_above, make_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from typing_extensions import Self

    from .._model import Suspects
    from .._regressor import BaseNeighborRegressor


@dataclass(kw_only=True, eq=False, repr=False)
class SuspectsDisplay:
    """Likely label errors: targets that look wrong, each beside what its neighbors predict.

    Make it by :meth:`from_estimator`. A line for each row, the most suspect above: a dot for its
    target, and one for what is expected without it, with its interval.

    Parameters
    ----------
    suspects : Suspects
        As ``estimator.suspects`` returns them.
    target : int, default=0
        Number of the target to show, if there are several.

    Attributes
    ----------
    points_ : matplotlib PathCollection
        The targets.
    expected_points_ : matplotlib PathCollection
        What is expected.
    bars_ : matplotlib LineCollection
        The intervals; those whose ends are infinite are left out.
    ax_ : matplotlib Axes
        The axes.
    figure_ : matplotlib Figure
        The figure.

    See Also
    --------
    skneighbors.NONARegressor.suspects : The same in numbers.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from skneighbors import NONARegressor
    >>> from skneighbors.inspection import SuspectsDisplay
    >>> X, y = make_friedman1(n_samples=90, random_state=0)
    >>> model = NONARegressor(max_iter=5, random_state=0).fit(X, y)
    >>> display = SuspectsDisplay.from_estimator(model, n_rows=5)
    >>> len(display.ax_.get_yticks())
    5
    """

    suspects: Suspects
    target: int = 0

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseNeighborRegressor,
        n_rows: int = 20,
        confidence_level: float = 0.9,
        *,
        target: int = 0,
        ax: Axes | None = None,
        bar_kwargs: dict[str, Any] | None = None,
        point_kwargs: dict[str, Any] | None = None,
        expected_point_kwargs: dict[str, Any] | None = None,
    ) -> Self:
        """Show the rows of an estimator whose targets look wrong.

        Parameters
        ----------
        estimator : NONARegressor or SoftStepKNNRegressor
            Fitted.
        n_rows : int, default=20
            Number of rows; all if there are fewer.
        confidence_level : float, default=0.9
            Of the intervals.
        target : int, default=0
            Number of the target to show, if there are several; the rows are those whose scores
            are the highest by any.
        ax : matplotlib Axes, default=None
            Axes to draw on. None for those of a new figure.
        bar_kwargs : dict, default=None
            Keywords for matplotlib's ``hlines``.
        point_kwargs : dict, default=None
            Keywords for matplotlib's ``scatter`` of the targets.
        expected_point_kwargs : dict, default=None
            Keywords for matplotlib's ``scatter`` of what is expected.

        Returns
        -------
        display : SuspectsDisplay
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
            If another parameter is not usable.

        Examples
        --------
        >>> from sklearn.datasets import make_friedman1
        >>> from skneighbors import NONARegressor
        >>> from skneighbors.inspection import SuspectsDisplay
        >>> X, y = make_friedman1(n_samples=90, random_state=0)
        >>> model = NONARegressor(max_iter=5, random_state=0).fit(X, y)
        >>> display = SuspectsDisplay.from_estimator(model, n_rows=5)
        >>> len(display.suspects)
        5
        """
        check_plottable(cls, estimator, "Print its suspects().")
        check_int("target", target, 0, estimator.n_outputs_ - 1)
        display = cls(suspects=estimator.suspects(n_rows, confidence_level), target=target)
        kwargs = {"bar_kwargs": bar_kwargs, "point_kwargs": point_kwargs}
        return display.plot(ax, **kwargs, expected_point_kwargs=expected_point_kwargs)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        bar_kwargs: dict[str, Any] | None = None,
        point_kwargs: dict[str, Any] | None = None,
        expected_point_kwargs: dict[str, Any] | None = None,
    ) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on. None for those of a new figure.
        bar_kwargs : dict, default=None
            Keywords for matplotlib's ``hlines``.
        point_kwargs : dict, default=None
            Keywords for matplotlib's ``scatter`` of the targets.
        expected_point_kwargs : dict, default=None
            Keywords for matplotlib's ``scatter`` of what is expected.

        Returns
        -------
        self : SuspectsDisplay
            The display.

        Examples
        --------
        >>> from sklearn.datasets import make_friedman1
        >>> from skneighbors import NONARegressor
        >>> from skneighbors.inspection import SuspectsDisplay
        >>> X, y = make_friedman1(n_samples=90, random_state=0)
        >>> model = NONARegressor(max_iter=5, random_state=0).fit(X, y)
        >>> display = SuspectsDisplay(suspects=model.suspects(n_rows=5)).plot()
        >>> display.ax_.get_xlabel()
        'target'
        """
        suspects, places = self.suspects, np.arange(len(self.suspects))
        targets, expected = (
            part.reshape(len(suspects), -1)[:, self.target]
            for part in (suspects.targets, suspects.expected)
        )
        interval = suspects.interval.reshape(len(suspects), -1, 2)[:, self.target]
        finite = np.isfinite(interval).all(axis=1)
        ax = make_axes(self, ax, (7, 1.2 + 0.25 * len(suspects)))
        style = {"color": BLUE, "linewidth": 4, "alpha": 0.3, "label": "interval"}
        self.bars_ = ax.hlines(places[finite], *interval[finite].T, **style | (bar_kwargs or {}))
        ax.hlines(places, expected, targets, color=GREY, linewidth=0.8, linestyle=":")
        style = {"color": BLUE, "marker": "D", "s": 24, "zorder": 3, "label": "expected"}
        style |= expected_point_kwargs or {}
        self.expected_points_ = ax.scatter(expected, places, **style)
        style = {"color": ORANGE, "zorder": 4, "label": "target"} | (point_kwargs or {})
        self.points_ = ax.scatter(targets, places, **style)
        ax.set_yticks(places, [as_label(label) for label in suspects.labels])
        ax.set(xlabel="target", ylabel="row", ylim=(len(suspects) - 0.5, -0.5))
        legend_above(ax, handles=[self.points_, self.expected_points_, self.bars_])
        self.ax_, self.figure_ = ax, ax.figure
        return self
