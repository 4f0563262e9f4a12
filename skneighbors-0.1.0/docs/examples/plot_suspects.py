"""
Which prices were typed wrong?
==============================

Those unlike what similar flats cost. Of 500 flats, made up, eight have a wrong price: a digit too
many or too few, or two digits exchanged. :meth:`~skneighbors.NONARegressor.suspects` looks for
them.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from skneighbors import NONARegressor

rng = np.random.default_rng(0)
n_flats = 500
per_square_metre = {"Harbour": 5200, "Old Town": 4600, "Mill Hill": 3400, "Station": 2800}
flats = pd.DataFrame(
    {
        "district": rng.choice(list(per_square_metre), n_flats),
        "area": rng.gamma(9, 8, n_flats).clip(25, 180).round(),
        "built": rng.integers(1900, 2021, n_flats),
        "floor": rng.integers(0, 7, n_flats),
    }
)
flats.index = flats["district"] + " " + (flats.groupby("district").cumcount() + 1).astype(str)
price = (
    flats["district"].map(per_square_metre).astype(float)
    * flats["area"]
    * np.exp(0.004 * (flats["built"] - 1960) + 0.02 * flats["floor"])
    * rng.lognormal(0, 0.06, n_flats)
).round(-3)

typed = price.copy()
wrong = rng.permutation(flats.index)[:8]
typed[wrong[:2]] *= 10
typed[wrong[2:4]] /= 10
for flat in wrong[4:]:  # 314,000 becomes 134,000
    digits = str(int(price[flat]))
    typed[flat] = float(digits[1] + digits[0] + digits[2:])
print(pd.DataFrame({"typed": typed[wrong], "right": price[wrong]}).to_string())

# %%
# A price is as wrong at twice as at half of what it should be, so the model is fitted to
# logarithms.

model = NONARegressor(random_state=0).fit(flats, np.log10(typed))
suspects = model.suspects(n_rows=15)
found = suspects.to_frame().drop(columns="neighbors")
print(found.assign(wrong=np.isin(suspects.labels, wrong)).round(2).to_string())

# %%
# The picture shows each target beside what similar flats say, with the interval of that.

places = np.arange(len(suspects))
fig, ax = plt.subplots(figsize=(7, 5), layout="constrained")
ax.hlines(places, *suspects.interval.T, linewidth=4, alpha=0.3, label="interval")
ax.hlines(places, suspects.expected, suspects.targets, color="0.5", linewidth=0.8, linestyle=":")
ax.scatter(suspects.expected, places, marker="D", s=24, zorder=3, label="expected")
ax.scatter(suspects.targets, places, zorder=4, label="target")
ax.set_yticks(places, suspects.labels)
ax.set(xlabel="logarithm of the price", ylim=(len(suspects) - 0.5, -0.5))
_ = ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=3, frameon=False)

# %%
# What do these similar flats cost?

first = suspects.labels[0]
neighbors = flats.loc[suspects.neighbor_labels[0]]
print(flats.loc[[first]].assign(price=typed).to_string())
print(neighbors.assign(price=typed).to_string())
