"""Fields of dataclasses that hold arrays, and what these must be when they come from a file."""

from dataclasses import MISSING, field, fields, is_dataclass
from types import SimpleNamespace

import numpy as np
import torch


def array_field(dtype, dims, *, low=None, below=None, allows=None, default=MISSING):
    """Field of an array or a tensor.

    Parameters
    ----------
    dtype : str
    dims : str
        A letter for each dimension, the same for those of the same size in all that is checked
        together.
    low : float, default=None
        The least value.
    below : str, default=None
        Letter of the size that all values are below.
    allows : {"inf", "nan"}, default=None
        Infinity, or NaN as well.
    default : object, optional
        None if the array may be missing.
    """
    spec = SimpleNamespace(dtype=dtype, dims=dims.split(), low=low, below=below, allows=allows)
    return field(default=default, metadata={"array": spec})


def check_arrays(value, sizes, path=""):
    """Check all array fields of a dataclass, and of dataclasses in its fields.

    Parameters
    ----------
    value : dataclass
    sizes : dict
        Sizes by letter; those found are added.
    path : str, default=""
        Before the names in messages.

    Raises
    ------
    ValueError
        If an array is not as its field says; the message names it.
    """
    for part in fields(value):
        inner, name = getattr(value, part.name, None), f"{path}{part.name}"
        spec = part.metadata.get("array")
        if spec is None:
            if is_dataclass(inner) and not isinstance(inner, type):
                check_arrays(inner, sizes, f"{name}.")
        elif inner is not None:
            _check_array(inner, name, spec, sizes)
        elif part.default is not None:
            raise ValueError(f"{name} is missing")


def _check_array(array, name, spec, sizes):
    """Check one array; dimensions that are new become known."""
    array = array.numpy() if isinstance(array, torch.Tensor) else array
    if type(array) is not np.ndarray or array.dtype != spec.dtype:
        raise ValueError(f"{name} must be an array of {spec.dtype}")
    if array.ndim != len(spec.dims) or any(
        sizes.setdefault(dim, size) != size
        for dim, size in zip(spec.dims, array.shape, strict=True)
    ):
        raise ValueError(f"{name} has shape {array.shape}, which does not fit the others")
    if array.dtype.kind == "f" and spec.allows != "nan":
        bad = np.isnan(array) if spec.allows == "inf" else ~np.isfinite(array)
        if bad.any():
            raise ValueError(f"{name} holds NaN or infinity")
    if spec.low is not None and (array < spec.low).any():
        raise ValueError(f"{name} holds values below {spec.low}")
    if spec.below is not None and (array >= sizes[spec.below]).any():
        raise ValueError(f"{name} holds values that are too large")
