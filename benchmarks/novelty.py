"""Does novelty rise with errors? Beside isolation forest and k-NN distance in the features.

Usage: python benchmarks/novelty.py [options of _benchmark.py]

Of each UCI set (see _data.py) the rows beyond the 70 % quantile along the first principal
component of the standardized features are kept out of the training: they are the shifted rows. As
many others are for the test, too. NONA is fitted to the rest, at most 2,000 rows, and predicts
both. Every method gives each test row a score, and is judged by the rank correlation of scores and
absolute errors, and by the area under the ROC curve with which it finds shifted rows.
"""

import numpy as np
from _benchmark import DOCS, Benchmark, main
from _data import available, load_split
from _rst import rst_table, upright, write
from scipy.stats import kstest, spearmanr
from sklearn.decomposition import PCA
from sklearn.ensemble import IsolationForest
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import NearestNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skneighbors import NONARegressor

OUTPUT = DOCS / "novelty.inc"
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


def measure(name, seed, _):
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
    of_all = {
        "rows": len(train),
        "error_growth": error[is_beyond == 1].mean() / error[is_beyond == 0].mean(),
        "from_uniform": kstest(scores["novelty"][is_beyond == 0], "uniform").statistic,
    }
    return [
        {
            "method": method,
            "rank_correlation": spearmanr(score, error).statistic,
            "auc": roc_auc_score(is_beyond, score),
        }
        | of_all
        for method, score in scores.items()
    ]


def report(frame):
    """Write the table."""
    by_set = frame.groupby("dataset", sort=False)
    titles = {
        "rank_correlation": "Rank correlation of scores and absolute errors (higher is better)",
        "auc": "Area under the ROC curve, shifted rows against others (higher is better)",
    }
    parts = []
    for value, title in titles.items():
        table = frame.pivot_table(index="dataset", columns="method", values=value, sort=False)
        table.loc["mean"] = table.mean()
        if value == "rank_correlation":
            table.insert(0, "errors beyond", by_set.error_growth.first())
        parts.append(rst_table(title, upright(table), 2))
    worst = by_set.from_uniform.first()
    note = (
        "Largest distance of novelty's distribution from the uniform one, on test rows like the "
        f"training's: {worst.mean():.2f} on average, {worst.max():.2f} at most "
        f"({worst.idxmax()})."
    )
    write(OUTPUT, *parts, note, "", runs=frame)


if __name__ == "__main__":
    main(Benchmark(__file__, available, ["novelty"], measure, report, ours=("novelty",)))
