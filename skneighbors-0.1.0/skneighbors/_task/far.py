"""Few targets that are far from all others, or hold nearly all of the variation."""

import numpy as np

from .._columns import weighted_quantiles

# Far are at most this fraction of the rows, or one of so many, by weight, that are so many times as
# far from the median as all others.
_FEW, _ENOUGH, _FAR = 0.01, 20, 10
# No more rows than these, and as few, may hold this share of the squared deviations from it.
_MOST, _SHARE = 5, 0.95


@np.errstate(over="ignore", invalid="ignore")
def find_far(y, weight):
    """Find targets far from all others, and few that hold nearly all of the variation.

    Parameters
    ----------
    y : ndarray of shape (n, k)
    weight : ndarray of shape (n,)

    Returns
    -------
    masks : bool ndarray of shape (2, n, k)
    """
    (median,) = weighted_quantiles(y.T, [0.5], weight)
    distance = np.abs(y - median)
    distance[distance <= 10 * np.finfo(float).eps * np.abs(median)] = 0  # rounding
    order = (-distance).argsort(axis=0, kind="stable")
    distance, total = np.take_along_axis(distance, order, axis=0), weight[order].cumsum(axis=0)
    is_few = total <= _FEW * (1 + 1e-9) * total[-1]
    is_few[0] |= _ENOUGH * total[0] <= total[-1] * (1 + 1e-9)
    following = np.append(distance[1:], distance[-1:], axis=0)
    gaps = is_few & (following > 0) & (distance > _FAR * following)
    is_far = gaps[::-1].cumsum(axis=0)[::-1] > 0
    squares = weight[order] * (distance / np.where(distance[0] > 0, distance[0], 1)) ** 2
    holds = squares.cumsum(axis=0) - squares < _SHARE * squares.sum(axis=0)
    holds &= (holds.sum(axis=0) <= _MOST) & (is_few | ~holds).all(axis=0)
    masks = np.empty((2, *y.shape), dtype=bool)
    np.put_along_axis(masks, order[None], np.stack([is_far, holds]), axis=1)
    return masks


def find_bounds(y, weight):
    """Smallest and largest targets (2, k) of those not far from all others; infinite if all are."""
    is_far, _ = find_far(y, weight)
    ends = np.where(is_far, np.inf, y).min(axis=0), np.where(is_far, -np.inf, y).max(axis=0)
    return np.where(is_far.any(axis=0), ends, [[-np.inf], [np.inf]])
