"""Errors relative to peers', group of sets by group: docs/benchmark/summary.inc and README's table.

Usage: python benchmarks/summary.py

Reads the recorded results of benchmarks/tabular.py and, for README, of benchmarks/classes.py.
"""

import _version
import numpy as np
import pandas as pd
from _benchmark import DOCS, HERE, RESULTS, load
from _rst import rst_text_table, write
from classes import DEVELOPMENT
from report import critical_difference, pivot, rank_test, ratios
from scipy.stats import binomtest

README = HERE.parent / "README.md"
OUTPUT = DOCS / "summary.inc"
# What stands before and after the table in README.
START, STOP = "<!-- benchmarks/summary.py -->\n", "<!-- end -->\n"
OURS, LEVEL = "NONA", 0.05
GROUPS = {
    "unseen": RESULTS / "unseen.jsonl",
    "unseen, narrow": RESULTS / "narrow.jsonl",
    "UCI": RESULTS / "uci.jsonl",
    "R packages": RESULTS / "further.jsonl",
    "real tables": RESULTS / "tables.jsonl",
}
PEERS = ["ridge", "tuned k-NN", "random forest", "hist. boosting", "LightGBM", "XGBoost"]
PEERS += ["CatBoost", "RealMLP-TD", "best peer"]
# Peers in README, and its words for them; logistic regression is the ridge regression of classes.
IN_README = {"ridge": "ridge, logistic regression", "random forest": "random forest"}
IN_README |= {"CatBoost": "CatBoost", "RealMLP-TD": "RealMLP-TD", "best peer": "the best of each"}


def compare(rmse):
    """Compare our error with each peer's, by set.

    Parameters
    ----------
    rmse : DataFrame
        Of :func:`report.pivot`.

    Returns
    -------
    table : DataFrame
        For each peer the geometric mean of the ratios of errors, their median, the mean without
        the set that lowers it most, on how many sets ours is lower, of how many, and the p-value
        of the sign test.
    """
    by_set = np.log(ratios(rmse, OURS)).groupby("dataset").mean()
    rows = {}
    for peer in (peer for peer in PEERS if peer in by_set):
        logs = by_set[peer].dropna()
        won = int((logs < 0).sum())
        rows[peer] = {
            "mean": np.exp(logs.mean()),
            "median": np.exp(logs.median()),
            "without one": np.exp(logs.drop(logs.idxmin()).mean()),
            "won": won,
            "sets": len(logs),
            "p": binomtest(won, len(logs)).pvalue,
        }
    return pd.DataFrame(rows).T


def in_words(rmse, table):
    """Which peers ours differ from significantly, by the sign test and by Nemenyi's."""
    named = table.drop("best peer")
    verdict = np.where(named.won > named.sets / 2, "lower errors than", "higher errors than")
    verdict = np.where(named.p < LEVEL, verdict, "not separable from")
    signs = [f"{said} {', '.join(peers)}" for said, peers in named.groupby(verdict).groups.items()]
    complete, average, _ = rank_test(rmse)
    gap = critical_difference(len(average), len(complete))
    near = [peer for peer in named.index if abs(average.get(peer, np.inf) - average[OURS]) < gap]
    ranks = f"not separable from {', '.join(near)}" if near else "separable from all"
    return (
        f"By a sign test at 5 %: {'; '.join(signs)}. By Nemenyi's test, which compares the average "
        f"ranks of all methods at once: {ranks}."
    )


def cells(table):
    """Write the figures as texts."""
    ratio = table[["mean", "median", "without one"]].map("{:.2f}".format)
    won = [f"{row.won:.0f} of {row.sets:.0f}" for row in table.itertuples()]
    p = ["" if name == "best peer" else f"{value:.2g}" for name, value in table.p.items()]
    return ratio.assign(**{"sets won": won, "sign test, p": p})


def markdown(tables):
    """Write what README shows as a Markdown table."""
    columns = ["", *IN_README.values()]
    lines = [columns, ["---"] * len(columns)]
    for group, table in tables.items():
        line = [f"{table.sets.max():.0f} {group}"]
        for peer in IN_README:
            row = table.loc[peer]
            line.append(f"{row['mean']:.2f} ({row['without one']:.2f}), {row.won:.0f}")
        lines.append(line)
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def with_table(text, tables):
    """README with its table replaced."""
    before, rest = text.split(START)
    after = rest.split(STOP)[1]
    return before + START + markdown(tables) + STOP + after


def read_classes():
    """Compare log losses of the sets of classes that all methods have run, by group."""
    frame = load(RESULTS / "classes.jsonl")[0]
    losses = frame.pivot_table(index=["dataset", "split"], columns="method", values="log_loss")
    losses = losses.rename(columns={"logistic regression": "ridge"}).dropna()
    is_development = losses.index.get_level_values("dataset").isin(DEVELOPMENT)
    groups = {"of classes": losses[is_development], "unseen, of classes": losses[~is_development]}
    return {group: compare(part) for group, part in groups.items()}


def read():
    """Errors of every group and the comparisons, group by group, and the runs of all."""
    runs = {group: load(path)[0] for group, path in GROUPS.items()}
    errors = {group: pivot(frame, "rmse") for group, frame in runs.items()}
    tables = {group: compare(rmse) for group, rmse in errors.items()}
    return errors, tables, pd.concat(runs.values())


def page(errors, tables, runs):
    """Write what the page on the benchmark shows."""
    used = _version.count(runs[runs.method == OURS])
    parts = [".. Written by benchmarks/summary.py.", "", _version.comment(used)]
    for group, table in tables.items():
        title = f"{group}: error (RMSE) of NONARegressor relative to each peer's"
        parts += [rst_text_table(title, cells(table)), in_words(errors[group], table), ""]
    return "\n".join(parts)


def main():
    errors, tables, runs = read()
    write(OUTPUT, page(errors, tables, runs))
    text = README.read_text(encoding="utf-8")
    README.write_text(with_table(text, tables | read_classes()), encoding="utf-8")


if __name__ == "__main__":
    main()
