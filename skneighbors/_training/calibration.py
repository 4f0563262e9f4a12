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


def inverse_mse_weights(result, n_kinds):
    """Shares of the kinds of members in a prediction, inverse to their mean squared errors.

    Parameters
    ----------
    result : EpochResult
        Of as many members of each kind, one kind after the other. Of a single kind without
        validation rows, too.
    n_kinds : int

    Returns
    -------
    share : Tensor of shape (n_kinds,)
        Sums to 1; float64.
    """
    if n_kinds == 1:
        return torch.ones(1, dtype=torch.float64)
    errors = mean_over_rows(result.row_errors.double(), result.row_weight)
    errors = errors.view(n_kinds, -1).mean(1)
    shares = 1 / errors.clamp(min=torch.finfo(torch.float32).tiny)
    return shares / shares.sum()
