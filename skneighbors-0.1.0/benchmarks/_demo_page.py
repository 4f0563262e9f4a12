"""The demo's comparison of methods on a table, and its page."""

import html
import io
import sys
import time
from importlib.util import find_spec

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from _tables import TABLE_METHODS, as_numbers, text_as_categories
from sklearn.metrics import mean_absolute_error, r2_score, root_mean_squared_error
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline

from skneighbors import NONARegressor
from skneighbors.inspection import IntervalDisplay, NeighborsDisplay

OURS = "NONARegressor"
N_SPLITS, CONFIDENCE = 2, 0.9
STYLE = "body{font:16px sans-serif;max-width:60em;margin:2em auto;padding:0 1em}"
STYLE += (
    "table{border-collapse:collapse}td,th{padding:.2em .7em;text-align:right}svg{max-width:100%}"
)


def methods():
    """Makers of the methods, by name; each takes a seed. CatBoost only where it is there."""
    names = ["ridge", "random forest", "hist. boosting"]
    names += ["CatBoost, text"] if find_spec("catboost") else []
    makers = {name: TABLE_METHODS[name] for name in names}
    return makers | {"k-NN": lambda seed: make_pipeline(as_numbers(), KNeighborsRegressor())}


def as_read(X, columns):
    """Make numbers of text that ours reads as numbers and dates, and categories of other text.

    Parameters
    ----------
    X : DataFrame
    columns : ColumnSummary
        Of NONARegressor.
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


def run(model, X, X_test, y, y_test):
    """Fit and predict; errors and seconds."""
    start = time.perf_counter()
    model.fit(X, y)
    seconds = time.perf_counter() - start
    y_hat = model.predict(X_test)
    return {
        "RMSE": root_mean_squared_error(y_test, y_hat),
        "mean absolute error": mean_absolute_error(y_test, y_hat),
        "R²": r2_score(y_test, y_hat),
        "fit, seconds": seconds,
    }


def compare(X, y, makers, n_splits=N_SPLITS, **params):
    """Compare ours, with these parameters, with others on the same splits; see :func:`as_read`.

    Returns
    -------
    errors : DataFrame
        Means over the splits, a method a row, the best first.
    model : NONARegressor
        Of the first split.
    X_test : DataFrame
    y_test : Series
        Test rows of the first split.
    """
    typed, runs, first = None, [], None
    for split in range(n_splits):
        train, test = train_test_split(np.arange(len(X)), test_size=0.2, random_state=split)
        print(f"split {split + 1} of {n_splits}: {OURS}", file=sys.stderr)
        model = NONARegressor(random_state=split, **params)
        targets = y.iloc[train], y.iloc[test]
        runs.append({"": OURS} | run(model, X.iloc[train], X.iloc[test], *targets))
        if first is None:
            first, typed = (model, X.iloc[test], y.iloc[test]), as_read(X, model.columns_)
        for name, make in makers.items():
            print(f"split {split + 1} of {n_splits}: {name}", file=sys.stderr)
            made = run(make(split), typed.iloc[train], typed.iloc[test], *targets)
            runs.append({"": name} | made)
    return pd.DataFrame(runs).groupby("").mean().sort_values("RMSE"), *first


def verdict(errors):
    """Compare ours with the best of the others in a sentence."""
    best = errors.index[0]
    if best == OURS:
        ratio = errors.RMSE[OURS] / errors.RMSE.iloc[1]
        return f"{OURS} has the lowest error: {ratio:.2f} of the RMSE of {errors.index[1]}."
    ratio = errors.RMSE[OURS] / errors.RMSE[best]
    return f"{best} has the lowest error; the RMSE of {OURS} is {ratio:.2f} times as large."


def picture(display):
    """SVG of what a display has drawn."""
    file = io.StringIO()
    display.figure_.savefig(file, format="svg", bbox_inches="tight")
    plt.close(display.figure_)
    return file.getvalue().partition("<svg")[1] + file.getvalue().partition("<svg")[2]


def make_page(title, errors, model, X_test, y_test):
    """Write all as one page of HTML, and the lines that the terminal shows."""
    why = model.explain(X_test[:1], by_column=True)
    lower, upper = model.predict_interval(X_test, confidence_level=CONFIDENCE).T
    covered = np.mean((lower <= y_test) & (y_test <= upper))
    how_sure = f"{CONFIDENCE:.0%} intervals cover {covered:.0%} of {len(y_test)} test targets."
    table = errors.map("{:.4g}".format)
    columns = model.columns_
    sections = [title], [str(columns)], [table.to_string(), verdict(errors)], [str(why)]
    lines = [line for section in sections for line in (*section, "")] + [how_sure]
    rows = picture(NeighborsDisplay.from_estimator(model, X_test[:1]))
    intervals = picture(IntervalDisplay.from_estimator(model, X_test, y_test, CONFIDENCE))
    how = "all methods at their defaults; the others get numbers and dates in text as numbers"
    parts = [
        f"<h1>{html.escape(title)}</h1><p>{verdict(errors)}</p>{table.to_html()}",
        f"<p>Means over {N_SPLITS} random splits, {how}.</p>",
        f"<h2>How were the columns read?</h2>{columns._repr_html_()}",
        f"<h2>Which rows made this prediction?</h2>{why._repr_html_()}{rows}",
        f"<p>The target is {y_test.iloc[0]:.6g}.</p>",
        f"<h2>How sure is it?</h2><p>{how_sure}</p>{intervals}",
    ]
    head = f"<!doctype html><meta charset=utf-8><title>skneighbors</title><style>{STYLE}</style>"
    return head + "".join(parts), lines
