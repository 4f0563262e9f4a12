"""Values and arrays in one file: safetensors, whose header holds JSON and a checksum."""

import hashlib
import json
import os
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex

import numpy as np

FORMAT = 1


class ModelFileError(ValueError):
    """A file that holds no model, or one that has been changed; the message says what is wrong."""


@contextmanager
def naming(what):
    """Turn whatever goes wrong in reading into a :class:`ModelFileError` that names it."""
    try:
        yield
    except (ModelFileError, OSError):
        raise
    except Exception as error:
        message = str(error) or type(error).__name__
        raise ModelFileError(f"{what}: {message[:300]}") from error


def _safetensors():
    try:
        from safetensors import numpy, safe_open
    except ImportError as error:
        raise ImportError(
            "save and load need safetensors: pip install 'skneighbors[files]'."
        ) from error
    return numpy, safe_open


def _digest(text, arrays):
    """SHA-256 over the header and all arrays."""
    digest = hashlib.sha256(text.encode())
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(f"{name}|{array.dtype.str}|{array.shape}|".encode())
        digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8))
    return digest.hexdigest()


def check_folder(path):
    """Raise OSError if a file to write has no folder to be in, or is one itself."""
    folder = Path(path).absolute().parent
    if Path(path).is_dir():
        raise IsADirectoryError(f"{path} is a folder; name a file to save the model in.")
    if not folder.is_dir():
        raise FileNotFoundError(f"There is no folder {folder} to save {Path(path).name} in.")


def write_file(path, tree, arrays):
    """Write a file beside `path`, and put it in its place once it is whole.

    Parameters
    ----------
    path : str or Path
    tree : object
        What JSON can hold.
    arrays : dict
        Of numbers, by name.
    """
    numpy, _ = _safetensors()
    text = json.dumps({"format": FORMAT, "content": tree}, separators=(",", ":"))
    metadata = {"skneighbors": text, "sha256": _digest(text, arrays)}
    path = Path(path)
    beside = path.with_name(f".{path.name}.{token_hex(8)}")
    try:
        numpy.save_file(arrays, beside, metadata=metadata)
        os.replace(beside, path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def read_file(path):
    """Read what :func:`write_file` wrote.

    Returns
    -------
    tree : object
    arrays : dict

    Raises
    ------
    ModelFileError
        If the file is another one, was changed, or is of a newer format.
    OSError
        If it can't be read.
    """
    _, safe_open = _safetensors()
    with open(path, "rb"):
        pass  # else an OSError that says why
    with naming(f"{path} is no file of a model"), safe_open(str(path), framework="np") as file:
        metadata = file.metadata() or {}
        arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    if set(metadata) != {"skneighbors", "sha256"}:
        raise ModelFileError(f"{path} holds tensors, but no model of skneighbors.")
    if _digest(metadata["skneighbors"], arrays) != metadata["sha256"]:
        raise ModelFileError(f"{path} is not as it was written: its checksum differs.")
    with naming(f"The header of {path}"):
        header = json.loads(metadata["skneighbors"])
        version, tree = header["format"], header["content"]
    if version != FORMAT:
        raise ModelFileError(
            f"{path} is of format {version!r}; this version of skneighbors reads format {FORMAT}."
        )
    return tree, arrays
