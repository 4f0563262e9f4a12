"""Training time against the number of rows.

Usage: python benchmarks/training.py [--dataset NAME] [--rows N ...] [--epochs N]

Fits default estimators with few epochs on growing parts of the training rows of
a data set (split 0), and beyond these on noisy copies of them. Prints the seconds
of an epoch and how many times as long as on the fewest rows a row takes, and one
prediction of it (NONA predicts a row twice an epoch from 2,000 rows on, in half as
many epochs): 1 is linear growth. Every epoch is validated, by default 23 of NONA's 52
and 33 of SoftStep k-NN's 128, and near rows are looked for anew with every sixteenth
of the training, but no more than once an epoch: by default NONA's are in every third.
Writes results/training.json and docs/benchmark/training.inc.
"""

import argparse
import json
import os
import platform
import time
from pathlib import Path

import numpy as np
import torch
from _data import enlarge, load_split

from skneighbors import NONARegressor, SoftStepKNNRegressor

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "training.json"
TABLE = HERE.parent / "docs" / "benchmark" / "training.inc"
ESTIMATORS = {"NONA": NONARegressor, "SoftStep k-NN": SoftStepKNNRegressor}


def seconds_an_epoch(kind, X, y, epochs):
    """Time of a fit over its epochs, and how often one of these predicts a row."""
    model = ESTIMATORS[kind](max_iter=epochs, early_stopping=True, random_state=0)
    start = time.perf_counter()
    model.fit(X, y)
    return (time.perf_counter() - start) / model.n_iter_, model._count_predictions(len(X))


def write_table(results, about, machine):
    """Write the lines as an RST table."""
    lines = [
        f".. Written by benchmarks/training.py on {machine}.",
        "",
        f".. list-table:: {about}, on {machine}",
        "    :header-rows: 1",
        "",
        "    * - estimator",
        "      - rows",
        "      - seconds an epoch",
        "      - a row, relative to the first",
        "      - a prediction, relative to the first",
    ]
    for line in results:
        lines += [
            f"    * - {line['estimator']}",
            f"      - {line['rows']:,}",
            f"      - {line['s']:.3g}",
            f"      - {line['growth']:.2f}",
            f"      - {line['growth'] / line['predictions']:.2f}",
        ]
    TABLE.write_text("\n".join(lines) + "\n", encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dataset", default="kin40k")
    parser.add_argument("--rows", type=int, nargs="+", default=[1000, 10_000, 36_000, 100_000])
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--estimators", nargs="+", choices=ESTIMATORS, default=list(ESTIMATORS))
    args = parser.parse_args()
    X, _, y, _ = load_split(args.dataset, 0, n_train=max(args.rows))
    n_real = len(X)
    X, y = (
        np.concatenate(parts) for parts in zip((X, y), enlarge(X, y, max(args.rows)), strict=True)
    )
    device = "cuda" if torch.cuda.is_available() else "cpu"
    machine = f"{os.cpu_count()} {platform.machine()} cores, torch {torch.__version__}"
    if device == "cuda":
        machine = f"{torch.cuda.get_device_name()}, {machine}"
    about = f"Training on {args.dataset}, {n_real:,} rows of it real, {args.epochs} epochs"
    results = []
    for kind in args.estimators:
        seconds_an_epoch(kind, X[:500], y[:500], 2)  # warms up
        first = None
        for n_rows in args.rows:
            spent, predictions = seconds_an_epoch(kind, X[:n_rows], y[:n_rows], args.epochs)
            first = first or spent / n_rows
            line = {"estimator": kind, "rows": n_rows, "s": spent, "growth": spent / n_rows / first}
            results.append(line | {"predictions": predictions})
            print(json.dumps(results[-1]), flush=True)
    RESULTS.write_text(json.dumps({"machine": machine, "about": about, "runs": results}, indent=1))
    write_table(results, about, machine)


if __name__ == "__main__":
    main()
