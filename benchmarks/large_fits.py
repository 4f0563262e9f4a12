"""Fits of many rows: time, memory and error, beside histogram boosting.

Usage: OMP_NUM_THREADS=1 python benchmarks/large_fits.py [--rows 10000 100000]

Fits a default NONARegressor, with `max_time` of so many seconds as LIMITS says, to made rows
(Friedman's first problem with noise of standard deviation 1, below which no error can be) and
predicts 2,000 others. Each fit is a process, whose seconds of CPU time and peak of memory are
measured. Writes docs/benchmark/large_fits.inc.
"""

import argparse
import resource
import time
import warnings

import _version
import pandas as pd
from _benchmark import DOCS, alone
from _rst import rst_text_table, write
from sklearn.datasets import make_friedman1
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.metrics import root_mean_squared_error

from skneighbors import NONARegressor

LIMITS = {10_000: None, 100_000: 600.0, 1_000_000: 600.0}


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
    used = pd.DataFrame({"code": [_version.code()] * len(results)})
    write(DOCS / "large_fits.inc", table, script="large_fits.py", runs=used)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", nargs="+", type=int, default=[10_000, 100_000])
    results = {}
    for n_rows in parser.parse_args().rows:
        results[n_rows] = alone(measure, n_rows)
        print(n_rows, results[n_rows], flush=True)
    write_table(results)


if __name__ == "__main__":
    main()
