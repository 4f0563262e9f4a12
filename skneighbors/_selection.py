"""What is chosen on the validation rows, once networks are trained."""

import torch

# Fraction of the lowest mean loss that more likeness may cost: of squared errors 1 % of the root.
_MAX_LOSS = 0.02


def weigh(network, history, task, blend, settings):
    """Choose the likeness, and with it the weight of the blended model.

    Parameters
    ----------
    network : NeighborNetwork
        Its calibration becomes that of the likeness.
    history : History
    task : Task
    blend : BlendFit
        Without a weight.
    settings : Settings

    Returns
    -------
    blend : BlendFit
    result : ValidationResult or None
        Predictions of the validation rows with the likeness.
    likeness : float
    """
    calibrated = history.calibrated
    if calibrated is None:
        result = history.best.validation
        return blend.weigh(result, task), result, settings.likenesses[0]
    results = [calibrated.at(place) for place in range(len(settings.likenesses))]
    blends = [blend.weigh(result, task) for result in results]
    errors = torch.stack(
        [
            task.losses(complete(result, weighed), result.y).flatten()
            for result, weighed in zip(results, blends, strict=True)
        ]
    )
    weight = results[0].weight
    weight = torch.ones_like(errors[0]) if weight is None else weight.flatten()
    place = most_likeness(errors, weight)
    network.head.calibration.copy_(calibrated.calibrations[place])
    return blends[place], results[place], settings.likenesses[place]


def complete(result, blend):
    """Add the blended model to the members' predictions of their validation rows.

    Parameters
    ----------
    result : ValidationResult
    blend : BlendFit

    Returns
    -------
    y_hat : Tensor of shape (m, n, k)
    """
    if not blend.weight:
        return result.y_hat
    return (1 - blend.weight) * result.y_hat + blend.weight * blend.validation.to(result.y_hat)


def most_likeness(errors, weight):
    """Place of the last of some predictions whose error is hardly larger than the lowest.

    Parameters
    ----------
    errors : Tensor of shape (l, n)
        Of the rows, by ascending likeness.
    weight : Tensor of shape (n,)

    Returns
    -------
    place : int
    """
    sums = errors.double() @ weight.double()
    return int(torch.nonzero(sums <= (1 + _MAX_LOSS) * sums.min()).max())
