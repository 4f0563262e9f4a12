"""Temperatures, chosen on the validation rows for each strength of likeness."""

from typing import NamedTuple

import torch

from .._space import Space, measure_units
from .validation import (
    ValidationResult,
    embed_parts,
    exceeds,
    mean_over_rows,
    predict_validation,
)


class Calibrated(NamedTuple):
    """Predictions of the validation rows with one strength of likeness, at the best calibration.

    Attributes
    ----------
    validation : ValidationResult
    calibration : Tensor of shape (m,)
        Of the heads.
    """

    validation: ValidationResult
    calibration: torch.Tensor

    @classmethod
    def of_members(cls, parts):
        """Join the results of members that were trained apart."""
        results, calibrations = zip(*parts, strict=True)
        return cls(ValidationResult.of_members(results), torch.cat(calibrations))


@torch.no_grad()
def calibrate(network, data, settings):
    """Find, for each likeness, the first calibrations that predict as well as the best.

    As well means: with an error of a member's validation rows that does not exceed the lowest
    by more than a standard error. With a single validation row nothing is chosen.

    Returns
    -------
    calibrated : list of Calibrated
    """
    head, found, parts = network.head, [], embed_parts(network, data)
    tried = settings.calibrations if data.split.validation.shape[1] > 1 else ()
    n_neighbors, units = settings.params["n_neighbors"], None
    if any(settings.likenesses):
        units = measure_units(head.similarity, parts[1].z, parts[1].coordinates)
    for strength in settings.likenesses:
        space, chosen = Space.of(head.similarity, units, strength), head.calibration.clone()
        validation = predict_validation(network, data, parts, n_neighbors, tried, space)
        if tried:
            place = _first_as_good(validation)
            chosen = chosen.new_tensor(tried)[place]
            validation = validation.take(place)
        found.append(Calibrated(validation, chosen))
    return found


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
