"""How few neighbours SoftStep k-NN looks at, and what fewer or more would cost.

Usage: python benchmarks/few_neighbors.py [--results FILE.jsonl] [--report]

Fits it at its defaults to the UCI sets and the real tables of the folder that
`SKNEIGHBORS_DATA` names, at most 2,000 rows each, and predicts at multiples of the sharpness
that validation rows have chosen. `--report` writes docs/benchmark/few_neighbors.inc and
runs nothing.
"""

import argparse
import copy
import json
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.metrics import root_mean_squared_error
from uncertainty import datasets, load

from skneighbors import SoftStepKNNRegressor

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "few_neighbors.jsonl"
OUTPUT = HERE.parent / "docs" / "benchmark" / "few_neighbors.inc"
N_TRAIN, N_TEST, N_NEAREST = 2000, 1000, 10
FACTORS = {"half": 0.5, "1 / 1.41": 0.5**0.5, "as chosen": 1.0, "1.41": 2**0.5, "twice": 2.0}


def measure(name):
    """Error and share of the ten heaviest neighbours' weight, at each multiple."""
    X, X_test, y, y_test = load(name, 0)
    X, X_test, y, y_test = X[:N_TRAIN], X_test[:N_TEST], y[:N_TRAIN], y_test[:N_TEST]
    fitted = SoftStepKNNRegressor(random_state=0).fit(X, y)
    line = {"dataset": name, "rows": len(X)}
    for label, factor in FACTORS.items():
        model = copy.deepcopy(fitted)  # of which no head is kept yet
        model._fitted.bank.network.head.sharpness.mul_(factor)
        shares = model.explain(X_test, n_neighbors=N_NEAREST).weights.sum(axis=1)
        line[label] = {
            "rmse": float(root_mean_squared_error(y_test, model.predict(X_test))),
            "share": float(np.median(shares)),
        }
    return line


def report(results, output):
    """Write a table of the means, and what the defaults come to, set by set."""
    from report import rst_table, rst_text_table, upright

    lines = [json.loads(line) for line in results.read_text(encoding="utf-8").splitlines()]
    rmse = pd.DataFrame({line["dataset"]: {f: line[f]["rmse"] for f in FACTORS} for line in lines})
    share = pd.DataFrame(
        {line["dataset"]: {f: line[f]["share"] for f in FACTORS} for line in lines}
    )
    ratio = np.exp(np.log(rmse / rmse.loc["as chosen"]).mean(axis=1))
    summary = pd.DataFrame(
        {
            "error, relative": ratio.map("{:.3f}".format),
            "weight of the ten heaviest, median set": share.median(axis=1).map("{:.0%}".format),
            "sets where they hold 80 % or more": (share >= 0.8).mean(axis=1).map("{:.0%}".format),
        }
    )
    heaviest = "weight of the ten heaviest"
    own = share.loc[["as chosen"]].T.rename(columns={"as chosen": heaviest})
    titles = (
        f"SoftStep k-NN at multiples of its sharpness, {len(lines)} sets, up to {N_TRAIN:,} rows "
        "each (geometric mean of the test errors; weights in the median query)",
        "At the defaults, by set",
    )
    parts = [rst_text_table(titles[0], summary), rst_table(titles[1], upright(own.T), 2)]
    output.write_text("\n".join(parts), encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--report", action="store_true")
    args = parser.parse_args()
    if not args.report:
        args.results.parent.mkdir(parents=True, exist_ok=True)
        with args.results.open("w", encoding="utf-8") as file:
            for name in datasets():
                line = measure(name)
                print(line, flush=True)
                file.write(json.dumps(line) + "\n")
                file.flush()
    report(args.results, OUTPUT)


if __name__ == "__main__":
    main()
