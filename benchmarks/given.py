"""What groups and times change: NONA and LightGBM with and without them, where test rows need them.

Usage: python benchmarks/given.py [options of _benchmark.py]

Real tables of the folder that `SKNEIGHBORS_DATA` names, whose test rows are of other groups, or
later than the training rows. The splits are those of _tables.py.
"""

from functools import partial

import numpy as np
from _benchmark import DOCS, Benchmark, main
from _methods import FAST_PEERS, OURS
from _rst import rst_text_table, write
from _tables import TIMES, load_table
from sklearn.model_selection import GroupShuffleSplit
from tabular import measure

from skneighbors import NONARegressor

OUTPUT = DOCS / "given.inc"
TABLES = [*TIMES, "wish"]
# Fraction of the training rows that LightGBM validates by.
N_LAST = 0.15


class Given:
    """A method that is given groups or times: ours by `fit`, peers as validation rows.

    These are of other groups, or the last rows.
    """

    def __init__(self, model, seed):
        self.model, self.seed = model, seed

    def fit(self, X, y):
        """Fit."""
        groups, times = X.attrs.get("groups"), X.attrs.get("times")
        if groups is None and times is None:
            raise SystemExit("split neither by group nor by time")
        groups = None if groups is None else groups[: len(X)]
        time = None
        if times is not None:  # rows of one time have one number, those without one NaN
            time = X.groupby(list(times)).ngroup().to_numpy(dtype=float)
        if isinstance(self.model, NONARegressor):
            self.model.fit(X, y, groups=groups, time=time)
        else:
            self._stop_by_validation_rows(X, y, groups, time)
        return self

    def _stop_by_validation_rows(self, X, y, groups, time):
        from lightgbm import early_stopping

        if groups is not None:
            split = GroupShuffleSplit(1, test_size=N_LAST, random_state=self.seed)
            train, last = next(split.split(X, y, groups))
        else:
            in_time = np.argsort(time, kind="stable")
            train, last = np.split(in_time, [round((1 - N_LAST) * len(in_time))])
        self.model.set_params(n_estimators=1000)
        validation = [(X.iloc[last], y[last])]
        stop = early_stopping(20, verbose=False)
        self.model.fit(X.iloc[train], y[train], eval_set=validation, callbacks=[stop])

    def predict(self, X):
        """Predict."""
        return self.model.predict(X)


METHODS = {
    "NONA": OURS["NONA"],
    "NONA, given": lambda seed: Given(OURS["NONA"](seed), seed),
    "LightGBM": FAST_PEERS["LightGBM"],
    "LightGBM, given": lambda seed: Given(FAST_PEERS["LightGBM"](seed), seed),
}


def report(frame):
    """Write the table for the docs."""
    rmse = frame.pivot_table(index="dataset", columns="method", values="rmse")[[*METHODS]]
    table = rmse.map("{:.4g}".format).rename_axis(None)
    for name in ("NONA", "LightGBM"):
        ratio = rmse[f"{name}, given"] / rmse[name]
        table[f"{name}: given to default"] = ratio.map("{:.3f}".format)
    write(OUTPUT, rst_text_table("Test RMSE", table), "", runs=frame)


if __name__ == "__main__":
    run = partial(measure, load_table, METHODS)
    main(Benchmark(__file__, lambda: TABLES, METHODS, run, report))
