"""Fitted estimators as files: plain values and arrays, which skops writes and reads.

Nothing that is read is run: no pickle, and no name that is looked up outside of a list.
"""

import json
import os
import stat
from contextlib import contextmanager
from datetime import date, datetime, time, timedelta
from itertools import islice
from pathlib import Path
from secrets import token_hex
from uuid import UUID
from zipfile import ZIP_DEFLATED, ZipFile

import numpy as np

from . import nn
from ._columns import show
from ._utils.arrays import Stored, pack, restore
from ._utils.sklearn_private import SETTINGS, settings_of

# Version of the format, which is raised when files of earlier versions can no longer be read.
FORMAT = 7
# Smaller files are compressed, for the text in them; and how much smaller that may make a file.
_SMALL, _MOST_COMPRESSED = 2**20, 100
# What skops may make when it reads a file.
_LOADERS = {"DictNode", "ListNode", "TupleNode", "JsonNode", "NdArrayNode", "BytesNode", "TypeNode"}
_SCALARS = bool, int, float, str, type(None)
# Other values of tables, such as categories: their types, to JSON and back.
_KINDS = {
    "bytes": (bytes, bytes.hex, bytes.fromhex),
    "datetime": (datetime, datetime.isoformat, datetime.fromisoformat),
    "date": (date, date.isoformat, date.fromisoformat),
    "time": (time, time.isoformat, time.fromisoformat),
    "timedelta": (
        timedelta,
        lambda value: [value.days, value.seconds, value.microseconds],
        lambda parts: timedelta(*parts),
    ),
    "uuid": (UUID, str, UUID),
}
_CELLS = *_SCALARS, np.generic, *(kind for kind, _, _ in _KINDS.values())
# What stands where a value may be one that a file cannot hold.
_PLACES = {"model.reader.kinds": "a category of X", "model.reader.names": "a column's name"}
_PLACES |= {"model.numbering": "a label of the index of X", "params": "a parameter"}
# Estimators that files may hold, by name; entered where they are known.
ESTIMATORS = {}


class ModelFileError(ValueError):
    """A file that holds no model, or one that has been changed; the message says what is wrong."""


@contextmanager
def naming(what):
    """Turn whatever goes wrong in reading into a :class:`ModelFileError` that names it."""
    try:
        yield
    except ModelFileError:
        raise
    except Exception as error:
        message = str(error) or type(error).__name__
        raise ModelFileError(f"{what}: {message[:300]}") from error


def save_estimator(estimator, path):
    """Write a fitted estimator to a file; see its ``save``."""
    kind, place = type(estimator), _find_place(path)
    if ESTIMATORS.get(kind.__name__) is not kind:
        raise ValueError(f"A file cannot hold a {kind.__name__}. Use pickle or joblib.")
    estimator._validate_params()  # as whoever loads the file will
    params = estimator.get_params(deep=False)
    attributes = {
        k: v for k, v in vars(estimator).items() if k not in {"_model", *SETTINGS, *params}
    }
    for name in attributes:
        check_attribute(kind, name)
    content = {"params": params, "attributes": attributes, "settings": settings_of(estimator)}
    content["model"] = estimator._model
    tree = {name: _write(pack(value), name) for name, value in content.items()}
    _write_file(place, {"format": FORMAT, "estimator": kind.__name__} | tree)


def check_attribute(kind, name):
    """Check that a name is one that a fitted estimator of a class may have."""
    if not name.endswith("_") or hasattr(kind, name):
        raise ValueError(f"{name!r} is no attribute of a fitted estimator: a file can't hold it.")


def _known(base=Stored):
    """Classes whose instances a file may hold, by name: all of the base, the first of a name."""
    kinds = {}
    for kind in reversed(base.__subclasses__()):
        kinds |= _known(kind) | {kind.__name__: kind}
    return kinds


def _write(value, path):
    """Make a value plain: lists, tuples, arrays, and dicts of a tag and a content."""
    kind = type(value)
    if isinstance(value, Stored):
        return {_name(kind): _write_parts(value.__getstate__(), path)}
    if kind is dict:
        return {"dict": _write_parts(value, path)}
    if kind is list and all(map(_is_cell, value)):
        return {"list": _write_cells(value, path)}
    if kind is list and all(type(part) is list for part in value):
        flat, lengths = [part for own in value for part in own], np.array([*map(len, value)])
        return {"lists": [_write(flat, path), lengths]}
    if kind is list and len(alike := set(map(_describe, value))) == 1 and None not in alike:
        return _write_alike(value, path)
    if kind is list or isinstance(value, tuple):
        parts = (_write(part, f"{path}.{i}") for i, part in enumerate(value))
        return list(parts) if kind is list else tuple(parts)
    if isinstance(value, type) and getattr(nn, value.__name__, None) is value:
        return {"nn": value.__name__}
    if hasattr(value, "__array__") and not isinstance(value, np.ma.MaskedArray):
        array = np.asarray(value)
        if array.ndim == 1 and array.dtype == object:
            return {"array": _write_cells(array.tolist(), path)}
        if not array.dtype.hasobject and array.dtype.kind != "V":
            return array
    return {"cell": _write_cells([value], path)}


def _name(kind):
    """Name a class by which it is found again."""
    if _known().get(kind.__name__) is not kind:
        raise ValueError(f"A file holds no {kind.__name__}: another class has that name.")
    return kind.__name__


def _describe(value):
    """Describe what of a list may be written at once, else None."""
    if type(value) is np.ndarray and value.dtype.kind not in "OV":
        return value.dtype, value.ndim
    return type(value) if isinstance(value, Stored) else None


def _write_alike(values, path):
    """Write arrays of one dtype as one, and dataclasses of one class by lists of their fields."""
    if isinstance(values[0], Stored):
        states = [value.__getstate__() for value in values]
        columns = {name: [state[name] for state in states] for name in states[0]}
        return {"each": {_name(type(values[0])): _write_parts(columns, path)}}
    shapes = np.array([array.shape for array in values])
    return {"arrays": [np.concatenate([array.ravel() for array in values]), shapes]}


def _write_parts(parts, path):
    """Make parts by name plain, all cells of them at once."""
    cells = {name: part for name, part in parts.items() if _is_cell(part)}
    written = {"": _write_cells([*cells, *cells.values()], path)}
    others = ((name, part) for name, part in parts.items() if name not in cells)
    return written | {name: _write(part, f"{path}.{name}") for name, part in others}


def _is_cell(value):
    """Whether a value is one that a table may hold; many of them are written at once."""
    is_tuple = isinstance(value, tuple)
    return all(map(_is_cell, value)) if is_tuple else isinstance(value, _CELLS)


def _write_cells(cells, path):
    """Write cells as bytes of JSON: a node of skops for each would be large and slow."""
    if not set(map(type, cells)).issubset(_SCALARS):
        cells = [_write_cell(cell, path) for cell in cells]
    return json.dumps(cells, separators=(",", ":")).encode()


def _write_cell(value, path):
    """Write a cell as what JSON knows, or a dict of a tag."""
    if isinstance(value, np.generic) and value.dtype.kind not in "mM":
        value = value.item()
    if type(value) in _SCALARS:
        return value
    if type(value) is tuple:
        return {"tuple": [_write_cell(part, path) for part in value]}
    for tag, (kind, write, undo) in _KINDS.items():
        if isinstance(value, kind):
            content = write(value)
            again = undo(content)
            if bool(again == value and hash(again) == hash(value)):
                return {tag: content}
    place = next((f"{what}, " for at, what in _PLACES.items() if path.startswith(at)), "")
    raise ValueError(
        f"A file cannot hold {place}{path}: {show(value)}, of type {type(value).__name__!r}. Use "
        "pickle or joblib, or fit without it: make it text or numbers."
    )


def read(node):
    """Read a part of what :func:`read_file` returns.

    Raises
    ------
    KeyError, TypeError, ValueError
        If there is anything that it would not have written.
    """
    return restore(_read(node))


def _read(node):
    kind = type(node)
    if kind in _SCALARS or (kind is np.ndarray and not node.dtype.hasobject):
        return node
    if kind in (list, tuple):
        return kind(map(_read, node))
    ((tag, content),) = node.items()
    if tag == "dict":
        return _read_parts(content)
    if tag == "nn":
        return {name: getattr(nn, name) for name in nn.__all__}[content]
    if tag == "lists":
        parts = iter(_read(content[0]))
        return [list(islice(parts, n)) for n in content[1].tolist()]
    if tag == "arrays":
        ends = np.prod(content[1], axis=1).cumsum()
        arrays = np.split(content[0], ends[:-1])
        return [array.reshape(shape) for array, shape in zip(arrays, content[1], strict=True)]
    if tag == "each":
        ((tag, content),) = content.items()
        columns = _read_parts(content)
        rows = zip(*columns.values(), strict=True)
        return [_make(tag, dict(zip(columns, row, strict=True))) for row in rows]
    if tag not in ("array", "cell", "list"):
        return _make(tag, _read_parts(content))
    cells = _read_cells(content)
    if tag == "array":
        return np.fromiter(cells, dtype=object, count=len(cells))
    return cells if tag == "list" else cells[0]


def _make(name, state):
    """Make an instance of a class that is listed."""
    kinds = _known()
    if name not in kinds:
        raise ValueError(f"the class {name!r} is unknown")
    value = object.__new__(kinds[name])
    value.__setstate__(state)
    return value


def _read_parts(content):
    cells = _read_cells(content[""])
    n_cells = len(cells) // 2
    parts = {name: _read(part) for name, part in content.items() if name}
    return dict(zip(cells[:n_cells], cells[n_cells:], strict=True)) | parts


def _read_cells(content):
    return json.loads(content, object_hook=_read_cell)


def _read_cell(node):
    ((tag, content),) = node.items()
    return tuple(content) if tag == "tuple" else _KINDS[tag][2](content)


def _find_place(path):
    """Find where a file is to be written: where a symbolic link leads, which stays.

    Raises
    ------
    OSError
        If there is something else than a regular file, or no folder.
    """
    place = Path(os.path.realpath(path))
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        mode = stat.S_IFREG
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(f"{path} is a folder; name a file to save the model in.")
    if not stat.S_ISREG(mode):
        raise OSError(f"{path} is no regular file, which alone can hold a model.")
    if not place.parent.is_dir():
        raise FileNotFoundError(f"There is no folder {place.parent} to save {place.name} in.")
    return place


def _write_file(place, tree):
    """Write a file beside its place, and put it there once it is whole.

    A new file gets the mode that the process gives its files; one that is replaced keeps its mode.
    """
    import skops.io  # takes seconds

    beside = place.with_name(f".skneighbors-{token_hex(8)}")
    try:
        beside.touch(0o666, exist_ok=False)
        mode = stat.S_IMODE((place if place.exists() else beside).stat().st_mode)
        beside.chmod(stat.S_IRUSR | stat.S_IWUSR)  # until it is whole
        with open(beside, "wb") as file:
            skops.io.dump(tree, file)
            if file.tell() < _SMALL:
                file.seek(0)
                file.truncate()
                skops.io.dump(tree, file, compression=ZIP_DEFLATED)
            file.flush()
            os.fsync(file.fileno())
        beside.chmod(mode)
        os.replace(beside, place)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def read_file(path):
    """Read the tree that :func:`save_estimator` wrote.

    Raises
    ------
    ModelFileError
        If the file is another one, was changed, or is of another format.
    OSError
        If it can't be read.
    """
    import skops.io

    with open(path, "rb") as file, naming(f"{path} is no file of a model"):
        with ZipFile(file) as parts:
            n_bytes = sum(part.file_size for part in parts.infolist())
            if n_bytes > _MOST_COMPRESSED * os.fstat(file.fileno()).st_size:
                raise ValueError(f"it would take {n_bytes} bytes of memory")
            json.loads(parts.read("schema.json"), object_hook=_check_loader)
        tree = skops.io.load(file)
        version = tree["format"]
    if version != FORMAT:
        raise ModelFileError(
            f"{path} is of format {version!r}; this version of skneighbors reads format {FORMAT}. "
            "Load it with the version that wrote it, or fit the model again and save it."
        )
    return tree


def _check_loader(node):
    loader = node.get("__loader__", "DictNode")
    if loader not in _LOADERS:
        raise ValueError(f"it holds a {loader}, which no model has")
    return node
