"""Values and arrays in one file: safetensors, whose header holds JSON and a checksum."""

import hashlib
import json
import os
import stat
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex

import numpy as np
from safetensors import safe_open
from safetensors.numpy import save_file

# Version of the format, which is raised when files of earlier versions can no longer be read.
FORMAT = 6
_HEADER, _DIGEST = "skneighbors", "sha256"


class ModelFileError(ValueError):
    """A file that holds no model, or one that has been changed; the message says what is wrong."""


@contextmanager
def naming(what):
    """Turn whatever goes wrong in reading into a :class:`ModelFileError` that names it."""
    try:
        yield
    except (ModelFileError, OSError, ImportError):
        raise
    except Exception as error:
        message = str(error) or type(error).__name__
        raise ModelFileError(f"{what}: {message[:300]}") from error


def _digest(text, arrays):
    """SHA-256 over the header and all arrays."""
    digest = hashlib.sha256(text.encode())
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(f"{name}|{array.dtype.str}|{array.shape}|".encode())
        digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8))
    return digest.hexdigest()


def find_place(path):
    """Find where a file is to be written: where a symbolic link leads, which stays.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    place : Path
        A regular file, or none yet, in a folder that is there.

    Raises
    ------
    OSError
        If there is something else, or no folder.
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


def write_file(place, tree, arrays):
    """Write a file beside its place, and put it there once it is whole.

    The same content makes the same bytes. A new file gets the mode that the process gives its
    files; a file that is replaced keeps its mode.

    Parameters
    ----------
    place : Path
        See :func:`find_place`.
    tree : object
        What JSON can hold.
    arrays : dict
        Of numbers, by name.
    """
    text = json.dumps({"format": FORMAT, "content": tree}, separators=(",", ":"), sort_keys=True)
    digest = np.frombuffer(bytes.fromhex(_digest(text, arrays)), dtype=np.uint8)
    beside = place.with_name(f".skneighbors-{token_hex(8)}")
    try:
        beside.touch(0o666, exist_ok=False)
        mode = stat.S_IMODE((place if place.exists() else beside).stat().st_mode)
        beside.chmod(stat.S_IRUSR | stat.S_IWUSR)  # until it is whole
        # A single entry of text, as safetensors writes several in any order.
        save_file(arrays | {_DIGEST: digest}, beside, metadata={_HEADER: text})
        with open(beside, "rb+") as file:
            os.fsync(file.fileno())
        beside.chmod(mode)
        os.replace(beside, place)
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
        If the file is another one, was changed, or is of another format.
    OSError
        If it can't be read.
    """
    with open(path, "rb"):
        pass  # else an OSError that says why
    with naming(f"{path} is no file of a model"), safe_open(str(path), framework="np") as file:
        metadata = file.metadata() or {}
        arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    if _HEADER not in metadata:
        raise ModelFileError(f"{path} holds tensors, but no model of skneighbors.")
    text, digest = metadata[_HEADER], arrays.pop(_DIGEST, np.empty(0))
    with naming(f"The header of {path}"):
        header = json.loads(text)
        version, tree = header["format"], header["content"]
    if version != FORMAT:
        raise ModelFileError(
            f"{path} is of format {version!r}; this version of skneighbors reads format {FORMAT}. "
            "Load it with the version that wrote it, or fit the model again and save it."
        )
    if len(metadata) > 1 or digest.tobytes().hex() != _digest(text, arrays):
        raise ModelFileError(f"{path} is not as it was written: its checksum differs.")
    return tree, arrays
