"""Arrays that say when or in which order rows were observed, or what they belong to."""

from difflib import get_close_matches

import narwhals as nw
import numpy as np

from .column import CATEGORIES, NOTHING
from .reader import TableReader
from .table import Table, unwrap
from .values import show

# Of more columns those are named that are most like the one asked for.
_N_SHOWN = 5


def _read_values(values, n_samples, name):
    """Read an array as a column of a table is read.

    Parameters
    ----------
    values : array-like of shape (n_samples,)
    n_samples : int
    name : str
        For messages.

    Returns
    -------
    kind : str
        That of a column.
    numbers : float64 ndarray of shape (n_samples,)
        NaN for missing values.

    Raises
    ------
    ValueError
        If there is not one value for each row, or they are unlike.
    """
    values = unwrap(values)
    series = nw.from_native(values, allow_series=True, eager_only=True, pass_through=True)
    if isinstance(series, nw.Series):
        shape, values = series.shape, series.to_frame().to_native()
    else:
        # No value of a list becomes another, as numbers beside text would.
        values = np.asarray(values, dtype=object if isinstance(values, list | tuple) else None)
        shape, values = values.shape, values.reshape(len(values) if values.ndim else 1, -1)
    if shape != (n_samples,):
        raise ValueError(
            f"{name} must have one entry for each of {n_samples} samples; got an array of shape "
            f"{shape}."
        )
    table = Table.of(values)
    try:
        reader = TableReader.of(table, "from_dtype")
        matrix = reader.read(table)
    except ValueError as error:
        raise ValueError(str(error).replace(table.describe(0), name)) from error
    return reader.kinds[0], matrix[:, 0]


def find_last(order, share):
    """Rows of the last times, of those with a time as near to a share as whole times allow.

    Parameters
    ----------
    order : ndarray of shape (n_samples,)
        NaN for rows without a time.
    share : float

    Returns
    -------
    rows : int ndarray
        At least those of the last time.
    """
    present = np.flatnonzero(~np.isnan(order))
    _, place = np.unique(order[present], return_inverse=True)
    n_before = np.bincount(place).cumsum()[:-1]
    first = np.abs(n_before - (1 - share) * len(present)).argmin() + 1
    return present[place >= first]


def find_named(argument, name, reader):
    """Find the column of X that an argument of `fit` names.

    Parameters
    ----------
    argument : str
        For messages.
    name : str
    reader : TableReader or None
        None if a feature extractor reads X.

    Returns
    -------
    j : int
        The column's position in X.

    Raises
    ------
    ValueError
        If there is none of that name.
    """
    names = [] if reader is None or reader.names is None else reader.names
    if name in names:
        return names.index(name)
    if not names:
        why = "it has no names" if reader else "a feature_extractor reads it as a whole"
        raise ValueError(f"{argument}={show(name)} names no column of X: {why}. Give an array.")
    alike = get_close_matches(name, [own for own in names if isinstance(own, str)], 3, 0)
    alike = alike if len(names) > _N_SHOWN else names
    known = ", ".join(map(show, alike)) + (", ..." if len(names) > len(alike) else "")
    raise ValueError(f"{argument}={show(name)} names no column of X: there are {known}.")


def check_order(order, reader, matrix, sample_weight):
    """Check what rows are ordered by, a column's name or an array, to float64 (n_samples,).

    Parameters
    ----------
    order : str or array-like of shape (n_samples,)
    reader : TableReader or None
    matrix : ndarray of shape (n_samples, ...)
        As it has read X.
    sample_weight : ndarray of shape (n_samples,)

    Returns
    -------
    order : ndarray of shape (n_samples,)
        NaN for rows without a time.

    Raises
    ------
    ValueError
        If there is no such column, or it holds no numbers or times, of which at least two differ
        among the samples that count.
    """
    if isinstance(order, str):
        name, j = f"order={show(order)}", find_named("order", order, reader)
        kind, found = reader.kinds[j], np.full(len(matrix), np.nan)
        if kind != NOTHING:
            found = matrix[:, reader.order.index(j)]
    else:
        name = "order"
        kind, found = _read_values(order, len(matrix), name)
    if kind == CATEGORIES:
        raise ValueError(
            f"{name} must hold numbers, dates or times; it holds categories or text. Of text, "
            "pandas.to_datetime makes times."
        )
    counted = found[sample_weight > 0]
    n_times = len(np.unique(counted[~np.isnan(counted)]))
    if n_times < 2:
        raise ValueError(
            f"{name} must hold at least 2 different numbers, dates or times; got {n_times}."
        )
    return found
