"""
Which head, and which mask?
===========================

Search over them as over any other parameter. A mask, SoftStep, is learned: of the nearest rows, on
which a prediction rests, ``"s1"`` rejects the far ones, ``"s2"`` fades them, and ``None`` leaves
them to the softmax.
"""

import math

import matplotlib.pyplot as plt
import pandas as pd
import torch
from sklearn.datasets import make_friedman1
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import Pipeline

from skneighbors import NONARegressor, SoftStepKNNRegressor

X, y = make_friedman1(n_samples=400, noise=1.0, random_state=0)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)

# %%
# Estimators of two classes in one search stand in a pipeline. ``max_iter`` is small here to save
# time; leave it out for accuracy.

nona = NONARegressor(blend=None, max_iter=40, random_state=0)
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
# What do masks learn? They differ between queries: each thin line is that of one, and the thick
# line is their median. ``network_`` has them as torch modules; here are those of the ensemble's
# first network. NONA masks similarities, scaled to [0, 1] over the neighbors that predict.
# SoftStep k-NN masks the logarithms of ranks, which its temperature stretches.


@torch.no_grad()
def draw_masks(ax, model, x, at):
    """Draw at `at` the masks of 50 queries for x in [0, 1], the nearest neighbor's being 1."""
    network = model.network_
    z = network.embed(model.prepare(X_test[:50])).transpose(0, 1)  # (networks, queries, columns)
    masks = network.head.softstep(x.expand(*z.shape[:2], -1), z)[0].exp()
    ax.plot(at, masks.T, color="tab:blue", alpha=0.4, linewidth=0.8)
    ax.plot(at, masks.median(dim=0).values, color="tab:orange", linewidth=2.5)


fig, axes = plt.subplots(1, 2, figsize=(7, 3), sharey=True, layout="constrained")
nona.set_params(softstep="s2").fit(X_train, y_train)
scaled = torch.linspace(0, 1, 401, dtype=torch.float64)
draw_masks(axes[0], nona, scaled, at=scaled)
axes[0].set(title="NONA", xlabel="scaled similarity (1 is the nearest neighbor)", ylabel="mask")

knn.set_params(softstep="s1").fit(X_train, y_train)
ranks = torch.arange(1, knn.network_.n_neighbors + 1)
scaled = 1 - ranks.double().log() / math.log(len(X_train)) / knn.network_.head.temperature[0]
draw_masks(axes[1], knn, scaled.clamp(min=0), at=ranks)
_ = axes[1].set(title="SoftStep k-NN", xlabel="rank of the neighbor (1 is the nearest)")
