"""Prediction from many neighbours: time and memory beside k-NN, a matrix product, a dense softmax.

Usage: python benchmarks/scale.py [--epochs N] [--scenarios NAME ...]

Fits both estimators, one member each, to made rows (Friedman's first problem
with noise), then measures, each in a process of its own and in this order on
the same embeddings: `predict` without the embedding of the queries, exact 10-NN
by scikit-learn, the bare product of queries and neighbours in single precision,
and the formula with whole matrices on 64 queries, scaled up. Extra memory is the
peak less what was held before, and needs Linux. The share of the rows that hold
all but 1e-9 of the weight, on those 64 queries, is what prediction must look at if
it is to be exact to 1e-9. Writes results/scale.json and docs/benchmark/scale.inc.
"""

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import joblib
import torch
from sklearn.datasets import make_friedman1
from sklearn.neighbors import KNeighborsRegressor

from skneighbors import NONARegressor, SoftStepKNNRegressor

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "scale.json"
TABLE = HERE.parent / "docs" / "benchmark" / "scale.inc"
# Rows of the bank and queries.
SCENARIOS = {
    "10,000 rows": (10_000, 10_000),
    "100,000 rows": (100_000, 10_000),
    "1,000,000 rows": (1_000_000, 1_000),
}
ESTIMATORS = {"NONA": NONARegressor, "SoftStep k-NN": SoftStepKNNRegressor}
# The dense formula is measured on so many queries and scaled up.
N_DENSE = 64
# Share of a query's weight that makes no difference.
NEGLIGIBLE = 1e-9


def make_rows(n_rows, n_queries):
    """Rows to fit, and queries."""
    X, y = make_friedman1(n_rows + n_queries, noise=1.0, random_state=0)
    return X[:n_rows], y[:n_rows], X[n_rows:]


def prepare(kind, n_rows, n_queries, epochs, folder):
    """Fit on up to 100,000 of the rows, append the others, and save."""
    X, y, queries = make_rows(n_rows, n_queries)
    n_fit = min(n_rows, 100_000)
    model = ESTIMATORS[kind](n_estimators=1, max_iter=epochs, random_state=0)
    model.fit(X[:n_fit], y[:n_fit])
    if n_rows > n_fit:
        model.append(X[n_fit:], y[n_fit:])
    joblib.dump((model, queries), folder / "model")


def peak():
    """Peak memory so far, MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def resident():
    """Memory held now, MiB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


def timed(function, repeats):
    """Shortest time of some runs."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


def needed_share(weights):
    """Mean share of the neighbours that hold all but `NEGLIGIBLE` of their query's weight."""
    left_out = [(w.sort().values.cumsum(-1) <= NEGLIGIBLE).double().mean() for w in weights]
    return 1 - torch.stack(left_out).mean().item()


@torch.no_grad()
def measure(what, folder, repeats):
    """Seconds of one contestant, and extra memory or the share of neighbours needed."""
    model, queries = joblib.load(folder / "model")
    if what == "ours":
        before = resident()
        seconds = timed(lambda: model.predict(queries), repeats)
        extra = peak() - before
        return {"s": seconds - timed(lambda: model.transform(queries), repeats), "mib": extra}
    z, z_n = model.transform(queries), model._bank.z_n[0]
    before = resident()
    if what == "k-NN":
        knn = KNeighborsRegressor(10, algorithm="brute")
        knn.fit(z_n.numpy(), model._bank.values[0].numpy())

        def run():
            knn.predict(z)
    elif what == "product":
        z, z_n = torch.from_numpy(z).float(), z_n.float()
        out = torch.empty(len(z), len(z_n))

        def run():
            torch.mm(z, z_n.T, out=out)
    else:
        head, values = model._bank.network.head, model._bank.values
        z = torch.from_numpy(z[:N_DENSE])[None]
        scale = len(queries) / N_DENSE

        def run():
            head.weights(z, model._bank.z_n) @ values

        seconds = scale * timed(run, repeats)
        return {"s": seconds, "needed": needed_share(head.weights(z, model._bank.z_n)[0])}

    return {"s": timed(run, repeats), "mib": peak() - before}


def write_table(results, machine):
    """Ratios of our time to the others', as an RST table."""
    compared = "seconds", "/ 10-NN", "/ product", "/ dense"
    header = ["estimator", "bank", "queries", *compared, "MiB", "rows needed"]
    lines = [
        f".. Written by benchmarks/scale.py on {machine}.",
        "",
        f".. list-table:: Exact prediction on {machine}, embeddings of 64 columns: seconds, its",
        "    ratio to scikit-learn's brute-force 10-NN, to the bare product in single precision",
        f"    and to the dense formula (on {N_DENSE} queries, scaled up), peak extra memory, and",
        f"    the share of the rows that hold all but {NEGLIGIBLE:g} of the weight",
        "    :header-rows: 1",
        "",
    ]
    rows = [header]
    for line in results:
        ours = line["ours"]
        ratios = [f"{ours['s'] / line[what]['s']:.2g}" for what in ("k-NN", "product", "dense")]
        rows.append(
            [
                line["estimator"],
                f"{line['rows']:,}",
                f"{line['queries']:,}",
                f"{ours['s']:.1f}",
                *ratios,
                f"{ours['mib']:.0f}",
                f"{100 * line['dense']['needed']:.3g} %",
            ]
        )
    for row in rows:
        lines += [f"    {'*' if i == 0 else ' '} - {cell}" for i, cell in enumerate(row)]
    TABLE.write_text("\n".join(lines) + "\n", encoding="utf-8")


def call(*arguments):
    """Run this script for one step, in a process of its own; what it prints last."""
    command = [sys.executable, __file__, "--step", *map(str, arguments)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout.splitlines()[-1] if done.stdout else ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--scenarios", nargs="+", choices=SCENARIOS, default=list(SCENARIOS))
    parser.add_argument("--step", nargs="+", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.step and args.step[0] == "prepare":
        _, kind, n_rows, n_queries, epochs, folder = args.step
        prepare(kind, int(n_rows), int(n_queries), int(epochs), Path(folder))
        return
    if args.step:
        what, folder, repeats = args.step
        print(json.dumps(measure(what, Path(folder), int(repeats))))
        return
    machine = f"{os.cpu_count()} {platform.machine()} cores, torch {torch.__version__}"
    results = []
    for name in args.scenarios:
        n_rows, n_queries = SCENARIOS[name]
        for kind in ESTIMATORS:
            line = {"estimator": kind, "rows": n_rows, "queries": n_queries}
            with tempfile.TemporaryDirectory() as folder:
                call("prepare", kind, n_rows, n_queries, args.epochs, folder)
                for what in ("ours", "k-NN", "product", "dense"):
                    line[what] = json.loads(call(what, folder, args.repeats))
            results.append(line)
            print(json.dumps(line), flush=True)
    RESULTS.write_text(json.dumps({"machine": machine, "runs": results}, indent=1) + "\n")
    write_table(results, machine)


if __name__ == "__main__":
    main()
