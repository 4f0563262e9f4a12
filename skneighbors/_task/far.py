"""Few targets that are far from all others, or hold nearly all of the variation."""

import numpy as np

# Far are at most this fraction of the rows, so many times as far from the median as all others.
_FEW, _FAR = 0.01, 10
# At most so many rows are named that hold this share of the squared deviations from the median.
_N_NAMED, _SHARE = 5, 0.95


def find_bounds(y, weight):
    """Smallest and largest of the targets that are not far from all others.

    Parameters
    ----------
    y : ndarray of shape (n, k)
    weight : ndarray of shape (n,)

    Returns
    -------
    bounds : ndarray of shape (2, k) or None
        Infinite for targets of which none is far; None if that are all.
    """
    bounds = np.full((2, y.shape[1]), [[-np.inf], [np.inf]])
    for own, bound in zip(y.T, bounds.T, strict=True):
        distance, order, n_few, rounding = _sort(own, weight)
        top, below = distance[:n_few], distance[1 : n_few + 1]
        gaps = np.flatnonzero((top > _FAR * below) & (below > rounding))
        if len(gaps):
            others = own[order[gaps[-1] + 1 :]]
            bound[:] = others.min(), others.max()
    return bounds if np.isfinite(bounds).any() else None


def hold_variation(y, weight):
    """Which few of the targets (n, k) hold nearly all of the variation, as a mask."""
    mask = np.zeros(y.shape, dtype=bool)
    for own, is_found in zip(y.T, mask.T, strict=True):
        distance, order, n_few, rounding = _sort(own, weight)
        if distance[0] > rounding:
            squares = (weight[order] * (distance / distance[0]) ** 2).cumsum()
            n_found = 1 + squares.searchsorted(_SHARE * squares[-1])
            is_found[order[:n_found]] = n_found <= min(n_few, _N_NAMED)
    return mask


def _sort(y, weight):
    """Distances (n,) from the median and the order of rows, the farthest first.

    And how many of these are few, and which distances are rounding.
    """
    order = y.argsort(kind="stable")
    below = weight[order].cumsum()
    median = y[order[below.searchsorted(below[-1] / 2)]]
    with np.errstate(over="ignore"):
        distance = np.abs(y - median)
    order = (-distance).argsort(kind="stable")
    few = _FEW * (1 + 1e-9) * below[-1]
    n_few = int(weight[order].cumsum().searchsorted(few, side="right"))
    return distance[order], order, n_few, 10 * np.finfo(float).eps * np.abs(median)
