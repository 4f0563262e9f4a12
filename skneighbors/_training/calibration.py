"""What samples held out say in the end: how sharp networks are, how much each model counts."""

import torch

from .stopping import exceeds
from .validation import mean_over_rows, predict_held_out


@torch.no_grad()
def sharpen(network, data, split, n_neighbors, sharpnesses):
    """Give each head the first sharpness that predicts validation rows as well as the best.

    As well: with an error that does not exceed the lowest by more than a standard error. A
    single row tells nothing.
    """
    if split.validation.shape[1] == 1:
        return
    held_out = predict_held_out(network, data, split, n_neighbors, sharpnesses)
    errors, weight = held_out.errors, held_out.weight
    for member, best in enumerate(mean_over_rows(errors, weight).argmin(0)):
        own, own_weight = errors[:, member], None if weight is None else weight[member]
        network.head.sharpness[member] = next(
            sharpness
            for sharpness, error in zip(sharpnesses, own, strict=True)
            if not exceeds(error, own[best], own_weight)
        )


def inverse_mse_weights(held_out, kinds):
    """Shares of an ensemble's members in a prediction, inverse to the errors of their kinds.

    Members of one kind share alike: single errors tell too little.

    Parameters
    ----------
    held_out : HeldOut or None
        What the members predict of their validation rows; those of one kind alone need none.
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
    errors = mean_over_rows(held_out.errors.double(), held_out.weight)
    alike = torch.tensor([[own == other for other in kinds] for own in kinds]).to(errors)
    errors = (alike @ errors / alike.sum(1)).cpu()
    shares = 1 / errors.clamp(min=torch.finfo(torch.float32).tiny) / n_alike
    return shares / shares.sum()


def share_of_other(held_out, other):
    """Share in [0, 1] of another model's predictions in a mean with the networks'.

    It minimises the weighted squared error of the validation rows, less a standard error
    (that of a regression through the origin, with rows as if independent): the less is
    known, the less of the other model.

    Parameters
    ----------
    held_out : HeldOut
    other : Tensor of shape (m, n, k)
        What the other model predicts of these rows.

    Returns
    -------
    share : float
    """
    y, y_hat, other = (part.double().cpu() for part in (held_out.y, held_out.y_hat, other))
    weight = torch.ones_like(y[..., 0]) if held_out.weight is None else held_out.weight.cpu()
    # Weights below 1 are no smaller sample.
    weight = weight.unsqueeze(-1) * max(1.0, weight.numel() / float(weight.sum()))
    residual, change = y - y_hat, other - y_hat
    total = (weight * change.square()).sum()
    if total == 0:
        return 0.0
    share = ((weight * change * residual).sum() / total).clamp(0, 1)
    by_row = (change * (residual - share * change)).sum(-1, keepdim=True)
    variance = (weight * by_row.square()).sum() / total.square()
    return float((share - variance.sqrt()).clamp(min=0))
