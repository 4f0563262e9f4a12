"""Learned surfaces, and the linear head that reads no neighbors."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LinearRegression

from skneighbors import NONARegressor, Recipe

pytest.importorskip("matplotlib")
TINY = {
    "max_iter": 2,
    "hidden_layer_sizes": (8,),
    "recipe": Recipe(embedding_dim=4),
    "device": "cpu",
    "random_state": 0,
}


@pytest.fixture
def surfaces(benchmarks_importable):
    import _surfaces

    return _surfaces


def test_targets_are_what_their_names_say(surfaces):
    turn = np.array([[0.0, 1.0], [-1.0, 0.0]])
    X = surfaces.square_grid(12)
    assert len(X) == 144
    assert_allclose(surfaces.radial(X), surfaces.radial(X @ turn))
    # A quarter turn exchanges the arms of a spiral and the colors of an even board.
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


def test_linear_head_reads_no_neighbors(surfaces):
    X, y = surfaces.noisy_sample(surfaces.radial, 120)  # enough to validate
    for trend in ("linear", None):  # None as in the papers' setting
        model = surfaces.LinearHeadRegressor(trend=trend, blend=None, **TINY).fit(X, y)
        Z, y_hat = model.transform(X), model.predict(X)
        assert y_hat.std() > 1e-3
        assert LinearRegression().fit(Z, y_hat).score(Z, y_hat) == pytest.approx(1)
    nona = NONARegressor(blend=None, **TINY).fit(X, y)
    Z, y_hat = nona.transform(X), nona.predict(X)
    assert LinearRegression().fit(Z, y_hat).score(Z, y_hat) < 0.9999


def test_every_surface_is_the_prediction_of_its_model(surfaces, tmp_path):
    learned = surfaces.learn_surfaces(n_rows=40, resolution=6, **TINY)
    assert list(learned) == ["radial", "spiral", "checkerboard"]
    models = surfaces.surface_models(**{**surfaces.SETTINGS, **TINY})
    grid = surfaces.square_grid(6)
    for name, row in learned.items():
        assert list(row) == ["truth", *models]
        assert_allclose(row["truth"].ravel(), surfaces.TARGETS[name](grid))
    sample = surfaces.noisy_sample(surfaces.spiral, 40)
    for label, model in models.items():
        assert_allclose(learned["spiral"][label].ravel(), model.fit(*sample).predict(grid))

    truth = learned["spiral"]["truth"]
    learned["spiral"]["k-NN, tuned"] = truth
    learned["spiral"]["linear head"] = np.full_like(truth, truth.mean())
    scores = surfaces.surface_scores(learned)["spiral"]
    assert scores["k-NN, tuned"] == 1
    assert scores["linear head"] == pytest.approx(0)
    surfaces.draw_surfaces(learned, tmp_path / "picture.png", n_rows=40)
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")
