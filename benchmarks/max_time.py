"""Error against the time that a fit may take.

Usage: python benchmarks/max_time.py [options of _benchmark.py]

Fits a default NONARegressor to six sets of 500 to 10,000 rows, two of them made: without a limit,
then with `max_time` of .3 to 4.8 times the seconds that this took; and CatBoost, LightGBM and
RealMLP-TD at their defaults. Times are only worth something on an idle machine.

It fails if a fit takes longer than its limit, 10 % and a second; or if errors by limit, relative
to those without one, exceed the recorded ones by more than 2 %: run with `--results FILE.jsonl`
and `--methods NONA`.
"""

import numpy as np
import pandas as pd
from _benchmark import DOCS, RESULTS, Benchmark, main, score
from _benchmark import load as load_results
from _data import load_split
from _methods import PEERS
from _rst import rst_text_table, write
from _style import INK, NONA, PEER, picture, plain_log
from matplotlib.lines import Line2D
from sklearn.datasets import make_friedman1

from skneighbors import NONARegressor

OUTPUT, RECORDED = DOCS / "max_time.inc", RESULTS / "max_time.jsonl"
# Most rows to train on.
SETS = {
    "friedman": 500,
    "noisy": 1000,
    "concrete": 1000,
    "wine": 1500,
    "sml": 2000,
    "protein": 10_000,
}
RATIOS = [0.3, 0.6, 1.2, 2.4, 4.8]  # of the limit to the time without one
MARKERS = {"CatBoost": "s", "LightGBM": "D", "RealMLP-TD": "^"}
N_TEST = 2000
LONGER, SECONDS_MORE, WORSE = 1.1, 1.0, 1.02  # than a limit, and than recorded errors: allowed


def load(dataset, seed):
    """Rows to train on and to test on."""
    n_rows, rng = SETS[dataset], np.random.RandomState(seed)
    if dataset == "friedman":
        X, y = make_friedman1(n_rows + N_TEST, noise=1.0, random_state=seed)
    elif dataset == "noisy":
        X = rng.rand(n_rows + N_TEST, 6)
        y = X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * rng.randn(len(X))
    else:
        return load_split(dataset, seed, n_rows)
    return X[:n_rows], X[n_rows:], y[:n_rows], y[n_rows:]


def fit(model, data, ratio=0.0, **about):
    """Fit once; times and error."""
    return score(model, *data) | {"ratio": ratio} | about


def measure(dataset, seed, method):
    """Figures of a method on a set; of ours with limits and other epochs, too."""
    data = load(dataset, seed)
    if method != "NONA":
        return fit(PEERS[method](seed), data)
    NONARegressor(max_iter=2).fit(*make_friedman1(300, random_state=0))  # loads what is needed
    model = NONARegressor(random_state=seed)
    lines = [fit(model, data)]
    for ratio in RATIOS:
        limit = ratio * lines[0]["fit_s"]
        limited = NONARegressor(max_time=limit, random_state=seed)
        lines.append(fit(limited, data, ratio, limit=limit))
    return lines


def summarize(runs):
    """Geometric means of errors over seeds, mean seconds and limits; by set, method and ratio."""
    groups = runs.groupby(["dataset", "method", "ratio"], sort=False)
    means = groups[["fit_s", "limit"]].mean()
    means["rmse"] = np.exp(groups["rmse"].agg(lambda rmse: np.log(rmse).mean()))
    return means


def write_table(means, runs):
    """Write errors and times of runs, relative to those without a limit."""
    rows = {}
    for dataset, n_rows in SETS.items():
        of_set = means.loc[dataset]
        free = of_set.loc[("NONA", 0.0)]
        rows[f"{dataset}, {n_rows:,} rows"] = {
            f"limit of {ratio:g}" if ratio else ("no limit" if name == "NONA" else name): (
                f"{run['rmse']:.3g} in {run['fit_s']:.2g} s"
                if name == "NONA" and not ratio
                else f"{run['rmse'] / free['rmse']:.2f} in {run['fit_s'] / free['fit_s']:.2f}"
            )
            for (name, ratio), run in of_set.iterrows()
        }
    title = "Error and seconds without a limit; both relative to these with one, and of others"
    table = rst_text_table(title, pd.DataFrame(rows).T.fillna(""))
    write(OUTPUT, table, script="max_time.py", runs=runs)


def draw(means):
    """Draw errors against limits."""
    with picture(OUTPUT.with_suffix(".svg"), 2, 3, figsize=(7.2, 4.6)) as (figure, axes):
        for ax, (dataset, n_rows) in zip(axes.flat, SETS.items(), strict=True):
            of_set = means.loc[dataset]
            ours = of_set.loc["NONA"]
            limited = ours[ours.index > 0].sort_index()
            ax.plot(limited["limit"], limited["rmse"], "o-", color=NONA, ms=4)
            ax.plot(*ours.loc[0.0, ["fit_s", "rmse"]], "o", color=NONA, mfc="none", ms=8)
            for name, marker in MARKERS.items():
                ax.plot(*of_set.loc[(name, 0.0), ["fit_s", "rmse"]], marker, color=PEER, ms=5)
            ax.set(xscale="log", title=f"{dataset}, {n_rows:,} rows")
            ax.margins(0.12)
            plain_log(ax.xaxis)
        figure.supxlabel("seconds (NONA: max_time)", color=INK)
        figure.supylabel("RMSE", color=INK)
        entries = [("o", NONA, NONA, "NONA, by limit"), ("o", NONA, "none", "NONA, no limit")]
        entries += [(marker, PEER, PEER, name) for name, marker in MARKERS.items()]
        handles = [
            Line2D([], [], ls="", marker=marker, color=color, mfc=face, label=label)
            for marker, color, face, label in entries
        ]
        figure.legend(handles=handles, ncols=5, loc="outside upper center", fontsize=8)


def report(frame):
    """Write the table and the picture."""
    means = summarize(frame)
    write_table(means, frame)
    draw(means)


def relative_errors(frame):
    """Logarithms of our errors by limit, relative to those without one, by set and split."""
    ours = frame[frame.method == "NONA"].pivot(
        index=["dataset", "split"], columns="ratio", values="rmse"
    )
    return np.log(ours.div(ours.pop(0.0), axis=0))


def check(frame):
    """Exit if a fit took too long, or if errors are above the recorded ones."""
    late = frame[frame["fit_s"] > LONGER * frame["limit"] + SECONDS_MORE]
    failures = [
        f"{run.dataset}, limit of {run.ratio:g}: {run.fit_s:.1f} s instead of {run.limit:.1f} s"
        for run in late.itertuples()
    ]
    recorded = relative_errors(load_results(RECORDED)[0])
    errors = np.exp((relative_errors(frame) - recorded).groupby("dataset").mean()).stack()
    failures += [
        f"{dataset}, limit of {ratio:g}: {error:.3f} of the recorded error"
        for (dataset, ratio), error in errors[errors > WORSE].items()
    ]
    if failures:
        raise SystemExit("\n".join(failures))


if __name__ == "__main__":
    methods, splits = ["NONA", *MARKERS], [0, 1, 2]
    main(Benchmark(__file__, lambda: list(SETS), methods, measure, report, splits, check=check))
