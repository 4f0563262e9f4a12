"""Test RMSE and fit times on the UCI sets in the folder `SKNEIGHBORS_DATA`.

Usage: python benchmarks/accuracy.py [--datasets NAME ...] [--splits S ...]
       [--estimators NAME ...] [--set PARAMETER=VALUE ...] [--output FILE.md]

Every estimator runs at its defaults with `random_state=0`; --set changes ours.
"""

import argparse
import ast
import os
import platform
import time
from pathlib import Path

import numpy as np
import sklearn
import torch
from _data import data_folder, load_split
from _methods import make_regressor
from sklearn.ensemble import HistGradientBoostingRegressor

import skneighbors
from skneighbors import NONARegressor, SoftStepKNNRegressor

ESTIMATORS = {
    "nona": NONARegressor,
    "softstep_knn": SoftStepKNNRegressor,
    "hist_gradient_boosting": HistGradientBoostingRegressor,
}
OURS = ("nona", "softstep_knn")
# On split 0 a correct build stays under these.
BOUNDS = {
    "nona": {"airfoil": 1.10, "concrete": 3.1, "energy": 0.40, "sml": 0.30, "wine": 0.45},
    "softstep_knn": {"airfoil": 1.50, "concrete": 4.8},
}


def literal(text):
    """PARAMETER=VALUE, the value as a Python literal if it is one."""
    name, _, value = text.partition("=")
    try:
        return name, ast.literal_eval(value)
    except (SyntaxError, ValueError):
        return name, value


def measure(estimator, name, split, params):
    """One row of the table."""
    X, X_test, y, y_test = load_split(name, split)
    if estimator in OURS:
        model = make_regressor(ESTIMATORS[estimator], random_state=0, **params)
    else:
        model = ESTIMATORS[estimator](random_state=0)
    start = time.perf_counter()
    model.fit(X, y)
    fitted = time.perf_counter()
    y_hat = model.predict(X_test)
    predicted = time.perf_counter()
    rmse = np.sqrt(np.mean((y_hat - y_test) ** 2))
    bound = BOUNDS.get(estimator, {}).get(name) if split == 0 and not params else None
    return (
        name,
        str(split),
        str(len(X)),
        estimator,
        f"{rmse:.3f}",
        "" if bound is None else f"{bound:.2f}",
        f"{fitted - start:.1f}",
        f"{predicted - fitted:.2f}",
    )


def machine():
    """Describe where and with what this ran."""
    device = torch.cuda.get_device_name() if torch.cuda.is_available() else "no GPU"
    return (
        f"{os.cpu_count()} CPU cores ({platform.machine()}), {device}; "
        f"Python {platform.python_version()}, torch {torch.__version__}, "
        f"scikit-learn {sklearn.__version__}, skneighbors {skneighbors.__version__}"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", nargs="+", default=list(BOUNDS["nona"]))
    parser.add_argument("--splits", nargs="+", type=int, default=[0])
    parser.add_argument("--estimators", nargs="+", choices=ESTIMATORS, default=list(ESTIMATORS))
    parser.add_argument("--set", nargs="+", type=literal, default=[], metavar="PARAMETER=VALUE")
    parser.add_argument("--output", type=Path, help="Markdown file for the table")
    args = parser.parse_args()
    if data_folder() is None:
        raise SystemExit("Point SKNEIGHBORS_DATA at the folder of the data sets.")
    header = ("data", "split", "rows", "estimator", "RMSE", "bound", "fit, s", "predict, s")
    lines = [header, ("---",) * len(header)]
    print(*(f"{cell:>12}" for cell in header))
    for name in args.datasets:
        for split in args.splits:
            for estimator in args.estimators:
                lines.append(measure(estimator, name, split, dict(args.set)))
                print(*(f"{cell:>12}" for cell in lines[-1]), flush=True)
    print(machine())
    if args.output is not None:
        table = "\n".join("| " + " | ".join(line) + " |" for line in lines)
        args.output.parent.mkdir(parents=True, exist_ok=True)
        args.output.write_text(f"{table}\n\n{machine()}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
