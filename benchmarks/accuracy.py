"""Test RMSE and seconds of the estimators on the data sets of `SKNEIGHBORS_DATA`.

Usage: python benchmarks/accuracy.py [--datasets NAME ...] [--splits S ...]
       [--estimators nona softstep_knn] [--set PARAMETER=VALUE ...]
"""

import argparse
import ast
import os
import time
from pathlib import Path

import numpy as np

from skneighbors import NONARegressor, SoftStepKNNRegressor

ESTIMATORS = {"nona": NONARegressor, "softstep_knn": SoftStepKNNRegressor}
# Bounds on split 0 that a correct build stays under.
BOUNDS = {
    "nona": {"airfoil": 1.10, "concrete": 3.1, "energy": 0.40, "sml": 0.30, "wine": 0.45},
    "softstep_knn": {"airfoil": 1.50, "concrete": 4.8},
}


def load_split(folder, name, split):
    """Train and test parts of a data set, cut to 10,000 and 5,000 shuffled rows."""
    path = folder / f"{name}.npz"
    if not path.exists():
        raise SystemExit(f"{path} is missing: point SKNEIGHBORS_DATA at the data folder.")
    with np.load(path) as data:
        X, y, is_test = data["X"], data["y"], data["test_mask"][:, split]
    rng = np.random.RandomState(split)
    train = rng.permutation(np.flatnonzero(~is_test))[:10_000]
    test = rng.permutation(np.flatnonzero(is_test))[:5_000]
    return X[train], X[test], y[train], y[test]


def literal(text):
    """PARAMETER=VALUE, the value as a Python literal if it is one."""
    name, _, value = text.partition("=")
    try:
        return name, ast.literal_eval(value)
    except (SyntaxError, ValueError):
        return name, value


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", nargs="+")
    parser.add_argument("--splits", nargs="+", type=int, default=[0])
    parser.add_argument("--estimators", nargs="+", choices=ESTIMATORS, default=list(ESTIMATORS))
    parser.add_argument("--set", nargs="+", type=literal, default=[], metavar="PARAMETER=VALUE")
    args = parser.parse_args()
    folder = Path(os.environ.get("SKNEIGHBORS_DATA", "../shared/data"))
    print("estimator     data        split     RMSE   bound   fit s  predict s")
    for estimator in args.estimators:
        for name in args.datasets or BOUNDS[estimator]:
            for split in args.splits:
                X, X_test, y, y_test = load_split(folder, name, split)
                model = ESTIMATORS[estimator](random_state=0, **dict(args.set))
                start = time.perf_counter()
                model.fit(X, y)
                fitted = time.perf_counter()
                y_hat = model.predict(X_test)
                predicted = time.perf_counter()
                rmse = np.sqrt(np.mean((y_hat - y_test) ** 2))
                bound = BOUNDS[estimator].get(name, np.nan) if split == 0 else np.nan
                print(
                    f"{estimator:<14}{name:<12}{split:>5}{rmse:>9.4f}{bound:>8.2f}"
                    f"{fitted - start:>8.1f}{predicted - fitted:>11.2f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
