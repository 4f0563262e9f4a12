"""A user's CSV file of numbers, read with clear errors."""

import numpy as np
import pandas as pd

MIN_ROWS, MAX_ROWS = 50, 2_000


class DataError(Exception):
    """Data that the comparison cannot use; the message is for the user."""


def read_csv(path, target):
    """Features and target of a CSV file of numbers.

    Parameters
    ----------
    path : str
        The file, comma-separated, with column names in its first line.
    target : str
        Name of the column to predict.

    Returns
    -------
    X : DataFrame of shape (n_rows, n_features)
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
    table = pd.DataFrame({name: _numbers(name, table[name]) for name in table.columns})
    if table[target].nunique() < 2:
        raise DataError(f"The target {target!r} is {table[target].iloc[0]:g} in every row.")
    return table.drop(columns=target), table[target]


def read_table(path):
    """Table of the file, with column names from its first line."""
    try:
        table = pd.read_csv(path, low_memory=False, skipinitialspace=True)
    except FileNotFoundError:
        raise DataError(f"There is no file {path}.") from None
    except (OSError, ValueError) as error:  # pandas' and the decoder's errors are ValueErrors
        raise DataError(f"{path} cannot be read as CSV: {' '.join(str(error).split())}") from None
    if not isinstance(table.index, pd.RangeIndex):
        raise DataError(f"{path} has rows with more values than the first line has column names.")
    return table


def _numbers(name, column):
    """Convert the column to float64; the first value that is no finite number is an error."""
    numbers = pd.to_numeric(column, errors="coerce").astype(np.float64)
    text = np.flatnonzero(numbers.isna() & column.notna())
    if len(text):
        raise DataError(
            f"Column {name!r} holds text, for example {column.iloc[text[0]]!r} in data row "
            f"{text[0] + 1}; all columns must be numbers."
        )
    if len(missing := np.flatnonzero(numbers.isna())):
        raise DataError(
            f"Column {name!r} lacks a value in {len(missing)} of {len(column)} rows, for example "
            f"in data row {missing[0] + 1}; fill in or remove such rows."
        )
    if len(infinite := np.flatnonzero(np.isinf(numbers))):
        raise DataError(
            f"Column {name!r} is {numbers.iloc[infinite[0]]} in data row {infinite[0] + 1}; all "
            "values must be finite."
        )
    return numbers


def cut_rows(X, y, max_rows=MAX_ROWS):
    """At most `max_rows` of the rows, drawn with a fixed seed and kept in order."""
    if len(X) <= max_rows:
        return X, y
    rows = np.sort(np.random.default_rng(0).choice(len(X), max_rows, replace=False))
    return X.iloc[rows], y.iloc[rows]
