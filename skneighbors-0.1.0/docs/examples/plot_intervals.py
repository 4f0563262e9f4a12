"""
How far off can a prediction be?
================================

Ask for an interval. :meth:`~skneighbors.NONARegressor.predict_interval` gives one that holds the
target with the nominal confidence, and that is wider where the neighbors vary more.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import train_test_split

from skneighbors import NONARegressor
from skneighbors.inspection import IntervalDisplay

rng = np.random.default_rng(0)
X = rng.uniform(0, 10, (1200, 2))
y = X[:, 0] + np.sin(X[:, 0]) + rng.normal(0, 0.1 + 0.15 * X[:, 0])
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=400, random_state=0)

# %%
# The noise grows with the first feature; the second one means nothing.

model = NONARegressor(random_state=0).fit(X_train, y_train)
lower, upper = model.predict_interval(X_test, confidence_level=0.9).T
for name, rows in {"below 2": X_test[:, 0] < 2, "above 8": X_test[:, 0] > 8}.items():
    print(f"first feature {name}: mean width {(upper - lower)[rows].mean():.2f}")

# %%
# Do 90 % of the intervals hold the target? On rows that the model has not seen, count. That is
# promised for all rows together. The picture shows it for small to large predictions: outside of
# the gray range, intervals are too wide or too narrow there.

display = IntervalDisplay.from_estimator(model, X_test, y_test, confidence_level=0.9, max_bars=150)
print(f"coverage: {display.coverage_:.3f}")

# %%
# Quantiles draw the whole distribution, which need not be symmetric. Along the first feature:

line = np.column_stack([np.linspace(0, 10, 200), np.full(200, 5.0)])
quantiles = model.predict_quantiles(line, [0.05, 0.25, 0.5, 0.75, 0.95]).T
fig, ax = plt.subplots(figsize=(7, 3.5), layout="constrained")
ax.scatter(X_test[:, 0], y_test, s=6, color="0.6", label="test rows")
ax.fill_between(line[:, 0], quantiles[0], quantiles[4], color="tab:blue", alpha=0.2, label="90 %")
ax.fill_between(line[:, 0], quantiles[1], quantiles[3], color="tab:blue", alpha=0.4, label="50 %")
ax.plot(line[:, 0], quantiles[2], color="tab:orange", label="median")
ax.set(xlabel="first feature", ylabel="target")
_ = ax.legend()
