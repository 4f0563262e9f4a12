"""The benchmark on real tables: what each method is given."""

import json
import sys

import numpy as np
import pytest

pd = pytest.importorskip("pandas")
pytest.importorskip("matplotlib.pyplot")
pytestmark = pytest.mark.usefixtures("benchmarks_importable")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A data folder with a table of 60 rows, gaps, text and numbers that are categories."""
    rng = np.random.RandomState(0)
    table = pd.DataFrame(
        {
            "size": rng.normal(size=60),
            "kind": rng.choice(["a", "b", None], 60),
            "code": rng.randint(300, size=60),
            "target": rng.normal(size=60),
            "test_0": np.arange(60) < 10,
            "test_1": np.arange(60) >= 50,
            "group": np.arange(60) // 5,
        }
    )
    table.loc[20:30, "size"] = None
    (tmp_path / "tables").mkdir()
    table.astype({"test_0": int, "test_1": int}).to_csv(
        tmp_path / "tables" / "shop.csv.gz", index=False
    )
    (tmp_path / "tables" / "categorical.json").write_text(json.dumps({"shop": ["kind", "code"]}))
    monkeypatch.setenv("SKNEIGHBORS_DATA", str(tmp_path))
    return table


def test_rows_are_numbered_by_their_times():
    from given import Given

    from skneighbors import NONARegressor

    class Seen(NONARegressor):
        def fit(self, X, y, **given):
            self.given = given

    X, model = pd.DataFrame({"day": [30.0, 9, None, 30, 10]}), Seen()
    X.attrs["times"] = ("day",)
    Given(model, 0).fit(X, np.zeros(5))
    np.testing.assert_array_equal(model.given["time"], [2, 0, np.nan, 2, 1])


def test_tables_come_as_pandas_reads_them(folder):
    from _tables import available_tables, load_table

    assert available_tables() == ["shop"]
    for split, test in enumerate([range(10), range(50, 60)]):
        X, X_test, y, y_test = load_table("shop", split)
        assert list(X) == ["size", "kind", "code"]
        assert sorted(X_test.index) == list(test)
        assert len(X) == len(y) == 50
        assert X.dtypes.astype(str).tolist() == ["float64", "category", "category"]
        assert X["size"].isna().sum() == 11 - X_test["size"].isna().sum()
        np.testing.assert_allclose(y_test, folder.target[X_test.index])
        np.testing.assert_array_equal(X.attrs["groups"], X.index // 5)


def test_methods_without_further_packages_take_them(folder, monkeypatch, tmp_path):
    import tabular

    results = tmp_path / "results.jsonl"
    methods = ["hist. boosting", "NONA, no boosting"]
    command = [
        "tabular.py",
        "--group",
        "tables",
        "--jobs",
        "1",
        "--results",
        str(results),
        "--methods",
        *methods,
    ]
    monkeypatch.setattr(sys, "argv", command)
    tabular.main()
    lines = [json.loads(line) for line in results.read_text(encoding="utf-8").splitlines()]
    assert [line["method"] for line in lines] == methods
    assert all(line["rows"] == 50 for line in lines)
