"""
Will it hold for new customers, or next month?
==============================================

Ask before you fit. :class:`~skneighbors.inspection.HoldOutDisplay` holds rows out at random, by
whole values of a column, and by order, and shows what each says of the error.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from skneighbors import NONARegressor
from skneighbors.inspection import HoldOutDisplay

rng = np.random.default_rng(0)
n_customers, n_orders = 300, 6
customer = np.repeat(np.arange(n_customers), n_orders)
n_rows = len(customer)
age, income = rng.uniform(18, 80, n_customers), rng.lognormal(10, 0.5, n_customers)
habit = rng.normal(0, 8, n_customers) + 0.5 * (age - 49)
orders = pd.DataFrame(
    {
        "day": pd.Timestamp("2025-01-01") + pd.to_timedelta(rng.integers(0, 180, n_rows), unit="D"),
        "age": age[customer].round(1),
        "income": income[customer].round(-1),
        "items": rng.poisson(3, n_rows) + 1,
    }
)
spent = 50 + habit[customer] + 3 * orders["items"] + rng.normal(0, 3, n_rows)

# %%
# Orders of customers, made up. A customer's habits are mostly his own: age says something of
# them. But age and income together say who he is. Of the customers, some come later.

is_new = customer >= 150
X, y, known = orders[~is_new], spent[~is_new], customer[~is_new]
X_new, y_new = orders[is_new], spent[is_new]

X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
naive = NONARegressor(max_iter=40, random_state=0).fit(X_train, y_train)
print(f"R2 of rows at random: {naive.score(X_test, y_test):.2f}")
print(f"R2 of new customers:  {naive.score(X_new, y_new):.2f}")

# %%
# The first figure was false for what was to come. Nothing but the known customers is needed to
# see it: the day costs little, by whole days or by order, but the customer much. He is an array of
# his own here, as he is no feature; his name is text, as numbers would have an order, too.

names = [f"customer {i}" for i in known]
display = HoldOutDisplay.from_data(X, y, {"customer": names, "day": X["day"]}, random_state=0)
print(display.to_frame().drop(columns=["rmse_random", "rmse"]).round(2).to_string(index=False))

# %%
# To have the model validate itself so, tell ``fit``. What its networks then say of themselves is
# no longer too good. And as they stop, weigh neighbours and take trees in by it, new customers are
# better predicted.

told = NONARegressor(max_iter=40, random_state=0).fit(X, y, groups=names)
for name, model in {"at random": naive, "groups=customer": told}.items():
    says, is_so = np.mean(model.validation_scores_), model.score(X_new, y_new)
    print(f"{name}: R2 {says:.2f} in validation, {is_so:.2f} of new customers")

# %%
# Does each column that costs so much name a group? No. Held out whole, a column that matters is
# missed. Here the shops of a chain differ, and nothing but the shop's name tells them apart:

shop = rng.integers(0, 60, n_rows)
chain = pd.DataFrame({"items": orders["items"], "shop": [f"shop {i}" for i in shop]})
turnover = rng.normal(0, 12, 60)[shop] + 3 * chain["items"] + rng.normal(0, 3, n_rows)
_, axes = plt.subplots(2, 1, figsize=(6.5, 4), sharex=True, layout="constrained")
tables = {"shop, a feature": chain, "shop, no feature": chain.drop(columns="shop")}
for ax, (name, table) in zip(axes, tables.items(), strict=True):
    HoldOutDisplay.from_data(table, turnover, {name: chain["shop"]}, random_state=0, ax=ax)

# %%
# Without the column as a feature the gap is gone: rows at random are predicted as badly as those
# of new shops. For known shops, keep the name and hold rows out at random. Of customers the gap
# stays, whether their names are features or not: age and income give them away.
