"""Temperatures, chosen on the validation rows for each likeness."""

from typing import NamedTuple

import torch

from .._task import exceeds
from .validation import (
    ValidationResult,
    embed_parts,
    mean_over_rows,
    predict_validation,
)


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
        validation = ValidationResult.of_members([part.validation for part in parts])
        return cls(validation, torch.cat([part.calibrations for part in parts], 1))


@torch.no_grad()
def calibrate(network, data, settings):
    """Find, for each likeness, the first calibrations that predict as well as the best.

    As well means: with an error of a member's validation rows that does not exceed the lowest
    by more than a standard error. With a single validation row nothing is chosen.

    Returns
    -------
    calibrated : Calibrated
    """
    head, found = network.head, []
    tried = settings.calibrations if data.split.validation.shape[1] > 1 else ()
    parts, n_neighbors = embed_parts(network, data), settings.params["n_neighbors"]
    of_each = predict_validation(network, data, parts, n_neighbors, tried, settings.likenesses)
    for validation in of_each:
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
