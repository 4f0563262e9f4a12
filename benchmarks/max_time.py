"""Error against the time that a fit may take.

Usage: python benchmarks/max_time.py [--only NAME ...] [--seeds S ...] [--more] [--large] [--report]

Fits a default NONARegressor to six sets of 500 to 10,000 rows, two of them made: without a limit,
then with `max_time` of .3 to 4.8 times the seconds that this took; and CatBoost, LightGBM and
RealMLP-TD at their defaults, where they are installed. `--more` fits with a `max_iter` of twice
the epochs that the default ran, a half and a quarter. `--large` has 60 seconds for 100,000 rows,
kin40k and noisy copies of it, and measures the boosted trees of that fit alone, too. Appends to
results/max_time.jsonl what is not there yet, so that it can be interrupted; writes
docs/benchmark/max_time.inc, max_time.svg and frontier.svg, and prints how well the limits were
kept. `--report` does the latter alone. Times are only worth something on an idle machine: `load`
in the results is that of all processes before a fit.
"""

import argparse
import json
import os
import platform
import time
import warnings
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from _data import enlarge, load_split
from _methods import PEERS
from _style import INK, NONA, PEER, label_points, picture, plain_log
from report import rst_text_table
from sklearn.datasets import make_friedman1
from sklearn.metrics import root_mean_squared_error

from skneighbors import NONARegressor

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "max_time.jsonl"
DOCS = HERE.parent / "docs" / "benchmark"
# Most rows to train on.
SETS = {
    "friedman": 500,
    "noisy": 1000,
    "concrete": 1000,
    "wine": 1500,
    "sml": 2000,
    "protein": 10_000,
}
LARGE, LARGE_ROWS, LARGE_LIMIT = "kin40k", 100_000, 60.0
RATIOS = [0.3, 0.6, 1.2, 2.4, 4.8]  # of the limit to the time without one
EPOCHS, FACTORS = "NONA, epochs", [0.25, 0.5, 2.0]  # of the epochs to those of the default
MODULES = {"CatBoost": "catboost", "LightGBM": "lightgbm", "RealMLP-TD": "pytabkit"}
KEY = ["dataset", "seed", "method", "ratio"]
N_TEST = 2000


def load(dataset, seed):
    """Rows to train on and to test on."""
    if dataset == LARGE:
        X, X_test, y, y_test = load_split(dataset, seed, LARGE_ROWS)
        X_more, y_more = enlarge(X, y, LARGE_ROWS)
        return np.concatenate([X, X_more]), X_test, np.concatenate([y, y_more]), y_test
    n_rows, rng = SETS[dataset], np.random.RandomState(seed)
    if dataset == "friedman":
        X, y = make_friedman1(n_rows + N_TEST, noise=1.0, random_state=seed)
    elif dataset == "noisy":
        X = rng.rand(n_rows + N_TEST, 6)
        y = X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * rng.randn(len(X))
    else:
        return load_split(dataset, seed, n_rows)
    return X[:n_rows], X[n_rows:], y[:n_rows], y[n_rows:]


def measure(model, X, X_test, y, y_test):
    """Seconds and error of a fit."""
    load, cpu, start = os.getloadavg()[0], time.process_time(), time.perf_counter()
    model.fit(X, y)
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    rmse = float(root_mean_squared_error(y_test, model.predict(X_test)))
    return {"s": seconds, "cpu_s": cpu, "load": load, "rmse": rmse}


def measure_ours(limit, seed, data):
    """Measure a fit of NONARegressor, and what it had time for; the fitted model, too."""
    model = NONARegressor(max_time=limit, random_state=seed)
    figures = measure(model, *data)
    planned = {"epochs": model.n_iter_, "trees": model.plan_.recipe.boosting_iter}
    return figures | {"limit": limit} | planned, model


def measure_set(dataset, seed, known):
    """Yield all figures of a set that are not known."""
    data = load(dataset, seed)
    free = known.get((dataset, seed, "NONA", 0.0))
    for ratio in (0.0, *RATIOS):
        if (dataset, seed, "NONA", ratio) not in known:
            limit = ratio * free["s"] if ratio else None
            figures, _ = measure_ours(limit, seed, data)
            free = free or figures
            yield "NONA", ratio, figures
    for name, module in MODULES.items():
        if (dataset, seed, name, 0.0) not in known and find_spec(module):
            yield name, 0.0, measure(PEERS[name](seed), *data)


def measure_more(dataset, seed, known):
    """Yield figures of fits with another number of epochs."""
    data, epochs = load(dataset, seed), known[dataset, seed, "NONA", 0.0]["epochs"]
    for factor in FACTORS:
        if (dataset, seed, EPOCHS, factor) not in known:
            model = NONARegressor(max_iter=max(1, round(factor * epochs)), random_state=seed)
            figures = measure(model, *data)
            yield EPOCHS, factor, figures | {"epochs": model.n_iter_}


def measure_large(seed, known):
    """Yield figures of many rows."""
    if (LARGE, seed, "NONA", 0.0) not in known:
        data = load(LARGE, seed)
        figures, model = measure_ours(LARGE_LIMIT, seed, data)
        _, X_test, y, y_test = data
        trees = y.mean() + y.std() * model.blend_.predict(X_test)[:, 0]
        trees = float(root_mean_squared_error(y_test, trees))
        yield "NONA", 0.0, figures | {"rmse_of_trees": trees}


def describe_machine():
    """Describe cores and libraries."""
    cores = f"{os.cpu_count()} {platform.machine()} cores, torch {torch.__version__}"
    return f"{torch.cuda.get_device_name()}, {cores}" if torch.cuda.is_available() else cores


def summarize(runs):
    """Geometric means of errors over seeds, mean seconds and limits; by set, method and ratio."""
    groups = runs.groupby(["dataset", "method", "ratio"], sort=False)
    means = groups[["s", "cpu_s", "limit"]].mean()
    means["rmse"] = np.exp(groups["rmse"].agg(lambda rmse: np.log(rmse).mean()))
    return means


def say_whether_kept(runs):
    """Print how far times exceed the limits and the time without one, and errors those of half."""
    ours = runs[runs["method"] == "NONA"]
    free = ours[ours["ratio"] == 0].set_index(["dataset", "seed"])["s"]
    limited = ours[ours["ratio"] > 0].copy()
    index = pd.MultiIndex.from_frame(limited[["dataset", "seed"]])
    limited["free"] = free.loc[index].to_numpy()
    for name, bound in [("free", 0.5), ("limit", 1.0)]:
        over = limited["s"] - 1.1 * limited[name] - bound
        worst = limited.loc[over.idxmax()]
        print(
            f"over {name} + 10 % + {bound} s: {(over > 0).sum()} of {len(over)}; worst "
            f"{worst['s']:.2f} s of {worst[name]:.2f} ({worst['dataset']}, {worst['ratio']})"
        )
    errors = summarize(limited)["rmse"].unstack("ratio").loc[:, "NONA", :]
    growth = errors.iloc[:, 1:].to_numpy() / errors.iloc[:, :-1].to_numpy()
    growth = pd.DataFrame(growth, errors.index, errors.columns[1:])
    print("error to that of half of the limit:", growth.round(3), sep="\n")


def write_table(means):
    """Write errors and times, relative to those without a limit."""
    rows = {}
    for dataset, n_rows in SETS.items():
        of_set = means.loc[dataset]
        free = of_set.loc[("NONA", 0.0)]
        rows[f"{dataset}, {n_rows:,} rows"] = {
            f"limit of {ratio:g}" if ratio else ("no limit" if name == "NONA" else name): (
                f"{run['rmse']:.3g} in {run['s']:.2g} s"
                if name == "NONA" and not ratio
                else f"{run['rmse'] / free['rmse']:.2f} in {run['s'] / free['s']:.2f}"
            )
            for (name, ratio), run in of_set.iterrows()
        }
    title = "Error and seconds without a limit; both relative to these with one, and of others"
    table = rst_text_table(title, pd.DataFrame(rows).T.fillna(""))
    text = f".. Written by benchmarks/max_time.py.\n\n{table}"
    (DOCS / "max_time.inc").write_text(text, encoding="utf-8")


def draw(means):
    """Draw errors against limits."""
    with picture(DOCS / "max_time.svg", 2, 3, figsize=(7.2, 4.6)) as (figure, axes):
        for ax, (dataset, n_rows) in zip(axes.flat, SETS.items(), strict=True):
            of_set = means.loc[dataset]
            ours = of_set.loc["NONA"]
            limited = ours[ours.index > 0].sort_index()
            ax.plot(limited["limit"], limited["rmse"], "o-", color=NONA, ms=4)
            ax.plot(*ours.loc[0.0, ["s", "rmse"]], "o", color=NONA, mfc="none", ms=8)
            for name, marker in zip(MODULES, "sD^", strict=True):
                if name in of_set.index:
                    ax.plot(*of_set.loc[(name, 0.0), ["s", "rmse"]], marker, color=PEER, ms=5)
            ax.set(xscale="log", title=f"{dataset}, {n_rows:,} rows")
            ax.margins(0.12)
            plain_log(ax.xaxis)
        figure.supxlabel("seconds (NONA: max_time)", color=INK)
        figure.supylabel("RMSE", color=INK)
        handles = [
            plt_line(marker, color, face, label)
            for marker, color, face, label in [
                ("o", NONA, NONA, "NONA, by limit"),
                ("o", NONA, "none", "NONA, no limit"),
                *((m, PEER, PEER, n) for n, m in zip(MODULES, "sD^", strict=True)),
            ]
        ]
        figure.legend(handles=handles, ncols=5, loc="outside upper center", fontsize=8)


def draw_frontier(means):
    """Draw mean errors against mean times, relative to the default's, by the work of a fit."""
    free = means.xs(("NONA", 0.0), level=("method", "ratio"))
    relative = means[["cpu_s", "rmse"]].div(free[["cpu_s", "rmse"]], level="dataset")
    relative = np.exp(np.log(relative).groupby(["method", "ratio"]).mean())
    print("error and time to the default's:", relative.round(3), sep="\n")
    work = pd.concat([relative.loc[EPOCHS], relative.loc["NONA"].loc[[0.0]]]).sort_values("cpu_s")
    with picture(DOCS / "frontier.svg", figsize=(5.6, 3.6)) as (_, axes):
        axes.plot(work["cpu_s"], work["rmse"], "o-", color=NONA, ms=5)
        axes.plot(1.0, 1.0, "o", color=NONA, mfc="none", ms=11)
        points = {name: relative.loc[(name, 0.0)] for name in MODULES}
        for point in points.values():
            axes.plot(*point, "D", color=PEER, ms=6)
        axes.set(
            xscale="log", xlabel="CPU seconds to the default's", ylabel="RMSE to the default's"
        )
        axes.margins(0.2)
        label_points(axes, {name: tuple(point) for name, point in points.items()})
        plain_log(axes.xaxis)


def plt_line(marker, color, face, label):
    """Make an entry of the legend."""
    from matplotlib.lines import Line2D

    return Line2D([], [], ls="", marker=marker, color=color, mfc=face, label=label)


def report():
    """Write table and picture, and print whether limits were kept."""
    lines = RESULTS.read_text(encoding="utf-8").splitlines()
    runs = pd.DataFrame(map(json.loads, lines))
    large = runs["dataset"] == LARGE
    for _, run in runs[large].iterrows():
        print(
            f"{LARGE_ROWS:,} rows of {LARGE}, {run['limit']:g} s: {run['s']:.1f} s, {run['epochs']}"
            f" epochs, RMSE {run['rmse']:.4g}, of the trees alone {run['rmse_of_trees']:.4g}"
        )
    runs = runs[~large]
    means = summarize(runs)
    say_whether_kept(runs)
    if set(SETS) <= set(runs["dataset"]):
        of_limits = means.drop(index=EPOCHS, level="method", errors="ignore")
        write_table(of_limits)
        draw(of_limits)
    if set(SETS) <= set(runs.loc[runs["method"] == EPOCHS, "dataset"]):
        draw_frontier(means)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", default=list(SETS), choices=SETS)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--more", action="store_true")
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--report", action="store_true")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    known = {}
    if RESULTS.exists():
        lines = map(json.loads, RESULTS.read_text(encoding="utf-8").splitlines())
        known = {tuple(line[name] for name in KEY): line for line in lines}
    if not args.report:
        NONARegressor(max_iter=2).fit(*make_friedman1(300, random_state=0))  # loads what is needed
    jobs = [(dataset, seed) for seed in args.seeds for dataset in args.only]
    jobs = [] if args.report else [(LARGE, 0)] if args.large else jobs
    for dataset, seed in jobs:
        how = measure_more if args.more else measure_set
        found = measure_large(seed, known) if args.large else how(dataset, seed, known)
        for method, ratio, figures in found:
            line = dict(zip(KEY, (dataset, seed, method, ratio), strict=True)) | figures
            with RESULTS.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line | {"machine": describe_machine()}) + "\n")
            print(json.dumps(line), flush=True)
    report()


if __name__ == "__main__":
    main()
