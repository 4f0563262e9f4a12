"""Values as JSON and arrays, and back."""

import json
from dataclasses import dataclass, field, fields
from datetime import date, datetime
from decimal import Decimal

import numpy as np
import torch

from .._blend import Bag, BaggedBoosting, BlendedBoosting, CategoryEncoder, NoBlendedModel, Trees
from .._columns import FeatureEncoder, TableReader
from .._model import (
    Model,
    NeighborBank,
    NeighborRows,
    SampleNumbering,
    ValidationRows,
    ValidationSet,
)
from .._plan import Plan, Recipe
from .._task import Regression

# All that is made from what a file says.
KINDS = {
    kind.__name__: kind
    for kind in (
        Bag,
        BaggedBoosting,
        BlendedBoosting,
        CategoryEncoder,
        FeatureEncoder,
        Trees,
        Model,
        NeighborBank,
        NeighborRows,
        NoBlendedModel,
        Plan,
        Recipe,
        SampleNumbering,
        TableReader,
        Regression,
        ValidationRows,
        ValidationSet,
    )
}
_SCALARS = (bool, int, float, str, type(None))
# Types of labels and levels beside these, written as text.
_TAGS = {
    "decimal": (Decimal, str, Decimal),
    "datetime": (datetime, datetime.isoformat, datetime.fromisoformat),
    "date": (date, date.isoformat, date.fromisoformat),
}


@dataclass(frozen=True, eq=False)
class Plain:
    """A value taken apart.

    Attributes
    ----------
    tree : object
        What JSON can hold.
    arrays : dict
        NumPy's, of numbers, by the paths that the tree names.
    objects : dict
        What is neither, likewise.
    """

    tree: object
    arrays: dict = field(default_factory=dict)
    objects: dict = field(default_factory=dict)


def to_plain(value, path):
    """Take a value apart.

    Parameters
    ----------
    value : object
    path : str
        Where in a whole it stands.

    Returns
    -------
    plain : Plain
    """
    plain = Plain(None)
    return Plain(_write(value, path, plain), plain.arrays, plain.objects)


def _write(value, path, plain):
    kind = type(value)
    if isinstance(value, np.generic):
        value, kind = value.item(), type(value.item())
    if kind in _SCALARS:
        return value
    if kind is torch.Tensor or (kind is np.ndarray and value.dtype.kind in "biuf"):
        tag = "array" if kind is np.ndarray else "tensor"
        plain.arrays[path] = np.ascontiguousarray(value if tag == "array" else value.cpu().numpy())
        return {tag: path}
    if kind in (list, tuple):
        parts = [_write(v, f"{path}.{i}", plain) for i, v in enumerate(value)]
        return {kind.__name__: parts}
    if kind is dict and all(type(key) is str for key in value) and not _are_levels(value):
        return {"dict": {key: _write(v, f"{path}.{key}", plain) for key, v in value.items()}}
    packed = _pack(value)
    if packed is not None:
        plain.arrays[path] = packed
        return {"levels" if kind is dict else "labels": path}
    if KINDS.get(kind.__name__) is kind:
        parts = {own.name: getattr(value, own.name) for own in _kept(value)}
        return {
            "type": kind.__name__,
            "fields": {key: _write(v, f"{path}.{key}", plain) for key, v in parts.items()},
        }
    plain.objects[path] = value
    return {"object": path}


def _kept(kind):
    return [part for part in fields(kind) if part.init and part.metadata.get("in_files", True)]


def _are_levels(value):
    """Whether a dict numbers its keys in their order."""
    return bool(value) and all(type(v) is int for v in value.values())


def _pack(value):
    """Labels (an array) or levels (a dict) as bytes of JSON; None if they are of other types."""
    if type(value) is dict and _are_levels(value):
        value = sorted(value, key=value.get)
    elif type(value) is np.ndarray and value.dtype.kind in "OUT":
        value = value.tolist()
    else:
        return None
    try:
        text = json.dumps([_tag(label) for label in value], separators=(",", ":"))
    except TypeError:
        return None
    return np.frombuffer(text.encode(), dtype=np.uint8)


def _tag(label):
    if isinstance(label, np.generic):
        label = label.item()
    if type(label) in _SCALARS:
        return label
    if isinstance(label, tuple):
        return {"tuple": [_tag(part) for part in label]}
    for tag, (kind, write, _) in _TAGS.items():
        if isinstance(label, kind) and label == label and not getattr(label, "nanosecond", 0):
            return {tag: write(label)}
    raise TypeError(f"a label of type {type(label).__name__}")


def _untag(label):
    if type(label) in _SCALARS:
        return label
    ((tag, value),) = label.items()
    return tuple(map(_untag, value)) if tag == "tuple" else _TAGS[tag][2](value)


def from_plain(plain):
    """Undo :func:`to_plain`.

    Raises
    ------
    KeyError, TypeError, ValueError
        If there is anything that it would not have written.
    """
    left = dict(plain.arrays)
    value = _read(plain.tree, plain.objects, left)
    if left:
        raise ValueError(f"nothing needs tensor {sorted(left)[0]!r}")
    return value


def _read(node, objects, left):
    if type(node) in _SCALARS:
        return node
    if set(node) == {"type", "fields"}:
        kind = KINDS[node["type"]]
        parts = {key: _read(part, objects, left) for key, part in node["fields"].items()}
        other = set(parts) ^ {own.name for own in _kept(kind)}
        if kind in (Recipe, Plan):  # what an earlier version could not set has its default
            other &= set(parts)
        if other:
            raise ValueError(f"{node['type']} has other fields: {sorted(other)}")
        return kind(**parts)
    ((tag, content),) = node.items()
    if tag in ("list", "tuple"):
        parts = [_read(part, objects, left) for part in content]
        return parts if tag == "list" else tuple(parts)
    if tag == "dict":
        return {key: _read(part, objects, left) for key, part in content.items()}
    if tag == "object":
        return objects[content]
    array = left.pop(content)
    if tag == "array":
        return array
    if tag == "tensor":
        return torch.from_numpy(array if array.flags.writeable else array.copy())
    labels = [_untag(label) for label in json.loads(array.tobytes().decode())]
    if tag == "levels":
        return {label: code for code, label in enumerate(labels)}
    if tag == "labels":
        out = np.empty(len(labels), dtype=object)
        out[:] = labels
        return out
    raise ValueError(f"{tag!r} is unknown")
