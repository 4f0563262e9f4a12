"""README's figures against the recorded results."""

import importlib
import re

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("matplotlib.pyplot")
pytestmark = pytest.mark.usefixtures("benchmarks_importable")


@pytest.fixture(scope="module")
def read(benchmarks_importable):
    import summary

    return summary.read()


def test_readme_and_site_hold_the_errors(read):
    import summary

    text = summary.README.read_text(encoding="utf-8")
    assert summary.with_table(text, read[1] | summary.read_classes()) == text
    assert summary.OUTPUT.read_text(encoding="utf-8") == summary.page(*read)


@pytest.mark.parametrize(
    ("group", "folder"),
    [("unseen", "unseen"), ("UCI", ""), ("R packages", "further"), ("real tables", "tables")],
)
def test_the_benchmarks_pages_hold_what_was_recorded(group, folder):
    import report
    import summary

    output, (frame, failed) = summary.OUTPUT.parent / folder, report.load(summary.GROUPS[group])
    for name, text in {
        "highlights.inc": report.highlights(frame),
        "tabular.inc": report.tables(frame, failed).rstrip(),
    }.items():
        assert text in (output / name).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "name",
    [
        *("work", "classes", "few_rows", "given", "interval_coverage", "max_time"),
        *("named_rows", "novelty", "rows", "suspects", "texts", "tuned", "uncertainty"),
    ],
)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of what matplotlib itself imports
def test_other_tables_hold_what_was_recorded(name, monkeypatch, tmp_path):
    from _benchmark import DOCS, RESULTS, load

    script = importlib.import_module(name)
    for place in {"OUTPUT", "DOCS"} & vars(script).keys():
        path = getattr(script, place)
        monkeypatch.setattr(script, place, tmp_path if path == DOCS else tmp_path / path.name)
    keywords = {"output": tmp_path / "rows.inc"} if name == "rows" else {}
    script.report(load(RESULTS / f"{name}.jsonl")[0], **keywords)
    written = list(tmp_path.glob("*.inc"))
    assert written
    for path in written:
        assert path.read_text(encoding="utf-8") == (DOCS / path.name).read_text(encoding="utf-8")


def test_readme_is_short():
    import summary

    text = summary.README.read_text(encoding="utf-8")
    prose = re.sub(r"(?s)```.*?```|<!--.*?-->", "", re.sub(r"(?m)^\|.*$", "", text))
    assert len(prose.split()) <= 450  # beside code and tables


def test_an_error_is_a_geometric_mean_of_ratios(read):
    import summary
    from report import load

    runs = load(summary.GROUPS["real tables"])[0]
    of = {
        name: runs[runs.method == name].set_index(["dataset", "split"]).rmse
        for name in ("NONA", "CatBoost")
    }
    ratio = np.exp(np.log(of["NONA"] / of["CatBoost"]).dropna().groupby("dataset").mean())
    row = read[1]["real tables"].loc["CatBoost"]
    assert row["mean"] == pytest.approx(np.exp(np.log(ratio).mean()))
    assert row["without one"] == pytest.approx(np.exp(np.log(ratio.drop(ratio.idxmin())).mean()))
    assert row.won == (ratio < 1).sum()


def test_words_follow_the_signs():
    import summary

    sets = [f"set {n}" for n in range(12)]
    index = pd.MultiIndex.from_product([sets, [0]], names=["dataset", "split"])
    rng = np.random.default_rng(0)
    ours = rng.uniform(1, 2, 12)
    rmse = pd.DataFrame({"ridge": ours * 1.5, "XGBoost": ours * 0.9, "NONA": ours}, index)
    rmse["CatBoost"] = ours * np.tile([1.1, 0.95], 6)
    words = summary.in_words(rmse, summary.compare(rmse))
    assert "lower errors than ridge" in words
    assert "higher errors than XGBoost" in words
    assert "not separable from CatBoost" in words
