"""The papers' weightings, ablations and growing banks: what the scripts compute and write."""

import json
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch
from scipy.special import softmax

BENCHMARKS = Path(__file__).parents[1]
if not (BENCHMARKS / "paper").exists():
    pytest.skip("the benchmarks are not part of this installation", allow_module_level=True)
pd = pytest.importorskip("pandas")
pytest.importorskip("matplotlib.pyplot")
pytestmark = pytest.mark.usefixtures("paper_alone")


def head_weights(name, z, z_n, **kwargs):
    from paper._weightings import HEADS, WeightedHead

    head = WeightedHead(z.shape[1], 1, **HEADS[name]).double()
    with torch.no_grad():
        return head.weights(torch.from_numpy(z), torch.from_numpy(z_n), **kwargs).numpy()


@pytest.fixture
def embeddings():
    rng = np.random.default_rng(0)
    return rng.normal(size=(6, 3)), rng.normal(size=(40, 3))


def test_weightings_agree_with_their_formulas(embeddings):
    from paper._weightings import TOP_K

    z, z_n = embeddings
    distances = np.linalg.norm(z[:, None] - z_n, axis=2)
    expected = {
        "softmax of squares (NCA)": softmax(-(distances**2), axis=1),
        "log-N softmax": softmax(-distances * np.log(40) / np.log(31), axis=1),
    }
    far = distances > np.sort(distances, 1)[:, TOP_K - 1 : TOP_K]
    expected[f"softmax of the top {TOP_K}"] = softmax(np.where(far, -np.inf, -distances), axis=1)
    for name, weights in expected.items():
        np.testing.assert_allclose(head_weights(name, z, z_n), weights, atol=1e-12)


@pytest.mark.parametrize("name", ["sparsemax", "1.5-entmax"])
def test_sparse_weightings_are_the_projections_they_are_named_after(embeddings, name):
    """Both maximize p s + H(p) over the simplex, and their optimum has a threshold."""
    pytest.importorskip("entmax")
    z, z_n = embeddings
    s = -np.linalg.norm(z[:, None] - z_n, axis=2)
    weights = head_weights(name, z, z_n)
    np.testing.assert_allclose(weights.sum(1), 1)
    assert (weights == 0).mean() > 0.5
    # s - p = tau (sparsemax), s / 2 - sqrt(p) = tau (1.5-entmax) where p > 0, above it elsewhere.
    dual = s - weights if name == "sparsemax" else s / 2 - np.sqrt(weights)
    for row, p in zip(dual, weights, strict=True):
        np.testing.assert_allclose(row[p > 0], row[p > 0][0], atol=1e-9)
        assert (row[p == 0] <= row[p > 0][0] + 1e-9).all()


EVERY_HEAD = [
    "softmax of squares (NCA)",
    "log-N softmax",
    "softmax of the top 5",
    "sparsemax",
    "1.5-entmax",
]


@pytest.mark.parametrize("name", EVERY_HEAD)
def test_own_entry_and_rows_without_weight_have_none(embeddings, name):
    if name in ("sparsemax", "1.5-entmax"):
        pytest.importorskip("entmax")
    _, z_n = embeddings
    weight = torch.ones(40, dtype=torch.float64)
    weight[[7, 30]] = 0
    index = torch.tensor([0, 1, 2, 3, 4, -1])
    weights = head_weights(name, z_n[:6], z_n, self_index=index, sample_weight=weight)
    assert (weights[range(5), range(5)] == 0).all()
    assert weights[5, 5] > 0  # none of the neighbors by its index
    assert (weights[:, [7, 30]] == 0).all()
    kept = np.delete(np.arange(40), [0, 7, 30])
    alone = head_weights(name, z_n[:1], z_n[kept])
    np.testing.assert_allclose(weights[0, kept], alone[0], atol=1e-12)


def test_every_weighting_looks_at_all_rows():
    from paper._weightings import WEIGHTINGS, make_model

    assert {make_model(name).n_neighbors for name in WEIGHTINGS} == {None}


def test_a_weighted_regressor_learns_grows_and_forgets():
    from paper._weightings import make_model
    from sklearn.datasets import make_friedman1

    X, y = make_friedman1(400, random_state=0)
    model = make_model("log-N softmax", max_iter=12, random_state=0).fit(X[:300], y[:300])
    assert model.score(X[300:], y[300:]) > 0.3
    before = model.predict(X[:5])
    model.append(X[300:], y[300:])
    assert abs(model.predict(X[:5]) - before).max() > 1e-6
    np.testing.assert_allclose(model.forget(np.arange(300, 400)).predict(X[:5]), before)


def run_main(module, monkeypatch, tmp_path, *options):
    monkeypatch.setitem(sys.modules, "entmax", ModuleType("entmax"))  # none of its weightings
    results = tmp_path / "results.json"
    argv = [module.__name__, "--quick", "--results", str(results), "--output", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", [*argv, *options])
    module.main()
    return results.read_text()


def test_weightings_run_once_and_count_neighbors(tmp_path, monkeypatch):
    from paper import weightings
    from paper._weightings import TOP_K

    names = ["softmax", f"softmax of the top {TOP_K}", "S1 of hard ranks"]
    options = ("--tasks", "diabetes", "--weightings", *names)
    text = run_main(weightings, monkeypatch, tmp_path, *options)
    lines = {line["weighting"]: line for line in map(json.loads, text.splitlines())}
    assert list(lines) == names
    assert lines["softmax"]["zeros"] == 0
    assert 100 < lines["softmax"]["neighbors"] <= 240
    few = lines[f"softmax of the top {TOP_K}"]
    assert 1 < few["neighbors"] <= TOP_K
    assert few["zeros"] == pytest.approx(1 - TOP_K / 240)
    assert run_main(weightings, monkeypatch, tmp_path, *options) == text
    counts = (tmp_path / "weights.inc").read_text()
    assert f"{few['neighbors']:.3g}; {100 * few['zeros']:.3g} %" in counts
    table = (tmp_path / "weightings.inc").read_text()
    row = next(line for line in table.splitlines() if line.startswith('   "softmax",'))
    assert row == f'   "softmax", {lines["softmax"]["rmse"]:.3g}, ' + row.split(", ", 2)[2]


def test_banks_grow_without_training(tmp_path, monkeypatch):
    from paper import growth

    monkeypatch.setattr(growth, "GROWN", ["softmax", "softmax of the top 5"])
    monkeypatch.setattr(growth, "N_TEST", 200)
    found = json.loads(run_main(growth, monkeypatch, tmp_path))
    frame = pd.DataFrame(found["growth"]).set_index(["weighting", "bank"])
    # A softmax spreads over all there are; that of the nearest five does not.
    assert frame.neighbors["softmax", 300] > 5 * frame.neighbors["softmax", 30]
    assert frame.neighbors["softmax of the top 5", 300] <= 5
    assert frame.rmse["softmax of the top 5", 300] < frame.rmse["softmax of the top 5", 30]
    cost = pd.DataFrame(found["cost"])
    assert set(cost["head"]) == {"linear", *growth.TIMED}
    assert (cost[["fit_s", "predict_s"]] > 0).all(axis=None)
    linear, softmax = (
        cost[(cost["head"] == h) & (cost.rows == 200)] for h in ("linear", "softmax")
    )
    ratio = softmax.fit_s.item() / linear.fit_s.item()
    table = (tmp_path / "cost.inc").read_text()
    row = next(line for line in table.splitlines() if line.startswith('   "softmax: epoch"'))
    assert row.endswith(f"{ratio:.3g}")
    picture = (tmp_path / "growth.svg").read_text(encoding="utf-8")
    assert picture.count(">softmax of the top 5<") == 2
    # The results alone are enough to write it all again.
    for name in ("growth.svg", "growth.inc", "cost.inc"):
        (tmp_path / name).unlink()
    run_main(growth, monkeypatch, tmp_path, "--report")
    assert (tmp_path / "growth.svg").read_text(encoding="utf-8") == picture
    assert (tmp_path / "cost.inc").read_text() == table


def test_growth_predicts_as_if_trained_network_had_the_bank():
    from paper import growth
    from paper._weightings import make_model
    from sklearn.datasets import make_friedman1

    lines = growth.grow("softmax", [30, 2000], max_iter=2)
    X, y = make_friedman1(2000 + growth.N_TEST, noise=growth.NOISE, random_state=0)
    model = make_model("softmax", max_iter=2, random_state=0)
    model.fit(X[: growth.N_TRAIN], y[: growth.N_TRAIN])
    model.append(X[growth.N_TRAIN : 2000], y[growth.N_TRAIN : 2000])
    rmse = np.sqrt(np.mean((model.predict(X[2000:]) - y[2000:]) ** 2))
    assert lines[-1]["rmse"] == pytest.approx(rmse)


def test_ablations_choose_on_validation_rows_stage_by_stage(tmp_path, monkeypatch):
    from paper import ablations

    text = run_main(ablations, monkeypatch, tmp_path, "--tasks", "diabetes")
    lines = [json.loads(line) for line in text.splitlines()]
    by_choice = {line["choices"]: line for line in lines if line["head"] == "NONA"}
    chosen = {}
    for options in ablations.STAGES.values():
        cases = [chosen | option for option in options]
        chosen = max(cases, key=lambda case: by_choice[ablations.dump(case)]["validation"])
    # The case chosen in one stage is not run again in the next.
    n_cases = [len(options) for options in ablations.STAGES.values()]
    assert len(by_choice) == sum(n_cases) - len(n_cases) + 1
    assert "{}" in by_choice
    table = (tmp_path / "ablations.inc").read_text()
    starred = [line.split('"')[1] for line in table.splitlines() if line.rstrip('"').endswith(" *")]
    assert len(starred) == len(ablations.STAGES)
    assert starred[-1] == f"embedding: {chosen['embedding_dim']}"
    assert starred[0] == f"similarity: {chosen['similarity']}"
    dense = [line for line in lines if line["head"] == "dense"]
    assert len(dense) == len(ablations.WIDTHS) * len(ablations.BATCHES)
    widest = min(dense, key=lambda line: line["rmse"])
    assert f"{widest['rmse']:.3g}" in (tmp_path / "dense_ablation.inc").read_text()
