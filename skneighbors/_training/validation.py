"""Results of an epoch of training, on the validation rows."""

from dataclasses import dataclass
from typing import NamedTuple

import torch

from .._columns import Rows
from .._network import embed_in_batches
from .._space import Space, similarities
from .._utils.blocks import count_queries, cut
from .._utils.threads import map_batches


@dataclass(frozen=True, eq=False)
class MemberRows(Rows):
    """Rows of each member: embeddings (m, n, d), coordinates (m, n, u), targets (m, n, k).

    And weights (m, n) or None.
    """

    z: torch.Tensor
    coordinates: torch.Tensor | None
    y: torch.Tensor
    weight: torch.Tensor | None

    def cut(self, batch):
        """Rows of a slice of each member's."""
        return self.select((slice(None), batch))


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


def exceeds(errors, others, weight, n_standard_errors=1.0):
    """Whether errors of rows, as if independent, exceed others by so many standard errors."""
    gain = (errors - others).double().flatten()
    weight = torch.ones_like(gain) if weight is None else weight.double().flatten()
    total = weight.sum()
    mean = (weight * gain).sum() / total
    # Each row counts as one draw, whatever its weight.
    variance = (weight * (gain - mean)).square().sum() / total.square()
    return bool(mean > n_standard_errors * variance.sqrt())


@torch.no_grad()
def validate(network, data, n_neighbors):
    """Predict the validation rows, to the result and each member's error and score, (m,).

    Neighbors of a validation row are the nearest of the member's training rows.
    """
    space = Space(network.head.similarity)
    parts = embed_parts(network, data)
    [validation] = predict_validation(network, data, parts, n_neighbors, [space])
    error = mean_over_rows(validation.errors, validation.weight)
    return validation, error, _score(error, validation.y, validation.weight, data.task)


def embed_parts(network, data):
    """Embed the validation rows and the training rows of each member."""
    set_mode(network, training=False)
    z = embed_in_batches(network, data.rows.X)
    return [_take(data, z, part) for part in (data.split.validation, data.split.train)]


def predict_validation(network, data, parts, n_neighbors, spaces, calibrations=()):
    """Predict the validation rows in each space, to (c, m, n, k) if there are c calibrations.

    Parameters
    ----------
    network : NeighborNetwork
    data : TrainingData
    parts : list of MemberRows
        Of :func:`embed_parts`.
    n_neighbors : int or None
    spaces : list of Space
        In which the nearest are found; they differ in strength.
    calibrations : sequence of float
        To try.

    Returns
    -------
    results : list of ValidationResult
    """
    (queries, rows), head = parts, network.head
    weight, kept = None if rows.weight is None else rows.weight.unsqueeze(-2), head.calibration

    def attend(batch):
        q = queries.cut(batch)
        labeled = rows.z, rows.y, None, weight, n_neighbors
        return [head(q.z, *labeled, s) for s in similarities(spaces, q, rows)]

    if calibrations:
        # All are tried at once, as the ranks are the same.
        head.calibration = kept.new_tensor(calibrations).unsqueeze(1).expand(-1, len(kept))
    n_members, n_rows = rows.z.shape[:2]
    n_weights = max(1, len(calibrations)) * min(n_neighbors or n_rows, n_rows)
    row_bytes = rows.z.element_size() * n_members * max(n_rows, n_weights)
    length = count_queries(row_bytes, rows.z.is_cpu)
    try:
        batches = map_batches(attend, cut(queries.z.shape[1], length))
    finally:
        head.calibration = kept
    results = []
    for found in zip(*batches, strict=True):
        y_hat = torch.cat(found, -2)
        if calibrations:  # also of a head that does not read its calibration
            y_hat = y_hat.expand(len(calibrations), *queries.y.shape)
        errors = data.task.losses(y_hat, queries.y)
        results.append(ValidationResult(queries.y, y_hat, errors, queries.weight))
    return results


def _take(data, z, rows):
    """Take rows (m, n) of embeddings (m, N, d), coordinates, targets and weights."""
    y, weight = data.rows.take_labels(rows)
    coordinates = data.rows.coordinates
    coordinates = None if coordinates is None else coordinates[rows]
    return MemberRows(take_rows(z, rows), coordinates, y, weight)


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
