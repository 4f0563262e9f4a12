"""Results of an epoch of training, on the validation rows."""

from dataclasses import replace
from typing import NamedTuple

import torch

from .._network import attend_in_batches, embed_in_batches
from .alike import MemberRows, attend_alike


class ValidationResult(NamedTuple):
    """Targets (m, n, k) of validation rows, predictions, their errors (m, n), weights or None."""

    y: torch.Tensor
    y_hat: torch.Tensor
    errors: torch.Tensor
    weight: torch.Tensor | None

    @classmethod
    def of_members(cls, results):
        """Join the results of members that were trained apart."""
        y, y_hat, errors, weight = zip(*results, strict=True)
        weight = None if weight[0] is None else torch.cat(weight, -2)
        return cls(torch.cat(y, -3), torch.cat(y_hat, -3), torch.cat(errors, -2), weight)

    def take(self, place):
        """Take one place (m,) of each member in predictions (c, m, n, k)."""
        y_hat = self.y_hat.take_along_dim(place[None, :, None, None], 0).squeeze(0)
        errors = self.errors.take_along_dim(place[None, :, None], 0).squeeze(0)
        return self._replace(y_hat=y_hat, errors=errors)


class EpochResult(NamedTuple):
    """Result of an epoch.

    `error` is what to judge it by: the validation error, or the loss without
    validation rows; inf if it was not validated, NaN if the loss or the weights
    are not finite. `score` is that of the validation rows or None, as is `validation`.
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
def validate(network, data, n_neighbors):
    """Predict the validation rows, to the result and each member's error and score, (m,).

    Neighbors of a validation row are the nearest of the member's training rows.
    """
    parts = embed_parts(network, data)
    [validation] = predict_validation(network, data, parts, n_neighbors)
    error = mean_over_rows(validation.errors, validation.weight)
    return validation, error, _score(error, validation.y, validation.weight, data.task)


def embed_parts(network, data):
    """Embed the validation rows and the training rows of each member."""
    set_mode(network, training=False)
    z = embed_in_batches(network, data.rows.X)
    return [_take(data, z, part) for part in (data.split.validation, data.split.train)]


def predict_validation(network, data, parts, n_neighbors, calibrations=(), likenesses=(0.0,)):
    """Predict the validation rows with each likeness; (c, m, n, k) if there are c calibrations.

    Parameters
    ----------
    network : NeighborNetwork
    data : TrainingData
    parts : list of MemberRows
        Of :func:`embed_parts`.
    n_neighbors : int or None
    calibrations, likenesses : sequence of float
        To try; of likeness the strengths.

    Returns
    -------
    results : list of ValidationResult
    """
    (queries, neighbors), task = parts, data.task
    y, weight, head = queries.y, queries.weight, network.head

    def attend():
        if any(likenesses):
            alike = [replace(data.likeness, strength=strength) for strength in likenesses]
            return attend_alike(head, alike, queries, neighbors, n_neighbors)
        of_each = None if neighbors.weight is None else neighbors.weight.unsqueeze(-2)
        known = queries.z, neighbors.z, neighbors.y, of_each, n_neighbors
        return attend_in_batches(head, *known, max(1, len(calibrations))).unsqueeze(0)

    kept, shape = head.calibration, y.shape
    if calibrations:
        # All calibrations are tried at once, as the ranks are the same.
        head.calibration = kept.new_tensor(calibrations).unsqueeze(1).expand(-1, len(kept))
        shape = len(calibrations), *shape  # also of a head that does not read its calibration
    try:
        predicted = [y_hat.expand(shape) for y_hat in attend()]
    finally:
        head.calibration = kept
    return [ValidationResult(y, y_hat, task.losses(y_hat, y), weight) for y_hat in predicted]


def _take(data, z, rows):
    """Take rows (m, n) of embeddings (m, N, d), columns, targets and weights."""
    y, weight = data.rows.take_labels(rows)
    columns = data.rows.columns
    return MemberRows(take_rows(z, rows), None if columns is None else columns[rows], y, weight)


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
