"""Values as JSON and arrays, and back."""

import json
from dataclasses import dataclass, field, fields

import numpy as np
import torch

from .. import _blend, _columns, _model, _task
from .._plan import Plan
from .._recipe import Recipe
from .scalars import SCALARS, is_scalar, read_scalar, write_scalar

# Classes whose instances may be made from a file; no other is.
KINDS = {
    kind.__name__: kind
    for kind in (
        _blend.Bag,
        _blend.BaggedBoosting,
        _blend.BaggedLogisticBoosting,
        _blend.CategoryEncoder,
        _blend.LinearFeatures,
        _blend.LinearModel,
        _blend.LogisticModel,
        _blend.Mixture,
        _blend.Trees,
        _columns.ColumnSummary,
        _columns.FeatureEncoder,
        _columns.Likeness,
        _columns.LikenessEncoder,
        _columns.TableReader,
        *_columns.KINDS,
        _model.Model,
        _model.NeighborBank,
        _model.NeighborRows,
        _model.SampleNumbering,
        _model.ValidationRows,
        _task.Classification,
        _task.Regression,
        Plan,
        Recipe,
    )
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
        Name for the value, from which those of its arrays are made.

    Returns
    -------
    plain : Plain
    """
    plain = Plain(None)
    return Plain(_write(value, path, plain), plain.arrays, plain.objects)


def _write(value, path, plain):
    kind = type(value)
    if kind in SCALARS:
        return value
    if kind is list or isinstance(value, tuple):
        return {"list" if kind is list else "tuple": _write_all(value, path, plain)}
    if kind is torch.Tensor:
        plain.arrays[path] = _in_order(value.cpu().numpy())
        return {"tensor": path}
    if KINDS.get(kind.__name__) is kind:
        parts = {part.name: getattr(value, part.name) for part in _kept(value)}
        return {"type": kind.__name__, "fields": _write_parts(parts, path, plain)}
    if kind is dict and _are_categories(value):
        return {"categories": _write_labels(sorted(value, key=value.get), path, plain)}
    if kind is dict and all(type(key) is str for key in value):
        return {"dict": _write_parts(value, path, plain)}
    if isinstance(value, dict) and all(write_scalar(key) is not None for key in value):
        return {"pairs": _write_all([list(value), list(value.values())], path, plain)}
    node = write_scalar(value)
    if node is None and hasattr(value, "__array__") and not isinstance(value, np.ma.MaskedArray):
        node = _write_array(np.asarray(value), path, plain)
    if node is None:
        plain.objects[path] = value
        return {"object": path}
    return node


def _write_all(values, path, plain):
    return [_write(v, f"{path}.{i}", plain) for i, v in enumerate(values)]


def _write_parts(parts, path, plain):
    return {key: _write(v, f"{path}.{key}", plain) for key, v in parts.items()}


def _kept(kind):
    return [part for part in fields(kind) if part.init and part.metadata.get("in_files", True)]


def _in_order(array):
    """Make an array contiguous, in the byte order of this machine."""
    return np.asarray(array, dtype=array.dtype.newbyteorder("="), order="C")


def _write_array(array, path, plain):
    """Write an array of numbers or, in one dimension, of anything; None if it is neither."""
    if array.dtype.kind in "biuf" and array.dtype.itemsize <= 8:
        plain.arrays[path] = _in_order(array)
        return {"array": path}
    if array.ndim != 1 or array.dtype.kind == "V":
        return None
    # NumPy's `tolist` would make integers of times.
    labels = list(array) if array.dtype.kind in "mM" else array.tolist()
    tag = "texts" if array.dtype.kind == "U" else "labels"
    return {tag: _write_labels(labels, path, plain)}


def _are_categories(value):
    """Whether a dict numbers its keys from 0."""
    codes = list(value.values())
    return bool(codes) and set(map(type, codes)) == {int} and set(codes) == set(range(len(codes)))


def _write_labels(labels, path, plain):
    """Write labels as bytes of JSON: of many, a header holds no more than the path."""
    if not set(map(type, labels)).issubset(SCALARS):
        labels = _write_all(labels, path, plain)
    text = json.dumps(labels, separators=(",", ":"))
    plain.arrays[path] = np.frombuffer(text.encode(), dtype=np.uint8)
    return path


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
    if type(node) in SCALARS:
        return node
    if set(node) == {"type", "fields"}:
        return _read_kind(node, objects, left)
    ((tag, content),) = node.items()
    if is_scalar(tag):
        return read_scalar(node)
    if tag in ("list", "tuple"):
        parts = [_read(part, objects, left) for part in content]
        return parts if tag == "list" else tuple(parts)
    if tag == "dict":
        return {key: _read(part, objects, left) for key, part in content.items()}
    if tag == "pairs":
        return dict(zip(*(_read(part, objects, left) for part in content), strict=True))
    if tag == "object":
        return objects[content]
    array = left.pop(content)
    if tag == "array":
        return array
    if tag == "tensor":
        return torch.from_numpy(array if array.flags.writeable else array.copy())
    labels = [_read(label, objects, left) for label in json.loads(array.tobytes().decode())]
    if tag == "categories":
        return {label: code for code, label in enumerate(labels)}
    if tag == "labels":
        return np.fromiter(labels, dtype=object, count=len(labels))
    if tag == "texts":
        return np.array(labels, dtype=str)
    raise ValueError(f"{tag!r} is unknown")


def _read_kind(node, objects, left):
    kind = KINDS[node["type"]]
    parts = {key: _read(part, objects, left) for key, part in node["fields"].items()}
    other = set(parts) ^ {part.name for part in _kept(kind)}
    if kind in (Recipe, Plan):  # what an earlier version could not set has its default
        other &= set(parts)
    if other:
        raise ValueError(f"{node['type']} has other fields: {sorted(other)}")
    return kind(**parts)
