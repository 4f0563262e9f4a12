"""The embedding space in the plane."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.decomposition import PCA

from .._utils.parameters import StrOptions, check_argument
from ._common import check_plottable, make_axes, select_target

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from typing_extensions import Self

    from .._base import BaseNeighborEstimator
    from .._utils.typing import ArrayLike

# Distances of the embedding space by `similarity`, in UMAP's words; a dot product is no distance.
_METRICS = {"l2": "euclidean", "l1": "manhattan", "cosine": "cosine", "dot": "euclidean"}


@dataclass(kw_only=True, eq=False, repr=False)
class EmbeddingDisplay:
    """Rows in the embedding space, projected to the plane and colored by target.

    Make it by :meth:`from_estimator`. Where colors change smoothly, near rows have like targets,
    which is what the network learns.

    Parameters
    ----------
    coordinates : ndarray of shape (n_samples, 2)
        Places of the rows.
    y : ndarray of shape (n_samples,)
        Their targets.
    method : {"umap", "pca"}
        How they were projected to the plane.

    Attributes
    ----------
    scatter_ : matplotlib PathCollection
        The rows.
    colorbar_ : matplotlib Colorbar
        The scale of the targets.
    ax_ : matplotlib Axes
        The axes.
    figure_ : matplotlib Figure
        The figure.

    See Also
    --------
    skneighbors.NONARegressor.transform : The embeddings themselves.

    Notes
    -----
    UMAP keeps near rows together; its axes, and distances between far rows, mean nothing. PCA is
    linear: it shows the two directions of most variance.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from skneighbors import NONARegressor
    >>> from skneighbors.inspection import EmbeddingDisplay
    >>> X, y = make_friedman1(n_samples=100, random_state=0)
    >>> model = NONARegressor(max_iter=5, random_state=0).fit(X[:80], y[:80])
    >>> display = EmbeddingDisplay.from_estimator(model, X[80:], y[80:], method="pca")
    >>> display.coordinates.shape
    (20, 2)
    """

    coordinates: np.ndarray
    y: np.ndarray
    method: str

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseNeighborEstimator,
        X: ArrayLike,
        y: ArrayLike,
        *,
        method: str = "auto",
        random_state: int | np.random.RandomState | None = None,
        target: int = 0,
        ax: Axes | None = None,
        scatter_kwargs: dict[str, Any] | None = None,
    ) -> Self:
        """Show rows in the embedding space.

        Parameters
        ----------
        estimator : NONARegressor, SoftStepKNNRegressor or a classifier
            Fitted.
        X : array-like of shape (n_samples, n_features)
            Features; rows that were not given to ``fit`` show what the network has learned.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets.
        method : {"auto", "umap", "pca"}, default="auto"
            How the embeddings are projected to the plane: UMAP, of the package umap-learn, or the
            first two principal components. ``"auto"`` is UMAP if it is installed.
        random_state : int, RandomState instance or None, default=None
            Seed of UMAP, or of the PCA.
        target : int, default=0
            Number of the target to show, if there are several.
        ax : matplotlib Axes, default=None
            Axes to draw on. None for those of a new figure.
        scatter_kwargs : dict, default=None
            Keywords for matplotlib's ``scatter``.

        Returns
        -------
        display : EmbeddingDisplay
            The display, drawn.

        Raises
        ------
        ImportError
            If matplotlib is missing, or umap-learn for ``method="umap"``.
        TypeError
            If the estimator is another one.
        NotFittedError
            If the estimator is not fitted.
        ValueError
            If X, y, `method` or `target` is not usable.

        Examples
        --------
        >>> from sklearn.datasets import make_friedman1
        >>> from skneighbors import NONARegressor
        >>> from skneighbors.inspection import EmbeddingDisplay
        >>> X, y = make_friedman1(n_samples=100, random_state=0)
        >>> model = NONARegressor(max_iter=5, random_state=0).fit(X[:80], y[:80])
        >>> display = EmbeddingDisplay.from_estimator(model, X[80:], y[80:], method="pca")
        >>> display.method
        'pca'
        """
        check_plottable(cls, estimator)
        methods = [StrOptions({"auto", "umap", "pca"})]
        check_argument(f"{cls.__name__}.from_estimator", "method", method, methods)
        umap = None if method == "pca" else _find_umap(method)
        Z = estimator.transform(X)
        y = select_target(y, target, len(Z), getattr(estimator, "classes_", None))
        if umap is None:
            method, coordinates = "pca", _principal_components(Z, random_state)
        else:
            metric = _METRICS.get(estimator.plan_.params["similarity"], "euclidean")
            method, coordinates = "umap", _reduce_by_umap(umap, Z, metric, random_state)
        display = cls(coordinates=coordinates, y=y, method=method)
        return display.plot(ax, scatter_kwargs=scatter_kwargs)

    def plot(self, ax: Axes | None = None, *, scatter_kwargs: dict[str, Any] | None = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on. None for those of a new figure.
        scatter_kwargs : dict, default=None
            Keywords for matplotlib's ``scatter``.

        Returns
        -------
        self : EmbeddingDisplay
            The display.

        Examples
        --------
        >>> import numpy as np
        >>> from skneighbors.inspection import EmbeddingDisplay
        >>> places, y = np.random.default_rng(0).normal(size=(20, 2)), np.arange(20)
        >>> display = EmbeddingDisplay(coordinates=places, y=y, method="pca").plot()
        >>> display.ax_.get_xlabel()
        'principal component 1'
        """
        ax = make_axes(self, ax, (5.5, 4))
        kwargs = {"c": self.y, "s": 14, "cmap": "viridis", **(scatter_kwargs or {})}
        self.scatter_ = ax.scatter(*self.coordinates.T, **kwargs)
        self.colorbar_ = ax.figure.colorbar(self.scatter_, ax=ax, label="target")
        name = {"umap": "UMAP", "pca": "principal component"}[self.method]
        ax.set(xlabel=f"{name} 1", ylabel=f"{name} 2")
        if self.method == "umap":
            ax.set(xticks=[], yticks=[])
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _find_umap(method):
    """Import the package umap; None if it is missing and need not be there."""
    try:
        import umap
    except ImportError as error:
        if method == "auto":
            return None
        raise ImportError(
            "method='umap' needs umap-learn: pip install umap-learn, or use method='pca'."
        ) from error
    return umap


def _principal_components(Z, random_state):
    """First two principal components (n, 2) of embeddings; zeros where there are fewer."""
    n_components = min(2, *Z.shape)
    found = PCA(n_components, random_state=random_state).fit_transform(Z)
    return np.pad(found, [(0, 0), (0, 2 - n_components)])


def _reduce_by_umap(umap, Z, metric, random_state):
    """Project embeddings to the plane (n, 2) by UMAP."""
    reducer = umap.UMAP(
        n_neighbors=max(2, min(15, len(Z) - 1)),
        metric=metric,
        random_state=random_state,
        n_jobs=-1 if random_state is None else 1,
    )
    return reducer.fit_transform(Z)
