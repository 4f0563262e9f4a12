"""The masks that SoftStep has learned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import check_random_state

from .._utils.checks import check_int
from .._utils.parameters import check_argument, counts_from
from .._utils.sklearn_private import take_samples
from ..nn._stack import take_member
from ._common import BLUE, ORANGE, check_plottable, make_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from typing_extensions import Self

    from .._base import BaseNeighborEstimator
    from .._utils.typing import ArrayLike

_N_POINTS = 401


@dataclass(kw_only=True, eq=False, repr=False)
class SoftStepDisplay:
    """The masks of some queries: how much a neighbor counts, by how near it is.

    Make it by :meth:`from_estimator`. Each line is a query's mask. With
    :class:`~skneighbors.NONARegressor` the nearness is the similarity, scaled to [0, 1] over the
    rows that predict, 1 being the nearest neighbor, and the mask multiplies the neighbor's
    softmax weight. With :class:`~skneighbors.SoftStepKNNRegressor` it is the neighbor's rank
    among these rows, 1 being the nearest, and the mask is the weight up to a factor.

    Parameters
    ----------
    x : ndarray of shape (n_points,)
        Ranks, from 1 to the number of rows that predict, or scaled similarities.
    masks : ndarray of shape (n_queries, n_points)
        Values of the masks there, as prediction uses them.
    ranked : bool
        Whether `x` holds ranks.

    Attributes
    ----------
    lines_ : list of matplotlib Line2D
        The masks.
    median_line_ : matplotlib Line2D
        Their median.
    ax_ : matplotlib Axes
        The axes.
    figure_ : matplotlib Figure
        The figure.

    See Also
    --------
    skneighbors.nn.SoftStep : The mask.
    skneighbors.NONARegressor.effective_n_neighbors : How many neighbors make each prediction.

    Notes
    -----
    Masks of ranks are those of queries whose nearest neighbor has weight 1 and thus rank 1. A
    row of weight `w`, or one that stands for `w` equal ones, takes `w` ranks and has their mean.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from skneighbors import SoftStepKNNRegressor
    >>> from skneighbors.inspection import SoftStepDisplay
    >>> X, y = make_friedman1(n_samples=100, random_state=0)
    >>> model = SoftStepKNNRegressor(max_iter=5, random_state=0).fit(X[:80], y[:80])
    >>> display = SoftStepDisplay.from_estimator(model, X[80:])
    >>> len(display.lines_)  # one for each query
    20
    """

    x: np.ndarray
    masks: np.ndarray
    ranked: bool

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseNeighborEstimator,
        X: ArrayLike,
        *,
        member: int = 0,
        subsample: int | None = 50,
        random_state: int | np.random.RandomState | None = None,
        ax: Axes | None = None,
        line_kwargs: dict[str, Any] | None = None,
        median_kwargs: dict[str, Any] | None = None,
    ) -> Self:
        """Show the masks of some queries.

        Parameters
        ----------
        estimator : NONARegressor, SoftStepKNNRegressor or a classifier
            Fitted, and not with ``softstep=None``.
        X : array-like of shape (n_samples, n_features)
            Features of the queries.
        member : int, default=0
            Which of the ensemble's networks to show.
        subsample : int or None, default=50
            Number of queries to show, drawn at random if X has more; None for all.
        random_state : int, RandomState instance or None, default=None
            Seed of that draw.
        ax : matplotlib Axes, default=None
            Axes to draw on. None for those of a new figure.
        line_kwargs : dict, default=None
            Keywords for matplotlib's ``plot`` of the masks.
        median_kwargs : dict, default=None
            Keywords for matplotlib's ``plot`` of their median.

        Returns
        -------
        display : SoftStepDisplay
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
            If the estimator has no mask, or X, `member` or `subsample` is not usable.

        Examples
        --------
        >>> from sklearn.datasets import make_friedman1
        >>> from skneighbors import SoftStepKNNRegressor
        >>> from skneighbors.inspection import SoftStepDisplay
        >>> X, y = make_friedman1(n_samples=100, random_state=0)
        >>> model = SoftStepKNNRegressor(max_iter=5, random_state=0).fit(X[:80], y[:80])
        >>> SoftStepDisplay.from_estimator(model, X[80:], subsample=5).masks.shape
        (5, 401)
        """
        check_plottable(cls, estimator)
        check_int("member", member, 0, len(estimator.estimator_weights_) - 1)
        caller = f"{cls.__name__}.from_estimator"
        check_argument(caller, "subsample", subsample, [counts_from(1), None])
        if subsample is not None and subsample < len(X):
            rows = check_random_state(random_state).choice(len(X), subsample, replace=False)
            X = take_samples(X, np.sort(rows))
        network = estimator.network_.requires_grad_(False)
        if network.head.softstep is None:
            raise ValueError("The estimator was fitted with softstep=None: it has no mask to show.")
        head, z = take_member(network.head, member), network.embed(estimator.prepare(X))[:, member]
        total, last = network.weights_of_rows()
        x, masks = head.mask(z.unsqueeze(0), _N_POINTS, total, last)
        display = cls(x=x.numpy(), masks=masks[0].numpy(), ranked=head.ranked)
        return display.plot(ax, line_kwargs=line_kwargs, median_kwargs=median_kwargs)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        line_kwargs: dict[str, Any] | None = None,
        median_kwargs: dict[str, Any] | None = None,
    ) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on. None for those of a new figure.
        line_kwargs : dict, default=None
            Keywords for matplotlib's ``plot`` of the masks.
        median_kwargs : dict, default=None
            Keywords for matplotlib's ``plot`` of their median.

        Returns
        -------
        self : SoftStepDisplay
            The display.

        Examples
        --------
        >>> import numpy as np
        >>> from skneighbors.inspection import SoftStepDisplay
        >>> x = np.linspace(0, 1, 11)
        >>> display = SoftStepDisplay(x=x, masks=np.stack([x, x**2]), ranked=False).plot()
        >>> len(display.lines_)
        2
        """
        ax = make_axes(self, ax, (5.5, 3.5))
        thin = {"color": BLUE, "alpha": 0.4, "linewidth": 0.8, **(line_kwargs or {})}
        strong = {"color": ORANGE, "linewidth": 2.5, "label": "median", **(median_kwargs or {})}
        self.lines_ = ax.plot(self.x, self.masks.T, **thin)
        self.lines_[0].set_label("a query")
        self.median_line_ = ax.plot(self.x, np.median(self.masks, axis=0), **strong)[0]
        if self.ranked:
            from matplotlib.ticker import LogLocator

            ax.set(xscale="log", xlabel="rank of the neighbor (1 is the nearest)")
            ax.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if self.x[-1] <= 100 else (1,)))
            ax.xaxis.set_major_formatter("{x:g}")
            ax.xaxis.set_minor_formatter("")
        else:
            ax.set_xlabel("scaled similarity (1 is the nearest neighbor)")
        ax.set(ylabel="mask", ylim=(-0.03, 1.03))
        ax.legend()
        self.ax_, self.figure_ = ax, ax.figure
        return self
