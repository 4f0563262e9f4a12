"""How much of a prediction is the second model's."""

import torch


def share_of_second(held_out, second):
    """Share in [0, 1] of a second model's predictions in a mean with the networks'.

    It minimises the weighted squared error of the validation rows, less a standard error
    (that of a regression through the origin, with rows as if independent): the less is
    known, the less of it.

    Parameters
    ----------
    held_out : HeldOut
    second : Tensor of shape (m, n, k)
        What the second model predicts of these rows.

    Returns
    -------
    share : float
    """
    y, y_hat, second = (part.double().cpu() for part in (held_out.y, held_out.y_hat, second))
    weight = torch.ones_like(y[..., 0]) if held_out.weight is None else held_out.weight.cpu()
    weight = weight.unsqueeze(-1)
    residual, change = y - y_hat, second - y_hat
    total = (weight * change.square()).sum()
    if total == 0:
        return 0.0
    share = ((weight * change * residual).sum() / total).clamp(0, 1)
    by_row = (change * (residual - share * change)).sum(-1, keepdim=True)
    variance = (weight * by_row).square().sum() / total.square()  # whatever rows weigh
    return float((share - variance.sqrt()).clamp(min=0))
