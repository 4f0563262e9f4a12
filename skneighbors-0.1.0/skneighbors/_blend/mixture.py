"""The blended model: the mean of its parts, by weights that are chosen out of fold."""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import torch

from .._utils.arrays import Stored
from .base import N_FOLDS, draw_folds
from .boosting import BOOSTING, count_affordable
from .linear import LINEAR

# What can be blended, by name: classes of parts, by the loss that a task names.
PARTS = {"boosting": BOOSTING, "linear": LINEAR}
# Weights that are tried.
_STEPS = np.linspace(0, 1, 51).tolist()
_ROUNDING = 1e-12  # of a sum of weights
_LEAST_ITER = 20  # trees of fewer iterations, where more were planned, are left out


@dataclass(frozen=True, eq=False, repr=False)
class Mixture(Stored):
    """The mean of fitted models by their weights.

    Attributes
    ----------
    weights : dict of str to float
        Weights of the parts that have any, by their names; they sum to 1.
    parts : dict of str to object
        The fitted models, by the same names.
    """

    weights: dict[str, float]
    parts: dict[str, Stored]

    def _check_fields(self, sizes):
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


class Candidates(NamedTuple):
    """Models to choose from by what they predict of rows that they were not fitted to.

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
        """Choose the model of each part and, part by part, weights that have the lowest loss.

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
        mean, weights = None, {}
        for name, place in places.items():
            best = predicted[name][place]
            step = 1.0 if mean is None else choose_weight(*known, mean, best)
            mean = best if mean is None else mean + step * (best - mean)
            weights = {other: (1 - step) * weight for other, weight in weights.items()}
            weights[name] = step
        return places, {name: weight for name, weight in weights.items() if weight}


def find_lowest(task, y, weight, predictions):
    """Place of the predictions of values y (..., k) that have the lowest loss, by weights (...)."""
    losses = [float((task.losses(y_hat, y) * weight).sum()) for y_hat in predictions]
    return int(np.argmin(losses))


def choose_weight(task, y, weight, first, second):
    """Weight of the second of two predictions in a mean, that of the lowest loss."""
    means = (first + step * (second - first) for step in _STEPS)  # of equals, the first is best
    return _STEPS[find_lowest(task, y, weight, means)]


class BlendFit(NamedTuple):
    """A blended model and what it predicts, standardized.

    Attributes
    ----------
    model : Mixture or None
    training : Tensor of shape (n_rows, n_targets)
        Of the rows that it was fitted to, by parts that were not fitted to them.
    validation : Tensor of shape (m, n, n_targets)
        Of each member's validation rows, by what was not fitted to them.
    weight : float
        The model's in predictions, in [0, 1].
    n_iter : int or None
        Iterations of boosted trees for which there was time, 0 if these are left out; None if
        no trees were planned.
    """

    model: Mixture | None
    training: torch.Tensor
    validation: torch.Tensor | None = None
    weight: float = 0.0
    n_iter: int | None = None

    def with_weight(self, validation, task):
        """Give the model its weight beside the members' predictions; a weight of 0 removes it."""
        if self.model is None:
            return self
        parts = validation.y, validation.y_hat, self.validation
        y, y_hat, blended = (part.double().cpu() for part in parts)
        rows = 1.0 if validation.weight is None else validation.weight.double().cpu()
        weight = choose_weight(task, y, rows, y_hat, blended)
        return self._replace(weight=weight) if weight else _no_blend(self.training)


def _no_blend(y):
    """No blended model, for targets of this shape (n_rows, n_targets)."""
    return BlendFit(None, torch.zeros_like(y))


def fit_blended(plan, data, task, split, settings):
    """Fit the parts of the blended model to all samples, and choose their weights out of fold.

    Parameters
    ----------
    plan : Plan
    data : BlendData
        Of the training samples and, behind them, of a given validation set.
    task : Task
    split : EnsembleSplit
    settings : BlendSettings

    Returns
    -------
    fit : BlendFit
    """
    if not plan.parts:
        return _no_blend(torch.from_numpy(data.y[: plan.n_samples]))
    data, given = data.select(slice(plan.n_samples)), data.select(slice(plan.n_samples, None))
    in_time, parts, n_iter = plan.validation.source == "time", plan.parts, None
    if in_time:  # parts are fitted twice
        settings = replace(settings, seconds=settings.seconds / 2)
    if "boosting" in parts:
        n_iter = count_affordable(data, task.loss_name, settings)
        if n_iter < min(_LEAST_ITER, settings.n_iter) and len(parts) > 1:
            parts, n_iter = [name for name in parts if name != "boosting"], 0
        settings = replace(settings, n_iter=n_iter)
    fits = _fit_parts(parts, data, task, settings)
    out_of_fold = {name: fit.out_of_fold for name, fit in fits.items()}
    if len(given.y):
        predicted = {name: fit.predict(given.X) for name, fit in fits.items()}
        candidates = Candidates(given.y, given.weight, predicted)
    elif in_time:  # folds have seen rows as late
        candidates = _predict_last(parts, data, task, split, settings)
    else:
        candidates = Candidates(data.y, data.weight, out_of_fold)
    places, weights = candidates.choose(task)
    model = Mixture(weights, {name: fits[name].models[places[name]] for name in weights})

    def mix(predicted):
        return torch.from_numpy(model.mix({n: predicted[n][places[n]] for n in weights}))

    training, rows = mix(out_of_fold), split.validation
    if candidates.predicted is out_of_fold:
        validation = training[rows]
    else:  # of a given set all members have the same rows
        validation = mix(candidates.predicted).reshape(-1, rows.shape[1], data.y.shape[1])
    return BlendFit(model, training, validation, n_iter=n_iter)


def _fit_parts(names, data, task, settings):
    """Fit parts in the same folds, to a dict of :class:`PartFit`."""
    folds = draw_folds(data.group, N_FOLDS, settings.random_state)
    return {name: PARTS[name][task.loss_name].fit(data, folds, settings) for name in names}


def _predict_last(names, data, task, split, settings):
    """Predict each member's validation rows by what is fitted to its training rows."""
    parts, train = [], None
    for rows, validation in zip(split.train.numpy(), split.validation.numpy(), strict=True):
        if train is None or not np.array_equal(rows, train):  # members may share it
            fits, train = _fit_parts(names, data.select(rows), task, settings), rows
        parts.append({name: fit.predict(data.X[validation]) for name, fit in fits.items()})
    predicted = {name: np.concatenate([part[name] for part in parts], axis=1) for name in fits}
    rows = data.select(split.validation.flatten().numpy())
    return Candidates(rows.y, rows.weight, predicted)
