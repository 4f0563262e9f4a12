"""
New rows come in. Must I train again?
=====================================

Not at once: rows can be appended to a fitted model, and forgotten, in a moment. Train again when
there are many, or the errors say so.
"""

from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import make_friedman1
from sklearn.metrics import root_mean_squared_error

from skneighbors import NONARegressor

X, y = make_friedman1(n_samples=1500, n_features=5, noise=0.5, random_state=0)
X = pd.DataFrame(X, columns=[*"abcde"])

# %%
# The model is trained where column c is below 0.6. Then rows beyond come in.

is_new = (X["c"] > 0.6).to_numpy()
X_old, y_old = X[~is_new][:300], y[~is_new][:300]
X_new, y_new = X[is_new][:160], y[is_new][:160]
X_test, y_test = X[is_new][160:], y[is_new][160:]
model = NONARegressor(blend=None, random_state=0).fit(X_old, y_old)


def rmse(model):
    return root_mean_squared_error(y_test, model.predict(X_test))


counts, errors = [0, 20, 40, 80, 160], [rmse(model)]
for begin, end in pairwise(counts):
    model.append(X_new[begin:end], y_new[begin:end])
    errors.append(rmse(model))

# %%
# How good would a model be that is trained on all of them?

X_all, y_all = pd.concat([X_old, X_new]), np.concatenate([y_old, y_new])
again = rmse(NONARegressor(blend=None, random_state=0).fit(X_all, y_all))

fig, ax = plt.subplots(figsize=(5.5, 3.5), layout="constrained")
ax.plot(counts, errors, "o-", color="tab:blue", label="appended, not trained")
ax.plot(counts[-1], again, "o", color="tab:orange", label="trained again on all")
ax.set(xlabel="new rows", ylabel="RMSE on further new rows", ylim=(0, None), xticks=counts)
_ = ax.legend()

# %%
# New neighbors help at once. Training helps more, for then the embedding learns from them, too.
#
# Rows that should not count
# --------------------------
# A sensor was broken, whose 20 rows with wrong targets were appended. Once that is known,
# :meth:`~skneighbors.NONARegressor.forget` takes them out by their numbers, which count on from
# those given to ``fit``.

rng = np.random.default_rng(0)
print(f"RMSE before: {rmse(model):.3f}")
n_before = len(X_all)
model.append(X_new[:20] + 0.01, rng.uniform(0, 30, 20))
print(f"RMSE with the wrong rows: {rmse(model):.3f}")
model.forget(np.arange(n_before, n_before + 20))
print(f"RMSE after they are forgotten: {rmse(model):.3f}")
