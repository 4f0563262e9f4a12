"""The blended model: a mean of boosted trees and a linear model, by weights chosen out of fold."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch

from .._utils.arrays import Stored

# Weights that are tried.
_STEPS = np.linspace(0, 1, 51).tolist()
_ROUNDING = 1e-12  # of a sum of weights


@dataclass(frozen=True, eq=False, repr=False)
class Mixture(Stored):
    """The mean of fitted models by their weights.

    Attributes
    ----------
    weights : dict of str to float
        Weights of the parts, "boosting" and "linear", that have any; they sum to 1.
    parts : dict of str to object
        The fitted models, by the same names.
    """

    weights: dict[str, float]
    parts: dict[str, Stored]

    def check_fields(self, sizes):
        """Check that each part has a weight, and these make a mean."""
        weights = self.weights.values()
        is_mean = min(weights) > 0 and abs(sum(weights) - 1) < _ROUNDING
        if not is_mean or self.weights.keys() != self.parts.keys():
            raise ValueError("the weights of the blended model are out of range")

    def __repr__(self):
        return " + ".join(f"{weight:.2f} {name}" for name, weight in self.weights.items())

    def predict(self, X):
        """Predict, to (n_samples, k).

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)
            As :meth:`TableReader.expand` returns it.
        """
        return self.mix(self.predict_parts(X))

    def predict_parts(self, X):
        """Predict by each part, to a dict of ndarrays of shape (n_samples, k)."""
        return {name: part.predict(X) for name, part in self.parts.items()}

    def mix(self, predicted):
        """Average arrays, one for each part."""
        return sum(weight * predicted[name] for name, weight in self.weights.items())


class Judged(NamedTuple):
    """Predictions to choose models and weights by, of rows that these were not fitted to.

    Attributes
    ----------
    y : ndarray of shape (n, k)
    weight : ndarray of shape (n,)
    predicted : dict of ndarrays of shape (n_models, n, k)
        Predictions by the models of each part.
    """

    y: np.ndarray
    weight: np.ndarray
    predicted: dict

    def choose(self, task):
        """Choose the model of each part, and the weights of the parts, that have the lowest loss.

        Parameters
        ----------
        task : Task

        Returns
        -------
        places : dict of str to int
        weights : dict of str to float
            Of the parts that have any.
        """
        known = task, torch.from_numpy(self.y), torch.from_numpy(self.weight)
        predicted = {name: torch.from_numpy(part) for name, part in self.predicted.items()}
        places = {name: find_lowest(*known, models) for name, models in predicted.items()}
        best = [predicted[name][place] for name, place in places.items()]
        if len(best) == 1:
            return places, dict.fromkeys(places, 1.0)
        second = choose_weight(*known, *best)
        weights = zip(places, [1 - second, second], strict=True)
        return places, {name: weight for name, weight in weights if weight}


def find_lowest(task, y, weight, predictions):
    """Place of the predictions of values y (..., k) that have the lowest loss, by weights (...)."""
    losses = [float((task.losses(y_hat, y) * weight).sum()) for y_hat in predictions]
    return int(np.argmin(losses))


def choose_weight(task, y, weight, first, second):
    """Weight of the second of two predictions in a mean, that of the lowest loss."""
    means = (first + step * (second - first) for step in _STEPS)  # of equals, the first is best
    return _STEPS[find_lowest(task, y, weight, means)]
