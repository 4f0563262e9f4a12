"""Does `suspects` find targets that have been swapped? Beside residuals of peers, and cleanlab.

Usage: python benchmarks/suspects.py [--seeds 2] [--jobs 1] [--report]

Real tables of the folder that `SKNEIGHBORS_DATA` names, at most 2,000 rows each. A fiftieth
of the rows, drawn at random, hand their targets round; every method is fitted to what comes of
that, and gives each row a score. It is judged by the average precision with which the score finds
the rows whose targets have changed. Writes benchmarks/results/suspects.json and
docs/benchmark/suspects.inc; `--report` the latter alone.
"""

import argparse
import json
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from _tables import MAX_CATEGORIES, _ordinal, load_table
from joblib import Parallel, delayed
from report import rst_table
from rows import prepare
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.metrics import average_precision_score
from sklearn.neighbors import KNeighborsRegressor
from tabular import versions

from skneighbors import NONARegressor, SoftStepKNNRegressor

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "suspects.json"
OUTPUT = HERE.parent / "docs" / "benchmark" / "suspects.inc"
TABLES = ("kc_house", "cardekho", "brazil_rent", "it_salary", "bike_hour")
N_ROWS, SWAPPED = 2000, 0.02


def swap(y, seed):
    """Targets of which some have changed places, and which rows' are others now."""
    rng = np.random.RandomState(seed)
    rows, swapped = rng.permutation(len(y))[: round(SWAPPED * len(y))], y.copy()
    swapped[rows] = y[np.roll(rows, 1)]
    return swapped, swapped != y


def suspects(estimator_class):
    """Score rows by `suspects` of an estimator."""

    def score(X, y, seed):
        found = estimator_class(random_state=seed).fit(X, y).suspects(len(y))
        scores = pd.Series(np.nan, index=range(len(y)))
        scores[found.indices] = found.scores
        # Of rows that are equal the first has the score of all.
        row = X.assign(target=y).groupby([*X, "target"], dropna=False, observed=True).ngroup()
        return scores.groupby(row.to_numpy()).transform("max").to_numpy()

    return score


def forest(X, y, seed):
    """Absolute residuals of a random forest, out of the bag."""
    model = RandomForestRegressor(500, oob_score=True, random_state=seed)
    return np.abs(y - model.fit(_ordinal().fit_transform(X), y).oob_prediction_)


def knn(X, y, seed):
    """Absolute residuals of k-NN, each row left out."""
    model = KNeighborsRegressor(n_neighbors=10).fit(prepare(X).fit_transform(X), y)
    return np.abs(y - y[model.kneighbors(return_distance=False)].mean(axis=1))


def cleanlab(X, y, seed, model=None):
    """Score rows by cleanlab, around a model: by default a linear one."""
    from cleanlab.regression.learn import CleanLearning

    found = CleanLearning(model, seed=seed).find_label_issues(X, y)
    return -found["label_quality"].to_numpy()


def cleanlab_linear(X, y, seed):
    """Score rows by cleanlab, with indicators of categories."""
    return cleanlab(prepare(X).fit_transform(X), y, seed)


def cleanlab_boosting(X, y, seed):
    """Score rows by cleanlab around histogram boosting with categories."""
    codes = _ordinal().fit_transform(X)
    few = [c for c in X.select_dtypes("category") if X[c].nunique() <= MAX_CATEGORIES]
    categorical = codes.columns.isin(few)
    model = HistGradientBoostingRegressor(categorical_features=categorical, random_state=seed)
    return cleanlab(codes.to_numpy(), y, seed, model)


METHODS = {
    "NONA": suspects(NONARegressor),
    "SoftStep k-NN": suspects(SoftStepKNNRegressor),
    "random forest": forest,
    "k-NN": knn,
    "cleanlab, linear": cleanlab_linear,
    "cleanlab, hist. boosting": cleanlab_boosting,
}


def measure(table, method, seed):
    """Average precision of one method."""
    X, _, y, _ = load_table(table, seed)
    X, (y, is_swapped) = X[:N_ROWS].reset_index(drop=True), swap(y[:N_ROWS], seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scores = METHODS[method](X, y, seed)
    run = {"table": table, "method": method, "seed": seed, "rows": len(y)}
    run["average_precision"] = float(average_precision_score(is_swapped, scores))
    print(run, flush=True)
    return run


def report(found):
    """Write the table."""
    frame = pd.DataFrame(found["runs"])
    mean = frame.pivot_table(index="table", columns="method", values="average_precision")
    mean = mean.loc[list(TABLES), list(METHODS)]
    mean.loc["mean"] = mean.mean()
    title = (
        f"Average precision with which swapped targets are found, means over {found['seeds']} "
        f"seeds (higher is better; chance is {SWAPPED:g})"
    )
    listed = ", ".join(f"{name} {number}" for name, number in found["versions"].items())
    parts = [rst_table(title, mean, 2), f"Versions: {listed}.\n"]
    OUTPUT.write_text("\n".join(parts), encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--report", action="store_true")
    options = parser.parse_args()
    if not options.report:
        runs = Parallel(n_jobs=options.jobs)(
            delayed(measure)(table, method, seed)
            for table in TABLES
            for seed in range(options.seeds)
            for method in METHODS
        )
        found = {"seeds": options.seeds, "versions": versions(), "runs": runs}
        RESULTS.write_text(json.dumps(found, indent=1), encoding="utf-8")
    report(json.loads(RESULTS.read_text(encoding="utf-8")))


if __name__ == "__main__":
    main()
