"""The second model alone, and what its parts bring: target means, bags.

Usage: python benchmarks/second_model.py [--rows 10000] [--jobs 2]

Real tables (seed 2) and numeric sets (split 2) of the folder that `SKNEIGHBORS_DATA` names, which
no report shows. RMSE on the test rows relative to CatBoost's at its defaults, and seconds of a fit
and of a prediction of 10,000 rows, on one thread. Prints what it finds.
"""

import argparse
import time
import warnings

import numpy as np
import pandas as pd
from _data import available, load_split
from _methods import FAST_PEERS
from _tables import TABLE_METHODS, available_tables, load_table
from joblib import Parallel, delayed
from sklearn.ensemble import HistGradientBoostingRegressor

from skneighbors import NONARegressor
from skneighbors._blend import Bag, BaggedBoosting
from skneighbors._columns import TrainingSamples, check_features
from skneighbors._target import Target
from skneighbors._utils.threads import one_openmp_thread

SEED, N_PREDICTED = 2, 10_000


def read(X, y, X_test):
    """Both as the estimators read them, and numbers of levels."""
    model = NONARegressor()
    nothing = None, None, None
    samples = TrainingSamples.check(model, X, y, None, None, None, nothing, Target)
    test = check_features(model, X_test, samples.reader, samples.matrix.shape[1:])
    return samples.matrix, test, samples.reader.n_levels


N_ITER = 100  # the default


def native_boosting(X, y, n_levels):
    """scikit-learn's default, of categories as such; of those of many levels as numbers."""
    few = (n_levels > 0) & (n_levels < 255)
    return HistGradientBoostingRegressor(categorical_features=few, random_state=0).fit(X, y)


def one_bag(X, y, n_levels):
    """One of the bags, of all rows."""
    return Bag.fit(X, y, np.ones(len(y)), np.arange(len(y)), n_levels, N_ITER, 0)


def bags(X, y, n_levels):
    """Bags, as they are blended with the networks."""
    weight, random_state = np.ones(len(y)), np.random.RandomState(0)
    return BaggedBoosting.fit(X, y[:, None], weight, None, n_levels, N_ITER, random_state)[0]


VARIANTS = {"hist. boosting": native_boosting, "one bag": one_bag, "five bags": bags}


def measure(name, n_rows):
    """Figures of one table or set, a line for each variant."""
    warnings.simplefilter("ignore")
    is_table = name in available_tables()
    X, X_test, y, y_test = (load_table if is_table else load_split)(name, SEED)
    X, y = X[:n_rows], y[:n_rows]
    peer = (TABLE_METHODS if is_table else FAST_PEERS)["CatBoost"](SEED).fit(X, y).predict(X_test)
    matrix, test, n_levels = read(X, y, X_test)
    z, lines = (y - y.mean()) / y.std(), []
    many = np.resize(matrix, (N_PREDICTED, matrix.shape[1]))
    for variant, make in VARIANTS.items():
        with one_openmp_thread():
            start = time.perf_counter()
            model = make(matrix, z, n_levels)
            fitted = time.perf_counter()
            model.predict(many)
            done = time.perf_counter()
            y_hat = y.mean() + y.std() * model.predict(test).ravel()
        error = np.sqrt(np.mean((y_hat - y_test) ** 2) / np.mean((peer - y_test) ** 2))
        kind = "tables" if is_table else "sets"
        lines.append((kind, name, variant, error, fitted - start, done - fitted))
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    names = [*available_tables(), *available()]
    found = Parallel(arguments.jobs)(delayed(measure)(name, arguments.rows) for name in names)
    columns = ["kind", "name", "variant", "error", "fit_s", "predict_s"]
    frame = pd.DataFrame([line for lines in found for line in lines], columns=columns)
    print(frame.pivot(index="name", columns="variant", values="error").round(3).to_string())
    frame["error"] = np.log(frame["error"])
    mean = frame.groupby(["kind", "variant"])[columns[3:]].mean()
    print(mean.assign(error=np.exp(mean["error"])).round(3).to_string())


if __name__ == "__main__":
    main()
