"""
Which rows should I not trust the model on?
===========================================

Those unlike everything it was given. :meth:`~skneighbors.NONARegressor.novelty` says how unlike:
near 1 is a row farther from all training rows than these are from each other.
"""

from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import make_friedman1
from sklearn.model_selection import train_test_split

from skneighbors import NONARegressor

X, y = make_friedman1(n_samples=700, n_features=5, noise=0.5, random_state=0)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=300, random_state=0)
model = NONARegressor(random_state=0).fit(X_train, y_train)

# %%
# To half of the test rows something new happens: their first two features move away by up to 1,
# where training rows lie between 0 and 1.

rng = np.random.default_rng(0)
is_moved = rng.random(len(X_test)) < 0.5
shift = is_moved[:, None] * rng.uniform(0, 1, (len(X_test), 2))
X_new = X_test.copy()
X_new[:, :2] += shift
y_new = y_test + 10 * (
    np.sin(np.pi * X_new[:, 0] * X_new[:, 1]) - np.sin(np.pi * X_test[:, 0] * X_test[:, 1])
)

novelty = model.novelty(X_new)
error = np.abs(model.predict(X_new) - y_new)

# %%
# Rows of high novelty have the large errors:

edges = [0, 0.5, 0.8, 0.9, 0.99, 1.0]
names = [f"{low:g} to {high:g}" for low, high in pairwise(edges)]
bins = pd.cut(novelty, edges, labels=names, include_lowest=True)
table = pd.DataFrame({"novelty": bins, "error": error, "moved": is_moved})
print(
    table.groupby("novelty", observed=True)
    .agg(rows=("error", "size"), share_moved=("moved", "mean"), mean_error=("error", "mean"))
    .round(2)
    .to_string()
)

# %%
# Rows like the training rows spread over all values; those that moved crowd at 1.

fig, axes = plt.subplots(1, 2, figsize=(7, 3.3), layout="constrained")
for rows, color, name in ((~is_moved, "tab:blue", "as before"), (is_moved, "tab:orange", "moved")):
    axes[0].hist(novelty[rows], bins=np.linspace(0, 1, 11), color=color, alpha=0.6, label=name)
    axes[1].scatter(shift[rows].sum(axis=1), error[rows], s=10, color=color)
axes[0].set(xlabel="novelty", ylabel="test rows")
axes[0].legend()
_ = axes[1].set(xlabel="distance moved (sum of both features)", ylabel="absolute error")
