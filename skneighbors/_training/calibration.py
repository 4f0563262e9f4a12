"""What validation rows say in the end: temperatures, and how much each model counts."""

import torch

from .._utils.device import CPU
from .stopping import exceeds
from .validation import mean_over_rows, predict_held_out


@torch.no_grad()
def calibrate(network, data, n_neighbors, calibrations):
    """Give each head the first calibration that predicts validation rows as well as the best.

    As well: with an error that does not exceed the lowest by more than a standard error. A
    single row tells nothing.
    """
    if data.split.validation.shape[1] == 1:
        return
    held_out = predict_held_out(network, data, n_neighbors, calibrations)
    errors, weight = held_out.errors, held_out.weight
    for member, best in enumerate(mean_over_rows(errors, weight).argmin(0)):
        own, own_weight = errors[:, member], None if weight is None else weight[member]
        network.head.calibration[member] = next(
            calibration
            for calibration, error in zip(calibrations, own, strict=True)
            if not exceeds(error, own[best], own_weight)
        )


def inverse_error_weights(held_out, kinds):
    """Shares of an ensemble's members in a prediction, inverse to the errors of their kinds.

    Members of one kind share alike: single errors tell too little.

    Parameters
    ----------
    held_out : HeldOut or None
        What the members predict of their validation rows; None: all share alike, as do those
        of one kind.
    kinds : sequence of length m
        Kind of each member.

    Returns
    -------
    share : Tensor of shape (m,)
        Sums to 1; float64.
    """
    n_alike = torch.tensor([kinds.count(kind) for kind in kinds], dtype=torch.float64, device=CPU)
    if len(kinds) == n_alike[0] or held_out is None:
        return torch.full_like(n_alike, 1 / len(kinds))
    errors = mean_over_rows(held_out.errors.double(), held_out.weight)
    alike = errors.new_tensor([[own == other for other in kinds] for own in kinds])
    errors = (alike @ errors / alike.sum(1)).cpu()
    shares = 1 / errors.clamp(min=torch.finfo(torch.float32).tiny) / n_alike
    return shares / shares.sum()
