"""Exact prediction from many rows: time and memory beside scikit-learn's brute-force k-NN.

Usage: python benchmarks/scale.py

Fits both estimators, without boosted trees, to 10,000 made rows (Friedman's first problem with
noise), and appends noisy copies of these. Then measures, in one process for each number of rows
and in turn, `predict` less `transform`, so without the embedding of the queries, and
KNeighborsRegressor(algorithm="brute") with as many neighbors on the same embeddings; and, if
FAISS is installed, the same `predict` with algorithm="ivf", and what fraction of the nearest rows
it finds. The shortest of some runs counts. Memory is the peak of the first `predict`, embedding
included, less what was held before, and needs Linux and glibc. Writes results/scale.json and
docs/benchmark/scale.inc.
"""

import ctypes
import json
import tempfile
from importlib.util import find_spec
from pathlib import Path

import _version
import joblib
import numpy as np
import pandas as pd
from _benchmark import DOCS, RESULTS, alone, machine, seconds
from _data import enlarge
from _rst import rst_list_table, write
from sklearn.datasets import make_friedman1
from sklearn.neighbors import KNeighborsRegressor

from skneighbors import NONARegressor, SoftStepKNNRegressor

N_FITTED = 10_000
# Rows and queries, and runs of which the shortest counts.
SCENARIOS, REPEATS = [(100_000, 10_000), (1_000_000, 1_000)], 3
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
    model = ESTIMATORS[kind](blend=None, max_iter=5, random_state=0)
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


def write_table(runs, on, code):
    """Ratios of our time to the others', as an RST table."""
    rows = [["estimator", "rows", "queries", "k", "seconds", "/ k-NN", "MiB"]]
    rows[0] += ["ivf: / k-NN", "rows found", "built in, s"]
    for run in runs:
        cells = [run["estimator"], f"{run['rows']:,}", f"{run['queries']:,}", run["n_neighbors"]]
        cells += [f"{run['s']:.2g}", f"{run['s'] / run['knn_s']:.2f}", f"{run['mib']:.0f}"]
        if ivf := run.get("ivf"):
            cells += [f"{ivf['s'] / run['knn_s']:.2g}", f"{ivf['recall']:.1%}"]
            cells.append(f"{ivf['build_s']:.1f}")
        rows.append([*cells, *[""] * (len(rows[0]) - len(cells))])
    width = "/".join(sorted({f"{run['width']}" for run in runs}))
    title = (
        f"Exact prediction on {on}, embeddings of {width} columns: seconds\n"
        "    beyond embedding the queries, their ratio to scikit-learn's brute-force k-NN, peak\n"
        "    memory above what is held; the same with FAISS's inverted file, and the fraction of\n"
        "    the nearest rows that it finds"
    )
    used = pd.DataFrame({"code": [code] * len(runs)})
    write(DOCS / "scale.inc", rst_list_table(title, rows), script=f"scale.py on {on}", runs=used)


def main():
    runs = []
    for kind in ESTIMATORS:
        with tempfile.TemporaryDirectory() as folder:
            path, grown = Path(folder) / "fitted", Path(folder) / "grown"
            alone(fit, kind, path)
            for n_rows, n_queries in SCENARIOS:
                alone(prepare, n_rows, path, grown)
                run = alone(measure, grown, n_rows, n_queries, REPEATS)
                runs.append({"estimator": kind, "rows": n_rows, "queries": n_queries} | run)
                print(json.dumps(runs[-1]), flush=True)
    found = {"machine": machine(), "code": _version.code(), "runs": runs}
    (RESULTS / "scale.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    write_table(runs, found["machine"], found["code"])


if __name__ == "__main__":
    main()
