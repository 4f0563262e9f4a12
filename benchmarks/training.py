"""Training time against the number of rows.

Usage: python benchmarks/training.py [--dataset NAME] [--rows N ...] [--epochs N]

Fits default estimators with few epochs on growing parts of the training rows of
a data set (split 0), and beyond these on noisy copies of them; the fewest rows once
more with the network and context that the defaults have from 5,000 rows on. Prints the
seconds of an epoch, in which NONA predicts a row twice from 2,000 rows on, in half as
many epochs; the table has how many times as long as in the first fit a row takes and
one prediction of it, and as in the second, where 1 is linear growth. Every epoch is
validated, by default 23 of NONA's 52 and 33 of SoftStep k-NN's 128, and near rows are
looked for anew with every sixteenth of the training, but no more than once an epoch: by
default NONA's are in every third.
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
from _methods import make_regressor

from skneighbors import NONARegressor, SoftStepKNNRegressor

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "training.json"
TABLE = HERE.parent / "docs" / "benchmark" / "training.inc"
ESTIMATORS = {"NONA": NONARegressor, "SoftStep k-NN": SoftStepKNNRegressor}
# Network and context that the defaults choose from 5,000 rows on.
OF_MANY = {
    "NONA": {"hidden_layer_sizes": (256,) * 4},
    "SoftStep k-NN": {"hidden_layer_sizes": (256,) * 4, "context_size": 512},
}


def seconds_an_epoch(kind, X, y, epochs, **settings):
    """Time of a fit over its epochs, and how often one of these predicts a row."""
    settings |= {"max_iter": epochs, "refit": False, "random_state": 0}
    model = make_regressor(ESTIMATORS[kind], **settings)
    start = time.perf_counter()
    model.fit(X, y)
    return (time.perf_counter() - start) / model.n_iter_, model.plan_.predictions_per_sample


def seconds_a_row(line):
    """Seconds of an epoch over its rows."""
    return line["s"] / line["rows"]


def seconds_a_prediction(line):
    """Seconds of an epoch over its predictions."""
    return seconds_a_row(line) / line["predictions"]


def write_table(results, about, machine):
    """Write the lines as an RST table."""
    lines = [
        f".. Written by benchmarks/training.py on {machine}.",
        "",
        f".. list-table:: {about}, on {machine}: seconds of an epoch, and those of a row and a",
        "    prediction relative to the first line's",
        "    :header-rows: 1",
        "",
        "    * - estimator",
        "      - rows",
        "      - seconds an epoch",
        "      - a row",
        "      - a prediction",
        "      - a prediction, relative to the second line",
    ]
    for kind in dict.fromkeys(line["estimator"] for line in results):
        lines_of_kind = [line for line in results if line["estimator"] == kind]
        first, second = lines_of_kind[:2]
        for line in lines_of_kind:
            cells = [
                kind + (", as from 5,000 rows on" if line is second else ""),
                f"{line['rows']:,}",
                f"{line['s']:.3g}",
                f"{seconds_a_row(line) / seconds_a_row(first):.2f}",
                f"{seconds_a_prediction(line) / seconds_a_prediction(first):.2f}",
                f"{seconds_a_prediction(line) / seconds_a_prediction(second):.2f}",
            ]
            lines += [f"    {'*' if i == 0 else ' '} - {cell}" for i, cell in enumerate(cells)]
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
        fits = [(n_rows, {}) for n_rows in args.rows]
        fits.insert(1, (args.rows[0], OF_MANY[kind]))
        for n_rows, settings in fits:
            spent, predictions = seconds_an_epoch(
                kind, X[:n_rows], y[:n_rows], args.epochs, **settings
            )
            line = {"estimator": kind, "rows": n_rows, "s": spent, "predictions": predictions}
            results.append(line)
            print(json.dumps(line), flush=True)
    RESULTS.write_text(json.dumps({"machine": machine, "about": about, "runs": results}, indent=1))
    write_table(results, about, machine)


if __name__ == "__main__":
    main()
