"""The papers' theory and trained weights: balance of the labels on both sides of an anchor.

Usage, in benchmarks/: python -m paper.triplets [--splits N] [--quick] [--output FOLDER]

Under the least squared error an anchor between two labels weighs them inversely to
their distances. Over many labels, mass times mean distance is the same below and above;
the difference, the imbalance, is the error. In balance log(mass below / mass above) is
log(distance above / distance below). Where an anchor is missed, one side has more of
both: equal weights lie on the other diagonal. Anchors are validation rows, neighbors the
training rows, weighted by NONA; by softmax of the dense model's distances; by the same
at the temperature that suits the training rows; and equally. Writes triplets.svg and .inc.
"""

import numpy as np
import pandas as pd
from _style import INK, WIDTH, color, picture
from scipy.optimize import minimize_scalar
from scipy.spatial.distance import cdist
from scipy.special import softmax

from ._runs import parse, script_parser, spread, write_table
from ._tasks import fit
from .finetuning import NETWORKS

TASKS = ["diabetes", "rotated digits"]
NEAR = 0.25  # standard deviations
LIMIT = 5
FRAME = -LIMIT - 0.3, LIMIT + 0.3


def by_distance(model, X, X_train):
    """Softmax of minus the distances of rows to training rows in a model's embedding."""
    return softmax(-cdist(model.transform(X), model.transform(X_train)), axis=1)


def sharpened(weights, power):
    """Softmax weights at a temperature lower by a factor; weights of 0 stay."""
    with np.errstate(divide="ignore"):
        return softmax(power * np.log(weights), axis=1)


def best_power(weights, y):
    """Power of weights (n, n) of rows for each other, without the diagonal, of lowest error."""
    others = weights * (1 - np.eye(len(y)))

    def error(log_power):
        return np.mean(np.square(y - sharpened(others, np.exp(log_power)) @ y))

    return np.exp(minimize_scalar(error, bounds=(-2, 6), method="bounded").x)


def weigh(task, split, quick=False):
    """Weights of the training rows for validation rows, four ways, and both rows' targets."""
    dense, (X_train, X_test, y_train, y_test), _ = fit(*NETWORKS["dense"], task, split, quick)
    nona, _, _ = fit(*NETWORKS["NONA"], task, split, quick)
    by_dense = by_distance(dense, X_test, X_train)
    power = best_power(by_distance(dense, X_train, X_train), y_train)
    weights = {
        "equal weights": np.full_like(by_dense, 1 / len(y_train)),
        "dense": by_dense,
        "dense, sharpened": sharpened(by_dense, power),
        "NONA": nona.neighbor_weights(X_test).toarray(),
    }
    return weights, y_train, y_test


def balance(weights, y_train, y):
    """Weight mass and mean distance of the labels below and above each anchor's.

    Returns p_below, d_below, p_above and d_above, a row an anchor, of weights
    (n, n_rows); a distance without mass is 0. ``p_below * d_below - p_above * d_above``
    is the imbalance, which is the error of the weighted mean.
    """
    gaps = y[:, None] - y_train
    sides = {}
    for side, sign in (("below", 1), ("above", -1)):
        mass = np.sum(weights * (sign * gaps > 0), axis=1)
        moment = np.sum(weights * np.maximum(sign * gaps, 0), axis=1)
        sides[f"p_{side}"] = mass
        sides[f"d_{side}"] = np.divide(moment, mass, out=np.zeros_like(mass), where=mass > 0)
    return pd.DataFrame(sides)


def log_ratios(sides):
    """Give the logs of d_above / d_below and p_below / p_above of anchors with both."""
    sides = sides[(sides.p_below > 0) & (sides.p_above > 0)]
    return np.log(sides.d_above / sides.d_below), np.log(sides.p_below / sides.p_above)


def figures(weights, y_train, y):
    """Summarise one way to weigh, a column of the table each."""
    sides = balance(weights, y_train, y)
    imbalance = sides.p_below * sides.d_below - sides.p_above * sides.d_above
    is_near = np.abs(y[:, None] - y_train) < NEAR * y_train.std()
    near = np.sum(weights * is_near, axis=1)
    remoteness = np.abs(y - y_train.mean())
    extreme = remoteness >= np.quantile(remoteness, 0.95)
    return {
        "correlation": np.corrcoef(*log_ratios(sides))[0, 1],
        "mean squared imbalance": np.mean(imbalance**2) / y_train.var(),
        "mass near, all rows": near.mean(),
        "mass near, 5 % most extreme": near[extreme].mean(),
    }


def draw(found, path):
    """Save mass against distance ratios, one task a row and one way to weigh a column."""
    names = [name for name in next(iter(found.values()))[0] if name != "equal weights"]
    shape = len(names), len(found)
    with picture(path, *shape, figsize=(WIDTH, 8.2), sharex=True, sharey=True) as (figure, axes):
        for axes_column, (task, (weights, y_train, y)) in zip(axes.T, found.items(), strict=True):
            equal = pd.concat(log_ratios(balance(weights["equal weights"], y_train, y)), axis=1)
            equal = equal.clip(-LIMIT, LIMIT).sort_values(0)
            for axis, name in zip(axes_column, names, strict=True):
                x, log_mass = log_ratios(balance(weights[name], y_train, y))
                points = x.clip(-LIMIT, LIMIT), log_mass.clip(-LIMIT, LIMIT)
                axis.plot(equal[0], equal[1], color=INK, lw=1, ls="--")
                axis.axline((0, 0), slope=1, color=INK, lw=1)
                axis.scatter(*points, s=7, lw=0, color=color(name))
                axis.set(title=f"{task}: {name}", aspect="equal", xlim=FRAME, ylim=FRAME)
                axis.set(xticks=range(-4, 5, 2), yticks=range(-4, 5, 2))
        figure.supxlabel(f"log(distance above / distance below), cut to ±{LIMIT}", size=10)
        figure.supylabel(f"log(mass below / mass above), cut to ±{LIMIT}", size=10)


def main():
    args = parse(script_parser(__doc__, splits=3))
    lines, drawn = {}, {}
    for task in TASKS:
        runs = [weigh(task, split, args.quick) for split in range(args.splits)]
        drawn[task] = runs[0]
        for name in runs[0][0]:
            found = pd.DataFrame([figures(weights[name], *ys) for weights, *ys in runs])
            lines[f"{task}: {name}"] = found.apply(spread)
    draw(drawn, args.output / "triplets.svg")
    title = (
        "Correlation of log(mass below / mass above) and log(distance above / distance below), "
        "mean squared imbalance over the targets' variance, fraction of the weight on labels "
        f"within {NEAR} standard deviations; mean ± standard deviation over {args.splits} random "
        "splits"
    )
    write_table(args.output / "triplets.inc", "triplets.py", title, pd.DataFrame(lines).T)


if __name__ == "__main__":
    main()
