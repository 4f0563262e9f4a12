"""SoftStep beside other weightings of the same similarities, and with and without ranks.

Usage, in benchmarks/: python -m paper.weightings [--tasks NAME ...] [--splits N] [--quick]

The papers' setting and splits, as in `finetuning`, with one weighting after the
other in the head: the softmax of NONA alone and with each SoftStep; of squared
distances; scaled by the logarithm of the number of neighbours; of the nearest
alone; sparsemax and 1.5-entmax; and SoftStep k-NN, whose weights are the mask
alone, of soft ranks, of hard ranks (through which no gradient reaches the
embedding) and of the similarities. Resumable. Writes
results/paper_weightings.jsonl and docs/papers/weightings.inc.
"""

import argparse
import time
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from sklearn.metrics import root_mean_squared_error
from sklearn.model_selection import train_test_split

from ._runs import load_results, run_missing, spread_table, write_table
from ._tasks import tasks
from ._weightings import WEIGHTINGS, make_model
from .finetuning import OUTPUT, QUICK

RESULTS = Path(__file__).parents[1] / "results" / "paper_weightings.jsonl"
KEY = ("task", "split", "weighting")
TASKS = ["rotated digits", "pitch", "diabetes", "energy", "airfoil"]


def count_neighbors(model, X, n_rows):
    """How many neighbours count: of weights by 1 / sum of squares, and the share of zeros.

    Parameters
    ----------
    model : NONARegressor or SoftStepKNNRegressor
    X : ndarray
        Queries.
    n_rows : int
        Distinct training rows.

    Returns
    -------
    effective, zeros : float
        Medians over the queries.
    """
    weights, _ = model.top_neighbors(X, n_neighbors=n_rows)
    return float(np.median(1 / (weights**2).sum(1))), float(np.median((weights == 0).mean(1)))


def run(task, split, weighting, quick=False):
    """Error of a weighting on one split of a task, and how many neighbours it leaves.

    Returns
    -------
    lines : list of dict
    """
    load, feature_extractor = tasks()[task]
    X, y = load()
    params = {"feature_extractor": feature_extractor, "random_state": split}
    if quick:
        X, y = X[: QUICK["n_rows"]], y[: QUICK["n_rows"]]
        params["max_iter"] = QUICK["max_iter"]
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2, random_state=split)
    start = time.perf_counter()
    model = make_model(weighting, **params).fit(X_train, y_train)
    seconds = time.perf_counter() - start
    rows = np.column_stack([X_train.reshape(len(X_train), -1), y_train])
    effective, zeros = count_neighbors(model, X_test[:200], len(np.unique(rows, axis=0)))
    line = dict(zip(KEY, (task, split, weighting), strict=True))
    line["rmse"] = float(root_mean_squared_error(y_test, model.predict(X_test)))
    return [line | {"neighbors": effective, "zeros": zeros, "s": seconds}]


def summarise(frame):
    """Table of RMSE, a row a weighting, with mean rank, neighbours and zero weights."""
    table = spread_table(frame, "weighting", "task")
    rmse = frame.pivot_table(index="weighting", columns="task", values="rmse")
    table["mean rank"] = rmse.rank().mean(axis=1).map("{:.3g}".format)
    by = frame.groupby("weighting")
    table["neighbours"] = by.neighbors.median().map("{:.3g}".format)
    table["zero weights"] = by.zeros.median().map("{:.0%}".format)
    return table.reindex([name for name in WEIGHTINGS if name in table.index])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    known = tasks()
    default = [name for name in TASKS if name in known]
    parser.add_argument("--tasks", nargs="+", choices=known, default=default)
    parser.add_argument("--weightings", nargs="+", choices=WEIGHTINGS, default=list(WEIGHTINGS))
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="few rows and epochs, one split")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--output", type=Path, default=OUTPUT)
    args = parser.parse_args()
    if args.quick and args.results == RESULTS:
        parser.error("--quick needs --results and --output of its own")
    torch.set_num_threads(1)
    done = load_results(args.results, KEY)
    keys = [
        (task, split, weighting)
        for task in args.tasks
        for split in range(1 if args.quick else args.splits)
        for weighting in args.weightings
    ]
    run_missing(run, [(*key, args.quick) for key in keys if key not in done], args.results)
    frame = pd.DataFrame(load_results(args.results, KEY).values())
    title = (
        f"Test RMSE, mean ± standard deviation over {frame.split.nunique()} random splits; "
        "effective number of neighbours and share of weights that are 0, medians"
    )
    write_table(args.output / "weightings.inc", "weightings.py", title, summarise(frame))


if __name__ == "__main__":
    main()
