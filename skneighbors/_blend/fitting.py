"""Fit the blended model, predict rows that it was not fitted to, and weigh it by these."""

from typing import NamedTuple

import numpy as np
import torch

from .boosting import BOOSTING, BaggedBoosting, BoostingData


class BlendFit(NamedTuple):
    """A blended model and what it predicts, standardized.

    Attributes
    ----------
    model : BaggedBoosting or None
    training : Tensor of shape (n_rows, n_targets)
        Of the rows that it was fitted to, by bags that were not fitted to them.
    validation : Tensor of shape (m, n, n_targets)
        Of each member's validation rows, by what was not fitted to them.
    weight : float
        The model's in predictions, in [0, 1].
    """

    model: BaggedBoosting | None
    training: torch.Tensor
    validation: torch.Tensor
    weight: float = 0.0

    def weigh(self, validation, task):
        """Give the model its weight beside the members' predictions; a weight of 0 removes it."""
        if self.model is None:
            return self
        parts = validation.y, validation.y_hat, self.validation
        y, y_hat, blended = (part.double().cpu() for part in parts)
        rows = validation.weight
        rows = torch.ones_like(y[..., 0]) if rows is None else rows.cpu()
        weight = task.weigh_blended(y, y_hat, blended, rows)
        return self._replace(weight=weight) if weight else no_blend(self.training)


def no_blend(y):
    """No blended model, for targets of this shape (n_rows, n_targets)."""
    return BlendFit(None, *[torch.zeros_like(y)] * 2)


def count_affordable(n_iter, samples, task, seconds, n_threads):
    """Count the iterations of boosted trees, at most `n_iter`, for so many seconds."""
    if samples.time is not None:  # they are fitted twice
        seconds /= 2
    data = _boosting_data(samples, task)
    return BOOSTING[task.boosting].count_affordable(data, n_iter, seconds, n_threads)


def fit_blended(plan, samples, task, split, random_state, n_threads):
    """Fit bags of boosted trees to all samples, and predict rows by what was not fitted to them.

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
    data, validation = _boosting_data(samples, task), samples.validation

    def fit(rows):
        n_iter = plan.recipe.boosting_iter
        return BOOSTING[task.boosting].fit(data.select(rows), n_iter, random_state, n_threads)

    model, out_of_fold = fit(slice(None))
    if validation is not None:
        predicted = model.predict(samples.expand(validation.matrix))[None]
    elif samples.time is not None:  # bags have seen rows as late
        predicted = _predict_held_out(fit, data.X, split)
    else:
        predicted = out_of_fold[split.validation.numpy()]
    return BlendFit(model, torch.from_numpy(out_of_fold), torch.from_numpy(predicted))


def _boosting_data(samples, task):
    groups = np.arange(len(samples.rows)) if samples.groups is None else samples.row_groups
    y = task.transform(samples.y[samples.rows])
    X = samples.expand(samples.matrix[samples.rows])
    n_categories = samples.reader.n_expanded_categories
    return BoostingData(X, y, samples.weight, groups, n_categories)


def _predict_held_out(fit, X, split):
    """Predict each member's validation rows by what is fitted to its training rows: (m, n, k)."""
    predicted, train = [], None
    for rows, validation in zip(split.train.numpy(), split.validation.numpy(), strict=True):
        if train is None or not np.array_equal(rows, train):  # members may share it
            (fitted, _), train = fit(rows), rows
        predicted.append(fitted.predict(X[validation]))
    return np.stack(predicted)
