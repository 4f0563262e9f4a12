"""Ablation of the default: networks, blended model, and groups or times that are given.

Usage: python benchmarks/parts.py [options of _benchmark.py]

The real tables and the numeric sets of the folder that `SKNEIGHBORS_DATA` names. NONA by its
defaults, and without the blended model. Where rows are of groups, or the test rows come later, it
is fitted once more and given these, by `groups` or `time`. CatBoost at its defaults stands beside
it, with the columns of categories named. The splits are those of _tables.py and _data.py.
"""

import numpy as np
from _benchmark import DOCS, Benchmark, main, score, seconds, versions
from _data import available, load_split
from _methods import FAST_PEERS
from _rst import rst_text_table, write
from _tables import TABLE_METHODS, TIMES, available_tables, load_table
from sklearn.metrics import root_mean_squared_error

from skneighbors import NONARegressor

OUTPUT, GIVEN_OUTPUT = DOCS / "parts.inc", DOCS / "given.inc"
# Tables whose test rows are later, beside those of _tables.py.
TIME_COLUMNS = {name: columns[0] for name, columns in TIMES.items()}
TIME_COLUMNS |= {"korea_tmax": "Date", "irish_power": "DateTime"}
# Predicted by means of its categories alone: a leak that flatters who has them.
APART = "medicare"
PARTS = ["networks alone", "default", "default, given"]


def measure(name, split, method):
    """Figures of one table and split."""
    is_table, given = name in available_tables(), {}
    X, X_test, y, y_test = data = (load_table if is_table else load_split)(name, split)
    if is_table and "groups" in X.attrs:
        given["groups"] = X.attrs["groups"]
    if name in TIME_COLUMNS:
        given["time"] = X[TIME_COLUMNS[name]]
    model = NONARegressor(random_state=split)
    found = score(model, *data)
    figures = {"kind": "table" if is_table else "set", "rows": len(y), "versions": versions()}
    figures |= {"fit_s": found["fit_s"], "blend_weight": model.blend_weight_}
    figures["default"] = found["rmse"]
    networks = NONARegressor(random_state=split, blend=None)
    figures["networks alone"] = score(networks, *data)["rmse"]
    if given:
        figures["given_fit_s"] = seconds(lambda: model.fit(X, y, **given))
        figures["default, given"] = root_mean_squared_error(y_test, model.predict(X_test))
    peer = (TABLE_METHODS if is_table else FAST_PEERS)["CatBoost"](split)
    return figures | {"CatBoost": score(peer, *data)["rmse"]}


def summarize(lines):
    """Error to CatBoost's by part: geometric means over seeds, and of these over names."""
    lines = lines.assign(**{PARTS[2]: lines[PARTS[2]].fillna(lines["default"])})
    logs = np.log(lines[PARTS].div(lines["CatBoost"], axis=0)).groupby(lines["dataset"]).mean()
    logs.loc["geometric mean"] = logs.mean()
    return np.exp(logs).rename_axis("error to CatBoost's")


def report(lines):
    """Write the tables for the docs."""
    lines = lines.reindex(columns=[*dict.fromkeys([*lines, *PARTS])])
    parts = []
    for kind, what in (("table", f"real tables, without {APART}"), ("set", "numeric sets")):
        part = lines[(lines["kind"] == kind) & (lines["dataset"] != APART)]
        if len(part):
            each = summarize(part)
            title = f"{len(each) - 1} {what}, {part['split'].nunique()} seeds"
            parts += [rst_text_table(title, each.map("{:.3f}".format)), ""]
    write(OUTPUT, *parts, runs=lines)
    given = lines.dropna(subset="default, given").groupby("dataset")[PARTS[1:]].mean()
    given = given.assign(**{"given to default": given["default, given"] / given["default"]})
    digits = {name: "{:.4g}".format if name in PARTS else "{:.3f}".format for name in given}
    given = given.apply(lambda column: column.map(digits[column.name]))
    title = f"Means of {lines['split'].nunique()} seeds"
    write(GIVEN_OUTPUT, rst_text_table(title, given), "", runs=lines.dropna(subset=PARTS[2]))


def datasets():
    """Names of the tables and sets."""
    return [*available_tables(), *available()]


if __name__ == "__main__":
    main(Benchmark(__file__, datasets, ["NONA"], measure, report, splits=[0, 1]))
