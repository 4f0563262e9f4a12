"""Accuracy of tuned methods: a random search of ten, on ten of the unseen tables.

Usage: python benchmarks/tuned.py [options of _benchmark.py]

The rule, written down before any was run: every fifth of the unseen tables, the first ten. At
most 1,000 rows are trained on. Of ten random candidates a fifth of these, drawn at random,
chooses one, which is fitted again to all. RealMLP-TD's values are those of its paper (Holzmüller
et al., 2024), each as likely as the next.
"""

from functools import partial

import pandas as pd
import tabular
from _benchmark import DOCS, Benchmark, geometric_mean, main
from _data import r_sets
from _rst import list_versions_and_cores, rst_table, write
from scipy.stats import loguniform, randint, uniform
from sklearn.metrics import root_mean_squared_error
from sklearn.model_selection import ParameterSampler, ShuffleSplit

from skneighbors import Recipe

OUTPUT = DOCS / "tuned.inc"
MAX_ROWS = 1_000
N_CANDIDATES = 10
TUNED = ", tuned"
SPACES = {
    "CatBoost": {
        "learning_rate": loguniform(0.02, 0.3),
        "depth": randint(4, 9),
        "l2_leaf_reg": loguniform(1, 10),
        "random_strength": loguniform(0.1, 10),
        "iterations": [300, 1000],
    },
    "LightGBM": {
        "learning_rate": loguniform(0.01, 0.3),
        "n_estimators": [100, 300, 1000],
        "num_leaves": randint(4, 64),
        "min_child_samples": randint(2, 60),
        "colsample_bytree": uniform(0.4, 0.6),
        "reg_lambda": loguniform(1e-3, 10),
    },
    "RealMLP-TD": {
        "num_emb_type": ["none", "pbld", "pl", "plr"],
        "add_front_scale": [True, False],
        "lr": loguniform(0.02, 0.3),
        "p_drop": [0.0, 0.15, 0.3],
        "wd": [0.0, 0.02],
        "plr_sigma": loguniform(0.05, 0.5),
        "act": ["relu", "selu", "mish"],
        "hidden_sizes": [[256] * 3, [64] * 5, [512]],
    },
    "NONA": {
        "n_neighbors": [10, 20, 50, 100],
        "n_estimators": [2, 4, 8],
        "hidden_layer_sizes": [(128,), (256, 256), (256, 256, 256, 256)],
        "trend": ["auto", None],
        "recipe": [Recipe(dropout=rate) for rate in (0.0, 0.1, 0.3)],
        "weight_decay": [0.01, 0.1, 0.3],
    },
}


class Tuned:
    """A method with the best of random parameters."""

    def __init__(self, name, seed):
        self.name, self.seed = name, seed

    def _fit(self, params, X, y):
        method = tabular.OF_UNSEEN[self.name](self.seed)
        getattr(method, "model", method).set_params(**params)
        return method.fit(X, y)

    def fit(self, X, y):
        """Fit."""
        split = ShuffleSplit(1, test_size=0.2, random_state=self.seed)
        train, last = next(split.split(X))
        errors = []
        candidates = list(ParameterSampler(SPACES[self.name], N_CANDIDATES, random_state=self.seed))
        for params in candidates:
            y_hat = self._fit(params, X.iloc[train], y[train]).predict(X.iloc[last])
            errors.append(root_mean_squared_error(y[last], y_hat))
        self.best = self._fit(candidates[errors.index(min(errors))], X, y)
        return self

    def predict(self, X):
        """Predict."""
        return self.best.predict(X)


METHODS = {name: tabular.OF_UNSEEN[name] for name in SPACES}
METHODS |= {name + TUNED: partial(Tuned, name) for name in SPACES}


def load(name, split):
    """Train and test part of a table."""
    X, X_test, y, y_test = tabular.load_unseen("unseen", name, split)
    return X[:MAX_ROWS], X_test, y[:MAX_ROWS], y_test


def report(frame):
    """Write the error of ours to each method's."""
    rmse = frame.pivot_table(index="dataset", columns="method", values="rmse")[list(METHODS)]
    table = pd.DataFrame(
        {
            f"{ours}, error to its": rmse.rdiv(rmse[ours], axis=0).apply(geometric_mean)
            for ours in ("NONA", "NONA" + TUNED)
        }
    )
    text = rst_table(f"Geometric means over {len(rmse)} tables", table.loc[list(METHODS)], 3)
    write(OUTPUT, text, list_versions_and_cores(frame), "", script="tuned.py", runs=frame)


BENCHMARK = Benchmark(
    __file__,
    lambda: list(r_sets("unseen"))[::5][:10],
    METHODS,
    partial(tabular.measure, load, METHODS),
    report,
    slow=("RealMLP-TD", "RealMLP-TD" + TUNED, "NONA" + TUNED),
)

if __name__ == "__main__":
    main(BENCHMARK)
