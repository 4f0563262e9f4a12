"""
How do I explain a prediction to a colleague?
=============================================

As an appraiser does: a flat is worth what similar ones were sold for, adjusted for what is
different about them. Here 600 flats, made up, were sold, and a model says what others are worth.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from skneighbors import NONARegressor
from skneighbors.inspection import NeighborsDisplay

rng = np.random.default_rng(0)
n_flats = 800
per_square_metre = {"Harbour": 5.2, "Old Town": 4.6, "Mill Hill": 3.4, "Station": 2.8}
flats = pd.DataFrame(
    {
        "district": rng.choice(list(per_square_metre), n_flats),
        "area": rng.gamma(9, 8, n_flats).clip(25, 180).round(),
        "built": rng.integers(1900, 2021, n_flats),
        "floor": rng.integers(0, 7, n_flats),
        "lift": rng.choice(["yes", "no"], n_flats),
        "balcony": rng.choice(["yes", "no"], n_flats, p=[0.6, 0.4]),
    }
)
flats.index = flats["district"] + " " + (flats.groupby("district").cumcount() + 1).astype(str)
price = (
    flats["district"].map(per_square_metre).astype(float)
    * flats["area"]
    * np.where(flats["balcony"] == "yes", 1.06, 1)
    * np.where(flats["lift"] == "yes", 1 + 0.01 * flats["floor"], 1 - 0.03 * flats["floor"])
    * np.exp(0.004 * (flats["built"] - 1960))
    * rng.lognormal(0, 0.06, n_flats)
).rename("price")
X_train, X_test, y_train, y_test = train_test_split(flats, price, train_size=600, random_state=0)
print(X_train.assign(price=y_train.round(1)).head().to_string())

# %%
# With ``n_neighbors=6`` each prediction rests on six of these flats, and on boosted trees and a
# linear model beside them. Prices are in thousands.

model = NONARegressor(n_neighbors=6, random_state=0).fit(X_train, y_train)
print(f"R2 on the test rows: {model.score(X_test, y_test):.2f}")

# %%
# What is this flat worth? The picture shows the six, how much each counts, and what they were
# sold for, before and after their prices are adjusted to this flat. Adjusted, they agree better.

flat = X_test.loc[["Station 140"]]
_ = NeighborsDisplay.from_estimator(model, flat)
print(flat.to_string())

# %%
# :meth:`~skneighbors.NONARegressor.explain` has the numbers, and puts five of them beside the
# flat, in the columns that make the largest differences.

print(model.explain(flat, by_column=True))

# %%
# You can check by hand that the prediction is the mean of the last column of the first table,
# by share, and judge whether these six are similar to the flat.
#
# Over many flats, which columns make the largest differences between a flat and its neighbors? On
# average, and in thousands:

explanation = model.explain(X_test, by_column=True)
importances = pd.Series(explanation.importances())
fig, ax = plt.subplots(figsize=(5.5, 2.6), layout="constrained")
importances.sort_values().plot.barh(ax=ax, color="tab:blue")
_ = ax.set_xlabel("mean absolute difference")

# %%
# Bars are long for columns in which neighbors differ. The district's is short because they mostly
# share it. It matters all the same: it makes them neighbors.

districts = X_test[["district"]].to_numpy()
theirs = X_train["district"].to_numpy()[explanation.indices]
print(f"neighbors in the same district: {(theirs == districts).mean():.0%}")
