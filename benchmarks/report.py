"""Tables and pictures from the results of `tabular.py`.

Usage: python benchmarks/report.py [--results FILE.jsonl] [--times FILE.jsonl] [--output FOLDER]

Takes the results of `tables.py`, too.

`--times` names results of runs that had the machine to themselves, by default
`times.jsonl` beside the results. Writes `tabular.inc`, `ranks.png`,
`accuracy_time.png` and, if there are ablations, `ablations.inc` to the folder.
"""

import argparse
import json
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from _data import DATASETS
from _methods import ABLATIONS, METHODS, OURS, PEERS
from scipy.stats import friedmanchisquare
from tabular import KEY, RESULTS

HERE = Path(__file__).parent
# More sets than this are the rows of a table, not its columns.
MAX_COLUMNS = 15
# How methods end that are told of times and groups.
TOLD = ", told"


def load(path):
    """Results as a frame, one row a run; the runs that failed apart."""
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    frame = pd.DataFrame(lines)
    if "error" not in frame:
        frame["error"] = None
    done, failed = frame[frame.error.isna()], frame[frame.error.notna()]
    # A later run may have gone well.
    again = failed.merge(done[[*KEY]], on=[*KEY], how="left", indicator=True)._merge == "both"
    return done, failed[~again.to_numpy()]


def pivot(frame, value):
    """Arrange values, data set and split by method, in the order of METHODS."""
    table = frame.pivot_table(index=["dataset", "split"], columns="method", values=value)
    known = [name for name in DATASETS if name in table.index.levels[0]]
    table = table.reindex(list(dict.fromkeys([*known, *table.index.levels[0]])), level=0)
    return table[[method for method in METHODS if method in table]]


def geometric_mean(ratios):
    """Geometric mean of the ratios that are there."""
    return float(np.exp(np.log(ratios.dropna()).mean()))


def ratios(rmse, ours):
    """Ratio of our RMSE to each peer's and to the best peer's, data set by split."""
    peers = rmse[[peer for peer in PEERS if peer in rmse]]
    against = peers.assign(**{"best peer": peers.min(axis=1)})
    return against.rdiv(rmse[ours], axis=0)


def ratio_table(rmse):
    """Geometric-mean ratios of ours to each peer."""
    rows = {}
    for ours in OURS:
        if ours in rmse:
            table = ratios(rmse, ours)
            rows[ours] = {peer: geometric_mean(table[peer]) for peer in table}
            by_set = np.log(table["best peer"]).groupby("dataset").mean().pipe(np.exp)
            rows[ours] |= {"best peer, median set": by_set.median(), "worst set": by_set.max()}
    return pd.DataFrame(rows).T


def win_table(rmse):
    """Share of the runs in which ours has a lower error than each peer."""
    tables = {ours: ratios(rmse, ours) for ours in OURS if ours in rmse}
    rows = {ours: (table < 1).where(table.notna()).mean() for ours, table in tables.items()}
    return pd.DataFrame(rows).T


def told_table(frame):
    """RMSE of methods with and without being told of times and groups, by set."""
    told = [method for method in frame.method.unique() if method.endswith(TOLD)]
    sets = frame[frame.method.isin(told)].dataset.unique()
    methods = [name for method in told for name in (method.removesuffix(TOLD), method)]
    part = frame[frame.dataset.isin(sets) & frame.method.isin(methods)]
    return part.pivot_table(index="method", columns="dataset", values="rmse").reindex(methods)


def ablation_table(rmse, ours="NONA, no boosting"):
    """RMSE of each ablation relative to ours, by set and over the runs that both made."""
    rows = {}
    for method in ABLATIONS:
        if method in rmse:
            ratio = (rmse[method] / rmse[ours]).dropna()
            rows[method] = np.exp(np.log(ratio).groupby("dataset", sort=False).mean())
            rows[method]["all"] = geometric_mean(ratio)
    columns = [*rmse.index.unique("dataset"), "all"]
    table = pd.DataFrame(rows).T
    return table[[column for column in columns if column in table]]


def time_ratio(fit_s, ours, peer, n_rows=1000, rows=None):
    """Geometric-mean ratio of fit times over the sets of `n_rows` rows or more.

    `rows` are those trained on, of sets whose size is not known.
    """
    ratio = (fit_s[ours] / fit_s[peer]).reset_index()
    sizes = {**(rows or {}), **DATASETS}
    large = ratio.dataset.map(lambda name: sizes.get(name, 0) >= n_rows)
    return geometric_mean(ratio.loc[large, 0])


def time_parts(title, frame):
    """Table of fit times, and how ours compare with RealMLP-TD's, if that is known."""
    fit_s = pivot(frame, "fit_s")
    seconds = fit_s.groupby("dataset", sort=False).mean().T
    parts = [rst_table(title, upright(seconds), 3)]
    if "RealMLP-TD" in fit_s:
        rows = dict(frame.groupby("dataset").rows.max()) if "rows" in frame else None
        ours = [method for method in OURS if method in fit_s]
        ratio = {method: time_ratio(fit_s, method, "RealMLP-TD", rows=rows) for method in ours}
        told = [f"{ours} {value:.3g}" for ours, value in ratio.items() if pd.notna(value)]
        cores = "/".join(map(str, sorted(frame.threads.unique())))
        line = (
            f"Fit time relative to RealMLP-TD, cores of each run: {cores}, geometric mean over the "
            f"sets of at least 1,000 rows that both ran: {', '.join(told)}."
        )
        parts += [line, ""] if told else []
    return parts


def rank_test(rmse):
    """Average ranks of the methods that ran everywhere, and the Friedman test's p-value."""
    complete = rmse.dropna(axis=1).groupby("dataset").mean()
    complete = complete[[m for m in complete if m in PEERS or m in OURS]]
    ranks = complete.rank(axis=1)
    p_value = friedmanchisquare(*(complete[m] for m in complete)).pvalue
    return complete, ranks.mean().sort_values(), float(p_value)


def draw_ranks(complete, average, path):
    """Critical-distance diagram of Nemenyi's test."""
    import scikit_posthocs

    p_values = scikit_posthocs.posthoc_nemenyi_friedman(complete.reset_index(drop=True))
    figure, axes = plt.subplots(figsize=(9, 3))
    scikit_posthocs.critical_difference_diagram(average, p_values, ax=axes)
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    plt.close(figure)


def draw_time(rmse, fit_s, path):
    """RMSE relative to the best peer against fit time, geometric means."""
    best = rmse[[peer for peer in PEERS if peer in rmse]].min(axis=1)
    figure, axes = plt.subplots(figsize=(7, 4.5))
    for method in (m for m in rmse if m not in ABLATIONS):
        ran = rmse[method].notna()
        x = geometric_mean(fit_s[method][ran])
        y = geometric_mean((rmse[method] / best)[ran])
        marker = "o" if method in PEERS else "s"
        axes.plot(x, y, marker)
        axes.annotate(method, (x, y), xytext=(5, 3), textcoords="offset points", fontsize=8)
    axes.set(xscale="log", yscale="log", xlabel="fit time, s", ylabel="RMSE / best peer's RMSE")
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    plt.close(figure)


def upright(table):
    """Turn a table of methods by sets, if the sets are many."""
    return table if table.shape[1] <= MAX_COLUMNS else table.T


def rst_text_table(title, frame):
    """Write a frame of texts as a csv-table directive."""
    header = ", ".join(f'"{name}"' for name in ["", *map(str, frame.columns)])
    lines = [f".. csv-table:: {title}", f"   :header: {header}", ""]
    for name, row in frame.iterrows():
        lines.append(
            "   "
            + ", ".join([f'"{name}"', *(f'"{cell}"' if " " in cell else cell for cell in row)])
        )
    return "\n".join([*lines, ""])


def rst_table(title, frame, digits):
    """Write a frame of numbers as a csv-table directive."""
    return rst_text_table(
        title, frame.map(lambda cell: "" if pd.isna(cell) else f"{cell:.{digits}g}")
    )


def versions(frame):
    """One line on what the runs used."""
    known = {}
    for run in frame.versions:
        for name, number in run.items():
            known[name] = {*known.get(name, ()), number}
    threads = ", ".join(map(str, sorted(frame.threads.unique())))
    listed = ", ".join(f"{name} {'/'.join(sorted(numbers))}" for name, numbers in known.items())
    return f"Versions: {listed}. Cores of each run: {threads}."


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--times", type=Path)
    parser.add_argument("--output", type=Path, default=HERE.parent / "docs" / "benchmark")
    args = parser.parse_args()
    times = args.times or args.results.with_name("times.jsonl")
    args.output.mkdir(parents=True, exist_ok=True)
    frame, failed = load(args.results)
    rmse, fit_s = pivot(frame, "rmse"), pivot(frame, "fit_s")
    parts = [".. Written by benchmarks/report.py.", ""]
    for split in sorted(frame.split.unique()):
        part = rmse.xs(split, level="split").T
        parts.append(rst_table(f"Test RMSE, split {split}", upright(part), 4))
    parts.append(rst_table("RMSE relative to peers, geometric means", ratio_table(rmse), 3))
    parts.append(rst_table("Share of the runs with the lower error", win_table(rmse), 2))
    if frame.method.str.endswith(TOLD).any():
        parts.append(rst_table("Told of times and groups", told_table(frame), 4))
    for ours in OURS:
        if ours in rmse:
            table = np.exp(np.log(ratios(rmse, ours)).groupby("dataset", sort=False).mean())
            parts.append(rst_table(f"{ours}: RMSE relative to each peer", upright(table.T), 3))
    parts += time_parts("Fit time, seconds", frame)
    if times.exists():
        title = "Fit time of runs with the machine to themselves, seconds"
        parts += time_parts(title, load(times)[0])
    if any(method in rmse for method in ABLATIONS):
        title = "RMSE relative to that of NONA without boosting"
        table = rst_table(title, upright(ablation_table(rmse)), 3)
        (args.output / "ablations.inc").write_text(table + "\n", encoding="utf-8")
    complete, average, p_value = rank_test(rmse)
    parts.append(rst_table("Average rank", average.to_frame("rank"), 3))
    parts += [f"Friedman test over {len(complete)} sets: p = {p_value:.2g}.", "", versions(frame)]
    if len(failed):
        told = failed.groupby(["method", "error"]).dataset.unique()
        parts += ["", "Without a result:", ""]
        parts += [f"- {m} on {', '.join(sets)}: {error}" for (m, error), sets in told.items()]
    (args.output / "tabular.inc").write_text("\n".join(parts) + "\n", encoding="utf-8")
    draw_ranks(complete, average, args.output / "ranks.png")
    draw_time(rmse, fit_s, args.output / "accuracy_time.png")


if __name__ == "__main__":
    main()
