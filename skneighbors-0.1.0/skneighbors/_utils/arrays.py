"""Dataclasses that pickles and files hold, and what fields must be when they come from a file."""

from dataclasses import MISSING, dataclass, field, fields
from types import NoneType, SimpleNamespace, UnionType
from typing import get_args, get_origin, get_type_hints

import numpy as np
import torch

_FREE = dict(low=None, below=None, allows=None, equals=None, ascends=False)


def array_field(dtype, dims, *, default=MISSING, **bounds):
    """Field of an array or a tensor.

    Parameters
    ----------
    dtype : str
    dims : str
        A word for each dimension, the same for those of the same size; see :func:`check_stored`.
    default : object, optional
        None if the array may be missing.
    **bounds
        `low`, the least value; `below`, a word for the size that all values are below; `allows`
        "inf", or "nan" as well; `equals`, a word for an array that it equals; `ascends`, whether
        each value is above the one before.
    """
    spec = SimpleNamespace(dtype=dtype, dims=dims.split(), **_FREE | bounds)
    return field(default=default, metadata={"array": spec})


class Stored:
    """Base of dataclasses that pickles and files hold by their fields.

    Tensors are arrays there, dicts whose keys are no text are keys and values, and what has
    `packed` is what that returns, whose `restored` undoes it. What no argument gives, such as a
    cache, is made again.
    """

    def __getstate__(self):
        return {part.name: pack(getattr(self, part.name)) for part in _stored_fields(self)}

    def __setstate__(self, state):
        for part in _stored_fields(self):
            array = state.get(part.name)
            if isinstance(array, np.ndarray) and "Tensor" in str(part.type):
                array = array if array.flags.writeable else array.copy()
                state = state | {part.name: torch.from_numpy(array)}
        self.__init__(**restore(state))

    def __dask_tokenize__(self):
        from dask.base import normalize_token  # Dask alone calls this

        return type(self).__qualname__, normalize_token(self.__getstate__())

    def _field_sizes(self):
        """Sizes and arrays by the words of array fields, of this and of what it holds."""
        return {}

    def _check_fields(self, sizes):
        """Raise ValueError if fields that are right by themselves do not fit each other."""
        return


@dataclass(frozen=True, eq=False)
class Pairs(Stored):
    """A dict by its keys and values."""

    keys: list
    values: list

    def restored(self):
        """Make the dict."""
        return dict(zip(self.keys, self.values, strict=True))


def _stored_fields(kind):
    return [part for part in fields(kind) if part.init and part.metadata.get("in_files", True)]


def pack(value):
    """Replace what a pickle or file holds in another way, also in lists, tuples and dicts."""
    if isinstance(value, torch.Tensor):
        return value.cpu().numpy()
    if type(value) in (list, tuple):
        return type(value)(map(pack, value))
    if type(value) is dict and not all(type(key) is str for key in value):
        return Pairs(list(value), pack(list(value.values())))
    if type(value) is dict:
        return {key: pack(part) for key, part in value.items()}
    return value.packed() if hasattr(type(value), "packed") else value


def restore(value):
    """Undo :func:`pack`, but for tensors, which fields know."""
    if type(value) in (list, tuple):
        return type(value)(map(restore, value))
    if type(value) is dict:
        return {key: restore(part) for key, part in value.items()}
    return value.restored() if hasattr(type(value), "restored") else value


def check_stored(value, sizes, path=""):
    """Check what a file says: types and arrays of all fields, and of all that these hold.

    Parameters
    ----------
    value : Stored
    sizes : dict
        What the words of array fields mean; `value._field_sizes` says more. Other words name
        dimensions of one dataclass.
    path : str, default=""
        Before the names in messages.

    Raises
    ------
    ValueError
        If a field is not as it says; the message names it.
    """
    hints, sizes = get_type_hints(type(value)), sizes | value._field_sizes()
    for part in _stored_fields(value):
        inner, name = getattr(value, part.name), f"{path}{part.name}"
        if not _is_a(inner, hints[part.name]):
            raise ValueError(f"{name} is no {getattr(part.type, '__name__', part.type)}")
        if "array" in part.metadata and inner is not None:
            _check_array(inner, name, part.metadata["array"], sizes)
        for place, stored in _find_stored(inner):
            check_stored(stored, sizes, f"{name}{place}.")
    value._check_fields(sizes)


def _find_stored(value):
    """Pairs of a path and what is stored there."""
    if isinstance(value, Stored):
        yield "", value
    elif isinstance(value, list | tuple | dict):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        yield from ((f".{key}{at}", part) for key, own in items for at, part in _find_stored(own))


def _is_a(value, hint):
    """Whether a value is of a type, as annotations name it."""
    kind, parts = get_origin(hint) or hint, get_args(hint)
    if kind is UnionType:
        return any(_is_a(value, part) for part in parts)
    if kind is float:
        return type(value) in (int, float)
    if kind in (bool, int, str, list, tuple, dict) and type(value) is not kind:
        return False
    if kind is tuple and parts:
        return len(value) == len(parts) and all(map(_is_a, value, parts))
    if parts:
        values = value.values() if kind is dict else value
        return all(_is_a(own, parts[-1]) for own in values)
    return isinstance(value, NoneType if kind is None else kind)


def _check_array(array, name, spec, sizes):
    """Check one array; words for dimensions that are new become known."""
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
    if spec.equals is not None and not np.array_equal(array, sizes[spec.equals]):
        raise ValueError(f"{name} does not fit")
    if spec.ascends and (np.diff(array) <= 0).any():
        raise ValueError(f"{name} does not ascend")
