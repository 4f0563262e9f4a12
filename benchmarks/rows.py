"""Error against rows: how accurate predictions are that may use few training samples.

Usage: python benchmarks/rows.py [options of _benchmark.py]

Runs on the UCI sets and the real tables of the folder that `SKNEIGHBORS_DATA` names, at most
2,000 training rows each; of sets whose name is among both, the table is left out. The test error
of each method where a prediction may use 1, 3, 10, 20, 50, 100 or all rows:

- tuned k-NN in standardized features, categories one-hot (of many values: ordered codes); for
  every number of rows the distance and the weights that cross-validation chooses;
- the same in the embedding of scikit-learn's neighborhood components analysis, which is for
  classes: targets are tenths;
- a random forest, whose predictions are weighted means of training targets: the largest weights
  alone, their weights rescaled;
- our estimators, fitted once at their defaults, and without a trend and a blended model; then
  `n_neighbors` is set;
- histogram boosting and CatBoost, which name no rows.
"""

from functools import partial

import numpy as np
import pandas as pd
from _benchmark import DOCS, Benchmark, geometric_mean, main, seconds, versions
from _data import DATASETS
from _methods import make_regressor
from _rst import list_versions_and_cores, rst_table, write
from _style import INK, PEER, WIDTH, color, label_ends, picture, plain_log, word
from _tables import TABLE_PEERS, _ordinal, as_dense_numbers, load_set_or_table, sets_and_tables
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.ensemble import RandomForestRegressor
from sklearn.metrics import root_mean_squared_error
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsRegressor, NeighborhoodComponentsAnalysis
from sklearn.pipeline import make_pipeline
from sklearn.utils import gen_batches

from skneighbors import NONARegressor, SoftStepKNNRegressor

OUTPUT = DOCS / "rows.inc"
MAX_ROWS = 2000
# Rows that a prediction may use; None for all.
COUNTS = (1, 3, 10, 20, 50, 100, None)
# What lines of the results call the errors, and tables the numbers of rows.
VALUES = {"rmse" if n is None else f"rmse_{n}": "all" if n is None else str(n) for n in COUNTS}
# Where the picture has all rows.
X_ALL = 400
GRID = {"p": [1, 2], "weights": ["uniform", "distance"]}
N_FOLDS = 5
# Of neighborhood components analysis: classes of targets, and rows, as it compares all pairs.
N_CLASSES, MAX_NCA = 10, 2000


class TargetNCA(TransformerMixin, BaseEstimator):
    """Neighborhood components analysis of classes of targets."""

    def fit(self, X, y):
        """Fit."""
        edges = np.quantile(y, np.linspace(0, 1, N_CLASSES + 1)[1:-1])
        X, classes = X[:MAX_NCA], np.digitize(y[:MAX_NCA], edges)
        nca = NeighborhoodComponentsAnalysis(min(X.shape), init="pca", random_state=0)
        self.nca_ = nca.fit(X, classes)
        return self

    def transform(self, X):
        """Embed."""
        return self.nca_.transform(X)


class KNN:
    """For every number of rows a k-NN, tuned."""

    def __init__(self, *embedding):
        self.embedding = embedding

    def fit(self, X, y):
        """Fit."""
        self.prepare = make_pipeline(as_dense_numbers(), *self.embedding)
        Z = self.prepare.fit_transform(X, y)
        self.models = {n: tuned_knn(Z, y, n) for n in COUNTS}

    def predict(self, X):
        """Predict, by number of rows."""
        Z = self.prepare.transform(X)
        return {n: model.predict(Z) for n, model in self.models.items()}


def tuned_knn(Z, y, n_neighbors):
    """k-NN whose distance and weights are chosen by cross-validation."""
    n_neighbors = min(n_neighbors or len(y), len(y))
    n_in_fold = len(y) - -(-len(y) // N_FOLDS)
    search = GridSearchCV(
        KNeighborsRegressor(min(n_neighbors, n_in_fold)),
        GRID,
        cv=N_FOLDS,
        scoring="neg_mean_squared_error",
        refit=False,
    ).fit(Z, y)
    return KNeighborsRegressor(n_neighbors, **search.best_params_).fit(Z, y)


class Forest:
    """Random forest, limited to the largest weights; categories as ordered codes."""

    def __init__(self, seed):
        self.prepare, self.model = _ordinal(), RandomForestRegressor(random_state=seed)

    def fit(self, X, y):
        """Fit."""
        self.X, self.y = self.prepare.fit_transform(X), y
        self.model.fit(self.X, y)

    def predict(self, X):
        """Predict, by number of rows."""
        return limit_rows(forest_weights(self.model, self.X, self.prepare.transform(X)), self.y)


def forest_weights(forest, X_train, X):
    """Weights of the training rows in a forest's predictions of X.

    In a tree a row weighs as often as it was drawn, over the draws in its leaf.

    Returns
    -------
    weights : csr_array of shape (len(X), len(X_train))
        Rows sum to 1.
    """
    rows, total = np.arange(len(X_train)), 0
    drawn, leaves = forest.estimators_samples_, (forest.apply(part).T for part in (X_train, X))
    for sample, leaf, leaf_of_query in zip(drawn, *leaves, strict=True):
        count = np.bincount(sample, minlength=len(rows))
        weight = count / np.bincount(leaf, count)[leaf]
        n_nodes = 1 + max(leaf.max(), leaf_of_query.max())
        by_leaf = sparse.csr_array((weight, (leaf, rows)), shape=(n_nodes, len(rows)))
        by_leaf.eliminate_zeros()
        total = total + by_leaf[leaf_of_query]
    return total / len(forest)


def limit_rows(weights, y):
    """Means of the targets (n,) by the largest of the weights (b, n) alone, by their number."""
    parts = []
    for batch in gen_batches(weights.shape[0], 500):
        part = weights[batch].toarray()
        order = np.argsort(-part, axis=1, kind="stable")
        part = np.take_along_axis(part, order, axis=1)
        parts.append((part * y[order]).cumsum(axis=1) / part.cumsum(axis=1))
    means = np.concatenate(parts)
    return {n: means[:, min(n or len(y), len(y)) - 1] for n in COUNTS}


class Ours:
    """An estimator of this package, whose number of rows is set after its fit."""

    def __init__(self, model):
        self.model = model

    def fit(self, X, y):
        """Fit."""
        self.model.fit(X, y)

    def predict(self, X):
        """Predict, by number of rows."""
        return {n: self.model.set_params(n_neighbors=n).predict(X) for n in COUNTS}


class Nameless(Ours):
    """A peer that names no rows."""

    def __init__(self, name, seed):
        super().__init__(TABLE_PEERS[name](seed))

    def predict(self, X):
        """Predict."""
        return {None: self.model.predict(X)}


def _ours(estimator, **params):
    return lambda seed: Ours(make_regressor(estimator, random_state=seed, **params))


NAMELESS = ["hist. boosting", "CatBoost"]
METHODS = {
    "tuned k-NN": lambda seed: KNN(),
    "NCA + k-NN": lambda seed: KNN(TargetNCA()),
    "random forest": Forest,
    "NONA": _ours(NONARegressor),
    "NONA, no trend": _ours(NONARegressor, trend=None, blend=None),
    "SoftStep k-NN": _ours(SoftStepKNNRegressor),
    "SoftStep k-NN, no trend": _ours(SoftStepKNNRegressor, trend=None),
} | {name: partial(Nameless, name) for name in NAMELESS}


def measure(dataset, split, method):
    """Fit once, predict with every number of rows."""
    X, X_test, y, y_test = load_set_or_table(dataset, split)
    X, y, model = X[:MAX_ROWS], y[:MAX_ROWS], METHODS[method](split)
    fit_s, found = seconds(model.fit, X, y), model.predict(X_test)
    errors = {
        value: root_mean_squared_error(y_test, found[n])
        for n, value in zip(COUNTS, VALUES, strict=True)
        if n in found
    }
    return {"rows": len(X), **errors, "fit_s": fit_s, "versions": versions()}


def relative(frame, reference):
    """Error over that of a method that names no rows, method by number of rows.

    Geometric means over the splits of a set, then over the sets.
    """
    columns, key = {}, {"index": ["dataset", "split"], "columns": "method"}
    of_reference = frame.pivot_table(values="rmse", **key)[reference]
    for value, label in VALUES.items():
        ratio = frame.pivot_table(values=value, **key).div(of_reference, axis=0)
        columns[label] = np.exp(np.log(ratio).groupby("dataset").mean()).apply(geometric_mean)
    return pd.DataFrame(columns).reindex([name for name in METHODS if name in columns["all"]])


def compared(frame):
    """Leave the splits that all methods ran on, those of UCI sets and of tables apart."""
    ran = frame.pivot_table(index=["dataset", "split"], columns="method", values="rmse").dropna()
    frame = frame[frame.set_index(["dataset", "split"]).index.isin(ran.index)]
    is_uci = frame.dataset.isin(DATASETS)
    groups = {"UCI sets": frame[is_uci], "real tables": frame[~is_uci]}
    return {
        f"{group.dataset.nunique()} {name}": group for name, group in groups.items() if len(group)
    }


def style(method):
    """How a method's line is drawn."""
    hue = color(method)
    markers = {"tuned k-NN": "s", "NCA + k-NN": "^", "random forest": "v"}
    line = {"ls": "--" if method.endswith("no trend") else "-", "lw": 1.3}
    return line | {
        "color": INK if hue == PEER else hue,
        "marker": markers.get(method, "o"),
        "markersize": 4,
    }


def draw(tables, reference, path):
    """Errors against the number of rows, a panel for each group of sets."""
    places = [n or X_ALL for n in COUNTS]
    size = WIDTH, 0.5 + 3.6 * len(tables)
    with picture(path, len(tables), figsize=size, sharex=True, squeeze=False) as (_, axes):
        for axis, (title, table) in zip(axes[:, 0], tables.items(), strict=True):
            for method, errors in table.iterrows():
                if method in NAMELESS:
                    axis.axhline(errors["all"], color=INK, lw=0.9, ls=":")
                else:
                    axis.plot(places, errors, **style(method))
            axis.set(xscale="log", yscale="log", title=title)
            axis.set(ylabel=f"error / {reference}'s (lower is better)")
            axis.set_xticks(places, VALUES.values())
            axis.set_xticks([], minor=True)
            plain_log(axis.yaxis)
            ends = {method: (X_ALL, errors["all"]) for method, errors in table.iterrows()}
            label_ends(axis, ends, {method: {"size": 9, **word(method)} for method in ends})
        axes[-1, 0].set_xlabel("rows that a prediction may use")


def report(frame, output=OUTPUT):
    """Write the tables, and the picture beside them."""
    reference = next(name for name in reversed(NAMELESS) if name in set(frame.method))
    groups = compared(frame)
    tables = {name: relative(group, reference) for name, group in groups.items()}
    parts = []
    for name, table in tables.items():
        n_rows = groups[name].rows.max()
        title = (
            f"Test error (RMSE) relative to {reference}'s by the number of rows that a prediction "
            f"may use: geometric mean over {name}, up to {int(n_rows):,} training rows each"
        )
        parts.append(rst_table(title, table, 3))
    write(output, *parts, list_versions_and_cores(frame), "", script="rows.py", runs=frame)
    draw(tables, reference, output.with_suffix(".svg"))


BENCHMARK = Benchmark(__file__, sets_and_tables, METHODS, measure, report)

if __name__ == "__main__":
    main(BENCHMARK)
