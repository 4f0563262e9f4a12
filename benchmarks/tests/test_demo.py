"""The demo: its errors on a user's file, and the meaning of what it prints and draws."""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.metrics import root_mean_squared_error
from sklearn.model_selection import KFold

from skneighbors import NONARegressor, SoftStepKNNRegressor

pd = pytest.importorskip("pandas")
pytest.importorskip("matplotlib")

BENCHMARKS = Path(__file__).parents[1]
if not (BENCHMARKS / "demo.py").exists():
    pytest.skip("the benchmarks are not part of this installation", allow_module_level=True)
TINY = {
    "max_iter": 2,
    "hidden_layer_sizes": (8,),
    "embedding_dim": 4,
    "device": "cpu",
    "random_state": 0,
}


def load_script(name):
    spec = importlib.util.spec_from_file_location(name, BENCHMARKS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def demo():
    """The script, which imports its neighbours as it does when run."""
    sys.path.insert(0, str(BENCHMARKS))
    try:
        yield load_script("demo")
    finally:
        sys.path.remove(str(BENCHMARKS))
        for name in ("demo", "_surfaces", "_csv_input"):
            sys.modules.pop(name, None)


@pytest.fixture
def surfaces(demo):
    return sys.modules["_surfaces"]


def table(n_rows=60):
    """Numbers whose target is a linear function of two columns, one of them a code."""
    rng = np.random.default_rng(0)
    data = pd.DataFrame({"size": rng.normal(size=n_rows), "kind": rng.integers(1, 3, n_rows)})
    return data.assign(price=3 * data["size"] + data["kind"])


def written(tmp_path, content):
    path = tmp_path / "user.csv"
    if isinstance(content, str):
        path.write_text(content)
    else:
        content.to_csv(path, index=False)
    return str(path)


def with_value(column, row, value):
    data = table().astype(object)
    data.loc[row, column] = value
    return data


@pytest.mark.parametrize(
    ("content", "target", "parts"),
    [
        (table(), "prize", ["'prize'", "'size', 'kind', 'price'"]),
        (table()[["price"]], "price", ["no column beside", "'price'"]),
        (table(49), "price", ["49 rows", "at least 50"]),
        (table(1), "price", ["1 rows", "at least 50"]),
        (with_value("price", 3, "1,5"), "price", ["'price'", "'1,5'", "row 4"]),
        (with_value("price", 3, "x" * 999), "price", ["xxx", "row 4"]),
        (with_value("price", 8, None), "price", ["'price'", "1 of 60", "row 9"]),
        (with_value("price", 5, 1e300), "price", ["'price'", "1e+300", "row 6"]),
        (table() * 1e-200, "price", ["'price'", "varies by less"]),
        (with_value("size", 5, -1e300), "price", ["'size'", "-1e+300", "row 6"]),
        (table().assign(size=None, kind=None), "price", ["no value in any column"]),
        ("\0\1\2", "price", ["user.csv"]),
        (with_value("size", 2, np.inf), "price", ["'size'", "inf", "row 3"]),
        (table().assign(price=4.5), "price", ["'price'", "4.5 in every row"]),
        ("", "price", ["cannot be read"]),
        ("a,b\n1,2\n1,2,3,4\n", "b", ["cannot be read", "line 3"]),
        ("a,b\n1,2,3\n", "b", ["more values"]),
    ],
)
def test_unusable_file_is_one_clear_line(demo, tmp_path, capsys, content, target, parts):
    path = written(tmp_path, content)
    output = tmp_path / "output"
    assert demo.main(["--data", path, "--target", target, "--output", str(output)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    for part in parts:
        assert part in err
    assert not output.exists()


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["--data", "missing.csv", "--target", "y"], "no file missing.csv"),
        (["--data", ".", "--target", "y"], "cannot be read"),
        (["--data", "s3://nowhere/table.csv", "--target", "y"], "s3://nowhere/table.csv"),
        (["--data=-x $HOME `ls` 'a\".csv", "--target=-y"], "no file -x $HOME `ls` 'a\".csv"),
        (["--target", "y"], "--data"),
        (["--data", "user.csv"], "'size', 'kind', 'price'"),
        (["--output", "user.csv"], "user.csv"),
    ],
)
def test_unusable_arguments_are_one_clear_line(
    demo, tmp_path, capsys, monkeypatch, arguments, part
):
    written(tmp_path, table())
    monkeypatch.chdir(tmp_path)
    assert demo.main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: ")
    assert part in err
    assert err.count("\n") == 1


def test_csv_is_read_as_it_was_written(demo, tmp_path):
    data = table().assign(flag=True)
    X, y, name = demo.load(written(tmp_path, data), "price")
    assert name == "user.csv"
    assert list(X.columns) == ["size", "kind", "flag"]
    assert_allclose(X, data.drop(columns="price").astype(float))
    assert_allclose(y, data["price"])


def test_long_files_are_cut_to_the_same_rows_each_time(demo):
    data = table(500)
    X, y = demo.cut_rows(data[["size", "kind"]], data["price"], max_rows=100)
    again, _ = demo.cut_rows(data[["size", "kind"]], data["price"], max_rows=100)
    assert len(X) == len(np.unique(X.index)) == 100
    assert_array_equal(X.index, again.index)
    assert_allclose(y, data["price"][X.index])
    assert "100 rows (of 500, drawn" in demo.describe(X, y, "user.csv", 500)[0]


def test_grid_holds_the_softstep_variants(demo):
    entrants = demo.contestants(**TINY)
    grid = entrants["NONA + SoftStep"].grid
    assert set(grid) == {"softstep", "softstep_parameters", "similarity"}
    assert isinstance(entrants["SoftStep k-NN"].model, SoftStepKNNRegressor)
    networks = [e.model for e in entrants.values() if isinstance(e.model, NONARegressor)]
    assert [model.softstep for model in networks] == [None, "s2"]
    for model in networks:
        assert {name: model.get_params()[name] for name in TINY} == TINY


def test_results_are_those_of_the_outer_folds(demo):
    data = table(80)
    X, y = data[["size", "kind"]], data["price"] + np.random.default_rng(1).normal(size=80)
    entrant = demo.Contestant(LinearRegression(), {"positive": [False, True]}, demo.encoded(True))
    folds = list(KFold(3).split(X))
    finished = []
    results = demo.compare({"ols": entrant}, X, y, folds, report=finished.append)
    assert finished == ["ols"]
    assert len(results["ols"]) == 3
    for (train, test), outcome in zip(folds, results["ols"], strict=True):
        expected = LinearRegression().fit(X.iloc[train], y.iloc[train]).predict(X.iloc[test])
        assert outcome.rmse == pytest.approx(root_mean_squared_error(y.iloc[test], expected))
        assert outcome.r2 == pytest.approx(
            1 - outcome.rmse**2 / np.mean((y.iloc[test] - y.iloc[test].mean()) ** 2)
        )
        assert set(outcome.chosen) == {"positive"}


def test_all_contestants_run_on_a_user_file(demo, tmp_path, capsys, monkeypatch):
    def smallest(**settings):
        entrants = original(**{**settings, **TINY})
        entrants["hist. gradient boosting"].model.set_params(max_iter=2)
        entrants["MLP"].model.regressor.set_params(max_iter=30, tol=10.0)
        return {
            name: demo.Contestant(
                entrant.model,
                {key: values[:1] for key, values in entrant.grid.items()},
                entrant.columns,
            )
            for name, entrant in entrants.items()
        }

    def surfaces(**settings):
        return learn(n_rows=30, resolution=5, **{**TINY, "n_jobs": 1})

    original, learn = demo.contestants, demo.learn_surfaces
    monkeypatch.setattr(demo, "contestants", smallest)
    monkeypatch.setattr(demo, "learn_surfaces", surfaces)
    monkeypatch.setattr(demo.joblib, "cpu_count", lambda: 1)
    path = written(tmp_path, table())
    output = tmp_path / "new" / "output"
    assert demo.main(["--data", path, "--target", "price", "--output", str(output)]) == 0
    assert (output / "surfaces.png").read_bytes().startswith(b"\x89PNG")
    out = capsys.readouterr().out
    assert "user.csv: 60 rows, 2 features (size, kind); target price." in out
    header = next(line for line in out.splitlines() if "RMSE" in line)
    assert header.split() == ["RMSE", "R²", "fit", "s", "predict", "s"]
    for name in original(**TINY):
        assert f"\n{name} " in out  # a line of the table
        assert f"\n  {name}:\n    5 x  " in out  # and the choice, five times the only one
    assert "training rows that made the prediction" in out


@pytest.mark.filterwarnings("ignore:Text is read as categories")
def test_every_contestant_takes_text_and_gaps_as_they_come(demo, tmp_path):
    data = table(90).assign(city=["Graz", "Wien", None] * 30, old=[True, False] * 45, empty=np.nan)
    data.loc[::4, "size"] = None
    X, y, _ = demo.load(
        written(tmp_path, data.assign(note=[f"text {i}" for i in range(90)])), "price"
    )
    assert list(X.columns) == ["size", "kind", "city", "old", "note"]
    assert X["size"].isna().sum() == 23
    for name, entrant in demo.contestants(**TINY).items():
        model = demo.make_search(entrant).estimator.fit(X[:60], y[:60])
        assert np.isfinite(model.predict(X[60:])).all(), name
        if name == demo.EXPLAINED:
            lines = demo.explain_row(model, X, y, np.arange(60), 70)
            demo.draw_row(model, X, 70, tmp_path / "picture.png")
    assert "Wien" in lines[2]
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")


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


def result(demo, rmse, r2, **chosen):
    return demo.FoldResult(None, chosen, rmse, r2, fit_seconds=1.5, predict_seconds=0.25)


def test_table_and_choices_summarise_the_folds(demo):
    results = {"k-NN": [result(demo, 1, 0.5, k=3), result(demo, 3, 0.7, k=3)]}
    _, line = demo.format_table(results)
    assert line.split() == [
        *("k-NN", "2.000", "±", "1.414", "0.600", "±", "0.141", "1.50", "0.250")
    ]
    assert demo.format_choices(results) == ["  k-NN:", "    2 x  k=3"]


def test_explanation_names_the_training_rows_of_largest_weight(demo):
    data = table(60)
    X, y = data[["size", "kind"]], data["price"]
    X.index = y.index = np.arange(1000, 1060)
    train, test = np.arange(10, 60), np.arange(10)
    entrant = demo.contestants(**TINY)["NONA + SoftStep"]
    model = clone(demo.make_search(entrant).estimator).fit(X.iloc[train], y.iloc[train])
    lines = demo.explain_row(model, X, y, train, test[2], n_neighbors=2)
    explanation = model[-1].explain(model[:-1].transform(X.iloc[[2]]))
    assert f"Test row 1002: predicted {model.predict(X.iloc[[2]])[0]:.5g}" in lines[0]
    for line, weight, row, own in zip(
        lines[3:5],
        *(part[0, :2] for part in (explanation.weights, explanation.samples)),
        explanation.adjusted_targets[0, :2],
        strict=True,
    ):
        label, shown, target, adjusted, *_ = line.removeprefix("row ").split()
        assert int(label) == 1010 + row
        assert shown == f"{weight:.3f}"
        assert target == f"{y.loc[1010 + row]:.5g}"
        assert adjusted == f"{own:.5g}"
    share = explanation.weights[0, :2].sum()
    assert f"They hold {share:.0%} of the weight" in lines[-1]


def test_explanation_of_few_distinct_rows_names_each_once(demo):
    X = pd.DataFrame({"weight": [1.0, 2.0] * 30, "kind": [1.0, 1.0, 2.0, 2.0] * 15})
    y = (X["weight"] * X["kind"]).rename("price")
    train = np.arange(20, 60)
    model = demo.make_search(demo.contestants(**TINY)["SoftStep k-NN"]).estimator
    lines = demo.explain_row(model.fit(X.iloc[train], y.iloc[train]), X, y, train, 0)
    assert lines[1].split() == ["weight", "price", "adjusted", "weight", "kind"]
    neighbors = [line.split()[1:3] for line in lines if line.startswith("row ")]
    assert sorted(int(row) for row, _ in neighbors) == [20, 21, 22, 23]
    assert sum(float(weight) for _, weight in neighbors) == pytest.approx(1, abs=0.002)


def test_targets_are_what_their_names_say(surfaces):
    turn = np.array([[0.0, 1.0], [-1.0, 0.0]])
    X = surfaces.square_grid(12)
    assert len(X) == 144
    assert_allclose(surfaces.radial(X), surfaces.radial(X @ turn))
    # A quarter turn exchanges the arms of a spiral and the colours of an even board.
    assert_allclose(surfaces.spiral(X), -surfaces.spiral(X @ turn))
    board = surfaces.checkerboard(X).reshape(12, 12)
    assert_array_equal(board, -np.rot90(board))
    assert_array_equal(board[:3, :3], board[0, 0])
    assert_array_equal(board[:3, 3:6], -board[:3, :3])


def test_samples_are_seeded_and_slightly_noisy(surfaces):
    X, y = surfaces.noisy_sample(surfaces.radial, 2000)
    again, _ = surfaces.noisy_sample(surfaces.radial, 2000)
    assert_array_equal(X, again)
    assert np.abs(X).max() <= 1
    assert np.std(y - surfaces.radial(X)) == pytest.approx(surfaces.NOISE, rel=0.1)


def test_linear_head_reads_no_neighbours(surfaces):
    X, y = surfaces.noisy_sample(surfaces.radial, 120)  # enough to validate
    for trend in ("linear", None):  # None as in the papers' setting
        model = surfaces.LinearHeadRegressor(trend=trend, blend=None, **TINY).fit(X, y)
        Z, y_hat = model.transform(X), model.predict(X)
        assert y_hat.std() > 1e-3
        assert LinearRegression().fit(Z, y_hat).score(Z, y_hat) == pytest.approx(1)
    nona = NONARegressor(trend="linear", blend=None, **TINY).fit(X, y)
    Z, y_hat = nona.transform(X), nona.predict(X)
    assert LinearRegression().fit(Z, y_hat).score(Z, y_hat) < 0.9999


def test_every_surface_is_the_prediction_of_its_model(surfaces, tmp_path):
    learnt = surfaces.learn_surfaces(n_rows=40, resolution=6, **TINY)
    assert list(learnt) == ["radial", "spiral", "checkerboard"]
    models = surfaces.surface_models(**{**surfaces.SETTINGS, **TINY})
    grid = surfaces.square_grid(6)
    for name, row in learnt.items():
        assert list(row) == ["truth", *models]
        assert_allclose(row["truth"].ravel(), surfaces.TARGETS[name](grid))
    sample = surfaces.noisy_sample(surfaces.spiral, 40)
    for label, model in models.items():
        assert_allclose(learnt["spiral"][label].ravel(), model.fit(*sample).predict(grid))

    truth = learnt["spiral"]["truth"]
    learnt["spiral"]["k-NN, tuned"] = truth
    learnt["spiral"]["linear head"] = np.full_like(truth, truth.mean())
    scores = surfaces.surface_scores(learnt)["spiral"]
    assert scores["k-NN, tuned"] == 1
    assert scores["linear head"] == pytest.approx(0)
    surfaces.draw_surfaces(learnt, tmp_path / "picture.png", n_rows=40)
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")
