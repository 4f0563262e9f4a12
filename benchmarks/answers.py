"""Time of explanations, quantiles and the like, from a large bank, beside `predict`.

Usage: python benchmarks/answers.py [--rows N]

Fits both estimators at their defaults to 2,000 made rows (Friedman's first problem with noise),
appends more up to N, and measures every method beside `predict` of the same queries, the shortest
of some runs each. What is computed once for all rows (leave-one-out residuals, distances to
neighbours) is timed beside the prediction of as many rows. Writes docs/benchmark/answers.inc.
"""

import argparse
import os
import platform
from pathlib import Path

import pandas as pd
import torch
from report import rst_text_table
from scale import make_rows, timed

from skneighbors import NONARegressor, SoftStepKNNRegressor

OUTPUT = Path(__file__).parent.parent / "docs" / "benchmark" / "answers.inc"
N_FITTED = 2000
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
ONCE = {"predict_quantiles": "all residuals, once", "novelty": "all distances, once"}


def measure(estimator_class, n_rows):
    """Ratios of each method's time to that of `predict`."""
    model = estimator_class(random_state=0).fit(*make_rows(N_FITTED, 0))
    model.append(*make_rows(n_rows - N_FITTED, 1))
    queries = make_rows(1000, 2)[0]
    predict_s = {n: timed(model.predict, queries[:n]) for n in set(CALLS.values())}
    ratios = {}
    for name, first in ONCE.items():
        seconds = timed(getattr(model, name), queries[:1], repeats=1)
        ratios[first] = seconds / (predict_s[1000] * n_rows / 1000)
    for name, n_queries in CALLS.items():
        seconds = timed(getattr(model, name), queries[:n_queries])
        ratios[f"{name}, {n_queries:,} rows"] = seconds / predict_s[n_queries]
    print(estimator_class.__name__, ratios, flush=True)
    return ratios


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=100_000)
    n_rows = parser.parse_args().rows
    table = pd.DataFrame(
        {kind.__name__: measure(kind, n_rows) for kind in (NONARegressor, SoftStepKNNRegressor)}
    )
    machine = f"{os.cpu_count()} {platform.machine()} cores, torch {torch.__version__}"
    title = f"Time relative to predict, from {n_rows:,} neighbours ({machine})"
    text = rst_text_table(title, table.map(lambda ratio: f"{ratio:.2g}"))
    OUTPUT.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
