"""Small predictions: time of one call, beside scikit-learn's MLPRegressor.

Usage: python benchmarks/small_calls.py

Fits default estimators, and MLPRegressor at its defaults, to 200 made rows (Friedman's first
problem with noise), then measures one ``predict`` of 200 other rows; one of a single row, from
10,000 labelled ones, the others of which were appended; of both, what is beyond ``transform``, that
is, beyond embedding the queries: the search, the weights and, if there are any, the trees; and a
partial dependence on two features over 200 rows (a grid of 100 by 100 points, so 10,000 calls),
which is timed on a grid of 10 by 10 and scaled up. Medians of 30 calls. Writes
results/small_calls.json and docs/benchmark/small_calls.inc.
"""

import json
import platform
import statistics
from pathlib import Path

import torch
from scale import make_rows, seconds
from sklearn.inspection import partial_dependence
from sklearn.neural_network import MLPRegressor

from skneighbors import NONARegressor, SoftStepKNNRegressor

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "small_calls.json"
TABLE = HERE.parent / "docs" / "benchmark" / "small_calls.inc"
N_ROWS, N_LABELLED = 200, 10_000
# Points of a partial dependence on each of two features: by default, and those measured.
GRID, MEASURED_GRID = 100, 10
ESTIMATORS = {
    "NONA": NONARegressor(random_state=0),
    "NONA, no trees": NONARegressor(trend="linear", blend=None, random_state=0),
    "NONA, one network, no trees": NONARegressor(
        n_estimators=1, trend="linear", blend=None, random_state=0
    ),
    "SoftStep k-NN": SoftStepKNNRegressor(random_state=0),
    "MLPRegressor": MLPRegressor(random_state=0, max_iter=1000),
}


def milliseconds(function, *arguments, repeats=30):
    """Median time of a call, after a first one."""
    function(*arguments)
    return 1000 * statistics.median(seconds(function, *arguments) for _ in range(repeats))


def beyond_transform(model, X, repeats=30):
    """Median of how much longer a prediction takes than the embedding of its rows."""
    return 1000 * statistics.median(
        seconds(model.predict, X) - seconds(model.transform, X) for _ in range(repeats)
    )


def measure(model):
    """Time one fitted estimator."""
    X = make_rows(N_ROWS, 1)[0]
    line = {"rows": milliseconds(model.predict, X)}
    options = {"method": "brute", "grid_resolution": MEASURED_GRID}
    dependence = milliseconds(lambda: partial_dependence(model, X, [(0, 1)], **options), repeats=1)
    line["dependence_s"] = dependence / 1000 * (GRID / MEASURED_GRID) ** 2
    if hasattr(model, "append"):
        line["rows_beyond"] = beyond_transform(model, X)
        model.append(*make_rows(N_LABELLED - N_ROWS, 2))
        line["row"] = milliseconds(model.predict, X[:1])
        line["row_beyond"] = beyond_transform(model, X[:1])
    return line


def write_table(results, machine):
    """Write the times as an RST table."""
    reference = results["MLPRegressor"]["rows"]
    lines = [
        f".. Written by benchmarks/small_calls.py on {machine}.",
        "",
        f".. list-table:: Small predictions on {machine}",
        "    :header-rows: 1",
        "",
        "    * - estimator",
        f"      - {N_ROWS} rows from {N_ROWS}, ms",
        "      - relative to MLPRegressor",
        "      - beyond ``transform``, ms",
        f"      - 1 row from {N_LABELLED:,}, ms",
        "      - beyond ``transform``, ms",
        f"      - partial dependence of two features, {N_ROWS} rows, s",
    ]
    for name, line in results.items():
        cells = [
            name,
            f"{line['rows']:.2g}",
            f"{line['rows'] / reference:.0f}",
            *(f"{line[k]:.2g}" if k in line else "" for k in ("rows_beyond", "row", "row_beyond")),
            f"{line['dependence_s']:.3g}",
        ]
        lines += [f"    {'*' if i == 0 else ' '} - {cell}".rstrip() for i, cell in enumerate(cells)]
    TABLE.write_text("\n".join(lines) + "\n", encoding="utf-8")


def main():
    n_threads = torch.get_num_threads()
    machine = f"{n_threads} {platform.machine()} cores, torch {torch.__version__}"
    results = {}
    for name, model in ESTIMATORS.items():
        results[name] = measure(model.fit(*make_rows(N_ROWS, 0)))
        print(name, json.dumps(results[name]), flush=True)
    RESULTS.write_text(json.dumps({"machine": machine, "runs": results}, indent=1) + "\n")
    write_table(results, machine)


if __name__ == "__main__":
    main()
