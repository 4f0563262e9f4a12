"""
Which training rows made this prediction
========================================

A prediction of :class:`~skneighbors.NONARegressor` is made from labelled training rows, and
:meth:`~skneighbors.NONARegressor.explain` names them.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split

from skneighbors import NONARegressor

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)

# %%
# ``trend=None`` makes every prediction a weighted mean of training targets, and nothing else.

model = NONARegressor(trend=None, random_state=0).fit(X_train, y_train)
print(f"R2 on the test rows: {model.score(X_test, y_test):.2f}")

# %%
# The ten rows that weigh most in the first test prediction, with some of their features:

query = X_test.iloc[[0]]
explanation = model.explain(query, n_neighbors=10)
columns = ["age", "bmi", "bp", "s5"]
rows = explanation.samples[0]
table = X_train.iloc[rows][columns].assign(
    target=y_train.iloc[rows], weight=explanation.weights[0].round(3)
)
print(query[columns].to_string(index=False))
print(table.to_string(index=False))

# %%
# How many rows does a prediction rest on? The number of rows that share half of its weight:

weights = model.explain(X_test, n_neighbors=len(X_train)).weights
n_half = (np.cumsum(weights, axis=1) < 0.5).sum(axis=1) + 1

fig, ax = plt.subplots(figsize=(5, 3), layout="constrained")
ax.hist(n_half, bins=20)
_ = ax.set(xlabel="training rows that share half of the weight", ylabel="test rows")
