"""Supervised fine-tuning with dense, k-NN and NONA heads: the papers' main table.

Usage, in benchmarks/: python -m paper.finetuning [--tasks NAME ...] [--splits N] [--quick]

The papers' protocol: a fifth of the rows to test on and 15 % of the others to
validate on; a feature extractor, where the rows are images or signals, and a
multilayer perceptron 200 -> 25, trained end to end with a dense layer at the end
or with NONA, without and with SoftStep, until the validation error has not fallen
for ten epochs; and k-NN, its grid searched by cross-validation on the training
rows, on the embeddings of the dense and of the NONA model. Resumable: a run that
is in the results is not run again. Writes results/paper_finetuning.jsonl,
docs/papers/finetuning.inc and docs/papers/finetuning.svg.
"""

import pandas as pd
from _benchmark import score
from _surfaces import LinearHeadRegressor
from report import draw_ranks
from scipy.stats import friedmanchisquare, wilcoxon
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsRegressor

from skneighbors import NONARegressor

from ._runs import (
    load_fresh,
    load_results,
    parse,
    run_missing,
    script_parser,
    spread,
    write_table,
)
from ._tasks import fit, tasks

KEY = ("task", "split", "head")
NETWORKS = {
    "dense": (LinearHeadRegressor, {}),
    "NONA": (NONARegressor, {"softstep": None}),
    "NONA + SoftStep": (NONARegressor, {"softstep": "s2"}),
}
GRID = {"n_neighbors": [3, 5, 7], "p": [1, 2], "weights": ["uniform", "distance"]}
HEADS = ["dense", "k-NN on dense", "NONA", "NONA + SoftStep", "k-NN on NONA"]


def run(task, split, quick=False):
    """Errors of all heads on one split of a task.

    Parameters
    ----------
    task : str
    split : int
        Seed of the split and of the networks.
    quick : bool, default=False

    Returns
    -------
    lines : list of dict
    """
    lines = []
    for head, network in NETWORKS.items():
        model, (X_train, X_test, y_train, y_test), figures = fit(*network, task, split, quick)
        lines.append({"head": head} | figures)
        if f"k-NN on {head}" in HEADS:
            knn = GridSearchCV(KNeighborsRegressor(), GRID, scoring="neg_mean_squared_error")
            embedded = model.transform(X_train), model.transform(X_test)
            found = score(knn, *embedded, y_train, y_test)
            found = {"rmse": found["rmse"], "s": found["fit_s"]}
            lines.append({"head": f"k-NN on {head}"} | found)
    return [{"task": task, "split": split} | line for line in lines]


def measure(names, n_splits, quick, path):
    """Run what is missing and append it to the results."""
    done = load_fresh(path, KEY)
    missing = [
        (task, split, quick)
        for task in names
        for split in range(n_splits)
        if any((task, split, head) not in done for head in HEADS)
    ]
    run_missing(run, missing, path)


def summarize(frame):
    """Mean and deviation of the RMSE, and what tests say of the heads, task by task.

    Friedman's p-value is of all heads; those of the two steps that the papers
    claim, dense to NONA and NONA to NONA + SoftStep, are Wilcoxon's, two-sided.
    """
    rows = {}
    for task, part in frame.groupby("task", sort=False):
        rmse = part.pivot_table(index="split", columns="head", values="rmse")[HEADS].dropna()
        row = {head: spread(rmse[head]) for head in HEADS}
        if len(rmse) > 2:
            row["Friedman p"] = f"{friedmanchisquare(*(rmse[h] for h in HEADS)).pvalue:.2g}"
            for head, other in (("NONA", "dense"), ("NONA + SoftStep", "NONA")):
                row[f"{head} or {other}, p"] = f"{wilcoxon(rmse[head], rmse[other]).pvalue:.2g}"
        rows[task] = row
    return pd.DataFrame(rows).T


def mean_ranks(frame):
    """Rank of every head, mean over tasks of the rank of its mean RMSE."""
    rmse = frame.pivot_table(index="task", columns="head", values="rmse")[HEADS]
    return rmse, rmse.rank(axis=1).mean().sort_values()


def write(frame, output):
    """Write the table and, from three tasks on, the picture."""
    n_splits = frame.groupby("task").split.nunique()
    title = f"Test RMSE, mean ± standard deviation over {n_splits.min()} random splits"
    rmse, average = mean_ranks(frame)
    ranks = ", ".join(f"{head} {rank:.2f}" for head, rank in average.items())
    path = output / "finetuning.inc"
    notes = [f"Mean ranks: {ranks}."]
    write_table(path, "finetuning.py", title, summarize(frame), *notes, runs=frame)
    if len(rmse) > 2:
        draw_ranks(rmse, average, output / "finetuning.svg")


def main():
    parser = script_parser(__doc__, splits=10, results="paper_finetuning.jsonl")
    parser.add_argument("--tasks", nargs="+", choices=tasks(), default=list(tasks()))
    args = parse(parser)
    measure(args.tasks, args.splits, args.quick, args.results)
    write(pd.DataFrame(load_results(args.results, KEY).values()), args.output)


if __name__ == "__main__":
    main()
