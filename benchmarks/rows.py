"""Error against rows: how accurate predictions are that may use few training samples.

Usage: python benchmarks/rows.py [options of tabular.py] [--report]

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

`--report` writes docs/benchmark/rows.inc and rows.svg, and runs nothing.
"""

import time
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
import tabular
from _data import DATASETS
from _methods import FAST_PEERS, make_regressor
from _tables import TABLE_PEERS, _ordinal
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import RandomForestRegressor
from sklearn.impute import SimpleImputer
from sklearn.metrics import root_mean_squared_error
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsRegressor, NeighborhoodComponentsAnalysis
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils import gen_batches
from uncertainty import datasets, load

from skneighbors import NONARegressor, SoftStepKNNRegressor

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "rows.jsonl"
OUTPUT = HERE.parent / "docs" / "benchmark" / "rows.inc"
MAX_ROWS = 2000
# Rows that a prediction may use; None for all.
COUNTS = (1, 3, 10, 20, 50, 100, None)
# What lines of the results call the errors, and tables the numbers of rows.
VALUES = {"rmse" if n is None else f"rmse_{n}": "all" if n is None else str(n) for n in COUNTS}
# Where the picture has all rows.
X_ALL = 400
GRID = {"p": [1, 2], "weights": ["uniform", "distance"]}
N_FOLDS = 5
# Categories of a column that become indicators.
MAX_ONE_HOT = 30
# Of neighborhood components analysis: classes of targets, and rows, as it compares all pairs.
N_CLASSES, MAX_NCA = 10, 2000


def prepare(X):
    """Make a transformer of features for k-NN."""
    if not hasattr(X, "columns"):
        return StandardScaler()
    one_hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    numbers = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    columns = one_hot, make_column_selector(dtype_include="category")
    return make_pipeline(_ordinal(MAX_ONE_HOT), make_column_transformer(columns, remainder=numbers))


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
        self.prepare = make_pipeline(prepare(X), *self.embedding)
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
        self.X, self.y = self.prepare.fit_transform(X) if hasattr(X, "columns") else X, y
        self.model.fit(self.X, y)

    def predict(self, X):
        """Predict, by number of rows."""
        X = self.prepare.transform(X) if hasattr(X, "columns") else X
        return limit_rows(forest_weights(self.model, self.X, X), self.y)


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


class Nameless:
    """A peer that names no rows."""

    def __init__(self, name, seed):
        self.name, self.seed = name, seed

    def fit(self, X, y):
        """Fit."""
        peers = TABLE_PEERS if hasattr(X, "columns") else FAST_PEERS
        self.model = peers[self.name](self.seed).fit(X, y)

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
} | {name: lambda seed, name=name: Nameless(name, seed) for name in NAMELESS}
NAMES = list(METHODS)
if find_spec("catboost") is None:
    METHODS.pop("CatBoost")


def measure(benchmark, dataset, split, method):
    """Fit once, predict with every number of rows; the figures of one JSON line."""
    X, X_test, y, y_test = benchmark.load_split(dataset, split)
    model = benchmark.methods[method](split)
    start = time.perf_counter()
    model.fit(X, y)
    seconds = time.perf_counter() - start
    y_hat = model.predict(X_test)
    errors = {
        value: float(root_mean_squared_error(y_test, y_hat[n]))
        for n, value in zip(COUNTS, VALUES, strict=True)
        if n in y_hat
    }
    return {"rows": len(X), **errors, "fit_s": seconds, "versions": tabular.versions()}


def relative(frame, reference):
    """Error over that of a method that names no rows, method by number of rows.

    Geometric means over the splits of a set, then over the sets.
    """
    from report import geometric_mean

    columns, key = {}, {"index": ["dataset", "split"], "columns": "method"}
    of_reference = frame.pivot_table(values="rmse", **key)[reference]
    for value, label in VALUES.items():
        ratio = frame.pivot_table(values=value, **key).div(of_reference, axis=0)
        columns[label] = np.exp(np.log(ratio).groupby("dataset").mean()).apply(geometric_mean)
    return pd.DataFrame(columns).reindex([name for name in NAMES if name in columns["all"]])


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
    from _style import INK, PEER, color

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
    from _style import INK, WIDTH, label_ends, picture, plain_log, word

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


def report(results, output=OUTPUT):
    """Write the tables, and the picture beside them."""
    from report import load, rst_table, versions

    frame, _ = load(results)
    frame = frame[frame.method.isin(NAMES)]
    reference = next(name for name in reversed(NAMELESS) if name in set(frame.method))
    groups = compared(frame)
    tables = {name: relative(group, reference) for name, group in groups.items()}
    parts = [".. Written by benchmarks/rows.py.", ""]
    for name, table in tables.items():
        n_rows = groups[name].rows.max()
        title = (
            f"Test error (RMSE) relative to {reference}'s by the number of rows that a prediction "
            f"may use: geometric mean over {name}, up to {int(n_rows):,} training rows each"
        )
        parts.append(rst_table(title, table, 3))
    output.write_text("\n".join([*parts, versions(frame) + "\n"]), encoding="utf-8")
    draw(tables, reference, output.with_suffix(".svg"))


BENCHMARK = tabular.Benchmark(
    __file__,
    datasets,
    load,
    METHODS,
    {},
    [0],
    RESULTS,
    measure,
    "rmse",
    MAX_ROWS,
    report,
)

if __name__ == "__main__":
    tabular.main(BENCHMARK)
