"""How sure predictions are: ours beside quantile forests, quantile boosting and MAPIE.

Usage: python benchmarks/uncertainty.py [options of _benchmark.py]

Runs on the UCI sets and the real tables of the folder that `SKNEIGHBORS_DATA` names; of sets
whose name is among both, the table is left out.

The continuous ranked probability score (CRPS) is twice the mean pinball loss over the quantiles
0.05, 0.10, ..., 0.95. The width at 90 % coverage is that of intervals from quantile 0.05 to 0.95,
or of a method's intervals, stretched about their middles until they cover 90 % of the test
rows: it compares shapes, whatever the calibration.
"""

from functools import partial

import numpy as np
import pandas as pd
from _benchmark import DOCS, Benchmark, geometric_mean, main, seconds, versions
from _data import DATASETS
from _quantiles import CatBoost, Forest, LightGBM, Mapie, Ours
from _rst import list_versions_and_cores, rst_table, rst_text_table, upright, write
from _tables import load_set_or_table, sets_and_tables

OUTPUT = DOCS / "uncertainty.inc"
LEVELS = np.linspace(0.05, 0.95, 19)
CONFIDENCE = 0.9


PEERS = {
    "quantile forest": Forest,
    "LightGBM": LightGBM,
    "CatBoost": CatBoost,
    "MAPIE, hist. boosting": Mapie,
}
METHODS = {name: partial(Ours, name) for name in ("NONA", "SoftStep k-NN")} | PEERS


def measure(dataset, split, method):
    """Figures of a method's quantiles and intervals."""
    X, X_test, y, y_test = load_set_or_table(dataset, split)
    model = METHODS[method](split, LEVELS)
    fit_s = seconds(model.fit, X, y)
    quantiles, ends = model.quantiles(X_test), model.interval(X_test, CONFIDENCE)
    return {
        "rows": len(X),
        "crps": crps(y_test, quantiles),
        "coverage": coverage(y_test, ends),
        "quantile_coverage": coverage(y_test, quantiles[:, [0, -1]]),
        "width": np.mean(ends[:, 1] - ends[:, 0]),
        "width_at_90": width_at(y_test, ends, CONFIDENCE),
        "crossing": np.mean(np.diff(quantiles, axis=1) < 0),
        "fit_s": fit_s,
        "versions": versions(),
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


def report(frame):
    """Write the tables."""
    is_uci = frame.dataset.isin(DATASETS)
    crps_of = frame.pivot_table(index="dataset", columns="method", values="crps", sort=False)
    by_method = frame.groupby("method")
    means = {
        name: relative(part, "crps").apply(geometric_mean).map("{:.2f}".format)
        for name, part in (("UCI sets", frame[is_uci]), ("tables", frame[~is_uci]))
    }
    best = crps_of.idxmin(axis=1).value_counts().reindex(list(METHODS), fill_value=0)
    summary = pd.DataFrame(
        {
            **{f"CRPS, {name}": mean for name, mean in means.items()},
            "sets best": best.map(str),
            "coverage": by_method.coverage.mean().map("{:.1%}".format),
            "lowest": by_method.coverage.min().map("{:.0%}".format),
            "width at 90 %": relative(frame, "width_at_90").median().map("{:.2f}".format),
            "sets": by_method.size().map(str),
        }
    ).loc[list(METHODS)]
    peers = crps_of[list(PEERS)].min(axis=1)
    title = (
        "CRPS relative to NONA's (geometric mean over sets; lower is better), the coverage of "
        "intervals at 90 % (mean over sets), and the width of intervals at 90 % "
        "coverage relative to NONA's (median over sets)"
    )
    note = (
        "NONA's CRPS relative to that of the best peer *of each set*: "
        f"{geometric_mean(crps_of['NONA'] / peers):.3f} in the geometric mean.\n"
    )
    by_set = rst_table("CRPS by set", upright(crps_of.T), 3)
    parts = [rst_text_table(title, summary), note, by_set, list_versions_and_cores(frame), ""]
    write(OUTPUT, *parts, runs=frame)


if __name__ == "__main__":
    main(Benchmark(__file__, sets_and_tables, METHODS, measure, report))
