"""Exact prediction from many rows: time and memory beside scikit-learn's brute-force k-NN.

Usage: python benchmarks/scale.py [--scenarios NAME ...] [--estimators NAME ...]

Fits both estimators, without boosted trees, to 10,000 made rows (Friedman's first problem with
noise), and appends noisy copies of these. Then measures, in one process for each number of rows
and in turn, `predict` less `transform`, so without the embedding of the queries, and
KNeighborsRegressor(algorithm="brute") with as many neighbors on the same embeddings; and, if
FAISS is installed, the same `predict` with algorithm="ivf", and what fraction of the nearest rows
it finds. The shortest of some runs counts. Memory is the peak of the first `predict`, embedding
included, less what was held before, and needs Linux and glibc. Writes results/scale.json and
docs/benchmark/scale.inc.
"""

import argparse
import ctypes
import json
import platform
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

import joblib
import numpy as np
import torch
from _data import enlarge
from sklearn.datasets import make_friedman1
from sklearn.neighbors import KNeighborsRegressor

from skneighbors import NONARegressor, SoftStepKNNRegressor

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "scale.json"
TABLE = HERE.parent / "docs" / "benchmark" / "scale.inc"
N_FITTED = 10_000
# Rows and queries.
SCENARIOS = {"100,000 rows": (100_000, 10_000), "1,000,000 rows": (1_000_000, 1_000)}
ESTIMATORS = {"NONA": NONARegressor, "SoftStep k-NN": SoftStepKNNRegressor}


def make_rows(n_rows, seed):
    """Rows of features, and targets."""
    return make_friedman1(n_rows, noise=1.0, random_state=seed)


def make_bank(n_rows):
    """Rows to fit, and their noisy copies."""
    X, y = make_rows(N_FITTED, 0)
    return [np.concatenate(parts) for parts in zip((X, y), enlarge(X, y, n_rows), strict=True)]


def fit(kind, path):
    """Fit for a few epochs, as no time here depends on their number, and save."""
    model = ESTIMATORS[kind](trend="linear", blend=None, max_iter=5, random_state=0)
    joblib.dump(model.fit(*make_rows(N_FITTED, 0)), path)


def prepare(n_rows, path, grown):
    """Append rows to the fitted ones, and save."""
    X, y = make_bank(n_rows)
    joblib.dump(joblib.load(path).append(X[N_FITTED:], y[N_FITTED:]), grown)


def reset_peak():
    """Let the peak begin with the memory held now; returns that, MiB."""
    ctypes.CDLL(None).malloc_trim(0)  # what was freed is not held
    Path("/proc/self/clear_refs").write_text("5")
    return peak()


def peak():
    """Peak memory since :func:`reset_peak`, MiB."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def seconds(function, *arguments):
    """Time of one call."""
    start = time.perf_counter()
    function(*arguments)
    return time.perf_counter() - start


def timed(function, *arguments, repeats=3):
    """Shortest time of some calls."""
    return min(seconds(function, *arguments) for _ in range(repeats))


def measure(path, n_rows, n_queries, repeats):
    """Seconds and memory of every contestant; what FAISS finds."""
    model, X = joblib.load(path), make_rows(n_queries, 1)[0]
    before = reset_peak()
    model.predict(X)
    extra = peak() - before
    X_n, y_n = make_bank(n_rows)
    knn = KNeighborsRegressor(model.n_neighbors, algorithm="brute")
    knn.fit(model.transform(X_n), y_n)
    Z = model.transform(X)
    line = {"n_neighbors": model.n_neighbors, "width": Z.shape[1], "mib": extra}
    turns = []
    for _ in range(repeats):
        embedding = seconds(model.transform, X)
        turns.append((embedding, seconds(model.predict, X), seconds(knn.predict, Z)))
    embedding, whole, line["knn_s"] = (min(times) for times in zip(*turns, strict=True))
    line["s"] = whole - embedding
    if find_spec("faiss"):
        line["ivf"] = measure_ivf(model, X, embedding, repeats)
    return line


def measure_ivf(model, X, embedding, repeats):
    """Seconds of FAISS's inverted file, and the fraction of the nearest rows that it finds."""
    exact = model.kneighbors(X, return_distance=False)
    model.set_params(algorithm="ivf")
    build = seconds(model.predict, X[:1])
    found = model.kneighbors(X, return_distance=False)
    recall = np.mean([np.isin(*rows).mean() for rows in zip(exact, found, strict=True)])
    whole = timed(model.predict, X, repeats=repeats)
    return {"build_s": build, "s": whole - embedding, "recall": float(recall)}


def write_table(results, machine):
    """Ratios of our time to the others', as an RST table."""
    header = ["estimator", "rows", "queries", "k", "seconds", "/ k-NN", "MiB"]
    header += ["ivf: / k-NN", "rows found", "built in, s"]
    width = "/".join(sorted({f"{line['width']}" for line in results}))
    lines = [
        f".. Written by benchmarks/scale.py on {machine}.",
        "",
        f".. list-table:: Exact prediction on {machine}, embeddings of {width} columns: seconds",
        "    beyond embedding the queries, their ratio to scikit-learn's brute-force k-NN, peak",
        "    memory above what is held; the same with FAISS's inverted file, and the fraction of",
        "    the nearest rows that it finds",
        "    :header-rows: 1",
        "",
    ]
    rows = [header]
    for line in results:
        rows.append(
            [
                line["estimator"],
                f"{line['rows']:,}",
                f"{line['queries']:,}",
                f"{line['n_neighbors']}",
                f"{line['s']:.2g}",
                f"{line['s'] / line['knn_s']:.2f}",
                f"{line['mib']:.0f}",
            ]
        )
        ivf, cells = line.get("ivf"), [""] * 3
        if ivf:
            cells = [f"{ivf['s'] / line['knn_s']:.2g}", f"{ivf['recall']:.1%}"]
            cells.append(f"{ivf['build_s']:.1f}")
        rows[-1] += cells
    for row in rows:
        lines += [f"    {'*' if i == 0 else ' '} - {cell}".rstrip() for i, cell in enumerate(row)]
    TABLE.write_text("\n".join(lines) + "\n", encoding="utf-8")


def call(*arguments):
    """Run this script for one step, in a separate process, and return what it prints last."""
    command = [sys.executable, __file__, "--step", *map(str, arguments)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout.splitlines()[-1] if done.stdout else ""


def take_step(what, *arguments):
    """Do one step, in the process made for it."""
    if what == "fit":
        fit(*arguments)
    elif what == "prepare":
        n_rows, path, grown = arguments
        prepare(int(n_rows), path, grown)
    else:
        path, *numbers = arguments
        print(json.dumps(measure(path, *map(int, numbers))))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--scenarios", nargs="+", choices=SCENARIOS, default=list(SCENARIOS))
    parser.add_argument("--estimators", nargs="+", choices=ESTIMATORS, default=list(ESTIMATORS))
    parser.add_argument("--step", nargs="+", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.step:
        take_step(*args.step)
        return
    n_threads = torch.get_num_threads()
    machine = f"{n_threads} {platform.machine()} cores, torch {torch.__version__}"
    results = []
    for kind in args.estimators:
        with tempfile.TemporaryDirectory() as folder:
            path, grown = Path(folder) / "fitted", Path(folder) / "grown"
            call("fit", kind, path)
            for name in args.scenarios:
                n_rows, n_queries = SCENARIOS[name]
                call("prepare", n_rows, path, grown)
                line = json.loads(call("measure", grown, n_rows, n_queries, args.repeats))
                key = {"estimator": kind, "rows": n_rows, "queries": n_queries}
                results.append(key | line)
                print(json.dumps(results[-1]), flush=True)
    RESULTS.write_text(json.dumps({"machine": machine, "runs": results}, indent=1) + "\n")
    write_table(results, machine)


if __name__ == "__main__":
    main()
