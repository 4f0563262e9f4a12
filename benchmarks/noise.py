"""Features that say nothing, and a rare class: losses beside those of a constant and of a line.

Usage: python benchmarks/noise.py [options of _benchmark.py]

300 rows of ten normal features to train on, 10,000 to test on, and targets that know nothing of
them: two and five classes of equal frequency, two of nine to one, numbers. A rare class has the
log-odds 1.5 x - 4.6 of the first feature, of 2,500 training rows. Losses are log losses and, of
numbers, mean squares over the variance of the test targets, less 1 (minus R2).
"""

import numpy as np
from _benchmark import DOCS, Benchmark, main, seconds
from _rst import rst_text_table, write
from scipy.special import expit
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.metrics import log_loss, r2_score

from skneighbors import (
    NONAClassifier,
    NONARegressor,
    SoftStepKNNClassifier,
    SoftStepKNNRegressor,
)

N_TEST, NUMBERS, RARE = 10_000, "numbers", "a rare class"
CLASSES = {"two classes": [0.5, 0.5], "five classes": [0.2] * 5, "nine to one": [0.9, 0.1]}
SETS = [*CLASSES, NUMBERS, RARE]
# Of classes, and of numbers.
METHODS = {
    "constant": (lambda _: DummyClassifier(strategy="prior"), lambda _: DummyRegressor()),
    "logistic regression, ridge": (
        lambda _: LogisticRegression(max_iter=1000),
        lambda _: RidgeCV(np.logspace(-1, 4, 11)),
    ),
    "NONA": (
        lambda seed: NONAClassifier(random_state=seed),
        lambda seed: NONARegressor(random_state=seed),
    ),
    "SoftStep k-NN": (
        lambda seed: SoftStepKNNClassifier(random_state=seed),
        lambda seed: SoftStepKNNRegressor(random_state=seed),
    ),
}


def load(name, seed):
    """Training and test part."""
    rng = np.random.RandomState(seed)
    n = 2_500 if name == RARE else 300
    X = rng.normal(size=(n + N_TEST, 10))
    if name == RARE:
        y = (rng.uniform(size=len(X)) < expit(1.5 * X[:, 0] - 4.6)).astype(int)
    elif name == NUMBERS:
        y = rng.normal(size=len(X))
    else:
        y = rng.choice(len(CLASSES[name]), size=len(X), p=CLASSES[name])
    return X[:n], X[n:], y[:n], y[n:]


def measure(name, seed, method):
    """Loss of one fit."""
    X, X_test, y, y_test = load(name, seed)
    model = METHODS[method][name == NUMBERS](seed)
    fit_s = seconds(model.fit, X, y)
    if name == NUMBERS:
        loss = -r2_score(y_test, model.predict(X_test))
    else:
        loss = log_loss(y_test, model.predict_proba(X_test), labels=model.classes_)
    return {"loss": loss, "fit_s": fit_s}


def report(frame):
    """Write the table: means over the seeds and, of ours, the largest ratio to a constant's."""
    losses = frame.pivot_table(index=["dataset", "split"], columns="method", values="loss")
    means = losses.groupby("dataset").mean()
    ratio = (losses["NONA"] / losses["constant"]).groupby("dataset").max()
    table = means[[method for method in METHODS if method in means]].map("{:.3f}".format)
    table["largest NONA / constant"] = ratio.map("{:.3f}".format)
    table.loc[table.index.isin([NUMBERS, RARE]), "largest NONA / constant"] = ""
    table = table.loc[SETS]
    title = f"Mean loss over {frame['split'].nunique()} draws"
    write(DOCS / "noise.inc", rst_text_table(title, table), script="noise.py", runs=frame)


if __name__ == "__main__":
    main(Benchmark(__file__, lambda: SETS, METHODS, measure, report, splits=range(10)))
