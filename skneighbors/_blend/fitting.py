"""Fit the blended model, predict rows that it was not fitted to, and weigh it by these."""

from functools import partial
from typing import NamedTuple

import numpy as np
import torch

from .boosting import BOOSTING, fit_boosting
from .data import N_FOLDS, BlendData, draw_folds
from .linear import fit_linear
from .mixture import Judged, Mixture, choose_weight


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


def fit_blended(plan, samples, task, split, random_state, n_threads):
    """Fit the parts of the blended model to all samples, and choose their weights out of fold.

    Parameters
    ----------
    plan : Plan
    samples : TrainingSamples
    task : Task
    split : EnsembleSplit
    random_state : RandomState
    n_threads : int

    Returns
    -------
    fit : BlendFit
    """
    data = _blend_data(samples, task)
    fit_part = {
        "boosting": partial(
            fit_boosting, n_iter=plan.recipe.boosting_iter, random_state=random_state
        ),
        "linear": fit_linear,
    }

    def fit(rows):
        own = data.select(rows)
        folds = draw_folds(own.groups, N_FOLDS, random_state)
        given = own, folds, task.loss_name, n_threads
        return {name: fit_part[name](*given) for name in plan.parts}

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
    return BlendData(X, y, samples.weight, groups, samples.reader.n_categories)


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
