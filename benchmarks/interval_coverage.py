"""Coverage of intervals: under weights, repeats, new groups, few rows and later rows.

Usage: python benchmarks/interval_coverage.py [--repetitions 12] [--jobs 2] [--settings NAME ...]
       [--methods NAME ...] [--report]

Simulated rows, and the real tables that are split by group or by time, of the folder that
`SKNEIGHBORS_DATA` names. Writes benchmarks/results/interval_coverage.json and
docs/benchmark/interval_coverage.inc; `--report` the latter alone. Results of settings and methods
that are not named are kept. Peers are at their defaults.
MAPIE conforms histogram boosting on a fifth of the rows: whole groups where there are groups, the
last where rows are in time; the quantile forest and CatBoost take no groups and no validation rows.
"""

import argparse
import json
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from _tables import available_tables, load_table
from joblib import Parallel, delayed
from report import rst_text_table
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.model_selection import GroupShuffleSplit, ShuffleSplit
from sklearn.preprocessing import OrdinalEncoder
from tabular import versions

from skneighbors import NONARegressor, SoftStepKNNRegressor

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "interval_coverage.json"
OUTPUT = HERE.parent / "docs" / "benchmark" / "interval_coverage.inc"
LEVELS = (0.8, 0.9, 0.95)
N_TEST = 500


def simulate(seed, n=300, weight=None, copies=None, drift=0.0):
    """Rows whose noise depends on a feature; weights, copies and a drift if wanted."""
    rng = np.random.RandomState(seed)
    X = rng.normal(size=(n + N_TEST, 3))
    y = X[:, 0] - np.cos(X[:, 1]) + 0.3 * (1 + np.abs(X[:, 2])) * rng.normal(size=len(X))
    time = np.arange(len(X)) / n
    data = {"X": X[:n], "y": y[:n] + drift * time[:n], "X_test": X[n:]}
    data["y_test"] = y[n:] + drift * np.minimum(time[n:], 1.2)
    if weight is not None:
        data["weight"] = (
            np.full(n, 10.0) if weight == "all 10" else rng.randint(1, 11, size=n) * 1.0
        )
    if copies:
        times = rng.randint(1, 11, size=n) if copies == "some" else np.full(n, copies)
        data["X"], data["y"] = (np.repeat(data[part], times, axis=0) for part in ("X", "y"))
    if drift:
        data |= {"time": np.arange(n), "last": np.arange(n) >= 0.8 * n}
    return data


def simulate_groups(seed, n_groups, sizes):
    """Rows of groups with an effect each; each test row is of a new one."""
    rng = np.random.RandomState(seed)
    group = np.repeat(np.arange(n_groups), rng.randint(*sizes, size=n_groups))
    group = np.concatenate([group, np.arange(n_groups, n_groups + N_TEST)])
    X, is_test = rng.normal(size=(len(group), 2)), group >= n_groups
    y = X[:, 0] + rng.normal(size=n_groups + N_TEST)[group] + 0.5 * rng.normal(size=len(X))
    parts = {"X": X[~is_test], "y": y[~is_test], "X_test": X[is_test], "y_test": y[is_test]}
    return parts | {"groups": group[~is_test]}


def load(name, seed):
    """Real table: with its groups, or its last rows."""
    X, X_test, y, y_test = load_table(name, seed)
    parts = {"X": X, "y": y, "X_test": X_test, "y_test": y_test}
    if "groups" in X.attrs:
        return parts | {"groups": np.array(X.attrs["groups"][: len(X)])}
    order = np.lexsort([X[column] for column in reversed(X.attrs["times"])])
    last = np.zeros(len(X), dtype=bool)
    last[order[round(0.8 * len(X)) :]] = True
    return parts | {"time": order.argsort(), "last": last}


SETTINGS = {
    "300 rows": lambda seed: simulate(seed),
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
    f"{name}, {'new groups' if name == 'wish' else 'later rows'}": name
    for name in ("wish", "seoul_bike", "traffic")
}


class Ours:
    """An estimator of this package, given weights, groups and the time of rows."""

    def __init__(self, model):
        self.model = model

    def fit(self, data):
        """Fit."""
        names = {"sample_weight": "weight", "groups": "groups", "time": "time"}
        self.model.fit(data["X"], data["y"], **{to: data.get(name) for to, name in names.items()})

    def interval(self, X, level):
        """Predict the ends (n, 2)."""
        return self.model.predict_interval(X, level)


class Mapie:
    """Split-conformal intervals by MAPIE around histogram boosting."""

    def __init__(self, seed):
        self.seed = seed

    def fit(self, data):
        """Fit, and conform on a fifth."""
        from mapie.regression import SplitConformalRegressor

        X, y, last = data["X"], data["y"], data.get("last")
        groups = data.get("groups")
        splitter = ShuffleSplit if groups is None else GroupShuffleSplit
        train, other = next(splitter(1, test_size=0.2, random_state=self.seed).split(X, y, groups))
        if last is not None:
            train, other = np.flatnonzero(~last), np.flatnonzero(last)
        weight = {} if "weight" not in data else {"sample_weight": data["weight"][train]}
        model = HistGradientBoostingRegressor(random_state=self.seed).fit(
            X[train], y[train], **weight
        )
        # It refuses levels that need more rows.
        self.levels = [level for level in LEVELS if 1 / (1 - level) < len(other)]
        conformal = SplitConformalRegressor(model, confidence_level=self.levels, prefit=True)
        self.conformal = conformal.conformalize(X[other], y[other])

    def interval(self, X, level):
        """Predict the ends (n, 2)."""
        if level not in self.levels:
            return np.tile([-np.inf, np.inf], (len(X), 1))
        return self.conformal.predict_interval(X)[1][:, :, self.levels.index(level)]


class Forest:
    """Quantile regression forest."""

    def __init__(self, seed):
        from quantile_forest import RandomForestQuantileRegressor

        self.model = RandomForestQuantileRegressor(random_state=seed)

    def fit(self, data):
        """Fit."""
        self.model.fit(data["X"], data["y"], sample_weight=data.get("weight"))

    def interval(self, X, level):
        """Predict the ends (n, 2)."""
        return self.model.predict(X, quantiles=[(1 - level) / 2, (1 + level) / 2])


class CatBoost:
    """One model of all quantiles."""

    def __init__(self, seed):
        from catboost import CatBoostRegressor

        ends = sorted((1 + sign * level) / 2 for level in LEVELS for sign in (-1, 1))
        loss = "MultiQuantile:alpha=" + ",".join(f"{end:.4f}" for end in ends)
        self.model = CatBoostRegressor(
            loss_function=loss, random_seed=seed, verbose=0, allow_writing_files=False
        )

    def fit(self, data):
        """Fit."""
        self.model.fit(data["X"], data["y"], sample_weight=data.get("weight"))

    def interval(self, X, level):
        """Predict the ends (n, 2)."""
        place = LEVELS[::-1].index(level)
        return self.model.predict(X)[:, [place, -1 - place]]


METHODS = {
    "NONA": lambda seed: Ours(NONARegressor(random_state=seed)),
    "SoftStep k-NN": lambda seed: Ours(SoftStepKNNRegressor(random_state=seed)),
    "MAPIE, hist. boosting": Mapie,
    "quantile forest": Forest,
    "CatBoost quantiles": CatBoost,
}


def as_numbers(data):
    """For peers, as the others: categories as ordered codes, missing values as -1."""
    X = data["X"]
    if not hasattr(X, "columns"):
        return data
    names = [name for name in X if X[name].dtype.kind not in "iufb"]
    encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    encoder.fit(X[names].astype(str))
    parts = {}
    for part in ("X", "X_test"):
        codes = encoder.transform(data[part][names].astype(str))
        numbers = data[part].drop(columns=names).to_numpy(dtype=float)
        parts[part] = np.nan_to_num(np.column_stack([numbers, codes]), nan=-1.0)
    return data | parts


def measure(setting, method, seed):
    """Coverage of the test targets at each level, and the mean width at 90 %."""
    data = SETTINGS[setting](seed) if setting in SETTINGS else load(TABLES[setting], seed)
    model = METHODS[method](seed)
    if not isinstance(model, Ours):
        data = as_numbers(data)
    shares = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(data)
        for level in LEVELS:
            low, high = model.interval(data["X_test"], level).T
            shares[level] = float(np.mean((low <= data["y_test"]) & (data["y_test"] <= high)))
            if level == 0.9:
                width = float(np.median(high - low) / np.std(data["y_test"]))
    return {"setting": setting, "method": method, "width": width, "shares": list(shares.values())}


def report(found):
    """Write the tables."""
    frame = pd.DataFrame(found["runs"])
    frame["coverage"] = [" / ".join(f"{100 * s:.0f}" for s in shares) for shares in mean_of(frame)]
    rows = [name for name in (*SETTINGS, *TABLES) if name in set(frame.setting)]
    methods = [name for name in METHODS if name in set(frame.method)]
    mean = frame.groupby(["setting", "method"]).first().coverage.unstack().loc[rows, methods]
    width = frame.groupby(["setting", "method"]).width.median().unstack().loc[rows, methods]
    width = width.map(lambda w: "infinite" if np.isinf(w) else f"{w:.2f}")
    parts = [
        rst_text_table(
            "Coverage, in %, of intervals at 80 / 90 / 95 %: means over "
            f"{found['repetitions']} repetitions, of tables over {found['splits']}",
            mean.fillna(""),
        ),
        rst_text_table(
            "Median width of intervals at 90 %, in standard deviations of the targets",
            width,
        ),
    ]
    listed = ", ".join(f"{name} {number}" for name, number in found["versions"].items())
    OUTPUT.write_text("\n".join([*parts, f"Versions: {listed}.\n"]), encoding="utf-8")


def mean_of(frame):
    """Mean coverage (n, n_levels) over the runs of the same setting and method."""
    keys = [frame.setting, frame.method]
    shares = pd.DataFrame(frame.shares.tolist(), index=frame.index)
    return shares.groupby(keys).transform("mean").to_numpy()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=12)
    parser.add_argument("--splits", type=int, default=1, help="of the real tables")
    parser.add_argument("--jobs", type=int, default=2)
    every = [*SETTINGS, *TABLES]
    parser.add_argument("--settings", nargs="+", default=every, choices=every)
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=METHODS)
    parser.add_argument("--report", action="store_true")
    options = parser.parse_args()
    if not options.report:
        known = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
        before = known.get("runs", [])
        if before and (known["repetitions"], known["splits"]) != (
            options.repetitions,
            options.splits,
        ):
            parser.error("what was found before has another number of repetitions or splits")
        n_seeds = dict.fromkeys(SETTINGS, options.repetitions)
        n_seeds |= {name: options.splits for name in TABLES if TABLES[name] in available_tables()}
        runs = Parallel(n_jobs=options.jobs, verbose=1)(
            delayed(measure)(setting, method, seed)
            for setting in options.settings
            for seed in range(n_seeds.get(setting, 0))
            for method in options.methods
        )
        again = {(run["setting"], run["method"]) for run in runs}
        runs += [run for run in before if (run["setting"], run["method"]) not in again]
        found = {
            "repetitions": options.repetitions,
            "splits": options.splits,
            "versions": versions(),
            "runs": runs,
        }
        RESULTS.write_text(json.dumps(found, indent=1), encoding="utf-8")
    report(json.loads(RESULTS.read_text(encoding="utf-8")))


if __name__ == "__main__":
    main()
