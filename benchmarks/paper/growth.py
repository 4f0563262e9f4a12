"""Heads as the rows grow: accuracy with a growing bank, and cost beside a linear head.

Usage, in benchmarks/: python -m paper.growth [--banks N ...] [--rows N ...] [--quick]
       python -m paper.growth --report

First: each weighting of `weightings` is trained once, in the papers' setting, on
1,000 rows of Friedman's first function with noise; then its bank, not its
network, is cut down and grown by further rows of the same kind. Then: seconds
of a fit and of a prediction of NONA, with and without SoftStep, and of SoftStep
k-NN, over those of the same network with a linear head, timed in turn. Writes
results/paper_growth.json, and growth.inc, growth.svg and cost.inc to docs/papers;
`--report` writes the latter alone.
"""

import json

import _version
import numpy as np
import pandas as pd
from _benchmark import seconds
from _methods import PAPER, make_regressor
from _style import INK, NONA, PEER, SOFTSTEP, WIDTH, label_ends, picture, plain_log
from _surfaces import LinearHeadRegressor
from sklearn.datasets import make_friedman1
from sklearn.metrics import root_mean_squared_error

from ._runs import QUICK, parse, positive, require, script_parser, write_table
from ._weightings import WEIGHTINGS, make_model
from .weightings import count_neighbors

NOISE = 1.0
N_TRAIN, N_TEST = 1000, 500
GROWN = [name for name in WEIGHTINGS if "hard" not in name and not name.startswith("S2 of")]
# The weightings of our two estimators, by color.
COLORS = dict.fromkeys(["softmax", "softmax + S1", "softmax + S2"], NONA)
COLORS |= dict.fromkeys(
    ["S1 of soft ranks", "S1 of soft ranks, linear", "S1 of similarities"], SOFTSTEP
)
TIMED = ["softmax", "softmax + S2", "S1 of soft ranks"]
QUICK_ROWS = {"banks": [30, 300], "rows": [100, 200]}


def grow(name, banks, max_iter=PAPER["max_iter"]):
    """Errors, and numbers of neighbors that count, of one trained network and growing banks.

    Parameters
    ----------
    name : str
        Weighting.
    banks : list of int
        Rows in the bank, ascending.
    max_iter : int

    Returns
    -------
    lines : list of dict
    """
    n_rows = max(*banks, N_TRAIN)
    X, y = make_friedman1(n_rows + N_TEST, noise=NOISE, random_state=0)
    X, X_test, y, y_test = X[:n_rows], X[n_rows:], y[:n_rows], y[n_rows:]
    model = make_model(name, max_iter=max_iter, random_state=0).fit(X[:N_TRAIN], y[:N_TRAIN])
    model.forget(np.arange(banks[0], N_TRAIN))
    lines, held = [], min(banks[0], N_TRAIN)
    for n_bank in banks:
        if n_bank > held:
            model.append(X[held:n_bank], y[held:n_bank])
            held = n_bank
        effective, zeros = count_neighbors(model, X_test[:100], n_bank)
        rmse = float(root_mean_squared_error(y_test, model.predict(X_test)))
        line = {"weighting": name, "bank": n_bank, "rmse": rmse}
        lines.append(line | {"neighbors": effective, "zeros": zeros})
    return lines


def cost(n_rows, epochs=3, n_queries=1000):
    """Seconds of an epoch and of a prediction, of a linear head and of each that is timed.

    Returns
    -------
    lines : list of dict
    """
    X, y = make_friedman1(n_rows + n_queries, noise=NOISE, random_state=0)
    params = {"max_iter": epochs, "early_stopping": False, "n_iter_no_change": None}
    params["random_state"] = 0
    models = {"linear": make_regressor(LinearHeadRegressor, **PAPER | params)}
    models |= {name: make_model(name, **params) for name in TIMED}
    lines = []
    for name, model in models.items():
        fit_s = seconds(model.fit, X[:n_rows], y[:n_rows]) / epochs
        # With a linear head no neighbor need be looked at.
        predict = model.transform if name == "linear" else model.predict
        line = {"head": name, "rows": n_rows, "fit_s": fit_s}
        lines.append(line | {"predict_s": seconds(predict, X[n_rows:])})
    return lines


def draw(frame, path):
    """Errors and numbers of neighbors that count against the bank's rows."""
    values = {"rmse": "test RMSE (lower is better)", "neighbors": "effective number of neighbors"}
    with picture(path, 2, figsize=(WIDTH, 7.6), sharex=True) as (_, axes):
        for axis, (value, label) in zip(axes, values.items(), strict=True):
            ends, words = {}, {}
            for name, part in frame.groupby("weighting", sort=False):
                hue = COLORS.get(name, PEER)
                axis.plot(part.bank, part[value], color=hue, marker=".", lw=1.2)
                ends[name] = part.bank.iloc[-1], part[value].iloc[-1]
                words[name] = {"color": INK if hue == PEER else hue, "size": 9}
            axis.set(xscale="log", ylabel=label)
            if value == "rmse":
                axis.axhline(NOISE, color=INK, lw=0.8, ls=":")
            else:
                axis.set_yscale("log")
                plain_log(axis.yaxis)
            axis.axvline(N_TRAIN, color=INK, lw=0.8, ls=":")
            plain_log(axis.xaxis)
            label_ends(axis, ends, words)
        axes[1].set_xlabel("rows in the bank")


def growth_table(frame):
    """RMSE with every bank, and effective numbers of neighbors with the first and the last."""
    table = frame.pivot_table(index="weighting", columns="bank", values="rmse", sort=False)
    table = table.map("{:.3g}".format).rename(columns="{:,} rows".format)
    counts = frame.pivot_table(index="weighting", columns="bank", values="neighbors", sort=False)
    for n_bank in (counts.columns[0], counts.columns[-1]):
        table[f"neighbors of {n_bank:,}"] = counts[n_bank].map("{:.3g}".format)
    return table


def cost_table(frame):
    """Ratios of the seconds of each head to a linear one's."""
    linear = frame[frame["head"] == "linear"].set_index("rows")
    rows = {}
    for name, part in frame[frame["head"] != "linear"].groupby("head", sort=False):
        part = part.set_index("rows")
        for what, label in (("fit_s", "epoch"), ("predict_s", "prediction")):
            ratio = part[what] / linear[what]
            rows[f"{name}: {label}"] = ratio.map("{:.3g}".format)
    return pd.DataFrame(rows).T.rename(columns="{:,} rows".format)


def write(found, output):
    """Write the tables and the picture of what the results hold."""
    frame, runs = pd.DataFrame(found["growth"]), pd.DataFrame({"code": [found.get("code")]})
    title = f"Test RMSE with growing banks; the networks were trained on {N_TRAIN:,} rows"
    write_table(output / "growth.inc", "growth.py", title, growth_table(frame), runs=runs)
    title = "Seconds of an epoch and of predicting 1,000 rows, relative to a linear head"
    table = cost_table(pd.DataFrame(found["cost"]))
    write_table(output / "cost.inc", "growth.py", title, table, runs=runs)
    draw(frame, output / "growth.svg")


def main():
    parser = script_parser(__doc__, results="paper_growth.json")
    banks = [30, 100, 300, 1000, 3000, 10_000, 30_000]
    parser.add_argument("--banks", nargs="+", type=positive, default=banks)
    parser.add_argument("--rows", nargs="+", type=positive, default=[1000, 3000, 10_000, 30_000])
    parser.add_argument("--report", action="store_true", help="write from the results alone")
    args = parse(parser)
    if args.report:
        write(json.loads(args.results.read_text(encoding="utf-8")), args.output)
        return
    require("entmax", "entmax")
    if args.quick:
        args.banks, args.rows = QUICK_ROWS["banks"], QUICK_ROWS["rows"]
    max_iter = QUICK["max_iter"] if args.quick else PAPER["max_iter"]
    grown = [line for name in GROWN for line in grow(name, sorted(args.banks), max_iter)]
    costs = [line for n_rows in args.rows for line in cost(n_rows)]
    found = {"growth": grown, "cost": costs, "code": _version.code()}
    args.results.parent.mkdir(parents=True, exist_ok=True)
    args.results.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    write(found, args.output)


if __name__ == "__main__":
    main()
