"""Does `suspects` find targets and classes that have been swapped? Beside peers, and cleanlab.

Usage: python benchmarks/suspects.py [options of _benchmark.py]

Real tables of the folder that `SKNEIGHBORS_DATA` names, at most 2,000 rows each, and the sets of
`classes.py` that nothing was chosen on. A fiftieth of the rows, a tenth where there are classes,
drawn at random, hand their targets round; every method is fitted to what comes of that, and gives
each row a score. It is judged by the average precision with which the score finds the rows whose
targets have changed.
"""

import importlib

import numpy as np
import pandas as pd
from _benchmark import DOCS, Benchmark, main, versions
from _rst import list_versions, rst_table, write
from _tables import MAX_CATEGORIES, _ordinal, as_dense_numbers, load_table
from classes import DEVELOPMENT, SETS
from classes import load as load_classes
from sklearn.base import is_classifier
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.neighbors import NearestNeighbors

from skneighbors import (
    NONAClassifier,
    NONARegressor,
    SoftStepKNNClassifier,
    SoftStepKNNRegressor,
)

OUTPUT = DOCS / "suspects.inc"
TABLES = ["kc_house", "cardekho", "brazil_rent", "it_salary", "bike_hour"]
CLASS_SETS = [name for name in SETS if name not in DEVELOPMENT]
N_ROWS, SWAPPED, SWAPPED_CLASSES = 2000, 0.02, 0.1


def swap(y, fraction, seed):
    """Targets of which some have changed places, and which rows' are others now."""
    rng = np.random.RandomState(seed)
    rows, swapped = rng.permutation(len(y))[: round(fraction * len(y))], y.copy()
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


def forest_of_classes(X, y, seed):
    """Probabilities of other classes by a random forest, out of the bag."""
    model = RandomForestClassifier(500, oob_score=True, random_state=seed)
    probabilities = model.fit(_ordinal().fit_transform(X), y).oob_decision_function_
    return 1 - probabilities[np.arange(len(y)), y]


def near_targets(X, y):
    """Targets of the ten nearest rows of each, itself left out."""
    model = NearestNeighbors(n_neighbors=10).fit(as_dense_numbers().fit_transform(X))
    return y[model.kneighbors(return_distance=False)]


def cleanlab(X, y, seed, model):
    """Score rows by cleanlab, around a model."""
    kind = "classification" if is_classifier(model) else "regression.learn"
    learning = importlib.import_module(f"cleanlab.{kind}").CleanLearning(model, seed=seed)
    return -learning.find_label_issues(X, y)["label_quality"].to_numpy()


def cleanlab_linear(model):
    """Score rows by cleanlab around a linear model, with indicators of categories."""
    return lambda X, y, seed: cleanlab(as_dense_numbers().fit_transform(X), y, seed, model)


def cleanlab_boosting(kind):
    """Score rows by cleanlab around histogram boosting with categories."""

    def score(X, y, seed):
        few = [c for c in X.select_dtypes("category") if X[c].nunique() <= MAX_CATEGORIES]
        codes = _ordinal().fit_transform(X)
        model = kind(categorical_features=codes.columns.isin(few), random_state=seed)
        return cleanlab(codes.to_numpy(), y, seed, model)

    return score


METHODS = {
    "NONA": suspects(NONARegressor),
    "SoftStep k-NN": suspects(SoftStepKNNRegressor),
    "random forest": forest,
    "k-NN": lambda X, y, _: np.abs(y - near_targets(X, y).mean(axis=1)),
    "cleanlab, linear": cleanlab_linear(LinearRegression()),
    "cleanlab, hist. boosting": cleanlab_boosting(HistGradientBoostingRegressor),
}
METHODS_OF_CLASSES = {
    "NONA": suspects(NONAClassifier),
    "SoftStep k-NN": suspects(SoftStepKNNClassifier),
    "random forest": forest_of_classes,
    "k-NN": lambda X, y, _: (near_targets(X, y) != y[:, None]).mean(axis=1),
    "cleanlab, linear": cleanlab_linear(LogisticRegression(max_iter=1000)),
    "cleanlab, hist. boosting": cleanlab_boosting(HistGradientBoostingClassifier),
}


def measure(name, seed, method):
    """Average precision of one method."""
    if name in TABLES:
        methods, fraction, (X, _, y, _) = METHODS, SWAPPED, load_table(name, seed)
    else:
        methods, fraction = METHODS_OF_CLASSES, SWAPPED_CLASSES
        X, _, y, _ = load_classes(name, seed)
        y = np.unique(y, return_inverse=True)[1]
    X, (y, is_swapped) = X[:N_ROWS].reset_index(drop=True), swap(y[:N_ROWS], fraction, seed)
    precision = average_precision_score(is_swapped, methods[method](X, y, seed))
    found = {"rows": len(y), "swapped": is_swapped.mean(), "average_precision": precision}
    return found | {"versions": versions()}


def report(frame):
    """Write the tables."""
    mean = frame.pivot_table(index="dataset", columns="method", values="average_precision")
    mean = mean[list(METHODS)].assign(chance=frame.groupby("dataset")["swapped"].mean())
    tables = []
    for what, names in (("targets", TABLES), ("classes", CLASS_SETS)):
        part = mean.reindex(names).dropna()
        if part.empty:
            continue
        part.loc["mean"] = part.mean()
        n_seeds = frame[frame["dataset"].isin(names)]["split"].nunique()
        title = f"Average precision with which swapped {what} are found (higher is better)"
        tables += [rst_table(f"{title}; random draws: {n_seeds}", part, 2), ""]
    write(OUTPUT, *tables, list_versions(frame), "", runs=frame)


if __name__ == "__main__":
    main(
        Benchmark(__file__, lambda: [*TABLES, *CLASS_SETS], METHODS, measure, report, splits=[0, 1])
    )
