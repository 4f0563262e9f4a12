"""Settings for faster fits: time and error relative to the defaults'.

Usage: python benchmarks/cheaper_fits.py [options of _benchmark.py]

NONA on real tables of the folder that `SKNEIGHBORS_DATA` names, at most 4,000 rows, at its defaults
and with one setting changed, one fit after the other with all cores.
"""

import numpy as np
from _benchmark import DOCS, Benchmark, machine, main, score
from _rst import rst_text_table, write
from _tables import load_table
from sklearn.datasets import make_friedman1

from skneighbors import NONARegressor

OUTPUT = DOCS / "cheaper_fits.inc"
TABLES = ["garments", "it_salary", "wish", "cancer", "cardekho"]
MAX_ROWS = 4000
SETTINGS = {
    "defaults": {},
    "n_estimators=1": {"n_estimators": 1},
    "blend=None": {"blend": None},
    "n_estimators=1, blend=None": {"n_estimators": 1, "blend": None},
    "max_iter=30": {"max_iter": 30},
    "max_iter=15": {"max_iter": 15},
    "hidden_layer_sizes=128": {"hidden_layer_sizes": 128},
}


def measure(table, seed, setting):
    """Error and times of a setting."""
    X, X_test, y, y_test = load_table(table, seed)
    NONARegressor(max_iter=2).fit(*make_friedman1(300))  # loads what is needed
    model = NONARegressor(random_state=seed, **SETTINGS[setting])
    return score(model, X[:MAX_ROWS], X_test, y[:MAX_ROWS], y_test) | {"machine": machine()}


def report(frame):
    """Write the table: geometric means over the seeds, each to the defaults'."""
    runs = frame.set_index(["method", "dataset", "split"])[["fit_s", "rmse"]]
    logs = np.log(runs / runs.loc["defaults"].reindex(runs.index.droplevel(0)).to_numpy())
    means = logs.groupby(level=["method", "dataset"]).mean().unstack("method")
    means.loc["geometric mean"] = means.mean()
    cells = np.exp(means).stack("method", future_stack=True)
    cells = cells.apply(lambda cell: f"{cell['rmse']:.2f} in {cell['fit_s']:.2f}", axis=1)
    shown = cells.unstack(0)[[*TABLES, "geometric mean"]].loc[list(SETTINGS)[1:]]
    seeds = ", ".join(map(str, frame.split.unique()))
    title = f"Error, and time, to the defaults', seeds {seeds}, {frame.machine.iloc[0]}"
    write(OUTPUT, rst_text_table(title, shown), "", runs=frame)


if __name__ == "__main__":
    main(
        Benchmark(
            __file__, lambda: TABLES, SETTINGS, measure, report, splits=[0, 1], jobs=1, ours=("",)
        )
    )
