"""SoftStep beside other weightings of the same similarities, and with and without ranks.

Usage, in benchmarks/: python -m paper.weightings [--tasks NAME ...] [--splits N] [--quick]

The papers' setting and splits, as in `finetuning`, with one weighting after the
other in the head: the softmax of NONA alone and with each SoftStep; of squared
distances; scaled by the logarithm of the number of neighbors; of the nearest
alone; sparsemax and 1.5-entmax; and SoftStep k-NN, whose weights are the mask
alone, of soft ranks, of hard ranks (through which no gradient reaches the
embedding, but for the mask's parameters) and of the similarities. Resumable.
Writes results/paper_weightings.jsonl, and weightings.inc and weights.inc to docs/papers.
"""

import numpy as np
import pandas as pd

from ._runs import (
    load_fresh,
    load_results,
    parse,
    require,
    run_missing,
    script_parser,
    spread_table,
    write_table,
)
from ._tasks import fit, tasks
from ._weightings import WEIGHTINGS

KEY = ("task", "split", "weighting")
TASKS = ["rotated digits", "pitch", "diabetes", "energy", "airfoil"]


def count_neighbors(model, X, n_rows):
    """How many neighbors count: of weights by 1 / sum of squares, and the fraction of zeros.

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
    n_zeros = n_rows - np.diff(model.neighbor_weights(X).indptr)
    return float(np.median(model.effective_n_neighbors(X))), float(np.median(n_zeros / n_rows))


def run(task, split, weighting, quick=False):
    """Error of a weighting on one split of a task, and how many neighbors it leaves.

    Returns
    -------
    lines : list of dict
    """
    model, (X_train, X_test, y_train, _), figures = fit(*WEIGHTINGS[weighting], task, split, quick)
    rows = np.column_stack([X_train.reshape(len(X_train), -1), y_train])
    effective, zeros = count_neighbors(model, X_test[:200], len(np.unique(rows, axis=0)))
    key = {"task": task, "split": split, "weighting": weighting}
    return [key | figures | {"neighbors": effective, "zeros": zeros}]


def ordered(table):
    """Rows in the order of the weightings."""
    return table.reindex([name for name in WEIGHTINGS if name in table.index])


def summarize(frame):
    """Table of RMSE, a row a weighting, with the mean rank."""
    table = spread_table(frame, "weighting", "task")
    rmse = frame.pivot_table(index="weighting", columns="task", values="rmse")
    table["mean rank"] = rmse.rank().mean(axis=1).map("{:.3g}".format)
    return ordered(table)


def count_table(frame):
    """Table of effective numbers of neighbors and fractions of weights that are 0."""
    counts = frame.groupby(["weighting", "task"], sort=False)[["neighbors", "zeros"]].mean()
    cells = counts.apply(lambda c: f"{c.neighbors:.3g}; {100 * c.zeros:.3g} %", axis=1)
    return ordered(cells.unstack("task")[list(dict.fromkeys(frame.task))])


def main():
    parser = script_parser(__doc__, splits=3, results="paper_weightings.jsonl")
    known = tasks()
    default = [name for name in TASKS if name in known]
    parser.add_argument("--tasks", nargs="+", choices=known, default=default)
    parser.add_argument("--weightings", nargs="+", choices=WEIGHTINGS, default=list(WEIGHTINGS))
    args = parse(parser)
    require("entmax", "entmax")
    done = load_fresh(args.results, KEY)
    keys = [
        (task, split, weighting)
        for task in args.tasks
        for split in range(args.splits)
        for weighting in args.weightings
    ]
    run_missing(run, [(*key, args.quick) for key in keys if key not in done], args.results)
    frame = pd.DataFrame(load_results(args.results, KEY).values())
    n_splits = frame.groupby(["task", "weighting"]).split.nunique().min()
    title = f"Test RMSE, mean ± standard deviation over {n_splits} random splits"
    table, path = summarize(frame), args.output / "weightings.inc"
    write_table(path, "weightings.py", title, table, runs=frame)
    title = "Effective number of neighbors; fraction of weights that are 0 (medians over test rows)"
    table, path = count_table(frame), args.output / "weights.inc"
    write_table(path, "weightings.py", title, table, runs=frame)


if __name__ == "__main__":
    main()
