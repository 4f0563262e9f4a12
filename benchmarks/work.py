"""Error against the work of a fit: ours for a quarter to twice the epochs, beside peers.

Usage: python benchmarks/work.py [options of _benchmark.py]

Twenty sets, at most 2,000 rows to train on: the UCI sets of 700 rows and more, and those ten
further sets (see tabular.py) of 1,000 rows and more whose targets histogram boosting explains
worst, all noisy. Each fit has one thread, whose CPU time is measured. Methods have their defaults;
NONA also has a `max_iter` of a quarter, a half and twice the epochs that its default ran.
"""

import time

import numpy as np
import pandas as pd
from _benchmark import DOCS, Benchmark, main
from _data import load_split
from _methods import PEERS
from _rst import rst_text_table, write
from _style import NONA, PEER, label_points, picture, plain_log
from sklearn.datasets import make_friedman1
from sklearn.metrics import root_mean_squared_error
from tabular import load_further

from skneighbors import NONARegressor

OUTPUT = DOCS / "work.inc"
UCI = ["energy", "concrete", "airfoil", "wine", "sml", "parkinsons", "pol", "elevators", "kin40k"]
UCI += ["protein"]
NOISY = ["CPS1988", "Chicago", "Wage", "bwght2", "deliveries", "flights", "k401ksubs"]
NOISY += ["lending_club", "loans_full_schema", "stackoverflow"]
OTHERS = ["CatBoost", "LightGBM", "hist. boosting", "RealMLP-TD", "TabM-D"]
FACTORS = {"a quarter": 0.25, "a half": 0.5, "twice": 2.0}  # of the default's epochs
MAX_ROWS = 2000


def load(dataset, split):
    """Rows to train on and to test on."""
    if dataset in UCI:
        return load_split(dataset, split, MAX_ROWS)
    X, X_test, y, y_test = load_further(dataset, split)
    return X[:MAX_ROWS], X_test, y[:MAX_ROWS], y_test


def fit(model, data):
    """Fit once; CPU seconds and error."""
    start = time.process_time()
    model.fit(data[0], data[2])
    seconds = time.process_time() - start
    return {"cpu_s": seconds, "rmse": root_mean_squared_error(data[3], model.predict(data[1]))}


def measure(dataset, split, method):
    """Figures of a method on a set; of ours with other numbers of epochs, too."""
    data = load(dataset, split)
    if method != "NONA":
        return fit(PEERS[method](split), data)
    NONARegressor(max_iter=2).fit(*make_friedman1(300, random_state=0))  # loads what is needed
    model = NONARegressor(random_state=split)
    lines = [fit(model, data) | {"work": "all"}]
    for work, factor in FACTORS.items():
        max_iter = max(1, round(factor * model.n_iter_))
        other = NONARegressor(max_iter=max_iter, random_state=split)
        lines.append(fit(other, data) | {"work": work})
    return lines


def relative(frame):
    """Errors and times relative to NONA's default, by set and method: a column for each."""
    frame = frame.assign(
        method=np.where(frame.method == "NONA", "work: " + frame.work, frame.method)
    )
    figures = frame.set_index(["dataset", "method"])[["rmse", "cpu_s"]]
    free = figures.xs("work: all", level="method")
    return figures.div(free, level="dataset"), free


def write_table(ratios, free, frame):
    """Write the table: errors and times of each set, and geometric means."""
    names = [f"work: {work}" for work in ("a quarter", "a half", "twice")] + OTHERS
    rows = {}
    for title, sets in {"UCI": UCI, "noisy": NOISY}.items():
        of_group = ratios[ratios.index.isin(sets, level="dataset")]
        for name in sets:
            error, seconds = free.loc[name]
            rows[name] = {"work: all": f"{error:.3g} in {seconds:.2g} s"} | {
                method: cell(ratios.loc[(name, method)]) for method in names
            }
        means = np.exp(np.log(of_group).groupby("method").mean())
        rows[f"{title}, mean"] = {"work: all": ""} | {name: cell(means.loc[name]) for name in names}
    title = "Error and CPU time; of others relative to that with all of the work"
    write(OUTPUT, rst_text_table(title, pd.DataFrame(rows).T), script="work.py", runs=frame)


def cell(figures):
    """Error and time."""
    return f"{figures.rmse:.2f} in {figures.cpu_s:.2f}"


def draw(ratios):
    """Draw mean errors against mean times, of the UCI and of the noisy sets."""
    with picture(OUTPUT.with_suffix(".svg"), 1, 2, figsize=(7.2, 3.2)) as (figure, axes):
        for ax, (title, sets) in zip(axes, {"UCI": UCI, "noisy": NOISY}.items(), strict=True):
            own = ratios[ratios.index.isin(sets, level="dataset")]
            means = np.exp(np.log(own).groupby("method").mean())
            ours = means[means.index.str.startswith("work")].sort_values("cpu_s")
            ax.plot(ours["cpu_s"], ours["rmse"], "o-", color=NONA, ms=5)
            ax.plot(1.0, 1.0, "o", color=NONA, mfc="none", ms=11)
            points = {name: tuple(means.loc[name, ["cpu_s", "rmse"]]) for name in OTHERS}
            for point in points.values():
                ax.plot(*point, "D", color=PEER, ms=6)
            ax.set(xscale="log", title=f"ten {title} sets")
            ax.margins(0.25)
            label_points(ax, points)
            plain_log(ax.xaxis)
        figure.supxlabel("CPU seconds, relative to the default's")
        figure.supylabel("RMSE")


def report(frame):
    """Write the table and the picture."""
    ratios, free = relative(frame)
    write_table(ratios, free, frame)
    draw(ratios)


if __name__ == "__main__":
    methods = ["NONA", *OTHERS]
    main(Benchmark(__file__, lambda: UCI + NOISY, methods, measure, report, slow=OTHERS[3:]))
