"""A user's CSV file, read with clear errors."""

import numpy as np
import pandas as pd

MIN_ROWS, MAX_ROWS = 50, 2_000
# Of numbers whose squares can be summed, and of differences whose squares are not 0.
_LARGEST, _SMALLEST = 1e100, 1e-100


class DataError(Exception):
    """Data that the comparison cannot use; the message is for the user."""


def read_csv(path, target):
    """Features and target of a CSV file.

    Parameters
    ----------
    path : str
        The file, comma-separated, with column names in its first line.
    target : str
        Name of the column to predict.

    Returns
    -------
    X : DataFrame of shape (n_rows, n_features)
        Columns of numbers and of text; both may have gaps, which are NaN.
    y : Series of shape (n_rows,)

    Raises
    ------
    DataError
        If the file, the column or the values are not usable.
    """
    table = read_table(path)
    if target not in table:
        names = ", ".join(map(repr, table.columns[:20])) + (", ..." if table.shape[1] > 20 else "")
        raise DataError(f"{path} has no column {target!r}; its columns are {names}.")
    if table.shape[1] < 2:
        raise DataError(f"{path} has no column beside the target {target!r}.")
    if len(table) < MIN_ROWS:
        raise DataError(f"{path} has {len(table)} rows; at least {MIN_ROWS} are needed.")
    y = _target(target, table[target])
    X = pd.DataFrame({name: _feature(name, table[name]) for name in table.columns.drop(target)})
    X = X.dropna(axis="columns", how="all")
    if X.empty:
        raise DataError(f"{path} has no value in any column beside the target {target!r}.")
    return X, y


def read_table(path):
    """Table of the file, with column names from its first line."""
    try:
        table = pd.read_csv(path, low_memory=False, skipinitialspace=True)
    except FileNotFoundError:
        raise DataError(f"There is no file {path}.") from None
    except Exception as error:  # whatever the file system of a URL raises
        raise DataError(
            f"{path} cannot be read as CSV: {' '.join(str(error).split())[:300]}"
        ) from None
    if not isinstance(table.index, pd.RangeIndex):
        raise DataError(f"{path} has rows with more values than the first line has column names.")
    return table


def _target(name, column):
    """Convert the target to float64, without gaps, of a size whose squares are numbers."""
    numbers = pd.to_numeric(column, errors="coerce").astype(np.float64)
    text = np.flatnonzero(numbers.isna() & column.notna())
    if len(text):
        raise DataError(
            f"The target {name!r} holds text, for example {_cut(column.iloc[text[0]])} in data row "
            f"{text[0] + 1}; it must hold numbers."
        )
    if len(missing := np.flatnonzero(numbers.isna())):
        raise DataError(
            f"The target {name!r} lacks a value in {len(missing)} of {len(column)} rows, for "
            f"example in data row {missing[0] + 1}; fill in or remove such rows."
        )
    _check_size(name, numbers)
    if numbers.nunique() < 2:
        raise DataError(f"The target {name!r} is {numbers.iloc[0]:g} in every row.")
    if numbers.max() - numbers.min() < _SMALLEST:
        raise DataError(f"The target {name!r} varies by less than {_SMALLEST:g}.")
    return numbers


def _feature(name, column):
    """Convert a column to float64 or, if it holds any text, to text."""
    if pd.api.types.is_numeric_dtype(column):
        numbers = column.astype(np.float64)
        _check_size(name, numbers)
        return numbers
    return column.map(str, na_action="ignore").astype(object).where(column.notna(), np.nan)


def _check_size(name, numbers):
    if len(large := np.flatnonzero(numbers.abs() > _LARGEST)):
        raise DataError(
            f"Column {name!r} is {numbers.iloc[large[0]]:g} in data row {large[0] + 1}; all "
            f"values must be finite, and no larger than {_LARGEST:g}."
        )


def _cut(value):
    """Cut a value, as it is written, to 60 characters."""
    return repr(value)[:60]


def cut_rows(X, y, max_rows=MAX_ROWS):
    """At most `max_rows` of the rows, drawn with a fixed seed and kept in order."""
    if len(X) <= max_rows:
        return X, y
    rows = np.sort(np.random.default_rng(0).choice(len(X), max_rows, replace=False))
    return X.iloc[rows], y.iloc[rows]
