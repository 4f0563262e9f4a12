"""Does `suspects` find targets that have been swapped? Beside residuals of peers, and cleanlab.

Usage: python benchmarks/suspects.py [options of _benchmark.py]

Real tables of the folder that `SKNEIGHBORS_DATA` names, at most 2,000 rows each. A fiftieth
of the rows, drawn at random, hand their targets round; every method is fitted to what comes of
that, and gives each row a score. It is judged by the average precision with which the score finds
the rows whose targets have changed.
"""

import numpy as np
import pandas as pd
from _benchmark import DOCS, Benchmark, main, versions
from _rst import list_versions, rst_table, write
from _tables import MAX_CATEGORIES, _ordinal, as_dense_numbers, load_table
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.metrics import average_precision_score
from sklearn.neighbors import KNeighborsRegressor

from skneighbors import NONARegressor, SoftStepKNNRegressor

OUTPUT = DOCS / "suspects.inc"
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
    model = KNeighborsRegressor(n_neighbors=10).fit(as_dense_numbers().fit_transform(X), y)
    return np.abs(y - y[model.kneighbors(return_distance=False)].mean(axis=1))


def cleanlab_linear(X, y, seed):
    """Score rows by cleanlab, with indicators of categories."""
    return cleanlab(as_dense_numbers().fit_transform(X), y, seed)


def cleanlab_boosting(X, y, seed):
    """Score rows by cleanlab around histogram boosting with categories."""
    codes = _ordinal().fit_transform(X)
    few = [c for c in X.select_dtypes("category") if X[c].nunique() <= MAX_CATEGORIES]
    categorical = codes.columns.isin(few)
    model = HistGradientBoostingRegressor(categorical_features=categorical, random_state=seed)
    return cleanlab(codes.to_numpy(), y, seed, model)


def cleanlab(X, y, seed, model=None):
    """Score rows by cleanlab, around a model: by default a linear one."""
    from cleanlab.regression.learn import CleanLearning

    found = CleanLearning(model, seed=seed).find_label_issues(X, y)
    return -found["label_quality"].to_numpy()


METHODS = {
    "NONA": suspects(NONARegressor),
    "SoftStep k-NN": suspects(SoftStepKNNRegressor),
    "random forest": forest,
    "k-NN": knn,
    "cleanlab, linear": cleanlab_linear,
    "cleanlab, hist. boosting": cleanlab_boosting,
}


def measure(table, seed, method):
    """Average precision of one method."""
    X, _, y, _ = load_table(table, seed)
    X, (y, is_swapped) = X[:N_ROWS].reset_index(drop=True), swap(y[:N_ROWS], seed)
    precision = average_precision_score(is_swapped, METHODS[method](X, y, seed))
    return {"rows": len(y), "average_precision": precision, "versions": versions()}


def report(frame):
    """Write the table."""
    mean = frame.pivot_table(index="dataset", columns="method", values="average_precision")
    mean = mean.loc[list(TABLES), list(METHODS)]
    mean.loc["mean"] = mean.mean()
    title = (
        "Average precision with which swapped targets are found, means over "
        f"{frame.split.nunique()} seeds (higher is better; chance is {SWAPPED:g})"
    )
    write(OUTPUT, rst_table(title, mean, 2), list_versions(frame), "")


if __name__ == "__main__":
    main(Benchmark(__file__, lambda: TABLES, METHODS, measure, report, splits=[0, 1]))
