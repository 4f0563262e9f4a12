"""What groups and times change: NONA with and without them, on tables whose test rows need them.

Usage: python benchmarks/given.py [options of _benchmark.py]

Real tables of the folder that `SKNEIGHBORS_DATA` names, whose test rows are of other groups, or
later than the training rows. The splits are those of _tables.py.
"""

from functools import partial

from _benchmark import DOCS, Benchmark, main
from _rst import rst_text_table, write
from _tables import TABLE_METHODS, TIMES, load_table
from tabular import measure

OUTPUT = DOCS / "given.inc"
TABLES = [*TIMES, "wish"]
METHODS = ["NONA", "NONA, given"]


def report(frame):
    """Write the table for the docs."""
    rmse = frame.pivot_table(index="dataset", columns="method", values="rmse")[METHODS]
    ratio = rmse["NONA, given"] / rmse["NONA"]
    table = rmse.map("{:.4g}".format).assign(**{"given to default": ratio.map("{:.3f}".format)})
    write(OUTPUT, rst_text_table("Test RMSE", table.rename_axis(None)), "", runs=frame)


if __name__ == "__main__":
    run = partial(measure, load_table, TABLE_METHODS)
    main(Benchmark(__file__, lambda: TABLES, METHODS, run, report))
