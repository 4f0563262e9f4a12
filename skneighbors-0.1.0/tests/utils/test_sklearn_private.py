"""Fits, predictions and files without what is private in scikit-learn."""

import ast
import subprocess
import sys
from pathlib import Path

import skneighbors
from skneighbors._utils import sklearn_private

PACKAGE = Path(skneighbors.__file__).parent
CODE = """
import sys, tempfile
import numpy as np
from pathlib import Path
from sklearn.base import BaseEstimator
from sklearn.ensemble import HistGradientBoostingRegressor as Boosting
fit = Boosting.fit
def fit_otherwise(self, *args, **kwargs):
    fit(self, *args, **kwargs)
    self.trees = self.__dict__.pop("_predictors")
    return self
Boosting.fit = fit_otherwise
Boosting.predict = lambda self, X: np.zeros(len(X))
from skneighbors import NONARegressor, Recipe, load
X = np.random.RandomState(0).normal(size=(120, 3))
y = X[:, 0] + (X[:, 1] > 0)
params = dict(max_iter=2, hidden_layer_sizes=8, n_estimators=1, recipe=Recipe(boosting_iter=5))
model = NONARegressor(blend="boosting", random_state=0, **params).fit(X, y, np.ones(120))
assert type(model.blend_.parts["boosting"].bags[0][0].trees).__name__ == "Trees"
y_hat = model.predict(X)
with tempfile.TemporaryDirectory() as folder:
    model.save(Path(folder) / "model")
    assert np.array_equal(load(Path(folder) / "model").predict(X), y_hat)
"""


def test_without_private_names():
    subprocess.run([sys.executable, "-c", CODE], check=True, cwd=PACKAGE.parent)


def test_private_names_stand_in_one_file():
    """Imports, attributes that follow a dot, and those that are looked up by their names."""
    private = {"_predictors", "_baseline_prediction", "raw_left_cat_bitsets", "_bin_mapper"}
    private |= {*sklearn_private.SETTINGS}
    for path in PACKAGE.rglob("*.py"):
        if path.stem == "sklearn_private":
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            names = {getattr(node, "attr", None), getattr(node, "module", None)}
            names.add(node.value if isinstance(node, ast.Constant) else None)
            assert not private & {name for name in names if isinstance(name, str)}, path
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("sklearn"):
                imported = [*node.module.split("."), *(alias.name for alias in node.names)]
                assert not any(name.startswith("_") for name in imported), (path, imported)
