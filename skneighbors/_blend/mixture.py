"""The blended model: the mean of its parts, by weights that are chosen out of fold."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch

from .base import N_FOLDS, BlendData, draw_folds
from .boosting import BOOSTING
from .linear import LINEAR

# What can be blended, by name: classes of parts, by the loss that a task names.
PARTS = {"boosting": BOOSTING, "linear": LINEAR}
# Weights that are tried.
_STEPS = np.linspace(0, 1, 51).tolist()


@dataclass(frozen=True, eq=False, repr=False)
class Mixture:
    """The mean of fitted models by their weights.

    Attributes
    ----------
    weights : dict of str to float
        Weights of the parts that have any, by their names; they sum to 1.
    parts : dict of str to object
        The fitted models, by the same names.
    """

    weights: dict
    parts: dict

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
    """

    model: Mixture | None
    training: torch.Tensor
    validation: torch.Tensor | None = None
    weight: float = 0.0

    def weigh(self, validation, task):
        """Give the model its weight beside the members' predictions; a weight of 0 removes it."""
        if self.model is None:
            return self
        parts = validation.y, validation.y_hat, self.validation
        y, y_hat, blended = (part.double().cpu() for part in parts)
        rows = 1.0 if validation.weight is None else validation.weight.double().cpu()
        weight = choose_weight(task, y, rows, y_hat, blended)
        return self._replace(weight=weight) if weight else no_blend(self.training)


def no_blend(y):
    """No blended model, for targets of this shape (n_rows, n_targets)."""
    return BlendFit(None, torch.zeros_like(y))


def count_affordable(n_iter, samples, task, seconds, n_threads):
    """Count the iterations of boosted trees, at most `n_iter`, for so many seconds."""
    if samples.time is not None:  # they are fitted twice
        seconds /= 2
    data = _blend_data(samples, task)
    return BOOSTING[task.loss_name].count_affordable(data, n_iter, seconds, n_threads)


def fit_blended(plan, samples, task, split, settings):
    """Fit the parts of the blended model to all samples, and choose their weights out of fold.

    Parameters
    ----------
    plan : Plan
    samples : TrainingSamples
    task : Task
    split : EnsembleSplit
    settings : BlendSettings

    Returns
    -------
    fit : BlendFit
    """
    data = _blend_data(samples, task)

    def fit(rows):
        own = data.select(rows)
        folds = draw_folds(own.groups, N_FOLDS, settings.random_state)
        return {name: PARTS[name][task.loss_name].fit(own, folds, settings) for name in plan.parts}

    fits = fit(slice(None))
    out_of_fold = {name: predicted for name, (_, predicted) in fits.items()}
    if samples.validation is not None:
        judged = _judge_given(samples, task, fits)
    elif samples.time is not None:  # folds have seen rows as late
        judged = _judge_last(data, split, fit)
    else:
        judged = Judged(data.y, data.weight, out_of_fold)
    places, weights = judged.choose(task)
    model = Mixture(weights, {name: fits[name][0][places[name]] for name in weights})

    def mix(predicted):
        return torch.from_numpy(model.mix({n: predicted[n][places[n]] for n in weights}))

    training, rows = mix(out_of_fold), split.validation
    if judged.predicted is out_of_fold:
        return BlendFit(model, training, training[rows])
    # Of a given set all members have the same rows.
    validation = mix(judged.predicted).reshape(-1, rows.shape[1], data.y.shape[1])
    return BlendFit(model, training, validation)


def _blend_data(samples, task):
    groups = np.arange(len(samples.rows)) if samples.groups is None else samples.row_groups
    y = task.transform(samples.y[samples.rows])
    X = samples.expand(samples.matrix[samples.rows])
    return BlendData(X, y, samples.weight, groups, samples.reader.n_expanded_categories)


def _judge_given(samples, task, fits):
    """Predict a given validation set."""
    given = samples.validation
    X = samples.expand(given.matrix)
    predicted = {name: _predict_each(models, X) for name, (models, _) in fits.items()}
    return Judged(task.transform(given.y), given.weight, predicted)


def _judge_last(data, split, fit):
    """Predict each member's validation rows by what is fitted to its training rows."""
    parts, train = [], None
    for rows, validation in zip(split.train.numpy(), split.validation.numpy(), strict=True):
        if train is None or not np.array_equal(rows, train):  # members may share it
            fits, train = fit(rows), rows
        X = data.X[validation]
        parts.append({name: _predict_each(models, X) for name, (models, _) in fits.items()})
    predicted = {name: np.concatenate([part[name] for part in parts], axis=1) for name in fits}
    rows = data.select(split.validation.flatten().numpy())
    return Judged(rows.y, rows.weight, predicted)


def _predict_each(models, X):
    return np.stack([model.predict(X) for model in models])
