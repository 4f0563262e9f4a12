"""How sure predictions are: ours beside quantile forests, quantile boosting and MAPIE.

Usage: python benchmarks/uncertainty.py [options of tabular.py] [--report]

Runs on the UCI sets and the real tables of the folder that `SKNEIGHBORS_DATA` names; of sets
whose name is among both, the table is left out. `--report` writes
docs/benchmark/uncertainty.inc and runs nothing.

The continuous ranked probability score (CRPS) is twice the mean pinball loss over the quantiles
0.05, 0.10, ..., 0.95. The width at 90 % coverage is that of intervals from quantile 0.05 to 0.95,
or of a method's intervals, stretched about their middles until they cover 90 % of the test
rows: it compares shapes, whatever the calibration.
"""

import time
from pathlib import Path

import numpy as np
import pandas as pd
import tabular
from _data import DATASETS, available, load_split
from _methods import FAST_PEERS, OURS
from _tables import _as_text, _ordinal, available_tables, load_table
from sklearn.impute import SimpleImputer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "uncertainty.jsonl"
OUTPUT = HERE.parent / "docs" / "benchmark" / "uncertainty.inc"
LEVELS = np.linspace(0.05, 0.95, 19)
CONFIDENCE = 0.9


class Ours:
    """An estimator of this package: its quantiles and conformal intervals."""

    def __init__(self, model):
        self.model = model

    def fit(self, X, y):
        """Fit."""
        self.model.fit(X, y)

    def predict(self, X):
        """Predict quantiles and intervals."""
        return self.model.predict_quantiles(X, LEVELS), self.model.predict_interval(X, CONFIDENCE)


class Forest:
    """Quantile regression forest; categories as ordered codes, medians for missing values."""

    def __init__(self, seed):
        from quantile_forest import RandomForestQuantileRegressor

        self.prepare = make_pipeline(_ordinal(), SimpleImputer())
        self.model = RandomForestQuantileRegressor(random_state=seed)

    def fit(self, X, y):
        """Fit."""
        X = self.prepare.fit_transform(X) if hasattr(X, "columns") else X
        self.model.fit(X, y)

    def predict(self, X):
        """Predict quantiles, and the outermost as intervals."""
        X = self.prepare.transform(X) if hasattr(X, "columns") else X
        q = self.model.predict(X, quantiles=list(LEVELS))
        return q, q[:, [0, -1]]


class LightGBM:
    """One model for each quantile."""

    def __init__(self, seed):
        make = FAST_PEERS["LightGBM"]
        self.models = [make(seed).set_params(objective="quantile", alpha=a) for a in LEVELS]

    def fit(self, X, y):
        """Fit."""
        for model in self.models:
            model.fit(X, y)

    def predict(self, X):
        """Predict quantiles, and the outermost as intervals."""
        q = np.stack([model.predict(X) for model in self.models], axis=1)
        return q, q[:, [0, -1]]


class CatBoost:
    """One model of all quantiles."""

    def __init__(self, seed):
        loss = "MultiQuantile:alpha=" + ",".join(f"{level:.2f}" for level in LEVELS)
        self.model = FAST_PEERS["CatBoost"](seed).set_params(loss_function=loss)

    def fit(self, X, y):
        """Fit."""
        if hasattr(X, "columns"):
            self.model.set_params(cat_features=list(X.select_dtypes("category")))
            X = _as_text(X)
        self.model.fit(X, y)

    def predict(self, X):
        """Predict quantiles, and the outermost as intervals."""
        q = self.model.predict(_as_text(X) if hasattr(X, "columns") else X)
        return q, q[:, [0, -1]]


class Mapie:
    """Split-conformal intervals by MAPIE, a fifth of the rows to conform to.

    It takes numbers alone: categories are ordered codes. Quantiles are the ends of intervals of
    several confidences, and the prediction as median.
    """

    def __init__(self, model, seed):
        self.model, self.seed = model, seed

    def fit(self, X, y):
        """Fit."""
        from mapie.regression import SplitConformalRegressor

        self.prepare = _ordinal()
        X = np.asarray(self.prepare.fit_transform(X)) if hasattr(X, "columns") else X
        X, X_own, y, y_own = train_test_split(X, y, test_size=0.2, random_state=self.seed)
        self.model.fit(X, y)
        self.conformal = SplitConformalRegressor(
            self.model, confidence_level=list(1 - 2 * LEVELS[:9]), prefit=True
        ).conformalize(X_own, y_own)

    def predict(self, X):
        """Predict quantiles and intervals."""
        X = np.asarray(self.prepare.transform(X)) if hasattr(X, "columns") else X
        y, ends = self.conformal.predict_interval(X)
        q = np.column_stack([ends[:, 0], y, ends[:, 1, ::-1]])
        return q, ends[:, :, 0]


PEERS = {
    "quantile forest": Forest,
    "LightGBM": LightGBM,
    "CatBoost": CatBoost,
    "MAPIE, hist. boosting": lambda seed: Mapie(FAST_PEERS["hist. boosting"](seed), seed),
}
METHODS = {name: lambda seed, make=OURS[name]: Ours(make(seed)) for name in OURS} | PEERS
METHODS.pop("NONA, no boosting")


def datasets():
    """Names of the UCI sets and tables that are here."""
    sets = available()
    return [*sets, *(name for name in available_tables() if name not in sets)]


def load(name, split):
    """Train and test part of a set or table."""
    return load_split(name, split) if name in available() else load_table(name, split)


def measure(benchmark, dataset, split, method):
    """Fit and predict once; the figures of one JSON line."""
    X, X_test, y, y_test = benchmark.load_split(dataset, split)
    model = benchmark.methods[method](split)
    start = time.perf_counter()
    model.fit(X, y)
    fitted = time.perf_counter()
    quantiles, ends = model.predict(X_test)
    predicted = time.perf_counter()
    return {
        "rows": len(X),
        "crps": crps(y_test, quantiles),
        "coverage": coverage(y_test, ends),
        "quantile_coverage": coverage(y_test, quantiles[:, [0, -1]]),
        "width": float(np.mean(ends[:, 1] - ends[:, 0])),
        "width_at_90": width_at(y_test, ends, CONFIDENCE),
        "crossing": float(np.mean(np.diff(quantiles, axis=1) < 0)),
        "fit_s": fitted - start,
        "predict_s": predicted - fitted,
        "versions": tabular.versions(),
    }


def crps(y, quantiles):
    """Twice the mean pinball loss of quantiles (n, n_levels) at LEVELS."""
    error = y[:, None] - quantiles
    return float(2 * np.maximum(LEVELS * error, (LEVELS - 1) * error).mean())


def coverage(y, ends):
    """Fraction of the targets between the ends (n, 2)."""
    return float(np.mean((y >= ends[:, 0]) & (y <= ends[:, 1])))


def width_at(y, ends, fraction):
    """Mean width of intervals stretched about their middles until they cover a fraction of y."""
    middle, half = ends.mean(axis=1), (ends[:, 1] - ends[:, 0]) / 2
    half = np.maximum(half, 1e-12)
    factor = np.quantile(np.abs(y - middle) / half, fraction, method="inverted_cdf")
    return float(2 * factor * half.mean())


def relative(frame, value, ours="NONA"):
    """Ratio of each method's figure to ours, set by method."""
    table = frame.pivot_table(index="dataset", columns="method", values=value)
    return table.div(table[ours], axis=0)


def report(results, output=OUTPUT):
    """Write the tables."""
    from report import geometric_mean, load, rst_table, rst_text_table, upright, versions

    frame, _ = load(results)
    frame = frame[frame.method.isin(METHODS)]
    is_uci = frame.dataset.isin(DATASETS)
    crps_of = frame.pivot_table(index="dataset", columns="method", values="crps", sort=False)
    best = crps_of.idxmin(axis=1).value_counts()
    by_method = frame.groupby("method")
    summary = pd.DataFrame(
        {
            "CRPS, UCI sets": relative(frame[is_uci], "crps")
            .apply(geometric_mean)
            .map("{:.2f}".format),
            "CRPS, tables": relative(frame[~is_uci], "crps")
            .apply(geometric_mean)
            .map("{:.2f}".format),
            "sets best": best,
            "coverage": by_method.coverage.mean().map("{:.1%}".format),
            "lowest": by_method.coverage.min().map("{:.0%}".format),
            "width at 90 %": relative(frame, "width_at_90").median().map("{:.2f}".format),
            "sets": by_method.size(),
        }
    ).reindex([method for method in METHODS if method in crps_of])
    summary["sets best"] = summary["sets best"].fillna(0).astype(int)
    peers = crps_of[[peer for peer in PEERS if peer in crps_of]].min(axis=1)
    title = (
        "CRPS relative to NONA's (geometric mean over sets; lower is better), the coverage of "
        "intervals at 90 % (mean over sets), and the width of intervals at 90 % "
        "coverage relative to NONA's (median over sets)"
    )
    parts = [
        rst_text_table(title, summary.astype(object).fillna("").map(str)),
        "NONA's CRPS relative to that of the best peer *of each set*: "
        f"{geometric_mean(crps_of['NONA'] / peers):.3f} in the geometric mean.\n",
        rst_table("CRPS by set", upright(crps_of.T), 3),
        versions(frame) + "\n",
    ]
    output.write_text("\n".join(parts), encoding="utf-8")


BENCHMARK = tabular.Benchmark(
    __file__,
    datasets,
    load,
    METHODS,
    {},
    [0],
    RESULTS,
    measure,
    "crps",
    report=report,
)

if __name__ == "__main__":
    tabular.main(BENCHMARK)
