"""Seconds and error of a fit by rows and columns, with and without a limit of time.

Usage: python benchmarks/times.py [--rows N ...] [--limits S ...] [--seeds S ...] [--only NAME ...]
    [--full-rows N] [--report]

Default estimators on growing parts of the training rows of two sets, and beyond these on noisy
copies of them: kin40k of 8 columns, which pays for long trainings, and pol of 26. Fits have as
many seconds as the limits say, and without one up to `--full-rows` rows. Histogram boosting and
CatBoost at their defaults stand beside them, fitted in the same process. Every fit has all
cores. Appends to results/fit_times.jsonl what is not there yet and writes
docs/benchmark/fit_times.inc; `--report` the latter alone.
"""

import argparse
import json
import os
import platform
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from _data import enlarge, load_split
from _methods import FAST_PEERS
from report import rst_text_table
from sklearn.metrics import root_mean_squared_error

from skneighbors import NONARegressor, SoftStepKNNRegressor

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "fit_times.jsonl"
TABLE = HERE.parent / "docs" / "benchmark" / "fit_times.inc"
DATASETS = ["kin40k", "pol"]
OURS = {"NONA": NONARegressor, "SoftStep k-NN": SoftStepKNNRegressor}
PEERS = ["hist. boosting", "CatBoost"]
KEY = ["dataset", "rows", "seed", "method", "limit"]


def load(dataset, n_rows, seed):
    """So many rows to train on, copies among them, and those to test on."""
    X, X_test, y, y_test = load_split(dataset, seed, n_rows)
    X_more, y_more = enlarge(X, y, n_rows)
    return np.concatenate([X, X_more]), X_test, np.concatenate([y, y_more]), y_test


def fits(args):
    """Methods and limits, by rows."""
    for n_rows in args.rows:
        for name in PEERS:
            yield n_rows, name, None
        for name in OURS:
            for limit in args.limits:
                yield n_rows, name, limit
            if n_rows <= args.full_rows:
                yield n_rows, name, None


def measure(method, limit, seed, X, X_test, y, y_test):
    """Seconds and error of a fit, and epochs and iterations of trees of ours."""
    if method in OURS:
        model = OURS[method](max_time=limit, random_state=seed)
    else:
        model = FAST_PEERS[method](seed)
    start = time.perf_counter()
    model.fit(X, y)
    figures = {"s": time.perf_counter() - start}
    figures["rmse"] = float(root_mean_squared_error(y_test, model.predict(X_test)))
    if method in OURS:
        plan = model.plan_
        figures |= {"epochs": plan.max_iter, "trees": plan.recipe.boosting_iter}
    return figures


def describe_machine():
    """Cores and libraries."""
    cores = f"{os.cpu_count()} {platform.machine()} cores, torch {torch.__version__}"
    return f"{torch.cuda.get_device_name()}, {cores}" if torch.cuda.is_available() else cores


def report():
    """Write the table: seconds, and error to CatBoost's, means of the seeds."""
    runs = pd.DataFrame(json.loads(line) for line in RESULTS.read_text().splitlines())
    by = ["dataset", "rows", "method", "limit"]
    runs["limit"] = runs["limit"].fillna(0)
    means = runs.groupby(by)[["s", "rmse"]].mean().reset_index()
    catboost = means[means["method"] == "CatBoost"].set_index(["dataset", "rows"])["rmse"]
    index = pd.MultiIndex.from_frame(means[["dataset", "rows"]])
    means["error"] = means["rmse"].to_numpy() / catboost.loc[index].to_numpy()
    cells = means.apply(lambda run: f"{run['s']:.3g} s, {run['error']:.2f}", axis=1)
    given = means["limit"].map(lambda s: f", {s:g} s" if s else "")
    shown = pd.DataFrame({"fit": means["method"] + given, "cell": cells})
    shown["data"] = [f"{n:,} rows of {name}" for name, n in index]
    order = [*PEERS, *(own for own in dict.fromkeys(shown["fit"]) if own not in PEERS)]
    table = shown.pivot(index="data", columns="fit", values="cell")
    table = table.loc[shown["data"].unique(), order].T.fillna("")
    table.index.name = "fit"
    machine = runs["machine"].iloc[-1]
    seeds = ", ".join(map(str, runs["seed"].unique()))
    title = f"Seconds of a fit, and its error to CatBoost's, seeds {seeds}, {machine}"
    TABLE.write_text(rst_text_table(title, table) + "\n", encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[1000, 10_000, 100_000])
    parser.add_argument("--limits", type=float, nargs="+", default=[5.0, 20.0, 60.0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1])
    parser.add_argument("--full-rows", type=int, default=10_000)
    parser.add_argument("--only", nargs="+", default=DATASETS, choices=DATASETS)
    parser.add_argument("--report", action="store_true")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    known = set()
    if RESULTS.exists():
        lines = map(json.loads, RESULTS.read_text().splitlines())
        known = {tuple(line[name] for name in KEY) for line in lines}
    NONARegressor(max_iter=2).fit(*make_warm())
    for dataset in [] if args.report else args.only:
        for seed in args.seeds:
            for n_rows, method, limit in fits(args):
                key = dataset, n_rows, seed, method, limit
                if key in known:
                    continue
                figures = measure(method, limit, seed, *load(dataset, n_rows, seed))
                line = dict(zip(KEY, key, strict=True)) | figures | {"machine": describe_machine()}
                with RESULTS.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(line) + "\n")
                print(json.dumps(line), flush=True)
    report()


def make_warm():
    """Few rows, to load what a first fit loads."""
    rng = np.random.RandomState(0)
    return rng.normal(size=(300, 3)), rng.normal(size=300)


if __name__ == "__main__":
    main()
