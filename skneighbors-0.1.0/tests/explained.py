"""What an explanation's parts should sum to."""

import numpy as np
import torch
from numpy.testing import assert_allclose


def blended_in(why):
    """What the parts beside the neighbors predict, each by its weight."""
    weight = why.neighbors_weight + sum(why.part_weights.values())
    assert_allclose(weight, 1, rtol=1e-12)
    assert why.parts.keys() == why.part_weights.keys()
    return sum(why.part_weights[name] * part for name, part in why.parts.items())


def predicted_by(why):
    """Predictions of the neighbors and the blended model, on the scale of an explanation."""
    neighbors = np.einsum("nk,nk...->n...", why.weights, why.targets + why.adjustments)
    return why.neighbors_weight * neighbors + blended_in(why)


def differences_of(model, why):
    """How much more trend and blended model predict for the queries than for their rows."""
    if not why.parts:
        return why.adjustments
    fitted = model._model
    rows = fitted.numbering.row_of[why.indices]
    of_rows = fitted.blend(fitted.matrix[rows.ravel()], torch.device("cpu"))
    of_rows = fitted.task.on_scale(of_rows.numpy()).reshape(why.targets.shape)
    blended = blended_in(why)[:, None] - (1 - why.neighbors_weight) * of_rows
    return why.neighbors_weight * why.adjustments + blended
