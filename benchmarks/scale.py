"""Prediction from many neighbours: time and memory beside k-NN, a matrix product, a dense softmax.

Usage: python benchmarks/scale.py [--scenarios NAME ...]

Fits both estimators, one member each, to 10,000 made rows (Friedman's first problem
with noise), appends more, then measures, each in a process of its own and in this
order on the same embeddings: `predict` without the embedding of the queries, exact 10-NN
by scikit-learn, the bare product of queries and neighbours in single precision,
and the formula with whole matrices on 64 queries, scaled up. Extra memory is the
peak of a whole `predict` less what was held before, and needs Linux. The share of
the rows that hold all but 1e-9 of the weight, on those 64 queries, is what prediction
must look at if it is to be exact to 1e-9. Writes results/scale.json and
docs/benchmark/scale.inc.
"""

import argparse
import json
import os
import platform
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
N_FITTED = 10_000
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


def make_rows(n_rows, seed):
    """Rows of features, and targets."""
    return make_friedman1(n_rows, noise=1.0, random_state=seed)


def fit(kind, folder):
    """Fit and save."""
    model = ESTIMATORS[kind](n_estimators=1, random_state=0).fit(*make_rows(N_FITTED, 0))
    joblib.dump(model, folder / "fitted")


def prepare(n_rows, n_queries, folder):
    """Append rows to the fitted ones, and save."""
    model = joblib.load(folder / "fitted")
    if n_rows > N_FITTED:
        model.append(*make_rows(n_rows - N_FITTED, 1))
    joblib.dump((model, make_rows(n_queries, 2)[0]), folder / "model")


def reset_peak():
    """Let the peak begin with the memory held now; returns that, MiB."""
    Path("/proc/self/clear_refs").write_text("5")
    return peak()


def peak():
    """Peak memory since :func:`reset_peak`, MiB."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def timed(function, *arguments, repeats=3):
    """Shortest time of some runs."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function(*arguments)
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
        before = reset_peak()
        seconds = timed(model.predict, queries, repeats=repeats)
        extra = peak() - before
        return {"s": seconds - timed(model.transform, queries, repeats=repeats), "mib": extra}
    z, z_n = model.transform(queries), model._fitted.bank.z_n[0]
    before = reset_peak()
    if what == "k-NN":
        knn = KNeighborsRegressor(10, algorithm="brute")
        knn.fit(z_n.numpy(), model._fitted.bank.values[0].numpy())

        def run():
            knn.predict(z)
    elif what == "product":
        z, z_n = torch.from_numpy(z).float(), z_n.float()
        out = torch.empty(len(z), len(z_n))

        def run():
            torch.mm(z, z_n.T, out=out)
    else:
        head, values = model._fitted.bank.network.head, model._fitted.bank.values
        z = torch.from_numpy(z[:N_DENSE])[None]
        scale = len(queries) / N_DENSE

        def run():
            head.weights(z, model._fitted.bank.z_n) @ values

        seconds = scale * timed(run, repeats=repeats)
        return {"s": seconds, "needed": needed_share(head.weights(z, model._fitted.bank.z_n)[0])}

    return {"s": timed(run, repeats=repeats), "mib": peak() - before}


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


def take_step(what, *arguments):
    """Do one step, in the process made for it."""
    if what == "fit":
        kind, folder = arguments
        fit(kind, Path(folder))
    elif what == "prepare":
        n_rows, n_queries, folder = arguments
        prepare(int(n_rows), int(n_queries), Path(folder))
    else:
        folder, repeats = arguments
        print(json.dumps(measure(what, Path(folder), int(repeats))))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--scenarios", nargs="+", choices=SCENARIOS, default=list(SCENARIOS))
    parser.add_argument("--step", nargs="+", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.step:
        take_step(*args.step)
        return
    machine = f"{os.cpu_count()} {platform.machine()} cores, torch {torch.__version__}"
    results = []
    for kind in ESTIMATORS:
        with tempfile.TemporaryDirectory() as folder:
            call("fit", kind, folder)
            for name in args.scenarios:
                n_rows, n_queries = SCENARIOS[name]
                call("prepare", n_rows, n_queries, folder)
                line = {"estimator": kind, "rows": n_rows, "queries": n_queries}
                for what in ("ours", "k-NN", "product", "dense"):
                    line[what] = json.loads(call(what, folder, args.repeats))
                results.append(line)
                print(json.dumps(line), flush=True)
    RESULTS.write_text(json.dumps({"machine": machine, "runs": results}, indent=1) + "\n")
    write_table(results, machine)


if __name__ == "__main__":
    main()
