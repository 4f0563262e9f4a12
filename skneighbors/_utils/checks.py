"""Checks of arguments that scikit-learn's constraints do not describe."""

from numbers import Integral

import numpy as np
import torch


def check_int(name, value, low, high, remark=""):
    """Check an argument that is an int within bounds, to int; `remark` says where they are from."""
    is_int = isinstance(value, Integral) and not isinstance(value, bool)
    if not is_int or not low <= value <= high:
        raise ValueError(f"{name} must be an int from {low} to {high}{remark}; got {value!r}.")
    return int(value)


def check_quantiles(quantiles):
    """Quantiles as a tensor (n_quantiles,)."""
    levels = np.atleast_1d(np.asarray(quantiles))
    if levels.ndim != 1 or not levels.size or levels.dtype.kind not in "iuf":
        raise ValueError(f"quantiles must be a number or some numbers; got {quantiles!r}.")
    wrong = levels[~((levels >= 0) & (levels <= 1))]
    if wrong.size:
        raise ValueError(f"quantiles must lie between 0 and 1; got {wrong[0]}.")
    return torch.from_numpy(levels.astype(np.float64))
