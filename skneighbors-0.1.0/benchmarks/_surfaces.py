"""Regression surfaces learned on three synthetic targets, as one picture."""

import numpy as np
import torch
from _style import picture
from joblib import Parallel, delayed
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.neighbors import KNeighborsRegressor

from skneighbors import NONARegressor, Recipe, SoftStepKNNRegressor
from skneighbors.nn import NONA

NOISE = 0.1
SETTINGS = {
    "trend": "linear",
    "blend": None,
    "max_iter": 120,
    "n_estimators": 1,
    "hidden_layer_sizes": (128, 128),
    "recipe": Recipe(embedding_dim=16),
    "device": "cpu",
    "random_state": 0,
}


def radial(X):
    """Rings around the origin: ``cos(3 pi r)``."""
    return np.cos(3 * np.pi * np.hypot(X[:, 0], X[:, 1]))


def spiral(X):
    """Two arms that wind around the origin: ``sin(2 phi + 3 pi r)``."""
    radius, angle = np.hypot(X[:, 0], X[:, 1]), np.arctan2(X[:, 1], X[:, 0])
    return np.sin(2 * angle + 3 * np.pi * radius)


def checkerboard(X):
    """Four by four squares of height 1 and -1 in turn."""
    column, row = np.floor(2 * (X[:, 0] + 1)), np.floor(2 * (X[:, 1] + 1))
    return np.where((column + row) % 2 == 0, 1.0, -1.0)


TARGETS = {"radial": radial, "spiral": spiral, "checkerboard": checkerboard}


class _LinearHead(NONA):
    """Head of which only the trend is left: it reads no neighbors."""

    def forward(self, z, z_n, y_n, *arguments, **others):
        return self.trend(z)

    def weights_of(self, z, s, self_index=None, sample_weight=None, total=None):
        """Weights of no neighbor: all 0."""
        return torch.zeros_like(s)


class LinearHeadRegressor(NONARegressor):
    """The network and training of `NONARegressor`, with a linear last layer as head."""

    def _describe_head(self, plan, n_targets):
        dim = plan.recipe.embedding_dim
        return _LinearHead, dict(
            embedding_dim=dim, n_targets=n_targets, softstep=None, trend="linear"
        )


def surface_models(**settings):
    """Unfitted models, one a column of the picture.

    Parameters
    ----------
    **settings
        Parameters of the four networks, the same for all.

    Returns
    -------
    models : dict of str to estimator
    """
    knn_grid = {"n_neighbors": [1, 3, 5, 10, 20], "weights": ["uniform", "distance"]}
    folds = KFold(5, shuffle=True, random_state=0)
    return {
        "linear head": LinearHeadRegressor(**settings),
        "k-NN, tuned": GridSearchCV(KNeighborsRegressor(), knn_grid, cv=folds),
        "NONA, no SoftStep": NONARegressor(softstep=None, **settings),
        "NONA + SoftStep": NONARegressor(**settings),
        "SoftStep k-NN": SoftStepKNNRegressor(**settings),
    }


def square_grid(resolution):
    """Points (resolution ** 2, 2) in the middle of the cells of the square [-1, 1]^2."""
    ticks = (np.arange(resolution) + 0.5) * 2 / resolution - 1
    return np.stack(np.meshgrid(ticks, ticks), axis=-1).reshape(-1, 2)


def noisy_sample(target, n_rows, seed=0):
    """Points X (n_rows, 2), uniform in [-1, 1]^2, and their targets with normal noise."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n_rows, 2))
    return X, target(X) + NOISE * rng.standard_normal(n_rows)


def _fitted_surface(model, X, y, grid):
    return model.fit(X, y).predict(grid)


def learn_surfaces(n_rows=800, resolution=80, n_jobs=1, **settings):
    """Fit every model to every target.

    Parameters
    ----------
    n_rows : int
        Noisy training rows of each target.
    resolution : int
        Points of the test grid along each axis.
    n_jobs : int
        Fits at a time.
    **settings
        Parameters of the networks in place of `SETTINGS`.

    Returns
    -------
    surfaces : dict of str to dict of str to ndarray of shape (resolution, resolution)
        For each target, under ``"truth"`` the noise-free target and under the
        name of each model its predictions.
    """
    settings = {**SETTINGS, **settings}
    grid = square_grid(resolution)
    samples = {name: noisy_sample(target, n_rows) for name, target in TARGETS.items()}
    # The slowest models, which stand last, are started first.
    tasks = [
        (name, label, model)
        for label, model in reversed(surface_models(**settings).items())
        for name in TARGETS
    ]
    predicted = Parallel(n_jobs=n_jobs)(
        delayed(_fitted_surface)(model, *samples[name], grid) for name, _, model in tasks
    )
    found = {task[:2]: y_hat for task, y_hat in zip(tasks, predicted, strict=True)}
    shape = (resolution, resolution)
    return {
        name: {
            "truth": target(grid).reshape(shape),
            **{label: found[name, label].reshape(shape) for label in surface_models()},
        }
        for name, target in TARGETS.items()
    }


def surface_scores(surfaces):
    """R2 of every surface against the noise-free truth, target by target."""
    return {
        name: {
            label: r2_score(row["truth"].ravel(), surface.ravel())
            for label, surface in row.items()
            if label != "truth"
        }
        for name, row in surfaces.items()
    }


def draw_surfaces(surfaces, path, n_rows):
    """Save the surfaces as a picture, one target a column and one model a row.

    Parameters
    ----------
    surfaces : dict
        What :func:`learn_surfaces` returns.
    path : path-like
        SVG or PNG file to write.
    n_rows : int
        Number of training rows, for the heading.
    """
    scores = surface_scores(surfaces)
    models = list(next(iter(surfaces.values())))
    size = 1.75 * len(surfaces) + 0.6, 1.9 * len(models) + 0.9
    with picture(path, len(models), len(surfaces), figsize=size) as (figure, axes):
        for axes_column, (name, column) in zip(axes.T, surfaces.items(), strict=True):
            best = round(max(scores[name].values()), 3)
            for axis, (model, surface) in zip(axes_column, column.items(), strict=True):
                # One scale for all; what overshoots the truth is clipped in color.
                image = axis.imshow(
                    surface, "RdBu_r", vmin=-1.2, vmax=1.2, origin="lower", interpolation="none"
                )
                axis.set(xticks=[], yticks=[])
                if model == "truth":
                    axis.set_title(name)
                else:
                    score = round(scores[name][model], 3)
                    weight = "bold" if score == best else "normal"
                    axis.set_title(f"R² = {score:.3f}", weight=weight)
        for axis, model in zip(axes[:, 0], models, strict=True):
            axis.set_ylabel(model)
        bar = {"shrink": 0.6, "aspect": 40, "pad": 0.01, "ticks": [-1, 0, 1]}
        figure.colorbar(image, ax=axes, location="bottom", **bar)
        figure.suptitle(
            f"Learned from {n_rows} noisy points (deviation {NOISE}).\n"
            "R² against the noise-free truth; higher is better.",
            size=10,
        )
