"""Write the demo's pages of small tables, which `make site-check` looks at.

Usage: python benchmarks/demo_pages.py FOLDER
"""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
from demo import prepare, read_target, write_page

QUICK = {"max_iter": 2, "hidden_layer_sizes": (8,)}


def make_table(n_rows=150, n_classes=3):
    """Make a table of awkward names and texts, with targets of numbers and of classes."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"size <b>&amp;</b> of it": rng.normal(size=n_rows)})
    X["a very long name of a column, as some tables have it " * 2] = rng.normal(size=n_rows)
    X["a text"] = rng.choice(["<i>one</i> & two", "a longer text " * 6], n_rows)
    X[[f"measured_{k}" for k in range(8)]] = rng.normal(size=(n_rows, 8))
    X.loc[::9, "measured_0"] = np.nan
    numbers = 1e5 * (3 + X.iloc[:, 0] + 0.1 * rng.normal(size=n_rows))
    codes = pd.qcut(numbers, n_classes, labels=False)
    return X, numbers.rename("price, $"), ("<kind> " + codes.astype(str)).rename("kind")


def main(folder):
    """Write a page of numbers, one of few and one of many classes, and their index."""
    targets = {"numbers": make_table()[:2], "classes": make_table()[::2]}
    targets["many"] = make_table(n_classes=15)[::2]
    links = ""
    for name, (X, y) in targets.items():
        y, note = read_target(y)
        path, _ = write_page(*prepare(X, y, f"{name} <made>", [note]), folder, **QUICK)
        links += f'<li><a href="{path.name}">{name}</a></li>'
    (folder / "index.html").write_text(f"<!doctype html><title>Pages</title><ul>{links}</ul>")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
