"""Temperatures and weights of networks, chosen on the validation rows."""

import torch

from .._utils.device import CPU
from .stopping import exceeds
from .validation import mean_over_rows, predict_validation


@torch.no_grad()
def calibrate(network, data, n_neighbors, calibrations):
    """Give each head the first calibration that predicts validation rows as well as the best.

    As well means: with an error that does not exceed the lowest by more than a standard error.
    With a single validation row nothing is chosen.
    """
    if data.split.validation.shape[1] == 1:
        return
    validation = predict_validation(network, data, n_neighbors, calibrations)
    errors, weight = validation.errors, validation.weight
    for member, best in enumerate(mean_over_rows(errors, weight).argmin(0)):
        of_member, member_weight = errors[:, member], None if weight is None else weight[member]
        network.head.calibration[member] = next(
            calibration
            for calibration, error in zip(calibrations, of_member, strict=True)
            if not exceeds(error, of_member[best], member_weight)
        )


def inverse_error_weights(validation, kinds):
    """Weights of an ensemble's members, inverse to the mean errors of their kinds.

    Members of one kind have equal weights, as single errors vary too much.

    Parameters
    ----------
    validation : ValidationResult or None
        Predictions of the members' validation rows; None: all weights are equal, as they are if
        there is one kind.
    kinds : sequence of length m
        Kind of each member.

    Returns
    -------
    weight : Tensor of shape (m,)
        Sums to 1; float64.
    """
    n_alike = torch.tensor([kinds.count(kind) for kind in kinds], dtype=torch.float64, device=CPU)
    if len(kinds) == n_alike[0] or validation is None:
        return torch.full_like(n_alike, 1 / len(kinds))
    errors = mean_over_rows(validation.errors.double(), validation.weight)
    alike = errors.new_tensor([[kind == other for other in kinds] for kind in kinds])
    errors = (alike @ errors / alike.sum(1)).cpu()
    weight = 1 / errors.clamp(min=torch.finfo(torch.float32).tiny) / n_alike
    return weight / weight.sum()
