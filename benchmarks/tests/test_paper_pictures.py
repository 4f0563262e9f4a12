"""The papers' pictures and the balance of weights: what is drawn and told is what it says."""

import csv
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.distance import cdist
from scipy.special import softmax

BENCHMARKS = Path(__file__).parents[1]
if not (BENCHMARKS / "paper").exists():
    pytest.skip("the benchmarks are not part of this installation", allow_module_level=True)
pytest.importorskip("pandas")
pytest.importorskip("matplotlib.pyplot")
pytestmark = pytest.mark.usefixtures("paper_alone")


class FirstTwo:
    """In place of UMAP, which is slow to import: the first two columns."""

    def __init__(self, random_state, n_jobs):
        assert (random_state, n_jobs) == (0, 1)

    def fit_transform(self, Z):
        return Z[:, :2]


def run_script(script, monkeypatch, output):
    monkeypatch.setattr(sys, "argv", [script.__name__, "--quick", "--output", str(output)])
    script.main()


def read_table(path):
    """Cells of a csv-table by row and column."""
    lines = path.read_text(encoding="utf-8").splitlines()
    header, *rows = csv.reader(
        (
            line.strip().removeprefix(":header: ")
            for line in lines
            if line.startswith("   ") and line
        ),
        skipinitialspace=True,
    )
    return {row[0]: dict(zip(header[1:], row[1:], strict=True)) for row in rows}


def is_picture(path):
    return "<svg" in path.read_text(encoding="utf-8")


def test_local_smoothness_is_that_of_brute_force():
    from paper.pictures import local_smoothness

    rng = np.random.default_rng(0)
    Z_train, Z = rng.normal(size=(40, 3)), rng.normal(size=(15, 3))
    y_train, y = rng.normal(size=40), rng.normal(size=15)
    squares = []
    for z, target in zip(Z, y, strict=True):
        nearest = np.argsort([np.sum((z - other) ** 2) for other in Z_train])[:4]
        squares += [(target - y_train[row]) ** 2 for row in nearest]
    expected = np.mean(squares) / np.var(y_train)
    assert local_smoothness(Z_train, y_train, Z, y, n_neighbors=4) == pytest.approx(expected)


def test_local_smoothness_of_a_perfect_and_of_an_unrelated_embedding():
    from paper.pictures import local_smoothness

    rng = np.random.default_rng(0)
    y_train, y = 5 + 3 * rng.normal(size=4000), 5 + 3 * rng.normal(size=1000)
    assert local_smoothness(y_train[:, None], y_train, y[:, None], y) < 0.01
    Z_train, Z = rng.normal(size=(4000, 3)), rng.normal(size=(1000, 3))
    assert local_smoothness(Z_train, y_train, Z, y) == pytest.approx(2, abs=0.15)


def test_masks_follow_their_formulas():
    from paper.pictures import softstep_masks

    x = np.linspace(0, 1, 41)
    s1, s2 = softstep_masks(x).values()
    inner = (x > 0.2) & (x < 0.8)
    for t, mask in s1.items():
        p, q = (x[inner] - 0.2) ** (1 / t), (0.8 - x[inner]) ** (1 / t)
        assert_allclose(mask[inner], p / (p + q), atol=1e-12)
        assert_allclose(mask[x < 0.19], 0)
        assert_allclose(mask[x > 0.81], 1)
    for t, mask in s2.items():
        below = x < 0.8
        assert_allclose(mask[below], (x[below] / 0.8) ** (t / (1 - t) * (0.8 - x[below])))
        assert_allclose(mask[x > 0.81], 1)
    assert len(s1) == len(s2) == 5


def test_pictures_without_umap_say_what_to_install(tmp_path, monkeypatch):
    from paper import pictures

    monkeypatch.setitem(sys.modules, "umap", None)
    with pytest.raises(SystemExit, match="pip install umap-learn"):
        run_script(pictures, monkeypatch, tmp_path)
    assert not list(tmp_path.iterdir())


def test_pictures_and_the_smoothness_of_their_embeddings(tmp_path, monkeypatch):
    from paper import pictures
    from paper._tasks import fit

    monkeypatch.setitem(sys.modules, "umap", SimpleNamespace(UMAP=FirstTwo))
    run_script(pictures, monkeypatch, tmp_path)
    for name in ("surfaces.svg", "softstep.svg", "embeddings.svg"):
        assert is_picture(tmp_path / name)
    table = read_table(tmp_path / "embeddings.inc")
    assert list(table) == pictures.TASKS
    assert all(list(row) == list(pictures.NETWORKS) for row in table.values())
    nona = pictures.NETWORKS["NONA"]
    model, (X_train, X_test, y_train, y_test), _ = fit(*nona, "diabetes", 0, quick=True)
    assert len(X_train) == 240
    nearest = cdist(model.transform(X_test), model.transform(X_train)).argsort(axis=1)[:, :10]
    expected = np.mean((y_test[:, None] - y_train[nearest]) ** 2) / y_train.var()
    assert table["diabetes"]["NONA"] == f"{expected:.3g}"
    smoothness = {task: float(row["dense"]) for task, row in table.items()}
    assert smoothness["pitch"] < smoothness["diabetes"] < 2


def test_balance_of_anchors_by_hand():
    from paper.triplets import balance, log_ratios

    weights = np.array([[0.5, 0.25, 0.25], [0.2, 0.3, 0.5], [0.1, 0.1, 0.8]])
    sides = balance(weights, np.array([0.0, 1.0, 3.0]), np.array([1.0, 4.0, 2.0]))
    # In balance; beyond all labels; between labels with too much above.
    assert_allclose(sides.p_below, [0.5, 1, 0.2])
    assert_allclose(sides.d_below, [1, 0.8 + 0.9 + 0.5, 1.5])
    assert_allclose(sides.p_above, [0.25, 0, 0.8])
    assert_allclose(sides.d_above, [2, 0, 1])
    by_distance, by_mass = log_ratios(sides)
    assert_allclose(by_distance, np.log([2, 1 / 1.5]))
    assert_allclose(by_mass, np.log([2, 0.25]))


def test_figures_of_equal_and_of_perfect_weights():
    from paper.triplets import figures

    y = np.arange(40.0)
    equal = figures(np.full((40, 40), 1 / 40), y, y)
    assert equal["correlation"] < -0.99
    assert equal["mean squared imbalance"] == pytest.approx(1)
    # Within a quarter of the deviation, 2.89, lie five labels, but three at either end.
    assert equal["mass near, 5 % most extreme"] == pytest.approx(3 / 40)
    assert equal["mass near, all rows"] == pytest.approx((36 * 5 + 2 * 4 + 2 * 3) / 40**2)
    # Weights in inverse proportion to the distances of one label on each side.
    labels, anchors = np.array([0.0, 10.0]), np.array([1.0, 2.0, 5.0, 9.0])
    perfect = figures(np.column_stack([1 - anchors / 10, anchors / 10]), labels, anchors)
    assert perfect["correlation"] == pytest.approx(1)
    assert perfect["mean squared imbalance"] == pytest.approx(0)


def test_weights_are_sharpened_to_suit_the_other_rows():
    from paper.triplets import best_power, sharpened

    rng = np.random.default_rng(0)
    Z = rng.uniform(size=(80, 2))
    y = np.sin(6 * Z[:, 0]) + 0.1 * rng.normal(size=80)
    distance = cdist(Z, Z)
    weights = softmax(-distance, axis=1)
    assert_allclose(sharpened(weights, 3.0), softmax(-3 * distance, axis=1))
    power = best_power(weights, y)
    np.fill_diagonal(distance, np.inf)

    def error(power):
        return np.mean((y - softmax(-power * distance, axis=1) @ y) ** 2)

    assert 1 < power < 400
    assert error(power) <= min(map(error, np.geomspace(0.2, 300, 50))) * (1 + 1e-3)


def test_triplets_tell_of_the_weights_of_the_models(tmp_path, monkeypatch):
    from paper import triplets
    from paper._tasks import fit

    run_script(triplets, monkeypatch, tmp_path)
    assert is_picture(tmp_path / "triplets.svg")
    table = read_table(tmp_path / "triplets.inc")
    ways = ["equal weights", "dense", "dense, sharpened", "NONA"]
    assert list(table) == [f"{task}: {way}" for task in triplets.TASKS for way in ways]
    assert all(-1 <= float(row["correlation"]) <= 1 for row in table.values())

    weights, *ys = triplets.weigh("diabetes", 0, quick=True)
    for head in ("dense", "NONA"):
        network = triplets.NETWORKS[head]
        model, (X_train, X_test, y_train, y_test), _ = fit(*network, "diabetes", 0, quick=True)
        assert_allclose(ys[0], y_train)
        assert_allclose(ys[1], y_test)
        distance = cdist(model.transform(X_test), model.transform(X_train))
        assert_allclose(weights[head], softmax(-distance, axis=1))
    # The imbalance is the error of the last one, NONA.
    error = y_test - model.predict(X_test)
    sides = triplets.balance(weights["NONA"], y_train, y_test)
    assert_allclose(sides.p_below * sides.d_below - sides.p_above * sides.d_above, error)
    told = table["diabetes: NONA"]["mean squared imbalance"]
    assert told == f"{np.mean(error**2) / y_train.var():.3g}"
