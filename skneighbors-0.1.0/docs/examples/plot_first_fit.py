"""
How do I fit a table with text, missing values and dates?
=========================================================

Give the table to ``fit`` as it is. Here it holds used cars, made up, and the target is the price.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.inspection import permutation_importance
from sklearn.model_selection import train_test_split

from skneighbors import NONARegressor

rng = np.random.default_rng(0)
n_cars = 600
new_price = {"Aster": 18.0, "Borealis": 27.0, "Corvus": 34.0, "Dune": 48.0}
cars = pd.DataFrame(
    {
        "make": rng.choice(list(new_price), n_cars),
        "fuel": rng.choice(["petrol", "diesel", "electric"], n_cars, p=[0.5, 0.3, 0.2]),
        "registered": pd.Timestamp("2010-01-01")
        + pd.to_timedelta(rng.integers(0, 5000, n_cars), unit="D"),
        "power": rng.normal(90, 25, n_cars).clip(40).round(),
    }
)
age = (pd.Timestamp("2024-01-01") - cars["registered"]).dt.days / 365
cars["mileage"] = (age * rng.gamma(6, 2.2, n_cars)).round(1)
per_year = np.where(cars["fuel"] == "electric", 0.16, 0.12)
price = (
    cars["make"].map(new_price).astype(float)
    * (cars["power"] / 90) ** 0.6
    * np.exp(-per_year * age - 0.003 * cars["mileage"] + rng.normal(0, 0.08, n_cars))
).rename("price")
# Sellers leave things out.
cars.loc[rng.random(n_cars) < 0.15, "mileage"] = np.nan
cars.loc[rng.random(n_cars) < 0.1, "fuel"] = None
print(cars.assign(price=price.round(2)).head(6).to_string(index=False))

# %%
# One line to fit, one to score. ``score`` is R2, as in scikit-learn.

X_train, X_test, y_train, y_test = train_test_split(cars, price, random_state=0)
model = NONARegressor(random_state=0).fit(X_train, y_train)
print(f"NONARegressor: R2 {model.score(X_test, y_test):.3f}")

# %%
# Beside it, histogram boosting, which takes categories but wants numbers for dates.


def as_numbers(X):
    """Dates as days, and text as categories of the whole table."""
    days = (X["registered"] - pd.Timestamp("2010-01-01")).dt.days
    makes, fuels = (pd.Categorical(X[name], levels[name]) for name in levels)
    return X.assign(registered=days, make=makes, fuel=fuels)


levels = {name: sorted(cars[name].dropna().unique()) for name in ("make", "fuel")}
boosting = HistGradientBoostingRegressor(categorical_features="from_dtype", random_state=0)
boosting.fit(as_numbers(X_train), y_train)
print(f"HistGradientBoostingRegressor: R2 {boosting.score(as_numbers(X_test), y_test):.3f}")

# %%
# What scikit-learn offers for regressors works as always, such as the importance of each column.

importance = permutation_importance(model, X_test, y_test, n_repeats=3, random_state=0)
print(pd.Series(importance.importances_mean, cars.columns).round(3).sort_values().to_string())

# %%
# How far off are single cars?

fig, ax = plt.subplots(figsize=(4.5, 4), layout="constrained")
ends = [y_test.min(), y_test.max()]
ax.plot(ends, ends, color="tab:orange", label="exact")
ax.scatter(model.predict(X_test), y_test, s=10, color="tab:blue", label="test cars")
ax.set(xlabel="predicted price", ylabel="price", aspect="equal")
_ = ax.legend()
