"""What is chosen once networks are trained: likeness, and the weight of the blended model."""

from typing import NamedTuple

import torch

from ._blend import BlendFit
from ._space import Space, measure_units
from ._training import ValidationResult, mean_over_rows
from ._utils.blocks import sample_rows

# Losses to the lowest up to which more likeness is taken: of validation rows, and of so many rows
# of the bank, each left out. Networks have trained on these, so they say little of how well a
# query is predicted, but clearly where likeness destroys what was learned of smooth targets.
_MAX_LOSS, _MAX_LEFT_OUT, _N_LEFT_OUT = 1.1, 1.25, 1024
_MAX_COMPARED = 2**28  # pairs of these and of rows


class Choice(NamedTuple):
    """What goes with a strength of likeness.

    Attributes
    ----------
    likeness : float
    calibration : Tensor of shape (m,)
        Of the heads.
    blend : BlendFit
    result : ValidationResult or None
        Of the members' validation rows, the blended model among their predictions; None if there
        are none.
    """

    likeness: float
    calibration: torch.Tensor
    blend: BlendFit
    result: ValidationResult | None


def weigh(network, history, task, blend, settings):
    """Weigh the blended model for each strength of likeness, ascending, to a list of Choice.

    Parameters
    ----------
    network : NeighborNetwork
    history : TrainingHistory
    task : Task
    blend : BlendFit
        Without a weight.
    settings : Settings
    """
    results = [(history.best.validation, network.head.calibration)]
    choices = []
    # The first alone where nothing was calibrated, as by an interrupt.
    for likeness, own in zip(settings.likenesses, history.calibrated or results, strict=False):
        (result, calibration), weighed = own, blend
        if result is not None:
            weighed, y_hat = blend.with_weight(result, task), result.y_hat
            if weighed.weight:
                y_hat = (1 - weighed.weight) * y_hat + weighed.weight * weighed.validation.to(y_hat)
                result = result._replace(y_hat=y_hat, errors=task.losses(y_hat, result.y))
        choices.append(Choice(likeness, calibration, weighed, result))
    return choices


@torch.no_grad()
def choose(choices, bank, n_neighbors):
    """Choose the largest likeness of nearly the lowest loss, and make the bank of it.

    Parameters
    ----------
    choices : list of Choice
    bank : NeighborBank
        Without a weight of the blended model.
    n_neighbors : int or None

    Returns
    -------
    choice : Choice
    bank : NeighborBank
    """
    task = bank.task
    if len(choices) > 1:
        losses = [_mean(own.result.errors, own.result.weight) for own in choices]
        choices = _nearly_lowest(choices, losses, _MAX_LOSS)
    similarity, units = bank.space.similarity, None
    if any(own.likeness for own in choices):
        rows = bank.rows.z.transpose(0, 1), bank.rows.coordinates.unsqueeze(0)
        units = measure_units(similarity, *rows)
    spaces = [Space.of(similarity, units, own.likeness) for own in choices]
    pairs = zip(spaces, choices, strict=True)
    banks = [bank.at(space, own.calibration, own.blend.weight) for space, own in pairs]
    if len(choices) > 1:
        n_rows = max(1, min(_N_LEFT_OUT, _MAX_COMPARED // len(bank)))
        rows = sample_rows(len(bank), n_rows).to(bank.rows.device)
        y, weight = bank.bounded[rows], bank.rows.weights()[rows]
        predicted = [own.predict_left_out(rows, n_neighbors) for own in banks]
        losses = [_mean(task.losses(y_hat, y), weight) for y_hat in predicted]
        *_, (choice, bank) = _nearly_lowest(zip(choices, banks, strict=True), losses, _MAX_LEFT_OUT)
        return choice, bank
    return choices[0], banks[0]


def _mean(losses, weight):
    """Weighted mean; inf where losses are not finite."""
    weight = None if weight is None else weight.flatten()
    return mean_over_rows(losses.double().flatten(), weight).nan_to_num(torch.inf)


def _nearly_lowest(choices, losses, most):
    """Keep those whose loss is at most so many times the lowest."""
    return [own for own, loss in zip(choices, losses, strict=True) if loss <= most * min(losses)]
