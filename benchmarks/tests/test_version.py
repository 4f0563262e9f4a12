"""Versions of the code that runs used: which count as another, and which runs are repeated."""

import json
from argparse import Namespace

import pytest

pd = pytest.importorskip("pandas")
pytestmark = pytest.mark.usefixtures("benchmarks_importable")

CODE = '''
"""A module."""

LIMIT = 2  # at most


def clip(x: float) -> float:
    """Clip."""
    if x < 0:
        raise ValueError(f"no {x}")
    if x == 1:
        warn("one", UserWarning)
    return min(x + 1, {"a": LIMIT}["a"])
'''
KEY = {"dataset": "yacht", "split": 0, "method": "NONA"}


@pytest.fixture
def hash_of(tmp_path):
    """Function that hashes a package of one module."""
    import _version

    def hashed(text, name="module.py"):
        path = tmp_path / "package" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        try:
            return _version.code(path.parent)
        finally:
            path.unlink()

    return hashed


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('"""A module."""', '"""Another text."""'),
        ('    """Clip."""\n', ""),
        ("  # at most", "  # no more"),
        ("x + 1", "(x\n        + 1)"),
        ("x: float) -> float", "x)"),
        ('f"no {x}"', '"x is negative"'),
        ('"one"', '"x is one"'),
    ],
)
def test_texts_for_readers_keep_the_hash(before, after, hash_of):
    assert hash_of(CODE) == hash_of(CODE.replace(before, after)) != hash_of("")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x + 1", "x - 1"),
        ("x + 1", "x + 1.0"),
        ("LIMIT = 2", "LIMIT = 3"),
        ('"a"', '"b"'),
        ("x < 0", "x <= 0"),
        ("ValueError", "TypeError"),
        ("def clip", "def cut"),
    ],
)
def test_what_is_computed_changes_the_hash(before, after, hash_of):
    assert hash_of(CODE) != hash_of(CODE.replace(before, after))


def test_names_of_modules_count_and_files_without_figures_do_not(hash_of):
    assert hash_of(CODE) != hash_of(CODE, "other.py")
    assert hash_of(CODE, "__init__.py") == hash_of("", "_load.py")


def write_lines(path, *lines):
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


def test_the_lines_of_the_latest_code_are_loaded(tmp_path):
    from _benchmark import load

    path, peer = tmp_path / "results.jsonl", KEY | {"method": "ridge"}
    write_lines(
        path,
        *(KEY | {"ratio": ratio, "rmse": 1} for ratio in (1, 2, 3)),
        peer | {"rmse": 2},
        KEY | {"split": 1, "rmse": 3},
        *(KEY | {"ratio": ratio, "rmse": 4, "code": "old"} for ratio in (1, 2)),
        *(KEY | {"ratio": ratio, "rmse": 5, "code": "new"} for ratio in (1, 2)),
        KEY | {"code": "newer", "error": "more than 9 s"},
    )
    done, failed = load(path)
    assert sorted(done.rmse) == [2, 3, 5, 5]
    assert failed.empty


def test_runs_of_earlier_code_are_repeated_and_no_others(tmp_path, monkeypatch, capsys):
    import _benchmark
    import _version

    path, repeated, now = tmp_path / "results.jsonl", [], "now"
    monkeypatch.setattr(_version, "code", lambda: now)
    write_lines(
        path,
        KEY | {"rmse": 1},
        KEY | {"split": 1, "code": "old", "rmse": 1},
        KEY | {"split": 2, "code": now, "rmse": 1},
        *(KEY | {"split": split, "method": "ridge", "rmse": 1} for split in range(3)),
    )

    class Done:
        returncode, stdout, stderr = 0, '{"rmse": 2}', ""

    def finish(command, **_):
        repeated.append(tuple(command[-3:]))
        return Done

    monkeypatch.setattr(_benchmark.subprocess, "run", finish)
    methods, datasets, splits = ["ridge", "NONA"], ["yacht"], [0, 1, 2]
    benchmark = _benchmark.Benchmark("script.py", lambda: datasets, methods, None)
    args = Namespace(
        results=path, jobs=1, limit=9, datasets=datasets, splits=splits, methods=methods
    )
    for _ in range(2):
        _benchmark.run_missing(benchmark, args)
        assert repeated == [("yacht", "0", "NONA"), ("yacht", "1", "NONA")]
    done = _benchmark.load(path)[0]
    assert done[done.method == "NONA"].code.tolist() == [now] * 3
    assert done[done.method == "NONA"].sort_values("split").rmse.tolist() == [2, 2, 1]
    assert done[done.method == "ridge"].code.isna().all()


@pytest.mark.parametrize(
    ("codes", "expected"),
    [
        (["new", "new"], ""),
        (["old", None], "Our runs here are of an earlier version."),
        (["new", None], "Of an earlier version: NONA, given (1 of 2 runs)."),
    ],
)
def test_tables_tell_which_runs_are_of_earlier_code(tmp_path, codes, expected):
    import _rst
    import _version

    frame = pd.DataFrame({"method": "NONA, given", "code": codes})
    frame.loc[2] = {"method": "ridge"}
    _rst.write(tmp_path / "table.inc", "| a | b |", script="x.py", runs=frame)
    text = (tmp_path / "table.inc").read_text(encoding="utf-8")
    assert _version.note(text, "new") == expected
    assert _version.note(text, "newer") == "Our runs here are of an earlier version."


def test_stale_tables_are_listed(tmp_path, monkeypatch, capsys):
    import _version
    import stale

    monkeypatch.setattr(stale, "DOCS", tmp_path)
    monkeypatch.setattr(_version, "code", lambda: "now")
    (tmp_path / "papers").mkdir()
    for name, code in (("old", "old"), ("new", "now")):
        comment = _version.comment({"NONA": {code: 3}})
        (tmp_path / "papers" / f"{name}.inc").write_text(comment, encoding="utf-8")
    with pytest.raises(SystemExit) as exit_of:
        stale.main()
    assert exit_of.value.code == 1
    assert capsys.readouterr().out == "papers/old.inc: 3 of 3\n"


def test_every_table_of_the_docs_tells_its_runs():
    import _version
    import stale

    tables = [p for own in ("benchmark", "papers") for p in (stale.DOCS / own).rglob("*.inc")]
    without = {
        path.name for path in tables if not _version.COUNTS.search(path.read_text(encoding="utf-8"))
    }
    # They stand beside tabular.inc, which has the same runs.
    assert without == {"highlights.inc"}


def test_the_last_runs_of_a_key_count():
    import _version

    frame = pd.DataFrame({"method": [*["NONA"] * 5, "k-NN"], "code": [*"aabaa", "b"]})
    assert _version.newest(frame, ["method"]).index.tolist() == [3, 4, 5]
