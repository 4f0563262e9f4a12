"""The one file: where it is written, its mode, its bytes, and what is refused."""

import hashlib
import json
import os
import stat

import numpy as np
import pytest
from safetensors.numpy import save_file

from skneighbors._archive.container import (
    FORMAT,
    ModelFileError,
    find_place,
    read_file,
    write_file,
)

TREE = {"b": [1, None, 0.5], "a": {"array": "x"}}
ARRAYS = {"x": np.arange(3.0), "y": np.ones((2, 1), dtype=np.int32), "empty": np.empty((0, 4))}
posix = pytest.mark.skipif(os.name != "posix", reason="modes and links of POSIX")


def write(path, arrays=ARRAYS):
    write_file(find_place(path), TREE, arrays)


def mode(path):
    return stat.S_IMODE(os.stat(path).st_mode)


@pytest.fixture
def umask():
    before = os.umask(0o027)
    yield os.umask
    os.umask(before)


def test_the_same_content_makes_the_same_bytes(tmp_path):
    """In any order of its parts."""
    for i in range(8):
        tree, arrays = (dict(list(own.items())[:: (-1) ** i]) for own in (TREE, ARRAYS))
        write_file(find_place(tmp_path / f"{i}"), tree, arrays)
    contents = [path.read_bytes() for path in tmp_path.iterdir()]
    assert len({hashlib.sha256(own).hexdigest() for own in contents}) == 1


@posix
def test_a_new_file_has_the_mode_that_the_process_gives(tmp_path, umask):
    for mask, expected in ((0o027, 0o640), (0o077, 0o600), (0, 0o666)):
        umask(mask)
        write(tmp_path / f"{mask}")
        assert mode(tmp_path / f"{mask}") == expected


@posix
def test_a_file_that_is_replaced_keeps_its_mode(tmp_path, umask):
    path = tmp_path / "file"
    path.touch()
    for own in (0o600, 0o644, 0o664):
        path.chmod(own)
        write(path)
        assert mode(path) == own
    read_file(path)


@posix
@pytest.mark.parametrize("is_there", [True, False])
def test_a_link_stays_and_its_target_is_written(is_there, tmp_path):
    (tmp_path / "models").mkdir()
    target = tmp_path / "models" / "model"
    if is_there:
        target.touch(0o640)
    (tmp_path / "latest").symlink_to("models/model")
    (tmp_path / "link").symlink_to("latest")
    write(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "latest").readlink().as_posix() == "models/model"
    read_file(target)
    assert [path.name for path in target.parent.iterdir()] == ["model"]


@posix
def test_what_is_no_regular_file_is_refused_and_stays(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "link").symlink_to("fifo")
    (tmp_path / "round").symlink_to("round")
    (tmp_path / "folder").mkdir()
    for name, message in {
        "fifo": "fifo is no regular file",
        "link": "link is no regular file",
        "/dev/null": "/dev/null is no regular file",
        "round": "symbolic links",
        "folder": "folder is a folder; name a file",
    }.items():
        with pytest.raises(OSError, match=message):
            find_place(tmp_path / name)
    assert {path.name for path in tmp_path.iterdir()} == {"fifo", "link", "round", "folder"}


def test_a_file_as_folder_is_refused(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError):
        find_place(tmp_path / "file" / "model")


def test_an_interrupt_leaves_the_old_file_alone(tmp_path, monkeypatch):
    path = tmp_path / "file"
    write(path)
    before = path.read_bytes()

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write(path, {"x": np.ones(2)})
    assert [own.name for own in tmp_path.iterdir()] == ["file"]
    assert path.read_bytes() == before


def test_the_longest_name(tmp_path):
    write(tmp_path / ("n" * 255))
    read_file(tmp_path / ("n" * 255))


@pytest.mark.parametrize("version", [1, FORMAT + 1, "x"])
def test_another_format_is_named_with_what_to_do(version, tmp_path):
    path, text = tmp_path / "file", json.dumps({"format": version, "content": {}})
    save_file(ARRAYS, path, metadata={"skneighbors": text, "sha256": "0" * 64})
    remedy = (
        f"is of format {version!r}; this version of skneighbors reads format {FORMAT}. Load it "
        "with the version that wrote it, or fit the model again and save it"
    )
    with pytest.raises(ModelFileError, match=remedy):
        read_file(path)
