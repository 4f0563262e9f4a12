"""Small predictions: time of one call, beside boosted trees and scikit-learn's MLPRegressor.

Usage: OMP_NUM_THREADS=1 python benchmarks/small_calls.py

Fits default estimators, and the others at their defaults, to 200 made rows (Friedman's first
problem with noise), then measures one ``predict`` of 200 other rows, of a single one, and of a
single one from 10,000 training samples, those after the first 200 appended; a partial dependence on
two features over 200 rows (a grid of 100 by 100 points, so 10,000 calls), which is timed on a grid
of 10 by 10 and scaled up; and, fitted to 200 rows of a DataFrame of 19 columns, of which three hold
categories, one ``predict`` of a single one. MLPRegressor gets categories one-hot. Medians of
30 calls. Writes results/small_calls.json and docs/benchmark/small_calls.inc.
"""

import json
import platform
import statistics

import _version
import numpy as np
import pandas as pd
import torch
from _benchmark import DOCS, RESULTS, seconds
from _rst import rst_list_table, write
from catboost import CatBoostRegressor
from scale import make_rows
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.inspection import partial_dependence
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from skneighbors import NONARegressor, SoftStepKNNRegressor

N_ROWS, N_TRAINING = 200, 10_000
# Points of a partial dependence on each of two features: by default, and those measured.
GRID, MEASURED_GRID = 100, 10
CATEGORIES = {"kind": 3, "street": 12, "city": 40}
ESTIMATORS = {
    "NONA": NONARegressor(random_state=0),
    "NONA, no trees": NONARegressor(blend=None, random_state=0),
    "NONA, one network, no trees": NONARegressor(n_estimators=1, blend=None, random_state=0),
    "SoftStep k-NN": SoftStepKNNRegressor(random_state=0),
    "HistGradientBoostingRegressor": HistGradientBoostingRegressor(random_state=0),
    "CatBoostRegressor": CatBoostRegressor(
        random_seed=0, verbose=0, allow_writing_files=False, thread_count=torch.get_num_threads()
    ),
    "MLPRegressor": MLPRegressor(random_state=0, max_iter=1000),
}
COLUMNS = {
    "rows": f"{N_ROWS} rows from {N_ROWS}, ms",
    "row": f"1 row from {N_ROWS}, ms",
    "row_of_many": f"1 row from {N_TRAINING:,}, ms",
    "row_of_frame": f"1 row of a DataFrame from {N_ROWS}, ms",
    "dependence_s": f"partial dependence of two features, {N_ROWS} rows, s",
}


def make_frame(seed):
    """Rows of a DataFrame of 19 columns, and targets."""
    random_state = np.random.RandomState(seed)
    X, y = make_rows(N_ROWS, seed)
    frame = pd.DataFrame({f"x{i}": column for i, column in enumerate(X.T)})
    for i in range(6):
        frame[f"n{i}"] = random_state.randint(100, size=N_ROWS)
    for name, n_values in CATEGORIES.items():
        codes = random_state.randint(n_values, size=N_ROWS)
        frame[name] = pd.Categorical.from_codes(codes, [f"{name} {i}" for i in range(n_values)])
    return frame, y


def for_frames(model):
    """Estimator for DataFrames, with its encoding of categories."""
    if isinstance(model, CatBoostRegressor):
        return CatBoostRegressor(**model.get_params(), cat_features=list(CATEGORIES))
    if isinstance(model, MLPRegressor):
        encoder = OneHotEncoder(handle_unknown="ignore")
        categories = make_column_selector(dtype_include="category")
        encode = make_column_transformer((encoder, categories), remainder="passthrough")
        return make_pipeline(encode, model)
    return model


def milliseconds(function, *arguments, repeats=30):
    """Median time of a call, after a first one."""
    function(*arguments)
    return 1000 * statistics.median(seconds(function, *arguments) for _ in range(repeats))


def measure(model):
    """Fit an estimator and time it."""
    model.fit(*make_rows(N_ROWS, 0))
    X = make_rows(N_ROWS, 1)[0]
    line = {"rows": milliseconds(model.predict, X), "row": milliseconds(model.predict, X[:1])}
    options = {"method": "brute", "grid_resolution": MEASURED_GRID}
    dependence = milliseconds(lambda: partial_dependence(model, X, [(0, 1)], **options), repeats=1)
    line["dependence_s"] = dependence / 1000 * (GRID / MEASURED_GRID) ** 2
    if hasattr(model, "append"):
        model.append(*make_rows(N_TRAINING - N_ROWS, 2))
        line["row_of_many"] = milliseconds(model.predict, X[:1])
    of_frame = for_frames(model).fit(*make_frame(0))
    line["row_of_frame"] = milliseconds(of_frame.predict, make_frame(1)[0][:1])
    return line


def write_table(runs, on, code):
    """Write the times as an RST table."""
    rows = [["estimator", *COLUMNS.values()]]
    for name, run in runs.items():
        rows.append([name, *(f"{run[key]:.2g}" if key in run else "" for key in COLUMNS)])
    table = rst_list_table(f"Small predictions on {on}", rows)
    used = pd.DataFrame({"method": list(runs), "code": code})
    used = used[used.method.str.startswith(_version.OURS)]
    write(DOCS / "small_calls.inc", table, script=f"small_calls.py on {on}", runs=used)


def main():
    n_threads = torch.get_num_threads()
    threads = "1 thread" if n_threads == 1 else f"{n_threads} threads"
    on = f"{threads} of {platform.machine()}, torch {torch.__version__}"
    runs = {}
    for name, model in ESTIMATORS.items():
        runs[name] = measure(model)
        print(name, json.dumps(runs[name]), flush=True)
    found = {"machine": on, "code": _version.code(), "runs": runs}
    text = json.dumps(found, indent=1) + "\n"
    (RESULTS / "small_calls.json").write_text(text, encoding="utf-8")
    write_table(runs, on, found["code"])


if __name__ == "__main__":
    main()
