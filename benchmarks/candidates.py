"""Prediction from candidates in a large bank: what it costs and what it changes.

Usage: python benchmarks/candidates.py [--dataset NAME] [--rows N] [--algorithms NAME ...]

Fits both estimators, one member each, to the training rows of a real data set
(split 0), and enlarges the bank by `append`: copies of the rows, with Gaussian
noise of 0.1 standard deviations on every feature and of 0.01 on the target.
Then measures `predict` on test rows, exactly and with candidates found by each
algorithm: the time without the embedding of the queries and without building
the index, which is listed; how much of the weight the candidates hold, the mean
over some queries, the rest being estimated by NONA and left out by SoftStep k-NN;
and the change of the test RMSE. Writes
results/candidates.json and docs/benchmark/candidates.inc.
"""

import argparse
import json
import os
import platform
import time
from pathlib import Path

import torch
from _data import enlarge, load_split
from sklearn.metrics import root_mean_squared_error

from skneighbors import NONARegressor, SoftStepKNNRegressor

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "candidates.json"
TABLE = HERE.parent / "docs" / "benchmark" / "candidates.inc"
ESTIMATORS = {"NONA": NONARegressor, "SoftStep k-NN": SoftStepKNNRegressor}
CANDIDATES = (256, 512, 1024, 2048, 4096)
# Queries whose weights are compared.
N_WEIGHED = 64


def seconds(function):
    """Time of a call, and what it returned."""
    start = time.perf_counter()
    out = function()
    return time.perf_counter() - start, out


@torch.no_grad()
def weight_held(bank, X, algorithm, n_candidates):
    """Mean share of the exact weights that the candidates' rows hold."""
    z = bank.embed(X)[0]
    (near,) = bank.indices.get(bank, algorithm)
    rows = near.find(z, n_candidates)
    head, z_n = bank.network.head, bank.z_n
    held = [
        head.weights(part[None], z_n, sample_weight=bank.sample_weight)[0]
        .gather(1, found.clamp(min=0))
        .mul(found >= 0)
        .sum(1)
        for part, found in zip(z.split(8), rows.split(8), strict=True)
    ]
    return torch.cat(held).mean().item()


def measure(kind, dataset, n_rows, n_queries, epochs, algorithms):
    """One line for exact prediction and for every algorithm and number of candidates."""
    X, X_test, y, y_test = load_split(dataset, 0)
    X_test, y_test = X_test[:n_queries], y_test[:n_queries]
    model = ESTIMATORS[kind](n_estimators=1, max_iter=epochs, random_state=0).fit(X, y)
    model.append(*enlarge(X, y, n_rows))
    embedding, _ = seconds(lambda: model.transform(X_test))
    exact, y_hat = seconds(lambda: model.predict(X_test))
    exact -= embedding
    error = root_mean_squared_error(y_test, y_hat)
    yield {"algorithm": "all rows", "s": exact, "ratio": 1.0, "change": 0.0, "held": 1.0}
    scaled = torch.from_numpy(model._fitted.encoder.transform(X_test[:N_WEIGHED]))
    for algorithm in algorithms:
        model.set_params(algorithm=algorithm, n_candidates=1)
        building, _ = seconds(lambda: model.predict(X_test[:1]))
        for n_candidates in CANDIDATES:
            model.set_params(n_candidates=n_candidates)
            model.predict(X_test[:64])
            taken, y_near = seconds(lambda: model.predict(X_test))
            yield {
                "algorithm": algorithm,
                "build": building,
                "n_candidates": n_candidates,
                "s": taken - embedding,
                "ratio": exact / (taken - embedding),
                "held": weight_held(model._fitted.bank, scaled, algorithm, n_candidates),
                "change": root_mean_squared_error(y_test, y_near) / error - 1,
            }


def write_table(results, about, machine):
    """Write the lines as an RST table."""
    header = ["estimator", "algorithm", "candidates", "build, s", "predict, s"]
    header += ["times as fast", "weight held", "RMSE change"]
    lines = [
        f".. Written by benchmarks/candidates.py on {machine}.",
        "",
        f".. list-table:: {about}, on {machine}",
        "    :header-rows: 1",
        "",
    ]
    rows = [header]
    for line in results:
        found = "n_candidates" in line
        rows.append(
            [
                line["estimator"],
                line["algorithm"],
                f"{line['n_candidates']:,}" if found else "",
                f"{line['build']:.1f}" if found else "",
                f"{line['s']:.2f}",
                f"{line['ratio']:.3g}",
                f"{100 * line['held']:.4g} %",
                f"{100 * line['change']:+.2g} %" if found else "",
            ]
        )
    for row in rows:
        lines += [f"    {'*' if i == 0 else ' '} - {cell}" for i, cell in enumerate(row)]
    TABLE.write_text("\n".join(lines) + "\n", encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dataset", default="kin40k")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--queries", type=int, default=1_000)
    parser.add_argument("--epochs", type=int, default=32)
    parser.add_argument("--algorithms", nargs="+", default=["brute", "ivf", "hnsw"])
    args = parser.parse_args()
    machine = f"{os.cpu_count()} {platform.machine()} cores, torch {torch.__version__}"
    about = f"{args.queries:,} test rows of {args.dataset}, {args.rows:,} rows in the bank"
    results = []
    for kind in ESTIMATORS:
        lines = measure(kind, args.dataset, args.rows, args.queries, args.epochs, args.algorithms)
        for line in lines:
            results.append({"estimator": kind, **line})
            print(json.dumps(results[-1]), flush=True)
    RESULTS.write_text(json.dumps({"machine": machine, "about": about, "runs": results}, indent=1))
    write_table(results, about, machine)


if __name__ == "__main__":
    main()
