"""Ablation of the default: networks, blended model, and groups or times that are given.

Usage: python benchmarks/parts.py [--rows 10000] [--seeds 0 1] [--jobs 2] [--members N]
    [--only NAME ...] [--report]

The real tables and the numeric sets of the folder that `SKNEIGHBORS_DATA` names. NONA by its
defaults, and without the blended model. Where rows are of groups, or the test rows come later, it
is fitted once more and given these, by `groups` or `time`. CatBoost at its defaults stands beside
it, with the columns of categories named. The splits are those of _tables.py and _data.py.
Appends to benchmarks/results/parts.jsonl what is not there yet, and writes
docs/benchmark/parts.inc; `--report` the latter alone, and given.inc.
"""

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from _data import available, load_split
from _methods import FAST_PEERS
from _tables import TABLE_METHODS, TIMES, available_tables, load_table
from joblib import Parallel, delayed
from report import rst_text_table
from tabular import versions

from skneighbors import NONARegressor

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "parts.jsonl"
OUTPUT, GIVEN_OUTPUT = (
    HERE.parent / "docs" / "benchmark" / name for name in ("parts.inc", "given.inc")
)
# Tables whose test rows are later, beside those of _tables.py.
TIME_COLUMNS = {name: columns[0] for name, columns in TIMES.items()}
TIME_COLUMNS |= {"korea_tmax": "Date", "irish_power": "DateTime"}
# Predicted by means of its categories alone: a leak that flatters who has them.
APART = "medicare"
PARTS = ["networks alone", "default", "default, given"]


def rmse(y, y_hat):
    return float(np.sqrt(np.mean((y - y_hat) ** 2)))


def measure(name, seed, n_rows, params):
    """Figures of one table and split."""
    warnings.simplefilter("ignore")
    is_table = name in available_tables()
    if is_table:
        X, X_test, y, y_test = load_table(name, seed)
        groups, X, y = X.attrs.get("groups"), X.iloc[:n_rows], y[:n_rows]
    else:
        X, X_test, y, y_test = load_split(name, seed, n_rows)
        groups = None
    figures = {"name": name, "kind": "table" if is_table else "set", "seed": seed, "rows": len(y)}
    figures |= {"params": params, "versions": versions()}
    start = time.perf_counter()
    model = NONARegressor(random_state=seed, **params).fit(X, y)
    figures["fit_s"] = time.perf_counter() - start
    figures["blend_weight"] = model.blend_weight_
    figures["default"] = rmse(y_test, model.predict(X_test))
    model = NONARegressor(random_state=seed, **params | {"blend": None}).fit(X, y)
    figures["networks alone"] = rmse(y_test, model.predict(X_test))
    given = {} if groups is None else {"groups": groups[:n_rows]}
    given |= {"time": TIME_COLUMNS[name]} if name in TIME_COLUMNS else {}
    if given:
        start = time.perf_counter()
        model = NONARegressor(random_state=seed, **params).fit(X, y, **given)
        figures["given_fit_s"] = time.perf_counter() - start
        figures["default, given"] = rmse(y_test, model.predict(X_test))
    peer = (TABLE_METHODS if is_table else FAST_PEERS)["CatBoost"](seed)
    figures["CatBoost"] = rmse(y_test, peer.fit(X, y).predict(X_test))
    return figures


def summarize(lines):
    """Error to CatBoost's by part: geometric mean over names, of means over seeds; the worst."""
    lines = lines.assign(**{PARTS[2]: lines[PARTS[2]].fillna(lines["default"])})
    logs = np.log(lines[PARTS].div(lines["CatBoost"], axis=0)).groupby(lines["name"]).mean()
    return np.exp(logs.mean()), np.exp(logs)


def report():
    """Write the tables for the docs."""
    lines = pd.DataFrame(json.loads(line) for line in RESULTS.read_text().splitlines())
    lines = lines[lines["params"] == {}]
    lines = lines.reindex(columns=[*dict.fromkeys([*lines, *PARTS])])
    parts = []
    for kind, what in (("table", f"real tables, without {APART}"), ("set", "numeric sets")):
        part = lines[(lines["kind"] == kind) & (lines["name"] != APART)]
        if part.empty:
            continue
        mean, each = summarize(part)
        each.loc["geometric mean"] = mean
        each.index.name = "error to CatBoost's"
        title = f"{len(each) - 1} {what}, {part['seed'].nunique()} seeds"
        parts.append(rst_text_table(title, each.map("{:.3f}".format)))
    OUTPUT.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    given = lines.dropna(subset="default, given").groupby("name")[PARTS[1:]].mean()
    given["given to default"] = given["default, given"] / given["default"]
    digits = {name: "{:.4g}".format if name in PARTS else "{:.3f}".format for name in given}
    title = f"Means of {lines['seed'].nunique()} seeds"
    given = given.apply(lambda column: column.map(digits[column.name]))
    GIVEN_OUTPUT.write_text(rst_text_table(title, given) + "\n", encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--members", type=int)
    parser.add_argument("--only", nargs="+")
    parser.add_argument("--report", action="store_true")
    arguments = parser.parse_args()
    if not arguments.report:
        params = {} if arguments.members is None else {"n_estimators": arguments.members}
        done = set()
        if RESULTS.exists():
            lines = map(json.loads, RESULTS.read_text().splitlines())
            done = {(line["name"], line["seed"], json.dumps(line["params"])) for line in lines}
        jobs = [
            (name, seed)
            for seed in arguments.seeds
            for name in arguments.only or [*available_tables(), *available()]
            if (name, seed, json.dumps(params)) not in done
        ]
        found = Parallel(arguments.jobs, return_as="generator_unordered")(
            delayed(measure)(name, seed, arguments.rows, params) for name, seed in jobs
        )
        for figures in found:
            print(figures, flush=True)
            with RESULTS.open("a", encoding="utf-8") as file:
                file.write(json.dumps(figures) + "\n")
    report()


if __name__ == "__main__":
    main()
