"""
Which head, and which mask?
===========================

Search over them as over any other parameter. A mask, SoftStep, is learned: of the nearest rows, on
which a prediction rests, ``"s1"`` rejects the far ones, ``"s2"`` fades them, and ``None`` leaves
them to the softmax.
"""

import pandas as pd
from sklearn.datasets import make_friedman1
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import Pipeline

from skneighbors import NONARegressor, SoftStepKNNRegressor
from skneighbors.inspection import SoftStepDisplay

X, y = make_friedman1(n_samples=400, noise=1.0, random_state=0)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)

# %%
# Estimators of two classes in one search stand in a pipeline. ``max_iter`` is small here to save
# time; leave it out for accuracy.

nona = NONARegressor(trend="linear", blend=None, max_iter=40, random_state=0)
knn = SoftStepKNNRegressor(max_iter=40, random_state=0)
grid = [
    {"model": [nona], "model__softstep": [None, "s1", "s2"]},
    {"model": [knn], "model__softstep": ["s1", "s2"]},
]
search = GridSearchCV(Pipeline([("model", nona)]), grid, cv=3).fit(X_train, y_train)

results = pd.DataFrame(
    {
        "estimator": [type(params["model"]).__name__ for params in search.cv_results_["params"]],
        "softstep": [str(params["model__softstep"]) for params in search.cv_results_["params"]],
        "R2": search.cv_results_["mean_test_score"].round(3),
        "of folds": search.cv_results_["std_test_score"].round(3),
    }
)
print(results.sort_values("R2", ascending=False).to_string(index=False))
print(f"R2 of the best on the test rows: {search.score(X_test, y_test):.3f}")

# %%
# Differences smaller than those between folds are not significant.
#
# What did the mask learn? It differs between queries. The display takes the estimator itself, which
# is the last step of the best pipeline.

best = search.best_estimator_[-1]
if best.softstep is not None:
    SoftStepDisplay.from_estimator(best, X_test, random_state=0)
