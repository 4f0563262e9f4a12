"""Fit and predict with the installed package, from outside the source tree."""

from pathlib import Path

from sklearn.datasets import load_diabetes

import skneighbors

source = Path(__file__).parents[1] / "skneighbors"
installed = Path(skneighbors.__file__).parent
if installed == source:
    raise SystemExit(f"imported from the source tree: {installed}")
missing = {path.relative_to(source) for path in source.rglob("*.py")} - {
    path.relative_to(installed) for path in installed.rglob("*.py")
}
if missing:
    raise SystemExit(f"the wheel lacks {sorted(map(str, missing))}")

X, y = load_diabetes(return_X_y=True)
for estimator in (skneighbors.NONARegressor, skneighbors.SoftStepKNNRegressor):
    print(estimator.__name__, round(estimator(max_iter=5).fit(X, y).score(X, y), 3))
