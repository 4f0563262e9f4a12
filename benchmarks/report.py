"""Tables and pictures from the results of `tabular.py`.

Usage: python benchmarks/report.py

Writes to docs/benchmark, for each group of sets: `highlights.inc`, what the results come to;
`tabular.inc`, the folded tables; `runs.csv`, every run; `errors.svg`, `ranks.svg` and, where our
times were measured, `accuracy_time.svg`; and, of UCI sets, `ablations.inc`. Of the narrow tables
`tabular.inc` alone.
"""

import numpy as np
import pandas as pd
from _benchmark import DOCS, geometric_mean, load
from _data import DATASETS
from _methods import ABLATIONS, METHODS, OURS, PEERS
from _rst import list_versions_and_cores, rst_table, upright, write
from _style import INK, WIDTH, color, label_points, marker, picture, plain_log, plt, word
from matplotlib.colors import LogNorm
from matplotlib.patches import Rectangle
from scipy.stats import friedmanchisquare, studentized_range
from tabular import GROUPS

# Errors of so many times the best share the heatmap's last color.
WORST_COLOR = 2


def among(names, table):
    """Names that a table has."""
    return [name for name in names if name in table]


def pivot(frame, value):
    """Arrange values, data set and split by method, in the order of METHODS."""
    table = frame.pivot_table(index=["dataset", "split"], columns="method", values=value)
    known = among(DATASETS, table.index.levels[0])
    table = table.reindex(list(dict.fromkeys([*known, *table.index.levels[0]])), level=0)
    return table[among(METHODS, table)]


def ratios(rmse, ours):
    """Ratio of our RMSE to each peer's and to the best peer's, data set by split."""
    peers = rmse[among(PEERS, rmse)]
    against = peers.assign(**{"best peer": peers.min(axis=1)})
    return against.rdiv(rmse[ours], axis=0)


def ratio_table(rmse):
    """Geometric-mean ratios of ours to each peer."""
    rows = {}
    for ours in among(OURS, rmse):
        table = ratios(rmse, ours)
        rows[ours] = {peer: geometric_mean(table[peer]) for peer in table}
        by_set = np.exp(np.log(table["best peer"]).groupby("dataset").mean())
        rows[ours] |= {"best peer, median set": by_set.median(), "worst set": by_set.max()}
    return pd.DataFrame(rows).T


def without_best_set(rmse):
    """Geometric-mean ratios of ours to each peer, each without the set that lowers it most."""
    rows = {}
    for ours in among(OURS, rmse):
        logs = np.log(ratios(rmse, ours))
        best = logs.groupby("dataset").sum(min_count=1).idxmin()
        rows[ours] = {p: np.exp(logs[p].drop(best[p], level="dataset").mean()) for p in logs}
    return pd.DataFrame(rows).T


def relative_errors(rmse):
    """Error of each method over the least of the set, method by set; 1 is the best.

    Geometric means of the splits that NONA ran on. A method that lacks one has none there.
    """
    compared = rmse[among(PEERS | OURS, rmse)].dropna(subset=among(["NONA"], rmse))
    error = np.exp(np.log(compared).groupby("dataset", sort=False).mean())
    error = error.where(compared.notna().groupby("dataset", sort=False).all())
    return error.div(error.min(axis=1), axis=0).T.dropna(how="all")


def time_table(fit_s):
    """Geometric-mean ratios of our fit times to each peer's, over the runs that both made."""
    peers = fit_s[among(PEERS, fit_s)]
    rows = {ours: peers.rdiv(fit_s[ours], axis=0) for ours in among(OURS, fit_s)}
    return pd.DataFrame({ours: ratio.apply(geometric_mean) for ours, ratio in rows.items()}).T


def win_table(rmse):
    """Share of the runs in which ours has a lower error than each peer."""
    tables = {ours: ratios(rmse, ours) for ours in among(OURS, rmse)}
    rows = {ours: (table < 1).where(table.notna()).mean() for ours, table in tables.items()}
    return pd.DataFrame(rows).T


def ablation_table(rmse, ours="NONA, no boosting"):
    """RMSE of each ablation relative to ours, by set and over the runs that both made."""
    rows = {}
    for method in among(ABLATIONS, rmse):
        ratio = (rmse[method] / rmse[ours]).dropna()
        rows[method] = np.exp(np.log(ratio).groupby("dataset", sort=False).mean())
        rows[method]["all"] = geometric_mean(ratio)
    table = pd.DataFrame(rows).T
    return table[among([*rmse.index.unique("dataset"), "all"], table)]


def time_parts(fit_s):
    """Tables of fit times; none where ours were not measured."""
    relative = time_table(fit_s)
    if not relative.size:
        return []
    seconds = fit_s.groupby("dataset", sort=False).mean().T
    parts = {"Fit time, seconds": upright(seconds)}
    parts["Fit time relative to peers, geometric means"] = relative
    return [rst_table(title, table, 3) for title, table in parts.items()]


def rank_test(rmse):
    """Average ranks of the methods that ran on all sets, and the Friedman test's p-value."""
    complete = rmse.groupby("dataset").mean().dropna(axis=1)
    complete = complete[among(PEERS | OURS, complete)]
    ranks = complete.rank(axis=1)
    p_value = friedmanchisquare(*(complete[m] for m in complete)).pvalue
    return complete, ranks.mean().sort_values(), float(p_value)


def critical_difference(n_methods, n_sets, level=0.05):
    """Least difference of average ranks that Nemenyi's test finds significant."""
    quantile = studentized_range.ppf(1 - level, n_methods, np.inf) / np.sqrt(2)
    return quantile * np.sqrt(n_methods * (n_methods + 1) / (6 * n_sets))


def draw_ranks(complete, average, path):
    """Average ranks, each amid a bar of Nemenyi's critical difference.

    Methods differ where their bars don't overlap.
    """
    half = critical_difference(len(average), len(complete)) / 2
    heights = dict(zip(average.index, reversed(range(len(average))), strict=True))
    with picture(path, figsize=(WIDTH, 0.9 + 0.26 * len(average))) as (_, axes):
        for method, rank in average.items():
            y = heights[method]
            bar = {"color": color(method), "lw": 5, "alpha": 0.35, "solid_capstyle": "butt"}
            axes.plot([rank - half, rank + half], [y, y], **bar)
            axes.plot(rank, y, **marker(method))
        labels = [f"{method}  {rank:.1f}" for method, rank in average.items()]
        axes.set_yticks(list(heights.values()), labels)
        for label, method in zip(axes.get_yticklabels(), average.index, strict=True):
            label.set(**word(method))
        axes.tick_params(left=False)
        axes.spines["left"].set_visible(False)
        axes.set_xlabel("average rank (lower is better)")


def draw_time(rmse, fit_s, path):
    """RMSE relative to the best peer against fit time, geometric means."""
    best = rmse[among(PEERS, rmse)].min(axis=1)
    points = {}
    for method in among(among(PEERS | OURS, rmse), fit_s):
        ran = rmse[method].notna() & fit_s[method].notna()
        error = geometric_mean((rmse[method] / best)[ran])
        points[method] = geometric_mean(fit_s[method][ran]), error
    with picture(path, figsize=(WIDTH, 4)) as (_, axes):
        axes.set(xscale="log", yscale="log")
        axes.margins(0.15, 0.1)
        axes.axhline(1, color=INK, lw=0.8, ls=":")
        for method, point in points.items():
            axes.plot(*point, **marker(method))
        axes.set_xlabel("seconds to fit (lower is better)")
        axes.set_ylabel("RMSE / best peer's RMSE (lower is better)")
        plain_log(axes.xaxis)
        plain_log(axes.yaxis)
        label_points(axes, points)


def draw_errors(table, path):
    """Heatmap of :func:`relative_errors`, the least error of every set in bold."""
    table = table.T[among(OURS | PEERS, table.T)]
    norm = LogNorm(1, WORST_COLOR, clip=True)
    rows, columns = table.shape
    with picture(path, figsize=(WIDTH + 0.4, 1.5 + 0.24 * rows)) as (_, axes):
        for row, column in np.ndindex(rows, columns):
            value = table.iloc[row, column]
            if pd.isna(value):
                continue
            fill = plt.cm.cividis(norm(value))
            axes.add_patch(Rectangle((column + 0.03, row + 0.03), 0.94, 0.94, color=fill, lw=0))
            axes.text(
                column + 0.5,
                row + 0.53,
                f"{value:.2f}" if value < 9.995 else f"{value:.0f}",
                color="white" if norm(value) < 0.47 else "black",
                weight="bold" if value == 1 else "normal",
                size=8,
                ha="center",
                va="center",
            )
        axes.set(xlim=(0, columns), ylim=(rows, 0))
        axes.set_xticks(np.arange(columns) + 0.5, table.columns, rotation=40, ha="left")
        axes.set_yticks(np.arange(rows) + 0.5, table.index)
        axes.tick_params(length=0, top=True, labeltop=True, bottom=False, labelbottom=False)
        for label, method in zip(axes.get_xticklabels(), table.columns, strict=True):
            label.set(rotation_mode="anchor", **word(method))
        axes.spines[:].set_visible(False)
        axes.set_xlabel("RMSE / the least of the row (lower is better; bold: the best)")


def fold(title, parts):
    """Put parts of a page under a title that unfolds them."""
    body = "\n".join(parts).rstrip().splitlines()
    return "\n".join([f".. dropdown:: {title}", "", *(f"   {x}".rstrip() for x in body), "", ""])


def tables(frame, failed):
    """All tables of what :func:`load` returns as one text, folded."""
    rmse = pivot(frame, "rmse")
    errors = []
    for split in sorted(frame.split.unique()):
        part = rmse.xs(split, level="split").dropna(axis=1, how="all").T
        errors.append(rst_table(f"Test RMSE, split {split}", upright(part), 4))
    if len(failed):
        by_error = failed.groupby(["method", "error"]).dataset.unique()
        errors += ["Without a result:", ""]
        errors += [f"- {m} on {', '.join(sets)}: {error}" for (m, error), sets in by_error.items()]
    title = "RMSE relative to peers, geometric means"
    relative = [rst_table(title, ratio_table(rmse), 3)]
    title = "The same, each without the set that lowers it most"
    relative.append(rst_table(title, without_best_set(rmse), 3))
    relative.append(rst_table("Share of the runs with the lower error", win_table(rmse), 2))
    for ours in among(OURS, rmse):
        table = np.exp(np.log(ratios(rmse, ours)).groupby("dataset", sort=False).mean())
        relative.append(rst_table(f"{ours}: RMSE relative to each peer", upright(table.T), 3))
    complete, average, p_value = rank_test(rmse)
    ranks = [rst_table("Average rank", average.to_frame("rank"), 3)]
    difference = critical_difference(len(average), len(complete))
    ranks += [f"Friedman test over {len(complete)} sets: p = {p_value:.2g}.", ""]
    ranks += [f"Critical difference of Nemenyi's test at 5 %: {difference:.2f}.", ""]
    folded = {
        "Errors of every set": errors,
        "Errors relative to each peer": relative,
        "Fit times": time_parts(pivot(frame, "fit_s")),
        "Ranks and versions": [*ranks, list_versions_and_cores(frame)],
    }
    return "\n".join(fold(title, parts) for title, parts in folded.items() if parts)


def highlights(frame):
    """Write what the results come to as a list: where ours leads, where peers win, and time."""
    rmse = pivot(frame, "rmse")
    lines = []
    for ours in among(("NONA", "SoftStep k-NN"), rmse):
        logs = np.log(ratios(rmse, ours)).groupby("dataset").mean()
        against, best = np.exp(logs.mean()), np.exp(logs["best peer"].dropna())
        peers = among(("tuned k-NN", "CatBoost", "RealMLP-TD"), against)
        known = ", ".join(f"{against[p]:.2f} of {p}'s" for p in peers)
        helped = best.idxmin()
        rest = geometric_mean(best.drop(helped))
        lines.append(
            f"- {ours} has a lower error than the best peer *of the set* on {(best < 1).sum()} of "
            f"{len(best)} sets: {geometric_mean(best):.2f} of its error in the geometric mean, "
            f"{rest:.2f} without {helped}. It makes {known}."
        )
        lost = best[best > 1].sort_values()[::-1][:3]
        if len(lost):
            named = ", ".join(f"{name} ({ratio:.2f})" for name, ratio in lost.items())
            lines.append(f"- The best peer's lead over {ours} is greatest on {named}.")
    _, average, _ = rank_test(rmse)
    ranks = ", ".join(f"{method} {rank:.1f}" for method, rank in average[:4].items())
    lines.append(f"- Lowest average ranks, of {len(average)} methods: {ranks}.")
    times = time_table(pivot(frame, "fit_s")).dropna(axis=1)
    known = among(("CatBoost", "RealMLP-TD"), times)
    if "NONA" in times.index and known:
        listed = " and ".join(f"{times.loc['NONA', p]:.2g} times as long as {p}'s" for p in known)
        lines.append(f"- NONA's fits take {listed}.")
    return "\n".join(lines)


def report(results, output):
    """Write tables and pictures of a group; of times where ours were measured."""
    output.mkdir(parents=True, exist_ok=True)
    frame, failed = load(results)
    write(output / "tabular.inc", tables(frame, failed), script="report.py", runs=frame)
    if output.name == "narrow":
        return
    write(output / "highlights.inc", highlights(frame), "", script="report.py")
    columns = ["dataset", "split", "method", "rmse", "r2", "fit_s", "predict_s", "threads"]
    frame.reindex(columns=columns).to_csv(
        output / "runs.csv", index=False, float_format="%.6g", lineterminator="\n"
    )
    rmse, fit_s = pivot(frame, "rmse"), pivot(frame, "fit_s")
    if output == DOCS:
        title = "RMSE relative to that of NONA without boosting"
        table = rst_table(title, upright(ablation_table(rmse)), 3)
        runs = frame[frame.method.isin([*ABLATIONS, "NONA, no boosting"])]
        write(output / "ablations.inc", table, "", runs=runs)
    complete, average, _ = rank_test(rmse)
    draw_ranks(complete, average, output / "ranks.svg")
    if "NONA" in fit_s:
        draw_time(rmse, fit_s, output / "accuracy_time.svg")
    draw_errors(relative_errors(rmse), output / "errors.svg")


def main():
    for name, group in GROUPS.items():
        report(group.results, DOCS if name == "uci" else DOCS / name)


if __name__ == "__main__":
    main()
