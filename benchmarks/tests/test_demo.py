"""The demo: its errors on a user's file, and what it compares and shows."""

import os
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
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
def comparison(benchmarks_importable):
    import _demo_compare

    return _demo_compare


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


def named(n_classes, n_rows=120):
    """A table whose kind has so many values."""
    return table(n_rows).assign(kind=[f"name {i % n_classes}" for i in range(n_rows)])


def written(tmp_path, content):
    path = tmp_path / "user.csv"
    path.write_text(content if isinstance(content, str) else content.to_csv(index=False))
    return str(path)


@pytest.mark.parametrize(
    ("content", "arguments", "part"),
    [
        (table(), ["--target", "prize"], "'size', 'kind', 'price'"),
        (table(), [], "'size', 'kind', 'price'"),
        (table().assign(kind="a"), ["--target", "kind"], "it holds text with 1 value, such as a"),
        (table().assign(kind=True), ["--target", "kind"], "text with 1 value, such as True"),
        (named(51), ["--target", "kind"], "'kind' must hold numbers, or text with 2 to 50 values"),
        (named(51), ["--target", "kind"], "it holds text with 51 values, such as name 0"),
        (named(60), ["--target", "kind"], "it holds text with 60 values"),
        (table().assign(kind=["1,200", *"12" * 29, "3"]), ["--target", "kind"], "in text, such as"),
        (table().assign(kind=[None, *"ab" * 29, "a"]), ["--target", "kind"], "missing in 1 rows"),
        (table().assign(kind=["a", *"b" * 59]), ["--target", "kind"], "must have two rows or more"),
        (table().assign(price=[np.inf, *range(59)]), ["--target", "price"], "infinite in 1 rows"),
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
    X, y, name, notes = demo.load(path, "price")
    again, *_ = demo.load(path, "price")
    pd.testing.assert_frame_equal(X, again)
    assert len(X) == 20
    assert name == "user.csv"
    assert "20 of 60 rows, drawn at random, are used." in notes
    np.testing.assert_allclose(y, table().price[X.index])


@pytest.mark.parametrize(
    ("target", "classes", "said"),
    [
        (["yes", "no", "no"], ["no", "yes"], "The target holds text with 2 values: classes are"),
        (["1", "2", "x"], ["1", "2", "x"], "The target holds text with 3 values: classes are"),
        ([True, False, True], ["False", "True"], "The target holds true and false: classes are"),
        ([0, 1, 1], None, "whole numbers with 2 values: they are predicted as numbers; write"),
        ([0.5, 1, 1], None, "The target holds numbers, which are predicted."),
    ],
)
def test_text_is_classes_and_numbers_are_numbers(demo, tmp_path, target, classes, said):
    data = table(60).assign(target=target * 20)
    _, y, _, notes = demo.load(written(tmp_path, data), "target")
    assert said in " ".join(notes)
    if classes is None:
        np.testing.assert_array_equal(y, data["target"])
    else:
        assert sorted(y.unique()) == classes


def test_what_no_method_can_use_is_taken_out_and_told(demo, tmp_path):
    data = table().assign(kind=["only here", *"ab" * 29, "a"], price=[1, np.inf, *range(58)])
    X, y, _, notes = demo.load(written(tmp_path, data), "kind")
    assert len(X) == len(y) == 59
    assert set(y) == {"a", "b"}
    assert np.isnan(X["price"].iloc[0])
    assert notes[1:] == [
        "1 infinite values count as missing.",
        "1 rows are left out: no other row is of their class.",
    ]


def test_each_class_is_trained_on(comparison):
    y = pd.Series([f"name {i % 30}" for i in range(75)])
    for seed in range(3):
        train, test = comparison.split_rows(y, seed)
        assert set(y[train]) == set(y)
        assert sorted([*train, *test]) == list(range(75))


def test_others_get_what_ours_reads(comparison):
    X = table().drop(columns="price")
    messy = X.assign(
        size=[None if np.isnan(x) else f"${x:,.6f}" for x in X["size"]],
        day=pd.date_range("2024-01-01", periods=60).strftime("%d.%m.%Y"),
        empty=np.nan,
    )
    model = comparison.NONARegressor(**TINY).fit(messy, np.arange(60))
    read = comparison.as_read(messy, model.columns_)
    np.testing.assert_allclose(read["size"], X["size"], atol=1e-6)
    np.testing.assert_allclose(np.diff(read["day"]) / np.diff(read["day"])[0], 1)
    assert read["kind"].dtype == "category"
    assert list(read) == ["size", "kind", "day"]


class Outline(HTMLParser):
    """Headings, identifiers and tags that are open; raises where a tag closes another one."""

    def __init__(self, page):
        super().__init__()
        self.headings, self.ids, self.open, self.n_boxed, self.n_wide = [], [], [], 0, 0
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.headings += [int(tag[1])] if re.fullmatch("h[1-6]", tag) else []
        self.ids += [value for name, value in attrs if name == "id"]
        self.n_wide += tag in ("table", "img")
        self.n_boxed += tag in ("table", "img") and self.open[-1] == "div"
        self.open += [tag] * (tag not in ("meta", "img", "br"))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def check_page(page):
    """A page is whole, loads nothing and has what is wide in boxes that scroll."""
    outline = Outline(page)
    assert outline.open == []
    assert outline.headings[0] == 1
    assert outline.headings.count(1) == 1
    assert np.diff(outline.headings).max() == 1
    assert len(set(outline.ids)) == len(outline.ids) == page.count('href="#')
    assert outline.n_boxed == outline.n_wide > 5
    assert '<html lang="en">' in page
    assert 'name="viewport"' in page
    assert re.findall(r"""(?:src|href)="(?!data:|#)|url\(|@import""", page) == []


def unreadable(X):
    """The same, with a column whose name would be markup."""
    return X.rename(columns={"size": "<script>size</script> & $more"})


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_page_shows_what_was_measured(demo, comparison, page_of, tmp_path, capsys):
    X, y, _, notes = demo.load(written(tmp_path, unreadable(table(150))), "price")
    makers = comparison.methods(y)
    errors, model, X_test, y_test = comparison.compare(X, y, makers, n_splits=2, **TINY)
    assert "split 2 of 2: NONARegressor\n" in capsys.readouterr().err
    others = {"ridge", "k-NN", "random forest", "hist. boosting"}
    assert set(errors.index) >= {"NONARegressor", *others}
    assert list(errors)[:3] == ["RMSE", "mean absolute error", "R²"]
    assert errors.RMSE.is_monotonic_increasing
    assert len(X_test) == 30
    page, lines = page_of.make_page("My <table>", notes, errors, model, X_test, y_test)
    check_page(page)
    assert "My &lt;table&gt;" in page
    assert "&lt;script&gt;size" in page
    assert "<script" not in page
    assert page.count("data:image/svg+xml") == 4
    assert comparison.verdict(errors, "NONARegressor") in page
    assert "The target holds numbers" in page
    assert any("adjustment" in line for line in lines)
    y_test = y_test.where(y_test.index != y_test.index[0], 1e9)
    page, lines = page_of.make_page("Wild", notes, errors, model, X_test, y_test)
    assert f"<p>Beware: row {y_test.index[0]} alone" in page
    assert any(line.startswith("Beware") for line in lines)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_page_of_classes(demo, tmp_path, capsys):
    data = unreadable(table(150)).assign(kind=["<b>a</b>", "b", "b"] * 50)
    path, lines = demo.write_page(*demo.load(written(tmp_path, data), "kind"), tmp_path, **TINY)
    assert path.name == "user.csv-kind.html"
    page = path.read_text(encoding="utf-8")
    check_page(page)
    assert "The target holds text with 2 values: classes are predicted." in page
    assert "&lt;b&gt;a&lt;/b&gt;" in page
    assert "<b>a" not in page
    for part in ("log loss", "accuracy", "logistic regression", "hist. boosting", "90 % set"):
        assert part in page
    assert any("log loss" in line for line in lines)
    assert "split 2 of 2: hist. boosting\n" in capsys.readouterr().err
    assert "<script" not in page


def test_a_row_that_makes_the_error_is_told(page_of):
    tested = object.__new__(page_of.TestedNumbers)
    tested.X, tested.y = pd.DataFrame(index=[7, 8, 9]), pd.Series([1, 2, 300.0])
    tested.errors = np.ones(3)
    assert tested.warnings() == []
    tested.errors = np.array([1.0, 1, 100])
    text = "row 9 alone, whose target is 300, makes 100 % of the squared error of ours"
    (warning,) = tested.warnings()
    assert text in warning
    assert warning.endswith("Without it, the RMSE of ours is 1 there.")


def test_confusions_of_many_classes(page_of):
    names = [f"class {k:02}" for k in range(14)]
    tested = object.__new__(page_of.TestedClasses)
    tested.classes = np.array(names)
    tested.y = pd.Series([*names[:10] * 3, *names[10:12] * 2])
    tested.y_hat = np.array([*names[:10] * 2, *names[1:10], "class 11", *names[10:14]])
    page = tested.confusion()
    cells = np.array(re.findall(r"<td[^>]*>(\d+)</td>", page), dtype=int).reshape(11, 11)
    np.testing.assert_array_equal(cells.sum(axis=1), [3] * 10 + [4])
    assert cells[10, 10] == 4
    assert cells[9, 10] == 1
    assert re.findall("class=ours>([0-9]+)<", page) == [str(n) for n in np.diag(cells)]
    assert "The 10 largest classes have a line each." in page
    assert "others (4)" in page


def test_three_different_rows_are_chosen(page_of):
    unsureness, errors = np.array([3.0, 1, 9, 2, 4]), np.array([0.0, 1, 8, 2, 1])
    assert page_of.choose(unsureness, errors) == {
        "A typical row": 0,
        "An unsure row": 4,
        "A row with a large error": 2,
    }
    assert len(page_of.choose(np.full(2, np.inf), np.zeros(2))) == 2


@pytest.mark.parametrize(
    ("value", "text"),
    [(28362.4, "28,360"), (0.91234, "0.9123"), (0.00001234, "1.234e-05"), (np.inf, "inf")],
)
def test_numbers_are_short(page_of, value, text):
    assert page_of.number(value) == text


def test_the_verdict_says_who_has_the_lowest_error(comparison):
    errors = pd.DataFrame({"RMSE": [1.0, 1.5]}, index=["ridge", "ours"])
    assert (
        comparison.verdict(errors, "ours")
        == "ridge has the lowest error; the RMSE of ours is 1.50 times as large."
    )
    errors = pd.DataFrame({"log loss": [1.0, 2.0]}, index=["ours", "ridge"])
    assert (
        comparison.verdict(errors, "ours")
        == "ours has the lowest error: 0.50 of the log loss of ridge."
    )
    errors = pd.DataFrame({"RMSE": [1.0, 1.005]}, index=["ridge", "ours"])
    assert (
        comparison.verdict(errors, "ours")
        == "ours and ridge are level: their RMSE differs by 1 % at most."
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


@pytest.mark.parametrize(
    ("target", "name"),
    [
        ("kind", "user.csv-kind.html"),
        ("price, $", "user.csv-price.html"),
        ("../up", "user.csv-..-up.html"),
        ("цена", "user.csv.html"),
        ("long " * 99, "user.csv" + "-long" * 18 + "-l.html"),
    ],
)
def test_pages_are_named_after_table_and_target(demo, target, name):
    assert demo.name_page("user.csv", target) == name
    assert demo.name_page("...", "%") == "page.html"
