"""Does novelty rise with errors? Beside isolation forest and k-NN distance in the features.

Usage: python benchmarks/novelty.py [--datasets NAME ...] [--results FILE.jsonl] [--report]

Of each UCI set (see _data.py) the rows beyond the 70 % quantile along the first principal
component of the standardized features are kept out of the training: they are the shifted rows. As
many others are for the test, too. NONA is fitted to the rest, at most 2,000 rows, and predicts
both. Every method gives each test row a score, and is judged by the rank correlation of scores and
absolute errors, and by the area under the ROC curve with which it finds shifted rows. `--report`
writes docs/benchmark/novelty.inc and runs nothing.
"""

import argparse
import json
from pathlib import Path

import numpy as np
import pandas as pd
from _data import available, load_split
from scipy.stats import kstest, spearmanr
from sklearn.decomposition import PCA
from sklearn.ensemble import IsolationForest
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import NearestNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skneighbors import NONARegressor

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "novelty.jsonl"
OUTPUT = HERE.parent / "docs" / "benchmark" / "novelty.inc"
N_TRAIN, N_TEST = 2000, 1000
SHIFTED = 0.3


def shift(X, y, seed=0):
    """Split into a training part, and test parts like it and beyond it.

    Returns
    -------
    train, like, beyond : int ndarrays
    """
    along = make_pipeline(StandardScaler(), PCA(1)).fit_transform(X).ravel()
    order = np.random.RandomState(seed).permutation(len(y))
    is_beyond = along[order] > np.quantile(along, 1 - SHIFTED)
    beyond, inside = order[is_beyond], order[~is_beyond]
    n_test = min(N_TEST, len(beyond), len(inside) // 4)
    return inside[n_test:][:N_TRAIN], inside[:n_test], beyond[:n_test]


def knn_distance(X, queries, n_neighbors=5):
    """Mean distance to the nearest rows in standardized features."""
    scaler = StandardScaler().fit(X)
    index = NearestNeighbors(n_neighbors=n_neighbors).fit(scaler.transform(X))
    return index.kneighbors(scaler.transform(queries))[0].mean(axis=1)


def measure(name, seed=0):
    """Figures of one set, a line for each method."""
    parts = load_split(name, 0)
    X, y = np.concatenate(parts[:2]), np.concatenate(parts[2:])
    train, like, beyond = shift(X, y, seed)
    test, is_beyond = np.concatenate([like, beyond]), np.repeat([0, 1], [len(like), len(beyond)])
    model = NONARegressor(random_state=seed).fit(X[train], y[train])
    error = np.abs(y[test] - model.predict(X[test]))
    forest = IsolationForest(random_state=seed).fit(X[train])
    scores = {
        "novelty": model.novelty(X[test]),
        "isolation forest": -forest.score_samples(X[test]),
        "k-NN distance": knn_distance(X[train], X[test]),
    }
    growth = error[is_beyond == 1].mean() / error[is_beyond == 0].mean()
    uniform = kstest(scores["novelty"][is_beyond == 0], "uniform").statistic
    return [
        {
            "dataset": name,
            "method": method,
            "rows": len(train),
            "rank_correlation": float(spearmanr(score, error).statistic),
            "auc": float(roc_auc_score(is_beyond, score)),
            "error_growth": float(growth),
            "from_uniform": float(uniform),
        }
        for method, score in scores.items()
    ]


def report(results, output):
    """Write the table."""
    from report import rst_table, upright

    frame = pd.DataFrame(map(json.loads, results.read_text(encoding="utf-8").splitlines()))
    by_set = frame.groupby("dataset", sort=False)
    parts = []
    for value, title in (
        ("rank_correlation", "Rank correlation of scores and absolute errors (higher is better)"),
        ("auc", "Area under the ROC curve, shifted rows against others (higher is better)"),
    ):
        table = frame.pivot_table(index="dataset", columns="method", values=value, sort=False)
        table.loc["mean"] = table.mean()
        if value == "rank_correlation":
            table.insert(0, "errors beyond", by_set.error_growth.first())
        parts.append(rst_table(title, upright(table), 2))
    worst = by_set.from_uniform.first()
    parts.append(
        "Largest distance of novelty's distribution from the uniform one, on test rows like the "
        f"training's: {worst.mean():.2f} on average, {worst.max():.2f} at most "
        f"({worst.idxmax()}).\n"
    )
    output.write_text("\n".join(parts), encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--datasets", nargs="+", default=available())
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--report", action="store_true")
    args = parser.parse_args()
    if not args.report:
        args.results.parent.mkdir(parents=True, exist_ok=True)
        with args.results.open("w", encoding="utf-8") as file:
            for name in args.datasets:
                for line in measure(name):
                    print(line, flush=True)
                    file.write(json.dumps(line) + "\n")
    report(args.results, OUTPUT)


if __name__ == "__main__":
    main()
