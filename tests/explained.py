"""What an explanation's parts should sum to."""

import numpy as np
import torch


def predicted_by(why):
    """Predictions of the neighbors and the blended model, on the scale of an explanation."""
    neighbors = np.einsum("nk,nk...->n...", why.weights, why.targets + why.adjustments)
    if why.blended is None:
        assert why.neighbors_weight == 1
        return neighbors
    return why.neighbors_weight * neighbors + (1 - why.neighbors_weight) * why.blended


def differences_of(model, why):
    """How much more trend and blended model predict for the queries than for their rows."""
    if why.blended is None:
        return why.adjustments
    fitted = model._model
    rows = fitted.numbering.row_of[why.indices]
    of_rows = fitted.blend(fitted.matrix[rows.ravel()], torch.device("cpu"))
    of_rows = fitted.task.on_scale(of_rows.numpy()).reshape(why.targets.shape)
    blended = why.blended[:, None] - of_rows
    return why.neighbors_weight * why.adjustments + (1 - why.neighbors_weight) * blended
