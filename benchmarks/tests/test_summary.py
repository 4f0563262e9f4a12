"""README's table of errors."""

import numpy as np
import pytest

pytest.importorskip("matplotlib.pyplot")
pytestmark = pytest.mark.usefixtures("benchmarks_importable")


@pytest.fixture(scope="module")
def table(benchmarks_importable):
    import summary

    return summary.summarise()


def test_readme_holds_the_table(table):
    import summary

    text = summary.README.read_text(encoding="utf-8")
    assert summary.with_table(text, table) == text


def test_a_cell_is_a_geometric_mean_of_ratios(table):
    import summary
    from report import load

    runs = load(summary.GROUPS["real tables"])[0]
    of = {
        name: runs[runs.method == name].set_index(["dataset", "split"]).rmse
        for name in ("NONA", "CatBoost")
    }
    logs = np.log(of["NONA"] / of["CatBoost"]).dropna()
    column = next(name for name in table if name.endswith("real tables"))
    assert table.loc["CatBoost", column] == pytest.approx(np.exp(logs.mean()))
