"""Error against the work of a fit: ours for a quarter to twice the epochs, beside peers.

Usage: python benchmarks/work.py [options of _benchmark.py]

Twenty sets, at most 1,000 rows to train on: the UCI sets of 700 rows and more, and those ten
further sets (see tabular.py) of 1,000 rows and more whose targets histogram boosting explains
worst, all noisy. Each fit has one thread, whose CPU time is measured. Methods have their defaults;
NONA also has a `max_iter` of a quarter, a half and twice the epochs that its default ran.
"""

import numpy as np
import pandas as pd
from _benchmark import DOCS, Benchmark, main, score
from _data import load_split
from _methods import METHODS
from _rst import rst_text_table, write
from _style import NONA, PEER, label_points, picture, plain_log
from sklearn.datasets import make_friedman1
from tabular import load_further

OUTPUT = DOCS / "work.inc"
UCI = "energy concrete airfoil wine sml parkinsons pol elevators kin40k protein"
NOISY = "CPS1988 Chicago Wage bwght2 deliveries flights k401ksubs lending_club loans_full_schema"
NOISY += " stackoverflow"
GROUPS = {"UCI": UCI.split(), "noisy": NOISY.split()}
OTHERS = ["CatBoost", "LightGBM", "hist. boosting", "RealMLP-TD"]
FACTORS = {"a quarter": 0.25, "a half": 0.5, "twice": 2.0}  # of the default's epochs
MAX_ROWS = 1000


def load(dataset, split):
    """Rows to train on and to test on."""
    if dataset in GROUPS["UCI"]:
        return load_split(dataset, split, MAX_ROWS)
    X, X_test, y, y_test = load_further(dataset, split)
    return X[:MAX_ROWS], X_test, y[:MAX_ROWS], y_test


def measure(dataset, split, method):
    """Figures of a method on a set; of ours with other numbers of epochs, too."""
    data, make = load(dataset, split), METHODS[method]
    make(split).fit(*make_friedman1(200, random_state=0))  # loads what is needed
    if method != "NONA":
        return score(make(split), *data)
    model = make(split)
    lines = [score(model, *data) | {"work": "all"}]
    for work, factor in FACTORS.items():
        max_iter = max(1, round(factor * model.n_iter_))
        other = make(split).set_params(max_iter=max_iter)
        lines.append(score(other, *data) | {"work": work})
    return lines


def relative(frame):
    """Errors and times by set and method, relative to the default's; those of the default."""
    ours = frame.method == "NONA"
    frame = frame.assign(method=frame.method.where(~ours, frame["work"]))
    figures = frame.groupby(["dataset", "method"])[["rmse", "cpu_s"]].mean()
    default = figures.xs("all", level="method")
    return figures.div(default, level="dataset"), default


def means(ratios, sets):
    """Geometric means over sets, by method; of those that have run all of them."""
    logs = np.log(ratios[ratios.index.isin(sets, level="dataset")])
    has_all = logs.groupby("method").size() == len(sets)
    return np.exp(logs.groupby("method").mean())[has_all]


def cells(figures):
    """Errors and times as texts, by method."""
    return {name: f"{own.rmse:.2f} in {own.cpu_s:.2f}" for name, own in figures.iterrows()}


def write_table(ratios, default, frame):
    """Write the table: errors and times of each set, and geometric means."""
    names = [*FACTORS, *OTHERS]
    rows = {}
    for title, sets in GROUPS.items():
        for name in sets:
            error, seconds = default.loc[name]
            rows[name] = {"default": f"{error:.3g} in {seconds:.2g} s"} | cells(ratios.loc[name])
        rows[f"{title}, mean"] = {"default": ""} | cells(means(ratios, sets))
    table = pd.DataFrame(rows).T.reindex(columns=["default", *names], fill_value="")
    title = "Error and CPU time of NONA; of parts and twice its epochs, and of others, to these"
    write(
        OUTPUT, rst_text_table(title, table.astype(object).fillna("")), script="work.py", runs=frame
    )


def draw(ratios):
    """Draw mean errors against mean times, for each group of sets."""
    with picture(OUTPUT.with_suffix(".svg"), 1, 2, figsize=(7.2, 3.2)) as (figure, axes):
        for ax, (title, sets) in zip(axes, GROUPS.items(), strict=True):
            own = means(ratios, sets)
            ours = own.loc[["all", *FACTORS]].sort_values("cpu_s")
            ax.plot(ours["cpu_s"], ours["rmse"], "o-", color=NONA, ms=5)
            ax.plot(1.0, 1.0, "o", color=NONA, mfc="none", ms=11)
            points = {
                name: tuple(own.loc[name, ["cpu_s", "rmse"]])
                for name in OTHERS
                if name in own.index
            }
            for point in points.values():
                ax.plot(*point, "D", color=PEER, ms=6)
            ax.set(xscale="log", title=f"ten sets, {title}")
            ax.margins(0.25)
            label_points(ax, points)
            plain_log(ax.xaxis)
        figure.supxlabel("CPU seconds, relative to the default's")
        figure.supylabel("RMSE")


def report(frame):
    """Write the table and the picture."""
    ratios, default = relative(frame)
    write_table(ratios, default, frame)
    draw(ratios)


if __name__ == "__main__":
    sets, methods = [*GROUPS["UCI"], *GROUPS["noisy"]], ["NONA", *OTHERS]
    main(Benchmark(__file__, lambda: sets, methods, measure, report, slow=OTHERS[3:]))
