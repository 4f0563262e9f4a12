"""Regression tasks for the papers' protocol, each with its feature extractor."""

import numpy as np
from _benchmark import score
from _data import DATASETS, available, data_folder, load_rows
from _methods import PAPER, make_regressor
from scipy.ndimage import rotate
from sklearn.datasets import load_diabetes, load_digits
from sklearn.model_selection import train_test_split
from torch import nn

from ._runs import QUICK, shortened


class _Convolutions(nn.Sequential):
    """Two convolutions with pooling, over signals of one channel and any length or size."""

    def __init__(self, convolution, pool):
        super().__init__(
            convolution(1, 16, 3, padding=1),
            nn.ReLU(),
            pool(2),
            convolution(16, 32, 3, padding=1),
            nn.ReLU(),
            pool(2),
            nn.Flatten(),
        )

    def forward(self, x):
        return super().forward(x.unsqueeze(1))


def image_extractor():
    """Features of gray images (b, height, width)."""
    return _Convolutions(nn.Conv2d, nn.MaxPool2d)


def signal_extractor():
    """Features of signals (b, length)."""
    return _Convolutions(nn.Conv1d, nn.MaxPool1d)


def rotated_digits(max_angle=45):
    """scikit-learn's digits, each turned by a random angle, which is the target, in degrees."""
    images = load_digits().images / 16
    angles = np.random.default_rng(0).uniform(-max_angle, max_angle, len(images))
    turned = [
        rotate(image, angle, reshape=False, order=1)
        for image, angle in zip(images, angles, strict=True)
    ]
    return np.stack(turned), angles


def pitch(n_samples=1500, length=64):
    """Noisy tones of random phase, loudness and overtone; the target is their frequency.

    Between 2 and 12 periods fit into a signal.
    """
    rng = np.random.default_rng(0)
    frequency, phase, overtone, loudness = rng.uniform(
        [2, 0, 0, 0.5], [12, 2 * np.pi, 0.5, 1.5], size=(n_samples, 4)
    ).T
    angle = 2 * np.pi * frequency[:, None] * np.linspace(0, 1, length) + phase[:, None]
    tone = np.sin(angle) + overtone[:, None] * np.sin(2 * angle)
    return loudness[:, None] * tone + 0.3 * rng.normal(size=(n_samples, length)), frequency


def tasks():
    """Loaders of all tasks that can be had here, and their feature extractors."""
    found = {
        "rotated digits": (rotated_digits, image_extractor),
        "pitch": (pitch, signal_extractor),
        "diabetes": (lambda: load_diabetes(return_X_y=True), None),
    }
    here = available() if data_folder() else []
    local = [name for name in here if DATASETS.get(name, np.inf) < 2000]
    return found | {name: (lambda name=name: load_rows(name), None) for name in local}


def split_task(task, split, quick=False):
    """Rows of a task, a fifth of them to test on, and its feature extractor.

    Parameters
    ----------
    task : str
    split : int
        Seed of the split.
    quick : bool, default=False
        Whether the first few rows are enough.

    Returns
    -------
    parts : list of ndarray
        ``X_train, X_test, y_train, y_test``.
    feature_extractor : callable or None
    """
    load, feature_extractor = tasks()[task]
    X, y = load()
    if quick:
        X, y = X[: QUICK["n_rows"]], y[: QUICK["n_rows"]]
    return train_test_split(X, y, test_size=0.2, random_state=split), feature_extractor


def fit(estimator, params, task, split, quick=False):
    """Fit an estimator with parameters beside the papers' setting on one split of a task.

    Returns
    -------
    model : estimator
    parts : list of ndarray
        ``X_train, X_test, y_train, y_test``.
    figures : dict
        Test error, and seconds of the fit.
    """
    parts, feature_extractor = split_task(task, split, quick)
    given = {"feature_extractor": feature_extractor, "random_state": split} | shortened(quick)
    model = make_regressor(estimator, **PAPER | params | given)
    found = score(model, *parts)
    return model, parts, {"rmse": found["rmse"], "s": found["fit_s"]}
