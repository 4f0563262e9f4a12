"""What samples held out say of trained networks: how sharp they are, how much each counts."""

import torch

from .stopping import exceeds
from .validation import mean_over_rows, row_errors_of


@torch.no_grad()
def sharpen(network, data, split, sharpnesses):
    """Give each head the sharpness of lowest validation error.

    Or the first of them, if that error is not lower by more than a standard error.
    """
    errors, _, weight = row_errors_of(network, data, split, sharpnesses)
    for member, best in enumerate(mean_over_rows(errors, weight).argmin(0)):
        own_weight = None if weight is None else weight[member]
        # A single row has no spread to tell of a standard error.
        pays = errors.shape[-1] > 1 and exceeds(errors[0, member], errors[best, member], own_weight)
        network.head.sharpness[member] = sharpnesses[best if pays else 0]


def inverse_mse_weights(result, kinds):
    """Shares of an ensemble's members in a prediction, inverse to the errors of their kinds.

    Members of one kind share alike: single errors tell too little.

    Parameters
    ----------
    result : EpochResult
        Mean squared errors of the validation rows, which members of one kind alone need not
        have.
    kinds : sequence of length m
        Kind of each member.

    Returns
    -------
    share : Tensor of shape (m,)
        Sums to 1; float64.
    """
    n_alike = torch.tensor([kinds.count(kind) for kind in kinds], dtype=torch.float64)
    if len(kinds) == n_alike[0]:
        return 1 / n_alike
    errors = mean_over_rows(result.row_errors.double(), result.row_weight)
    alike = torch.tensor([[own == other for other in kinds] for own in kinds]).to(errors)
    errors = (alike @ errors / alike.sum(1)).cpu()
    shares = 1 / errors.clamp(min=torch.finfo(torch.float32).tiny) / n_alike
    return shares / shares.sum()
