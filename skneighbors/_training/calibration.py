"""Temperatures, likeness and weights of networks, chosen on the validation rows."""

from typing import NamedTuple

import torch

from .._utils.device import CPU
from .stopping import exceeds
from .validation import ValidationResult, mean_over_rows, predict_validation

# Fraction of the lowest mean squared error that more likeness may cost: 1 % of its root.
_MAX_LOSS = 0.02


class Calibrated(NamedTuple):
    """Predictions of the validation rows with each likeness, at the best calibrations.

    Attributes
    ----------
    validation : ValidationResult
        With predictions (l, m, n, k) and errors (l, m, n).
    calibrations : Tensor of shape (l, m)
        Of the heads.
    """

    validation: ValidationResult
    calibrations: torch.Tensor

    def at(self, place):
        """Take the predictions with one likeness."""
        validation = self.validation
        return validation._replace(y_hat=validation.y_hat[place], errors=validation.errors[place])

    @classmethod
    def of_members(cls, parts):
        """Join the results of members that were trained apart."""
        y, _, _, weight = parts[0].validation
        y = torch.cat([part.validation.y for part in parts])
        y_hat = torch.cat([part.validation.y_hat for part in parts], 1)
        errors = torch.cat([part.validation.errors for part in parts], 1)
        if weight is not None:
            weight = torch.cat([part.validation.weight for part in parts])
        calibrations = torch.cat([part.calibrations for part in parts], 1)
        return cls(ValidationResult(y, y_hat, errors, weight), calibrations)


@torch.no_grad()
def calibrate(network, data, plan):
    """Find, for each likeness, the first calibrations that predict as well as the best.

    As well means: with an error of a member's validation rows that does not exceed the lowest
    by more than a standard error. With a single validation row nothing is chosen.

    Returns
    -------
    calibrated : Calibrated
    """
    head, found = network.head, []
    tried = plan.calibrations if data.split.validation.shape[1] > 1 else ()
    for strength in plan.likenesses:
        validation = predict_validation(network, data, plan.n_neighbors, tried, strength)
        chosen = head.calibration.clone()
        if tried:
            place = _first_as_good(validation)
            chosen = chosen.new_tensor(tried)[place]
            validation = validation.take(place)
        found.append((validation, chosen))
    validation, chosen = zip(*found, strict=True)
    y_hat = torch.stack([result.y_hat for result in validation])
    errors = torch.stack([result.errors for result in validation])
    return Calibrated(validation[0]._replace(y_hat=y_hat, errors=errors), torch.stack(chosen))


def _first_as_good(validation):
    """Places (m,) of the first of some predictions whose errors are as low as the lowest."""
    errors, weight = validation.errors, validation.weight
    places = []
    for member, best in enumerate(mean_over_rows(errors, weight).argmin(0)):
        member_weight = None if weight is None else weight[member]
        places.append(
            next(
                place
                for place, error in enumerate(errors[:, member])
                if not exceeds(error, errors[best, member], member_weight)
            )
        )
    return torch.tensor(places, device=errors.device)


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
    means = errors.double() @ weight.double()
    return int(torch.nonzero(means <= (1 + _MAX_LOSS) * means.min()).max())


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
