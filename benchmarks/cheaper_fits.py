"""Settings for faster fits: time and error relative to the defaults'.

Usage: python benchmarks/cheaper_fits.py [--tables NAME ...] [--seeds S ...] [--rows N] [--report]

NONA on real tables of the folder that `SKNEIGHBORS_DATA` names, at its defaults and with one
setting changed, in the same process, one after the other with all cores. Writes
results/cheaper_fits.json and docs/benchmark/cheaper_fits.inc; `--report` the latter alone.
"""

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from _tables import load_table
from max_time import describe_machine
from report import rst_text_table
from sklearn.datasets import make_friedman1
from sklearn.metrics import root_mean_squared_error

from skneighbors import NONARegressor

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "cheaper_fits.json"
TABLE = HERE.parent / "docs" / "benchmark" / "cheaper_fits.inc"
TABLES = ["garments", "it_salary", "wish", "cancer", "cardekho"]
SETTINGS = {
    "defaults": {},
    "n_estimators=1": {"n_estimators": 1},
    "blend=None": {"blend": None},
    "n_estimators=1, blend=None": {"n_estimators": 1, "blend": None},
    "max_iter=30": {"max_iter": 30},
    "max_iter=15": {"max_iter": 15},
    "hidden_layer_sizes=128": {"hidden_layer_sizes": 128},
}


def measure(table, seed, n_rows):
    """Seconds and error of each setting."""
    X, X_test, y, y_test = load_table(table, seed)
    X, y = X.iloc[:n_rows], y[:n_rows]
    for name, params in SETTINGS.items():
        model = NONARegressor(random_state=seed, **params)
        start = time.perf_counter()
        model.fit(X, y)
        seconds = time.perf_counter() - start
        error = root_mean_squared_error(y_test, model.predict(X_test))
        yield {"table": table, "seed": seed, "setting": name, "s": seconds, "rmse": float(error)}


def report():
    """Write the table: geometric means over the seeds, each to the defaults'."""
    saved = json.loads(RESULTS.read_text())
    runs = pd.DataFrame(saved["runs"]).set_index(["setting", "table", "seed"])[["s", "rmse"]]
    logs = np.log(runs / runs.loc["defaults"].reindex(runs.index.droplevel(0)).to_numpy())
    means = logs.groupby(level=["setting", "table"]).mean().unstack("setting")
    means.loc["geometric mean"] = means.mean()
    cells = np.exp(means).stack("setting", future_stack=True)
    cells = cells.apply(lambda cell: f"{cell['rmse']:.2f} in {cell['s']:.2f}", axis=1)
    shown = cells.unstack(0)[[*TABLES, "geometric mean"]].loc[list(SETTINGS)[1:]]
    shown.index.name = "setting"
    seeds = ", ".join(map(str, runs.index.unique("seed")))
    title = f"Error, and time, to the defaults', seeds {seeds}, {saved['machine']}"
    TABLE.write_text(rst_text_table(title, shown) + "\n", encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", nargs="+", default=TABLES)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1])
    parser.add_argument("--rows", type=int, default=4000)
    parser.add_argument("--report", action="store_true")
    args = parser.parse_args()
    if not args.report:
        warnings.simplefilter("ignore")
        NONARegressor(max_iter=2).fit(*make_friedman1(300))  # loads what is needed
        runs = []
        for table in args.tables:
            for seed in args.seeds:
                for run in measure(table, seed, args.rows):
                    runs.append(run)
                    print(json.dumps(run), flush=True)
        RESULTS.write_text(json.dumps({"machine": describe_machine(), "runs": runs}, indent=1))
    report()


if __name__ == "__main__":
    main()
