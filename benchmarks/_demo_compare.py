"""The demo's comparison of methods on a table, for numbers and for classes."""

import sys
import time
from importlib.util import find_spec

import numpy as np
import pandas as pd
from _tables import TABLE_METHODS, as_numbers, text_as_categories
from classes import METHODS as CLASS_METHODS
from sklearn.metrics import (
    accuracy_score,
    log_loss,
    mean_absolute_error,
    r2_score,
    root_mean_squared_error,
)
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from tqdm import tqdm

from skneighbors import NONAClassifier, NONARegressor

N_SPLITS, TEST_SIZE = 2, 0.2
# Errors that differ by this fraction at most are level.
LEVEL = 0.01


def is_classes(y):
    """Whether a target holds classes: text."""
    return not pd.api.types.is_numeric_dtype(y)


def methods(y):
    """Makers of the other methods, by name; each takes a seed. CatBoost only where it is there."""
    has_catboost = find_spec("catboost") is not None
    if is_classes(y):
        names = ["logistic regression", "random forest", "hist. boosting"]
        return {name: CLASS_METHODS[name] for name in names + ["CatBoost"] * has_catboost}
    names = ["ridge", "random forest", "hist. boosting"] + ["CatBoost, text"] * has_catboost
    makers = {name: TABLE_METHODS[name] for name in names}
    return makers | {"k-NN": lambda seed: make_pipeline(as_numbers(), KNeighborsRegressor())}


def as_read(X, columns):
    """Make numbers of text that ours reads as numbers and dates, and categories of other text.

    Parameters
    ----------
    X : DataFrame
    columns : ColumnSummary
        Of ours.
    """
    X = X.dropna(axis=1, how="all")
    for name, how in zip(columns.names, columns.read_as, strict=True):
        if name not in X or pd.api.types.is_numeric_dtype(X[name]):
            continue
        if how.startswith("numbers"):
            group, decimal = ".," if how.endswith("comma") else ",."
            plain = X[name].str.replace(group, "").str.replace(decimal, ".")
            X[name] = pd.to_numeric(plain.str.replace(r"[^\d.+-]", "", regex=True), "coerce")
        elif how.startswith("dates"):
            dates = pd.to_datetime(X[name], dayfirst="day" in how, errors="coerce", utc=True)
            X[name] = dates.astype("int64").where(dates.notna())
    return text_as_categories(X)


def split_rows(y, seed):
    """Rows for training and for the test, with each class in proportion in both."""
    rows, stratify, n_test = np.arange(len(y)), None, TEST_SIZE
    if is_classes(y):
        stratify, n_test = y, max(round(TEST_SIZE * len(y)), y.nunique())
    return train_test_split(rows, test_size=n_test, random_state=seed, stratify=stratify)


def run(model, X, X_test, y, y_test):
    """Fit and predict; errors, that to sort by first, and seconds."""
    start = time.perf_counter()
    model.fit(X, y)
    seconds = {"fit, seconds": time.perf_counter() - start}
    if is_classes(y):
        classes, probabilities = np.unique(y), model.predict_proba(X_test)
        y_hat = classes[probabilities.argmax(axis=1)]
        loss = log_loss(y_test, probabilities, labels=classes)
        return {"log loss": loss, "accuracy": accuracy_score(y_test, y_hat)} | seconds
    y_hat = model.predict(X_test)
    return {
        "RMSE": root_mean_squared_error(y_test, y_hat),
        "mean absolute error": mean_absolute_error(y_test, y_hat),
        "R²": r2_score(y_test, y_hat),
    } | seconds


def show_progress(n_splits, names):
    """Yield splits and names of methods; a bar on a terminal, else a line for each."""
    steps = tqdm([(k, name) for k in range(n_splits) for name in names], disable=None, unit="fit")
    for split, name in steps:
        text = f"split {split + 1} of {n_splits}: {name}"
        if steps.disable:
            print(text, file=sys.stderr)
        steps.set_description(text)
        yield split, name


def compare(X, y, makers, n_splits=N_SPLITS, **params):
    """Compare ours, with these parameters, with others on the same splits; see :func:`as_read`.

    Returns
    -------
    errors : DataFrame
        Means over the splits, a method a row, the best first.
    model : NONARegressor or NONAClassifier
        Of the first split.
    X_test : DataFrame
    y_test : Series
        Test rows of the first split.
    """
    ours = NONAClassifier if is_classes(y) else NONARegressor
    typed, runs, first = None, [], None
    for split, name in show_progress(n_splits, [ours.__name__, *makers]):
        is_ours = name == ours.__name__
        train, test = split_rows(y, split)
        table = X if is_ours else typed
        model = ours(random_state=split, **params) if is_ours else makers[name](split)
        parts = table.iloc[train], table.iloc[test], y.iloc[train], y.iloc[test]
        runs.append({"": name} | run(model, *parts))
        if first is None:
            first, typed = (model, X.iloc[test], y.iloc[test]), as_read(X, model.columns_)
    errors = pd.DataFrame(runs).groupby("").mean().rename_axis(None)
    return errors.sort_values(errors.columns[0]), *first


def verdict(errors, ours):
    """Compare ours with the best of the others in a sentence."""
    losses = errors.iloc[:, 0]
    loss, own, others = losses.name, losses[ours], losses.drop(ours)
    other, least = others.idxmin(), others.min()
    if abs(own - least) <= LEVEL * least:
        at_most = f"differs by {100 * LEVEL:.0f} % at most"
        return f"{ours} and {other} are level: their {loss} {at_most}."
    ratio = own / least
    if own < least:
        return f"{ours} has the lowest error: {ratio:.2f} of the {loss} of {other}."
    return f"{other} has the lowest error; the {loss} of {ours} is {ratio:.2f} times as large."
