"""Fits of many rows: time, memory and error, beside histogram boosting.

Usage: OMP_NUM_THREADS=1 python benchmarks/large_fits.py [--rows 10000 100000]

Fits a default NONARegressor, with `max_time` of so many seconds as LIMITS says, to made rows
(Friedman's first problem with noise of standard deviation 1, below which no error can be) and
predicts 2,000 others. Each fit is a process, whose seconds of CPU time and peak of memory are
measured. Writes docs/benchmark/large_fits.inc.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
import warnings
from pathlib import Path

import pandas as pd
from _rst import rst_text_table
from sklearn.datasets import make_friedman1
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.metrics import root_mean_squared_error

from skneighbors import NONARegressor

OUTPUT = Path(__file__).parents[1] / "docs" / "benchmark" / "large_fits.inc"
LIMITS = {10_000: None, 100_000: 600.0, 1_000_000: 3600.0}


def measure(n_rows):
    """CPU seconds, MiB and errors of one number of rows."""
    X, y = make_friedman1(n_rows, noise=1.0, random_state=0)
    X_test, y_test = make_friedman1(2000, noise=1.0, random_state=1)

    def fit(model):
        start = time.process_time()
        model.fit(X, y)
        middle = time.process_time()
        error = root_mean_squared_error(y_test, model.predict(X_test))
        return middle - start, time.process_time() - middle, float(error)

    boosting = fit(HistGradientBoostingRegressor(random_state=0))
    warnings.simplefilter("ignore")
    model = NONARegressor(max_time=LIMITS[n_rows], random_state=0)
    ours = fit(model)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"boosting": boosting, "ours": ours, "MiB": peak}


def write_table(results):
    """Write the table of the guide."""
    rows = {}
    for n_rows, found in results.items():
        limit = LIMITS[n_rows]
        rows[f"{n_rows:,}"] = {
            "max_time": "none" if limit is None else f"{limit:,.0f} s",
            "fit": f"{found['ours'][0]:,.0f} s",
            "peak memory": f"{found['MiB'] / 1024:.1f} GiB",
            "predict 2,000": f"{found['ours'][1]:.1f} s",
            "RMSE": f"{found['ours'][2]:.3f}",
            "boosting: RMSE": f"{found['boosting'][2]:.3f} in {found['boosting'][0]:.1f} s",
        }
    table = rst_text_table("Fits on one core, seconds of CPU time", pd.DataFrame(rows).T)
    OUTPUT.write_text(f".. Written by benchmarks/large_fits.py.\n\n{table}", encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", nargs="+", type=int, default=[10_000, 100_000])
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        print(json.dumps(measure(args.one)))
        return
    results = {}
    for n_rows in args.rows:
        command = [sys.executable, __file__, "--one", str(n_rows)]
        out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        results[n_rows] = json.loads(out.splitlines()[-1])
        print(n_rows, results[n_rows], flush=True)
    write_table(results)


if __name__ == "__main__":
    main()
