"""The benchmark of error against rows: what a cut leaves, and what is run and written."""

import json
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose

pd = pytest.importorskip("pandas")
pytest.importorskip("matplotlib.pyplot")
pytestmark = pytest.mark.usefixtures("benchmarks_importable")


def made_table(n_rows=60, seed=0):
    """Numbers with gaps, categories of few and of many levels, and targets."""
    rng = np.random.RandomState(seed)
    X = pd.DataFrame(
        {
            "size": rng.normal(size=n_rows),
            "kind": pd.Categorical(rng.choice(["a", "b", None], n_rows)),
            "code": pd.Categorical(rng.randint(300, size=n_rows)),
        }
    )
    y = X["size"].to_numpy() + 2 * (X["kind"] == "a").to_numpy()
    X.loc[5:9, "size"] = None
    return X, y


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A data folder with a set and a table."""
    rng = np.random.RandomState(0)
    X, y = rng.normal(size=(60, 3)), rng.normal(size=60)
    mask = np.zeros((60, 2), dtype=bool)
    mask[:10, 0] = mask[10:20, 1] = True
    np.savez(tmp_path / "yacht.npz", X=X, y=X[:, 0] + 0.1 * y, test_mask=mask)
    X, y = made_table()
    table = X.assign(target=y, test_0=(np.arange(60) < 10).astype(int))
    (tmp_path / "tables").mkdir()
    table.to_csv(tmp_path / "tables" / "shop.csv.gz", index=False)
    (tmp_path / "tables" / "categorical.json").write_text(json.dumps({"shop": ["kind", "code"]}))
    monkeypatch.setenv("SKNEIGHBORS_DATA", str(tmp_path))


def test_weights_of_a_forest_make_its_predictions():
    import rows

    (X, y), (X_test, _) = made_table(200), made_table(40, seed=1)
    forest = rows.Forest(0)
    forest.fit(X, y)
    prepared = forest.prepare.transform(X_test)
    weights = rows.forest_weights(forest.model, forest.X, prepared)
    assert weights.shape == (40, 200)
    assert (weights.data > 0).all()
    assert_allclose(weights.sum(axis=1), 1, atol=1e-12)
    expected = forest.model.predict(prepared)
    assert_allclose(weights @ y, expected, atol=1e-9)
    cut = forest.predict(X_test)
    assert_allclose(cut[None], expected, atol=1e-9)
    assert_allclose(cut[1], y[weights.toarray().argmax(axis=1)])


def test_a_cut_leaves_the_heaviest_rows_rescaled():
    import rows
    from scipy.sparse import csr_array

    rng = np.random.default_rng(0)
    weights, y = rng.dirichlet(np.ones(30), size=7), rng.normal(size=30)
    found = rows.limit_rows(csr_array(weights), y)
    assert list(found) == list(rows.COUNTS)
    for n in (1, 3, 10, 20):
        for own, y_hat in zip(weights, found[n], strict=True):
            heaviest = own.argsort()[-n:]
            assert y_hat == pytest.approx(np.average(y[heaviest], weights=own[heaviest]))
    for n in (50, 100, None):  # of which there are no more than 30
        assert_allclose(found[n], weights @ y)


@pytest.mark.parametrize("trend", [None, "linear"])
def test_ours_are_told_the_number_of_rows_after_their_fit(trend):
    import rows

    from skneighbors import NONARegressor

    rng = np.random.default_rng(0)
    X = rng.normal(size=(130, 3))
    y = X[:, 0]
    settings = dict(trend=trend, blend=None, max_iter=2, random_state=0)
    model = rows.Ours(NONARegressor(**settings))
    model.fit(X[:120], y[:120])
    found = model.predict(X[120:])
    assert list(found) == list(rows.COUNTS)
    alone = NONARegressor(**settings).fit(X[:120], y[:120])
    for k, own in found.items():
        assert_allclose(own, alone.set_params(n_neighbors=k or 120).predict(X[120:]))
    if trend is None:
        nearest = alone.kneighbors(X[120:], 1, return_distance=False)[:, 0]
        assert_allclose(found[1], y[nearest])


@pytest.mark.parametrize("method", ["tuned k-NN", "NCA + k-NN"])
def test_knn_uses_as_many_rows_as_it_may(method):
    import rows

    (X, y), (X_test, _) = made_table(90), made_table(20, seed=1)
    model = rows.METHODS[method](0)
    model.fit(X, y)
    found = model.predict(X_test)
    for n in rows.COUNTS:
        assert model.models[n].n_neighbors == min(n or 90, 90)
        assert found[n].shape == (20,)
    # The target of one row each.
    assert np.isin(found[1].round(9), y.round(9)).all()


def test_runs_are_not_repeated_and_make_a_report(folder, tmp_path, monkeypatch, capsys):
    import _benchmark
    import rows

    results, output = tmp_path / "rows.jsonl", tmp_path / "rows.inc"
    command = ["rows.py", "--jobs", "1", "--results", str(results)]
    monkeypatch.setattr(sys, "argv", [*command, "--methods", "random forest", "hist. boosting"])
    _benchmark.main(rows.BENCHMARK)
    lines = [json.loads(line) for line in results.read_text(encoding="utf-8").splitlines()]
    assert {(line["dataset"], line["method"]) for line in lines} == {
        (name, method)
        for name in ("yacht", "shop")
        for method in ("random forest", "hist. boosting")
    }
    for line in lines:
        assert line["rows"] == 50
        n_errors = len(rows.VALUES) if line["method"] == "random forest" else 1
        assert sum(name.startswith("rmse") for name in line) == n_errors
    capsys.readouterr()
    _benchmark.main(rows.BENCHMARK)
    assert capsys.readouterr().out == ""

    rows.report(_benchmark.load(results)[0], output)
    text = output.read_text(encoding="utf-8")
    by_key = {(line["dataset"], line["method"]): line for line in lines}
    for name, title in (("yacht", "1 UCI sets"), ("shop", "1 real tables")):
        forest, boosting = (by_key[name, m] for m in ("random forest", "hist. boosting"))
        ratios = [forest[value] / boosting["rmse"] for value in rows.VALUES]
        assert f'"random forest", {", ".join(f"{ratio:.3g}" for ratio in ratios)}' in text
        assert f"over {title}, up to 50 training rows" in text
    assert text.count('"hist. boosting", , , , , , , 1\n') == 2
    picture = output.with_suffix(".svg").read_text(encoding="utf-8")
    assert picture.count(">random forest<") == picture.count(">all<") + 1 == 2


def test_errors_are_means_over_splits_and_then_sets():
    import rows

    errors = {("a", 0): 2.0, ("a", 1): 8.0, ("b", 0): 1.0, ("pol", 0): 5.0}
    lines = [
        {"dataset": name, "split": split, "method": method, "rmse_10": error, "rmse": own}
        for (name, split), error in errors.items()
        for method, own in (("NONA", error), ("CatBoost", 2.0))
    ]
    lines.append({"dataset": "c", "split": 0, "method": "NONA", "rmse_10": 9.0, "rmse": 9.0})
    frame = pd.DataFrame(lines).reindex(columns=["dataset", "split", "method", *rows.VALUES])
    groups = rows.compared(frame)
    assert list(groups) == ["1 UCI sets", "2 real tables"]
    table = rows.relative(groups["2 real tables"], "CatBoost")
    # Of a 4 / 2, of b 1 / 2; c lacks CatBoost.
    assert table.loc["NONA", "10"] == pytest.approx(1)
    assert table.loc["CatBoost", "all"] == 1
