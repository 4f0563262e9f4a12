"""The demo: its errors on a user's file, and what it compares and shows."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pd = pytest.importorskip("pandas")
pytest.importorskip("matplotlib")

BENCHMARKS = Path(__file__).parents[1]
TINY = {"max_iter": 2, "hidden_layer_sizes": (8,)}


@pytest.fixture
def demo(benchmarks_importable):
    import demo

    return demo


@pytest.fixture
def page_of(benchmarks_importable):
    import _demo_page

    return _demo_page


def table(n_rows=60):
    """Numbers, text and gaps; the target is a function of all."""
    rng = np.random.default_rng(0)
    data = pd.DataFrame({"size": rng.normal(size=n_rows), "kind": rng.choice(["a", "b"], n_rows)})
    data["price"] = 3 * data["size"] + (data["kind"] == "b")
    data.loc[::9, "size"] = np.nan
    return data


def written(tmp_path, content):
    path = tmp_path / "user.csv"
    path.write_text(content if isinstance(content, str) else content.to_csv(index=False))
    return str(path)


@pytest.mark.parametrize(
    ("content", "arguments", "part"),
    [
        (table(), ["--target", "prize"], "'size', 'kind', 'price'"),
        (table(), [], "'size', 'kind', 'price'"),
        (table(), ["--target", "kind"], "'kind' must hold numbers"),
        (table(), ["--target", "size"], "'size' is missing in 7 rows"),
        (table(), ["--data", "missing.csv", "--target", "y"], "missing.csv"),
        (table()[["price"]], ["--target", "price"], "0 feature"),
        ("", ["--target", "price"], "can't be read"),
        ("size,price\n", ["--target", "price"], "has no rows"),
        ("a,b\n1,2\n1,2,3,4\n", ["--target", "b"], "can't be read"),
    ],
)
def test_unusable_data_is_one_clear_line(demo, tmp_path, capsys, content, arguments, part):
    path = written(tmp_path, content)
    if "--data" not in arguments:
        arguments = ["--data", path, *arguments]
    output = ["--output", str(tmp_path / "output")]
    assert demo.main([*arguments, *output, "--no-browser"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines()[-1].startswith("error: ")
    assert part in err


def test_a_wrong_target_is_told_at_once(tmp_path):
    path, program = written(tmp_path, table()), str(BENCHMARKS / "demo.py")
    command = [sys.executable, "-X", "importtime", program, "--data", path, "--target", "prize"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "error: Which column" in done.stderr
    assert "torch" not in done.stderr


def test_a_target_without_a_file(demo, capsys):
    assert demo.main(["--target", "y", "--no-browser"]) == 2
    assert "--data" in capsys.readouterr().err


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252"])
def test_separators_and_encodings_are_found_out(demo, tmp_path, separator, encoding):
    expected = pd.DataFrame({"café, \u20ac": ["1,5", "2,5"], "name": ["Zoë", "Ana"], "y": [1, 2]})
    path = tmp_path / "user.csv"
    expected.to_csv(path, sep=separator, encoding=encoding, index=False)
    if separator == ";":
        expected["café, \u20ac"] = [1.5, 2.5]  # beside it a decimal sign
    pd.testing.assert_frame_equal(demo.read_csv(str(path)), expected)


def test_long_files_are_cut_to_the_same_rows_each_time(demo, tmp_path, monkeypatch):
    path = written(tmp_path, table())
    monkeypatch.setattr(demo, "MAX_ROWS", 20)
    X, y, name = demo.load(path, "price")
    again, _, _ = demo.load(path, "price")
    pd.testing.assert_frame_equal(X, again)
    assert len(X) == 20
    assert name == "user.csv"
    np.testing.assert_allclose(y, table().price[X.index])


def test_others_get_what_ours_reads(page_of):
    X = table().drop(columns="price")
    messy = X.assign(
        size=[None if np.isnan(x) else f"${x:,.6f}" for x in X["size"]],
        day=pd.date_range("2024-01-01", periods=60).strftime("%d.%m.%Y"),
        empty=np.nan,
    )
    model = page_of.NONARegressor(**TINY).fit(messy, np.arange(60))
    read = page_of.as_read(messy, model.columns_)
    np.testing.assert_allclose(read["size"], X["size"], atol=1e-6)
    np.testing.assert_allclose(np.diff(read["day"]) / np.diff(read["day"])[0], 1)
    assert read["kind"].dtype == "category"
    assert list(read) == ["size", "kind", "day"]


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_page_shows_what_was_measured(demo, page_of, tmp_path, capsys):
    X, y, _ = demo.load(written(tmp_path, table(150)), "price")
    errors, model, X_test, y_test = page_of.compare(X, y, page_of.methods(), n_splits=2, **TINY)
    assert f"split 2 of 2: {page_of.OURS}" in capsys.readouterr().err
    assert set(errors.index) >= {page_of.OURS, "ridge", "k-NN", "random forest", "hist. boosting"}
    assert errors.RMSE.is_monotonic_increasing
    assert len(X_test) == 30
    page, lines = page_of.make_page("My <table>", errors, model, X_test, y_test)
    assert "My &lt;table&gt;" in page
    assert page.count("<svg") == 2
    assert page_of.verdict(errors) in page
    assert any("adjustment" in line for line in lines)


def test_the_verdict_says_where_ours_loses(page_of):
    errors = pd.DataFrame({"RMSE": [1.0, 1.5]}, index=["ridge", page_of.OURS])
    assert (
        page_of.verdict(errors)
        == f"ridge has the lowest error; the RMSE of {page_of.OURS} is 1.50 times as large."
    )
    errors = pd.DataFrame({"RMSE": [1.0, 2.0]}, index=[page_of.OURS, "ridge"])
    assert (
        page_of.verdict(errors)
        == f"{page_of.OURS} has the lowest error: 0.50 of the RMSE of ridge."
    )


@pytest.mark.skipif(shutil.which("make") is None or os.name == "nt", reason="needs make")
@pytest.mark.parametrize("through", ["arguments", "environment"])
@pytest.mark.parametrize(
    "text",
    [
        "a b.csv",
        "-x",
        "--output=elsewhere",
        "$HOME $(HOME) ${HOME} $$ $(shell touch made) $x",
        "`touch made` $(touch made); touch made & touch made",
        """it's "quoted" \\" \\ #1 %d * ? ~ ü""",
        "two  spaces ",  # make itself strips those before
    ],
)
def test_neither_make_nor_the_shell_reads_names(tmp_path, text, through):
    python = tmp_path / "venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text('#!/bin/sh\nprintf "%s\\n" "$@" > "$SEEN"\n')
    python.chmod(0o755)
    (tmp_path / "venv" / "installed-demo").touch()
    (tmp_path / "venv" / "pyvenv.cfg").touch()
    names = {"DATA": text, "TARGET": text}
    environment = os.environ | {"SEEN": str(tmp_path / "seen")}
    arguments = [f"{name}={value}" for name, value in names.items()]
    makefile, venv = BENCHMARKS.parent / "Makefile", f"VENV={tmp_path / 'venv'}"
    if through == "environment":
        arguments, environment = [], environment | names
    for name in ("setup.cfg", "pyproject.toml"):  # older than what is installed
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (0, 0))
    command = ["make", "-f", str(makefile), "demo", venv, *arguments]
    subprocess.run(command, cwd=tmp_path, env=environment, check=True, capture_output=True)
    seen = (tmp_path / "seen").read_text()
    assert seen == f"benchmarks/demo.py\n--data={text}\n--target={text}\n"
    assert not (tmp_path / "made").exists()
