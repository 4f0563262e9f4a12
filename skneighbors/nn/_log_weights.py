"""Weights as a function of similarity alone, for neighbours of known extremes."""

from typing import NamedTuple

import torch

from ._similarity import scale_to_range
from ._softstep import S1Mask, S2Mask


class LogWeights(NamedTuple):
    """Log weights of neighbours, less that of the most similar one; without gradients.

    As a function of similarities (..., b, c) they never fall, and are at most 0 up to rounding.

    Attributes
    ----------
    low, high : Tensor of shape (..., b, 1)
        Extremes of the queries' similarities to all neighbours.
    rate : Tensor of shape (..., 1, 1) or None
        What similarities are multiplied by; None if the weights are the mask alone.
    mask : S1Mask, S2Mask or None
        Of scaled similarities.
    sharpness : Tensor of shape (..., 1, 1) or None
        How much faster than as learnt these fall below 1.
    """

    low: torch.Tensor
    high: torch.Tensor
    rate: torch.Tensor | None
    mask: S1Mask | S2Mask | None
    sharpness: torch.Tensor | None = None

    @torch.no_grad()
    def __call__(self, s):
        """Log weights (..., b, c) of similarities; -inf for those rejected."""
        logits = None if self.rate is None else s - self.high
        if self.mask is None:
            return logits.mul_(self.rate)
        x = scale_to_range(s, self.low, self.high)
        if self.sharpness is not None:
            x = sharpen(x, 1.0, self.sharpness)
        log_mask = self.mask.log_(x)  # 0 for the most similar one
        return log_mask if logits is None else log_mask.addcmul_(logits, self.rate)

    def map(self, function):
        """Replace every tensor by what a function makes of it.

        Parameters
        ----------
        function : callable

        Returns
        -------
        log_weights : LogWeights
        """
        mask = None if self.mask is None else type(self.mask)(*map(function, self.mask))
        low, high, rate, sharpness = (
            None if part is None else function(part)
            for part in (self.low, self.high, self.rate, self.sharpness)
        )
        return LogWeights(low, high, rate, mask, sharpness)


def sharpen(x, x_top, sharpness):
    """Let scaled similarities or ranks fall faster below the row's largest.

    Parameters
    ----------
    x : Tensor of shape (..., b, N)
    x_top : float or Tensor of shape (..., b, 1)
        The row's largest.
    sharpness : Tensor of shape (..., 1, 1)
        How much faster.

    Returns
    -------
    x : Tensor of shape (..., b, N)
        Between 0 and 1.
    """
    return ((x_top - x) * (1 - sharpness)).add_(x).clamp_(0, 1)
