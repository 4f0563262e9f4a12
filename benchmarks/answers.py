"""Time of explanations, quantiles and the like, with many training samples, beside `predict`.

Usage: python benchmarks/answers.py

Fits both estimators at their defaults to 2,000 made rows (Friedman's first problem with noise),
appends more up to 100,000, and measures every method beside `predict` of the same queries, the
shortest of some runs each. What a first call computes, of 10,000 rows at most (leave-one-out
residuals, distances to neighbors), is timed beside the prediction of as many rows. Writes
docs/benchmark/answers.inc.
"""

import _version
import pandas as pd
from _benchmark import DOCS, machine, seconds
from _rst import rst_text_table, write
from scale import make_rows, timed

from skneighbors import NONARegressor, SoftStepKNNRegressor

N_FITTED, N_ROWS = 2000, 100_000
# Rows whose residuals and distances are known.
N_KNOWN = 10_000
# Rows appended before some calls.
N_APPENDED = 10
CALLS = {
    "explain": 100,
    "neighbor_weights": 100,
    "effective_n_neighbors": 1000,
    "kneighbors": 1000,
    "predict_quantiles": 1000,
    "predict_interval": 1000,
    "novelty": 1000,
}
# What the first call of some methods computes.
ONCE = {"predict_quantiles": "residuals, once", "novelty": "distances, once"}


def measure(estimator_class, n_rows):
    """Ratios of each method's time to that of `predict`."""
    model = estimator_class(random_state=0).fit(*make_rows(N_FITTED, 0))
    model.append(*make_rows(n_rows - N_FITTED, 1))
    n_known = min(n_rows, N_KNOWN)
    queries = make_rows(n_known, 2)[0]
    predict_s = {n: timed(model.predict, queries[:n]) for n in {*CALLS.values(), n_known}}
    ratios = {}
    for name, first in ONCE.items():
        ratios[first] = seconds(getattr(model, name), queries[:1]) / predict_s[n_known]
    for name, n_queries in CALLS.items():
        taken = timed(getattr(model, name), queries[:n_queries])
        ratios[f"{name}, {n_queries:,} rows"] = taken / predict_s[n_queries]
    after_append = []
    for seed in (3, 4, 5):
        model.append(*make_rows(N_APPENDED, seed))
        after_append.append(seconds(model.predict_quantiles, queries[:1000]))
    name = f"predict_quantiles, 1,000 rows, after append of {N_APPENDED}"
    ratios[name] = min(after_append) / predict_s[1000]
    print(estimator_class.__name__, ratios, flush=True)
    return ratios


def main():
    table = pd.DataFrame(
        {kind.__name__: measure(kind, N_ROWS) for kind in (NONARegressor, SoftStepKNNRegressor)}
    )
    title = f"Time relative to predict, {N_ROWS:,} training samples ({machine()})"
    text = rst_text_table(title, table.map(lambda ratio: f"{ratio:.2g}"))
    used = pd.DataFrame({"code": [_version.code()] * table.shape[1]})
    write(DOCS / "answers.inc", text, "", script="answers.py", runs=used)


if __name__ == "__main__":
    main()
