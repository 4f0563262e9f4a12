"""Fit the blended model, predict rows that it was not fitted to, and weigh it by these."""

import math
from functools import partial
from typing import NamedTuple

import numpy as np
import torch

from .boosting import BOOSTING, fit_boosting
from .data import N_FOLDS, draw_folds
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
    n_iter : int or None
        Iterations of boosted trees for which there was time; None without trees.
    """

    model: Mixture | None
    training: torch.Tensor
    validation: torch.Tensor | None = None
    weight: float = 0.0
    n_iter: int | None = None

    def weigh(self, validation, task):
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


def fit_blended(plan, data, task, split, random_state, n_threads, seconds):
    """Fit the parts of the blended model to all samples, and choose their weights out of fold.

    Parameters
    ----------
    plan : Plan
    data : BlendData
        Of the training samples and, behind them, of a given validation set.
    task : Task
    split : EnsembleSplit
    random_state : RandomState
    n_threads : int
    seconds : float
        How long boosted trees may take, infinity for as long as they need.

    Returns
    -------
    fit : BlendFit
    """
    if not plan.parts:
        return _no_blend(torch.from_numpy(data.y[: plan.n_samples]))
    data, given = data.select(slice(plan.n_samples)), data.select(slice(plan.n_samples, None))
    n_iter, in_time = None, plan.validation.source == "time"
    if "boosting" in plan.parts:
        n_iter = plan.recipe.boosting_iter
        if seconds < math.inf:
            seconds /= 2 if in_time else 1  # they are fitted twice
            kind = BOOSTING[task.loss_name]
            n_iter = kind.count_affordable(data, n_iter, seconds, n_threads)
    fit_part = {
        "boosting": partial(fit_boosting, n_iter=n_iter, random_state=random_state),
        "linear": fit_linear,
    }

    def fit(rows):
        own = data.select(rows)
        folds = draw_folds(own.group, N_FOLDS, random_state)
        arguments = own, folds, task.loss_name, n_threads
        return {name: fit_part[name](*arguments) for name in plan.parts}

    fits = fit(slice(None))
    out_of_fold = {name: predicted for name, (_, predicted) in fits.items()}
    judged = Judged(data.y, data.weight, out_of_fold)
    if len(given.y):
        predicted = {name: _predict_each(models, given.X) for name, (models, _) in fits.items()}
        judged = Judged(given.y, given.weight, predicted)
    elif in_time:  # folds have seen rows as late
        judged = _judge_last(data, split, fit)
    places, weights = judged.choose(task)
    model = Mixture(weights, {name: fits[name][0][places[name]] for name in weights})

    def mix(predicted):
        return torch.from_numpy(model.mix({n: predicted[n][places[n]] for n in weights}))

    training, rows = mix(out_of_fold), split.validation
    if judged.predicted is out_of_fold:
        validation = training[rows]
    else:  # of a given set all members have the same rows
        validation = mix(judged.predicted).reshape(-1, rows.shape[1], data.y.shape[1])
    return BlendFit(model, training, validation, n_iter=n_iter)


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
