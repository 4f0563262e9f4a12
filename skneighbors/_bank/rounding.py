"""Where the rounding of similarities would show in averages."""

from typing import NamedTuple

import torch

from ..nn._numpy import exceeds

# What the errors of a query's weights may come to in its average, of the values' spread, as far
# as they are independent; and each of them.
_TOLERANCE, _MAX_ERROR = 1e-7, 1e-6
# Points between the extremes of similarity at which errors are looked at.
_N_POINTS = 65
# Relative weights that do not matter.
_NEGLIGIBLE = 1e-30
_UNIT = torch.finfo(torch.float32).eps / 2
# Roundings of a log weight itself, by trial.
_N_ROUNDINGS = 3
# Ranges of similarity below so many errors are not told from none.
_MIN_RANGE = 64


def similarity_error(s, metric, norm, max_norm, dim):
    """Root mean square error of similarities (b, c) by single precision, as found by trial.

    Parameters
    ----------
    s : Tensor of shape (b, c)
    metric : {"l2", "dot", "cosine"}
    norm : Tensor of shape (b, 1)
        Of the queries, less the centre.
    max_norm : Tensor of shape ()
        Of the neighbours.
    dim : int
    """
    if metric == "l2":
        # |z|^2 + |z_n|^2 - 2 z.z_n: terms of this size, and the root divides by 2 |s|.
        sq_error = _UNIT * (norm.square() + (norm - s).square())
        return torch.minimum(sq_error / (-2 * s), sq_error.sqrt()) - _UNIT * s
    size = norm * max_norm / dim if metric == "dot" else 1.0
    return (_UNIT * size + _UNIT * s.abs()).expand_as(s)


class Unsure(NamedTuple):
    """Weights (b, 1), relative to the largest, whose errors show.

    They are those above `low` and up to `middle`, and above `high`.
    """

    low: torch.Tensor
    middle: torch.Tensor
    high: torch.Tensor

    def chosen(self, weights):
        """Mask (b, c) of weights."""
        chosen = exceeds(weights, self.high)
        if (self.middle > 0).any():
            below = exceeds(weights, self.middle).logical_not_()
            chosen.logical_or_(below.logical_and_(exceeds(weights, self.low)))
        return chosen


def find_unsure(log_weights, error_of, largest_share, n_neighbors):
    """Tell by their weights which neighbours' errors show.

    The error of an average is the root of the sum of the squares of ``w e / W``, where `w` are
    the weights, `W` is their sum, and `e` are the errors of log weights: their slope, here by
    finite differences, times those of similarities. It is at most the largest of ``sqrt(w) e``
    over the root of `W`, and at most `N` times the largest of ``w e``, over `W`. Of the stretches
    of similarity in which either is small, the longest one is trusted.

    Parameters
    ----------
    log_weights : LogWeights
        Of queries (1, b, d), in double precision.
    error_of : callable
        Errors of similarities (b, c).
    largest_share : Tensor of shape (b, 1)
        Largest share that any neighbour can have in the weights.
    n_neighbors : int

    Returns
    -------
    unsure : Unsure
    some : bool Tensor of shape (b,)
        Queries of which any weight is sure.
    """
    low, high = log_weights.low[0], log_weights.high[0]
    share = torch.linspace(0, 1, _N_POINTS, dtype=low.dtype, device=low.device)
    s = low + (high - low) * share
    log_w = log_weights(s[None])[0].clamp(min=-1e9)
    weights, error = log_w.exp(), error_of(s)
    error = torch.maximum(error[:, 1:], error[:, :-1])
    in_range = high - low > _MIN_RANGE * error
    error = error / s.diff()
    own_error = weights.diff() * error * largest_share * n_neighbors
    error = log_w.diff() * error + _N_ROUNDINGS * _UNIT * log_w[:, 1:].abs()
    allowed = (_TOLERANCE / largest_share.sqrt()).clamp(max=_MAX_ERROR)
    sure = (weights[:, 1:].sqrt() * error <= allowed) | (own_error <= _MAX_ERROR)
    sure &= in_range
    first, last, n_sure = _longest_run(sure & (weights[:, 1:] > _NEGLIGIBLE))
    place = torch.arange(_N_POINTS - 1, device=low.device)
    lowest = (~sure & (place < first)).int().max(1, keepdim=True)
    some_low, from_lowest = lowest.values > 0, lowest.indices == 0
    unsure = Unsure(
        # The least similar ones are 0 in single precision.
        weights.gather(1, lowest.indices).clamp(min=_NEGLIGIBLE).masked_fill(from_lowest, -1),
        weights.gather(1, first).masked_fill(~some_low, -1),
        weights.gather(1, last + 1).masked_fill(last == _N_POINTS - 2, torch.inf),
    )
    return unsure, n_sure.squeeze(1) > 0


def _longest_run(mask):
    """First and last place, and length, (b, 1), of the longest run of True in rows (b, c)."""
    run = (~mask).cumsum(1)
    lengths = torch.zeros_like(run).new_zeros(len(run), run.shape[1] + 1)
    length, best = lengths.scatter_add_(1, run, mask.long()).max(1, keepdim=True)
    first = (mask & (run == best)).int().argmax(1, keepdim=True)
    return first, first + (length - 1).clamp(min=0), length
