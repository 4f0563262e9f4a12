"""Results of an epoch of training, on the validation rows."""

from typing import NamedTuple

import torch

from .._network import attend_in_batches, embed_in_batches


class ValidationResult(NamedTuple):
    """Targets (m, n, k) of validation rows, predictions, their errors (m, n), weights or None."""

    y: torch.Tensor
    y_hat: torch.Tensor
    errors: torch.Tensor
    weight: torch.Tensor | None


class EpochResult(NamedTuple):
    """Result of an epoch.

    `error` is what to judge it by: the validation error, or the loss without
    validation rows; inf if it was not validated, NaN if the loss or the weights
    are not finite. `score` is the validation R2 or None, as is `validation`.
    """

    loss: float
    error: float
    score: float | None = None
    validation: ValidationResult | None = None


def set_mode(network, training):
    """Switch to training or evaluation; does nothing, fast, if that is the mode."""
    if network.training != training:
        network.train(training)


def mean_over_rows(values, weight):
    return values.mean(-1) if weight is None else (weight * values).sum(-1) / weight.sum(-1)


@torch.no_grad()
def validate(network, data, n_neighbors, calibrations=()):
    """Predict the validation rows, to the result and each member's error and score, (m,).

    Neighbors of a validation row are the nearest of the member's training rows. If there are
    `calibrations` to try, the head is left with the one of lowest error.
    """
    validation = predict_validation(network, data, n_neighbors, calibrations)
    if calibrations:
        best = mean_over_rows(validation.errors, validation.weight).argmin(0)
        network.head.calibration.copy_(best.new_tensor(calibrations, dtype=data.rows.y.dtype)[best])
        y_hat = validation.y_hat.take_along_dim(best[None, :, None, None], 0).squeeze(0)
        errors = validation.errors.take_along_dim(best[None, :, None], 0).squeeze(0)
        validation = validation._replace(y_hat=y_hat, errors=errors)
    error = mean_over_rows(validation.errors, validation.weight)
    return validation, error, _score(error, validation.y, validation.weight, data.task)


def predict_validation(network, data, n_neighbors, calibrations):
    """Predict the validation rows; (l, m, n, k) if there are l calibrations to try."""
    set_mode(network, training=False)
    rows, split, task = data.rows, data.split, data.task
    z = embed_in_batches(network, rows.X)
    queries, z_n = take_rows(z, split.validation), take_rows(z, split.train)
    y, weight = rows.take_labels(split.validation)
    y_n, weight_n = rows.take_labels(split.train)
    neighbors = z_n, y_n, None if weight_n is None else weight_n.unsqueeze(-2), n_neighbors
    head = network.head
    if not calibrations:
        y_hat = attend_in_batches(head, queries, *neighbors)
        return ValidationResult(y, y_hat, task.losses(y_hat, y), weight)
    kept = head.calibration
    try:
        # Against all of them at once, as ranks are the same.
        head.calibration = kept.new_tensor(calibrations).unsqueeze(1).expand(-1, len(kept))
        y_hat = attend_in_batches(head, queries, *neighbors, n_heads=len(calibrations))
    finally:
        head.calibration = kept
    # Of a head that does not read its calibration there is one set of predictions.
    y_hat = y_hat.expand(len(calibrations), *y.shape)
    return ValidationResult(y, y_hat, task.losses(y_hat, y), weight)


def take_rows(z, rows):
    return z.take_along_dim(rows.unsqueeze(-1), 1)


def _score(error, y, weight, task):
    """How much smaller each member's error is than that of a constant: R2, if it is squared.

    As in r2_score, constant targets give 1 or 0.
    """
    of_constant = mean_over_rows(task.losses(task.fallback(y, weight), y), weight)
    # The mean of equal numbers is theirs up to rounding.
    rounding = 16 * torch.finfo(y.dtype).eps ** 2 * y.square().mean((-2, -1))
    is_constant = of_constant <= rounding
    return torch.where(is_constant, (error <= rounding).to(error), 1 - error / of_constant)
