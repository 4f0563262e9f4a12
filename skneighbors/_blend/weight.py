"""The weight of the blended model in predictions."""

import torch


def weight_of_blended(validation, blended):
    """Weight in [0, 1] of a blended model's predictions in a mean with the members'.

    It minimizes the weighted squared error of the validation rows, less a standard error
    (that of a regression through the origin, with rows as if independent): the less is
    known, the lower the weight.

    Parameters
    ----------
    validation : ValidationResult
    blended : Tensor of shape (m, n, k)
        What the blended model predicts of these rows.

    Returns
    -------
    weight : float
    """
    y, y_hat, blended = (part.double().cpu() for part in (validation.y, validation.y_hat, blended))
    rows = validation.weight
    rows = (torch.ones_like(y[..., 0]) if rows is None else rows.cpu()).unsqueeze(-1)
    residual, change = y - y_hat, blended - y_hat
    total = (rows * change.square()).sum()
    if total == 0:
        return 0.0
    weight = ((rows * change * residual).sum() / total).clamp(0, 1)
    by_row = (change * (residual - weight * change)).sum(-1, keepdim=True)
    variance = (rows * by_row).square().sum() / total.square()  # whatever rows weigh
    return float((weight - variance.sqrt()).clamp(min=0))
