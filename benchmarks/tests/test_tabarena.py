"""The model for TabArena: how it is fitted, and that the benchmark finds it."""

import sys
import warnings
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from skneighbors import NONARegressor

pd = pytest.importorskip("pandas")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    models = pytest.importorskip(
        "tabarena.models", reason="needs TabArena, and with it AutoGluon: pip install tabarena"
    )

# What other packages warn of.
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture
def nona(monkeypatch):
    """The package, as if it lay where TabArena has its models."""
    folder = str(Path(__file__).parents[1] / "tabarena")
    monkeypatch.setattr(models, "__path__", [*models.__path__, folder])
    yield import_module("tabarena.models.nona")
    for name in [name for name in sys.modules if name.startswith("tabarena.models.nona")]:
        del sys.modules[name]


@pytest.fixture
def rows():
    """Rows to train on and rows to validate by, with categories and gaps."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": rng.normal(size=150), "kind": rng.choice(["a", "b", "c"], 150)})
    y = 2 * X["x"] + (X["kind"] == "a")
    X.loc[::7, "x"] = X.loc[::11, "kind"] = None
    X["kind"] = X["kind"].astype("category")
    return {"X": X[:100], "y": y[:100], "X_val": X[100:], "y_val": y[100:]}


def fit(nona, folder, rows, time_limit=None, **params):
    model = nona.nona_info.model_cls(
        path=str(folder),
        problem_type="regression",
        eval_metric="rmse",
        hyperparameters={"max_iter": 3, **params},
    )
    return model.fit(**rows, time_limit=time_limit, random_seed=3, num_cpus=1, num_gpus=0)


def test_fits_as_the_estimator_with_validation_rows(nona, rows, tmp_path):
    model = fit(nona, tmp_path, rows, recipe__dropout=0.1)
    own = NONARegressor(max_iter=3, random_state=3).set_params(recipe__dropout=0.1).fit(**rows)
    assert (model.model.n_jobs, model.model.device) == (1, "cpu")
    expected = own.predict(rows["X_val"]).astype(np.float32)
    np.testing.assert_array_equal(model.predict(rows["X_val"]), expected)
    model.save()
    again = type(model).load(model.path)
    np.testing.assert_array_equal(again.predict(rows["X_val"]), expected)


def test_holds_rows_out_by_itself_without_validation_rows(nona, rows, tmp_path):
    model = fit(nona, tmp_path, {"X": rows["X"], "y": rows["y"]})
    assert model.model.plan_.n_validation == 15


@pytest.mark.parametrize(("own", "most"), [(None, 57.0), (20.0, 20.0)])
def test_time_limit_leaves_some_to_predict(nona, rows, tmp_path, own, most):
    model = fit(nona, tmp_path, rows, time_limit=60.0, max_time=own)
    assert most / 2 < model.model.max_time <= most


def test_memory_grows_with_rows_columns_and_networks(nona, rows):
    def estimate(X, **params):
        return nona.nona_info.model_cls.estimate_memory_usage_static(
            X=X, problem_type="regression", hyperparameters=params
        )

    X = rows["X"]
    least = estimate(X, n_estimators=2)
    assert least < estimate(X, n_estimators=4)
    assert least < estimate(pd.concat([X, X.add_prefix("more ")], axis=1), n_estimators=2)
    assert least < estimate(pd.concat([X] * 100), n_estimators=2)


def test_benchmark_finds_the_model(nona, monkeypatch):
    monkeypatch.setattr(models._registry, "_REGISTRY", None)
    assert models.get_model_registry()["NONA"] is nona.nona_info


def test_every_configuration_is_one_that_the_estimator_takes(nona):
    configs = nona.gen_nona.get_searcher_configs(200)
    assert len({str(config) for config in configs}) == 200
    for config in configs:
        NONARegressor().set_params(**config)._check_parameters()
