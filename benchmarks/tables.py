"""Accuracy, time and memory on real tables, with categories, missing values and dates as they come.

Usage: as `tabular.py`. Needs the folder that `SKNEIGHBORS_DATA` names, with NAME.csv.gz and
categorical.json in `tables`: columns test_0, test_1, ... are 1 for the rows that a seed tests
on, `target` is to be predicted and `group`, if there, is no feature.
"""

from pathlib import Path

import tabular
from _tables import DEEP_TABLE_PEERS, TABLE_METHODS, available_tables, load_table

RESULTS = Path(__file__).parent / "results" / "tables" / "tables.jsonl"
TABLES = tabular.Benchmark(
    __file__,
    available_tables,
    load_table,
    TABLE_METHODS,
    DEEP_TABLE_PEERS,
    [0],
    RESULTS,
    tabular.measure,
    "rmse",
)

if __name__ == "__main__":
    tabular.main(TABLES)
