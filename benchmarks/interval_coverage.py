"""Coverage of intervals: under weights, repeats, new groups, few rows and later rows.

Usage: python benchmarks/interval_coverage.py [options of _benchmark.py]

Simulated rows, twelve times each, and the real tables that are split by group or by time, of the
folder that `SKNEIGHBORS_DATA` names. Peers are at their defaults.
MAPIE conforms histogram boosting on a fifth of the rows: whole groups where there are groups, the
last where rows are in time; the quantile forest and CatBoost take no groups and no validation rows.
"""

from functools import partial

import numpy as np
import pandas as pd
from _benchmark import DOCS, Benchmark, main, versions
from _quantiles import CatBoost, Forest, Mapie, Ours
from _rst import list_versions, rst_text_table, write
from _tables import load_table
from sklearn.preprocessing import OrdinalEncoder

OUTPUT = DOCS / "interval_coverage.inc"
CONFIDENCES = (0.8, 0.9, 0.95)
LEVELS = sorted((1 + sign * confidence) / 2 for confidence in CONFIDENCES for sign in (-1, 1))
REPETITIONS = 12
N_TEST = 500


def simulate(seed, n=300, weight=None, copies=None, drift=0.0):
    """Rows whose noise depends on a feature; weights, copies and a drift if wanted."""
    rng = np.random.RandomState(seed)
    X = rng.normal(size=(n + N_TEST, 3))
    y = X[:, 0] - np.cos(X[:, 1]) + 0.3 * (1 + np.abs(X[:, 2])) * rng.normal(size=len(X))
    time = np.arange(len(X)) / n
    y += drift * np.minimum(time, 1.2)
    X, X_test, y, y_test, given = X[:n], X[n:], y[:n], y[n:], {}
    if weight is not None:
        given["weight"] = np.full(n, 10.0) if weight == "all 10" else rng.randint(1, 11, n) * 1.0
    if copies:
        times = rng.randint(1, 11, size=n) if copies == "some" else np.full(n, copies)
        X, y = np.repeat(X, times, axis=0), np.repeat(y, times)
    if drift:
        given["time"] = np.arange(n)
    return X, X_test, y, y_test, given


def simulate_groups(seed, n_groups, sizes):
    """Rows of groups with an effect each; each test row is of a new one."""
    rng = np.random.RandomState(seed)
    group = np.repeat(np.arange(n_groups), rng.randint(*sizes, size=n_groups))
    group = np.concatenate([group, np.arange(n_groups, n_groups + N_TEST)])
    X, is_test = rng.normal(size=(len(group), 2)), group >= n_groups
    y = X[:, 0] + rng.normal(size=n_groups + N_TEST)[group] + 0.5 * rng.normal(size=len(X))
    parts = X[~is_test], X[is_test], y[~is_test], y[is_test]
    return *parts, {"groups": group[~is_test]}


def load(name, seed):
    """Real table: with its groups, or the order of its rows in time."""
    X, X_test, y, y_test = load_table(name, seed)
    if "groups" in X.attrs:
        return X, X_test, y, y_test, {"groups": np.array(X.attrs["groups"])}
    order = np.lexsort([X[column] for column in reversed(X.attrs["times"])])
    return X, X_test, y, y_test, {"time": order.argsort()}


SETTINGS = {
    "300 rows": simulate,
    "each of weight 10": lambda seed: simulate(seed, weight="all 10"),
    "of weights 1 to 10": lambda seed: simulate(seed, weight="some"),
    "each stands 10 times": lambda seed: simulate(seed, copies=10),
    "each 1 to 10 times": lambda seed: simulate(seed, copies="some"),
    "40 rows": lambda seed: simulate(seed, n=40),
    "60 rows": lambda seed: simulate(seed, n=60),
    "120 rows": lambda seed: simulate(seed, n=120),
    "new groups: 40 of 10 rows": lambda seed: simulate_groups(seed, 40, (10, 11)),
    "new groups: 80 of 2 to 20": lambda seed: simulate_groups(seed, 80, (2, 21)),
    "new groups: 12 of 25 rows": lambda seed: simulate_groups(seed, 12, (25, 26)),
    "later rows, a drift": lambda seed: simulate(seed, drift=2.0),
}
TABLES = {
    "wish, new groups": partial(load, "wish"),
    "seoul_bike, later rows": partial(load, "seoul_bike"),
    "traffic, later rows": partial(load, "traffic"),
}
SETTINGS |= TABLES


METHODS = {
    "NONA": partial(Ours, "NONA"),
    "SoftStep k-NN": partial(Ours, "SoftStep k-NN"),
    "MAPIE, hist. boosting": Mapie,
    "quantile forest": Forest,
    "CatBoost quantiles": CatBoost,
}


def as_numbers(X, X_test):
    """For peers, as the others: categories as ordered codes, missing values as -1."""
    if not hasattr(X, "columns"):
        return [pd.DataFrame(part).add_prefix("x") for part in (X, X_test)]
    names = [name for name in X if X[name].dtype.kind not in "iufb"]
    encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    encoder.fit(X[names].astype(str))
    parts = []
    for part in (X, X_test):
        codes = encoder.transform(part[names].astype(str))
        numbers = part.drop(columns=names).to_numpy(dtype=float)
        numbers = np.nan_to_num(np.column_stack([numbers, codes]), nan=-1.0)
        parts.append(pd.DataFrame(numbers).add_prefix("x"))
    return parts


def measure_one(setting, seed, method):
    """Coverage of the test targets at each confidence, and the median width at 90 %."""
    X, X_test, y, y_test, given = SETTINGS[setting](seed)
    model = METHODS[method](seed, LEVELS)
    if not isinstance(model, Ours):
        X, X_test = as_numbers(X, X_test)
    model.fit(X, y, **given)
    ends = {confidence: model.interval(X_test, confidence).T for confidence in CONFIDENCES}
    low, high = ends[0.9]
    return {
        "split": seed,
        "width": np.median(high - low) / np.std(y_test),
        "shares": [np.mean((low <= y_test) & (y_test <= high)) for low, high in ends.values()],
        "versions": versions(),
    }


def measure(setting, split, method):
    """Figures of a method, of every repetition."""
    seeds = [split] if setting in TABLES else range(REPETITIONS)
    return [measure_one(setting, seed, method) for seed in seeds]


def report(frame):
    """Write the tables."""
    shares = pd.DataFrame(frame.shares.tolist(), index=[frame.dataset, frame.method])
    mean = (100 * shares.groupby(level=[0, 1]).mean()).map("{:.0f}".format)
    mean = mean.apply(" / ".join, axis=1).unstack().loc[list(SETTINGS), list(METHODS)]
    width = frame.groupby(["dataset", "method"]).width.median().unstack()
    width = width.loc[list(SETTINGS), list(METHODS)]
    width = width.map(lambda w: "infinite" if np.isinf(w) else f"{w:.2f}")
    n_splits = frame[frame.dataset.isin(TABLES)].split.nunique()
    title = (
        f"Coverage, in %, of intervals at 80 / 90 / 95 %: means over {REPETITIONS} repetitions, "
        f"of tables over {n_splits}"
    )
    of_width = "Median width of intervals at 90 %, in standard deviations of the targets"
    parts = rst_text_table(title, mean), rst_text_table(of_width, width)
    write(OUTPUT, *parts, list_versions(frame), "", runs=frame)


if __name__ == "__main__":
    main(Benchmark(__file__, lambda: list(SETTINGS), METHODS, measure, report))
