"""Compare the estimators with their peers on real data and draw learnt surfaces.

Usage: python benchmarks/demo.py [--data FILE.csv --target COLUMN] [--output FOLDER]

Without --data, on the diabetes data that scikit-learn ships.
"""

import argparse
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import joblib
import numpy as np
from _csv_input import DataError, cut_rows, read_csv, read_table
from _surfaces import SETTINGS as SURFACE_SETTINGS
from _surfaces import draw_surfaces, learn_surfaces
from sklearn.base import BaseEstimator, clone
from sklearn.compose import (
    TransformedTargetRegressor,
    make_column_selector,
    make_column_transformer,
)
from sklearn.datasets import load_diabetes
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Ridge
from sklearn.metrics import r2_score, root_mean_squared_error
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.neighbors import KNeighborsRegressor
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

from skneighbors import NONARegressor, SoftStepKNNRegressor
from skneighbors.inspection import NeighborsDisplay

EXPLAINED = "NONA + SoftStep"
IS_TEXT = make_column_selector(dtype_exclude="number")
SETTINGS = {
    "max_iter": 60,
    "n_estimators": 1,
    "trend": "linear",
    "blend": None,
    "hidden_layer_sizes": (64, 64),
    "embedding_dim": 16,
    "device": "cpu",
    "random_state": 0,
}


@dataclass(frozen=True)
class Contestant:
    """A model, the grid it is tuned over, and what makes numbers of a table for it."""

    model: BaseEstimator
    grid: dict
    columns: object = "passthrough"


def contestants(**settings):
    """Models to compare.

    Parameters
    ----------
    **settings
        Parameters of the three neighbour networks, the same for all.

    Returns
    -------
    contestants : dict of str to Contestant
    """
    nona, soft_knn = NONARegressor(**settings), SoftStepKNNRegressor(**settings)
    mlp = MLPRegressor(early_stopping=True, max_iter=1000, random_state=0)
    boosting = HistGradientBoostingRegressor(random_state=0)
    variants = {
        "softstep": ["s1", "s2"],
        "softstep_parameters": ["pointwise", "global"],
        "similarity": ["l2", "cosine"],
    }
    knn_grid = {"n_neighbors": [3, 5, 10, 15, 25], "weights": ["uniform", "distance"]}
    mlp_grid = {
        "regressor__hidden_layer_sizes": [(100,), (64, 64)],
        "regressor__learning_rate_init": [1e-3, 1e-2],
    }
    boosting_grid = {"learning_rate": [0.03, 0.1], "max_leaf_nodes": [7, 31]}
    scaled_mlp = TransformedTargetRegressor(mlp, transformer=StandardScaler())
    return {
        "ridge": Contestant(Ridge(), {"alpha": [0.1, 1.0, 10.0, 100.0]}, encoded(True)),
        "k-NN": Contestant(KNeighborsRegressor(), knn_grid, encoded(True)),
        "MLP": Contestant(scaled_mlp, mlp_grid, encoded(True)),
        "hist. gradient boosting": Contestant(boosting, boosting_grid, encoded(False)),
        "NONA, no SoftStep": Contestant(
            clone(nona).set_params(softstep=None), {"similarity": ["l2", "cosine"]}
        ),
        "NONA + SoftStep": Contestant(nona, variants),
        "SoftStep k-NN": Contestant(soft_knn, {"softstep_parameters": ["pointwise", "global"]}),
    }


def encoded(scale):
    """Make a transformer for models that take numbers; `scale`: without gaps, and scaled."""
    if not scale:  # trees find their way around codes and gaps
        codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
        return make_column_transformer((codes, IS_TEXT), remainder="passthrough")
    categories = OneHotEncoder(handle_unknown="infrequent_if_exist", max_categories=20)
    numbers = make_pipeline(SimpleImputer(keep_empty_features=True), StandardScaler())
    return make_column_transformer((categories, IS_TEXT), remainder=numbers, sparse_threshold=0)


def make_search(contestant):
    """Pipeline of columns encoded and model, in a grid search over three inner folds."""
    return GridSearchCV(
        Pipeline([("columns", contestant.columns), ("model", contestant.model)]),
        {f"model__{name}": values for name, values in contestant.grid.items()},
        scoring="neg_root_mean_squared_error",
        cv=KFold(3, shuffle=True, random_state=1),
        error_score="raise",
    )


@dataclass(frozen=True)
class FoldResult:
    """What one contestant did on one outer fold; seconds are those of the chosen setting."""

    model: Pipeline
    chosen: dict
    rmse: float
    r2: float
    fit_seconds: float
    predict_seconds: float


def run_fold(contestant, X, y, train, test):
    """Tune on the training rows of a fold, then predict its test rows once."""
    search = make_search(contestant).fit(X.iloc[train], y.iloc[train])
    start = time.perf_counter()
    y_hat = search.predict(X.iloc[test])
    return FoldResult(
        model=search.best_estimator_,
        chosen={name.split("__")[-1]: value for name, value in search.best_params_.items()},
        rmse=root_mean_squared_error(y.iloc[test], y_hat),
        r2=r2_score(y.iloc[test], y_hat),
        fit_seconds=search.refit_time_,
        predict_seconds=time.perf_counter() - start,
    )


def compare(entrants, X, y, folds, n_jobs=1, report=None):
    """Run every contestant on the same outer folds.

    Parameters
    ----------
    entrants : dict of str to Contestant
    X : DataFrame of shape (n_rows, n_features)
    y : Series of shape (n_rows,)
    folds : list of (train, test)
        Row positions of each fold.
    n_jobs : int
        Folds at a time, one thread each.
    report : callable or None
        Called with the name of each contestant when it has finished.

    Returns
    -------
    results : dict of str to list of FoldResult
    """
    results = {name: [] for name in entrants}
    # The slowest, which stand last, are started first, so that no core waits long at the end.
    order = [name for name in reversed(entrants) for _ in folds]
    with joblib.parallel_config("loky", n_jobs=n_jobs, inner_max_num_threads=1):
        outcomes = joblib.Parallel(return_as="generator")(
            joblib.delayed(run_fold)(entrants[name], X, y, *fold)
            for name in reversed(entrants)
            for fold in folds
        )
        for name, outcome in zip(order, outcomes, strict=True):
            results[name].append(outcome)
            if report is not None and len(results[name]) == len(folds):
                report(name)
    return results


def format_table(results):
    """Lines of the table of errors and times."""
    lines = [f"{'':<25}{'RMSE':>18}{'R²':>18}{'fit s':>9}{'predict s':>11}"]
    for name, outcomes in results.items():
        cells = [
            f"{np.mean(values):.{digits}f} ± {np.std(values, ddof=1):.{digits}f}"
            for values, digits in (
                ([o.rmse for o in outcomes], _rmse_digits(results)),
                ([o.r2 for o in outcomes], 3),
            )
        ]
        fit = np.mean([o.fit_seconds for o in outcomes])
        predict = np.mean([o.predict_seconds for o in outcomes])
        lines.append(f"{name:<25}{cells[0]:>18}{cells[1]:>18}{fit:>9.2f}{predict:>11.3f}")
    return lines


def _rmse_digits(results):
    """Decimals that show the smallest mean RMSE to about four figures."""
    smallest = min(np.mean([o.rmse for o in outcomes]) for outcomes in results.values())
    return int(np.clip(3 - np.floor(np.log10(smallest)), 0, 12)) if smallest > 0 else 3


def format_choices(results):
    """Lines that tell the settings each contestant's grid search chose, and how often."""
    lines = []
    for name, outcomes in results.items():
        chosen = Counter(
            ", ".join(f"{key}={value}" for key, value in o.chosen.items()) for o in outcomes
        )
        lines.append(f"  {name}:")
        lines += [f"    {count} x  {setting}" for setting, count in chosen.most_common()]
    return lines


def short(value):
    """Write a value in a few characters, a gap in none."""
    if isinstance(value, str):
        return value[:20]
    if np.isnan(value):
        return ""
    return f"{value:.0f}" if 1e4 <= abs(value) < 1e9 else f"{value:.5g}"


def explain_row(model, X, y, train, row, n_neighbors=5):
    """Lines that name the training rows behind one prediction.

    Parameters
    ----------
    model : Pipeline
        Fitted on the rows `train`; its last step has ``explain``.
    X : DataFrame of shape (n_rows, n_features)
    y : Series of shape (n_rows,)
    train : int ndarray
        Positions of the training rows.
    row : int
        Position of the row to explain.
    n_neighbors : int
        Training rows to name; fewer if there are fewer distinct ones.

    Returns
    -------
    lines : list of str
    """
    query, heaviest = X.iloc[[row]], (0, slice(n_neighbors))
    explanation = model[-1].explain(model[:-1].transform(query))
    weights, neighbors = explanation.weights[heaviest], train[explanation.samples[heaviest]]
    shown = X.columns[:5]
    table = X.iloc[[row, *neighbors]][shown].map(short)
    adjusted = ["", *map(short, explanation.adjusted_targets[heaviest])]
    table.insert(0, "adjusted", adjusted, allow_duplicates=True)
    table.insert(0, y.name, y.iloc[[row, *neighbors]].map(short), allow_duplicates=True)
    weight = ["", *(f"{weight:.3f}" for weight in weights)]
    table.insert(0, "weight", weight, allow_duplicates=True)
    table.index = [f"row {label}" for label in table.index]
    table.index = [f"test {table.index[0]}", *table.index[1:]]
    return [
        f"Test row {query.index[0]}: predicted {short(model.predict(query)[0])}, "
        f"in truth {short(y.iloc[row])}. The training rows that made the prediction:",
        *table.to_string().splitlines(),
        f"They hold {weights.sum():.0%} of the weight; the prediction rests on "
        f"{explanation.weights.shape[1]} of {len(train)} training rows.\nIt is the mean of their "
        "targets, each adjusted by what a trend gives more for the test row.\n"
        "Rows are counted from 0.",
    ]


def describe(X, y, name, n_rows):
    """Lines about the data."""
    cut = "" if len(X) == n_rows else f" (of {n_rows:,}, drawn with seed 0, for speed)"
    names = ", ".join(X.columns[:12]) + (", ..." if X.shape[1] > 12 else "")
    return [f"{name}: {len(X):,} rows{cut}, {X.shape[1]} features ({names}); target {y.name}."]


def in_words(settings):
    return ", ".join(f"{name}={value!r}" for name, value in settings.items())


def draw_row(model, X, row, path):
    """Draw the training rows behind the prediction of one row."""
    query = model[:-1].transform(X.iloc[[row]])
    display = NeighborsDisplay.from_estimator(model[-1], query)
    display.figure_.savefig(path)
    print(f"Saved as {path}.", flush=True)


def run_comparison(X, y, settings, n_jobs, picture):
    """Print the table, the chosen variants and the explanation of one prediction; draw it."""
    n_folds = 5 if len(X) <= 1_000 else 3  # fewer where a fit takes long
    folds = list(KFold(n_folds, shuffle=True, random_state=0).split(X))
    print(f"The neighbour networks run with {in_words(settings)}, for speed.", flush=True)
    results = compare(
        contestants(**settings),
        X,
        y,
        folds,
        n_jobs,
        report=lambda name: print(f"  {name}: tuned and tested on {n_folds} folds", flush=True),
    )
    print(f"\nMean ± standard deviation over {n_folds} test folds, the same for all models.")
    print(*format_table(results), sep="\n")
    print("\nChosen by the grid search on three inner folds of the training rows:")
    print(*format_choices(results), sep="\n")
    train, test = folds[0]
    print(f"\n{EXPLAINED}, first fold.", end=" ")
    model = results[EXPLAINED][0].model
    print(*explain_row(model, X, y, train, test[0]), sep="\n", flush=True)
    draw_row(model, X, test[0], picture)


def run_surfaces(path, settings, n_jobs, n_rows=800):
    """Draw the picture of learnt surfaces."""
    print(f"\nSurfaces of three synthetic targets, with {in_words(settings)}.", flush=True)
    surfaces = learn_surfaces(n_rows=n_rows, n_jobs=n_jobs, **settings)
    draw_surfaces(surfaces, path, n_rows)
    print(f"Saved as {path}.")


def load(data, target):
    """Features, target and name of the data asked for."""
    if data is None and target is None:
        X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
        return X, y.rename("progression"), "Diabetes data of scikit-learn"
    if data is None:
        raise DataError("--target names a column of a CSV file: give the file with --data.")
    if target is None:
        names = ", ".join(map(repr, read_table(data).columns[:20]))
        raise DataError(f"--target is needed: which column of {data} to predict, of {names}?")
    return *read_csv(data, target), Path(data).name


def main(argv=None):
    """Run the demo; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", metavar="FILE.csv", help="a comma-separated table with a header")
    parser.add_argument("--target", metavar="COLUMN", help="the column of the file to predict")
    parser.add_argument("--output", metavar="FOLDER", default="demo_output", type=Path)
    args = parser.parse_args(argv)
    start = time.perf_counter()
    try:
        X, y, name = load(args.data, args.target)
        args.output.mkdir(parents=True, exist_ok=True)
    except (DataError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    n_rows, n_jobs = len(X), min(4, joblib.cpu_count())
    X, y = cut_rows(X, y)
    print(*describe(X, y, name, n_rows), sep="\n")
    run_comparison(X, y, SETTINGS, n_jobs, args.output / "prediction.png")
    run_surfaces(args.output / "surfaces.png", SURFACE_SETTINGS, n_jobs)
    print(f"{time.perf_counter() - start:.0f} seconds in all, {n_jobs} processes at a time.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
