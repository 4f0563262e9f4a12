"""Arguments with a value for each row: weights, groups, time, numbers of rows."""

import datetime
from numbers import Integral, Number

import numpy as np

from .._utils.warn import warn
from .categories import find_quantity
from .column import BOOLS, CATEGORIES, DURATIONS, NUMBERS, TIMES, Column, is_missing, show
from .reader import ColumnWarning
from .rows import check_total_weight
from .table import single_column, unwrap


def read_per_row(values, name, n_samples=None):
    """Read an argument with a value for each row, as a column.

    Parameters
    ----------
    values : array-like of shape (n_samples,)
        Of any library; masked values are missing.
    name : str
        For messages.
    n_samples : int, default=None
        How many rows there are; None: any number.

    Returns
    -------
    column : Column

    Raises
    ------
    ValueError
        If it has another shape.
    TypeError
        If it cannot be read.
    """
    column = single_column(values, name)
    wanted = (
        "a single dimension" if n_samples is None else f"one entry for each of {n_samples} samples"
    )
    shape = column.data.shape
    if len(shape) != 1 if n_samples is None else shape != (n_samples,):
        found = show(values) if isinstance(values, str) else f"an array of shape {shape}"
        raise ValueError(f"{name} must have {wanted}; got {found}.")
    return column


def _is_single(value):
    """Whether an argument is a single value, not one for each row."""
    return isinstance(value, Number) or getattr(value, "ndim", None) == 0


def check_weights(sample_weight, n_samples, name="sample_weight"):
    """Check weights, to float64 (n_samples,); those of None are 1.

    Parameters
    ----------
    sample_weight : array-like of shape (n_samples,), number or None
    n_samples : int
    name : str, default="sample_weight"
        For messages.

    Raises
    ------
    ValueError
        If they are not numbers from 0 on, one for each row, of which some are positive.
    """
    if sample_weight is None:
        return np.ones(n_samples)
    if _is_single(sample_weight):
        sample_weight = np.full(n_samples, unwrap(sample_weight, name))
    column = read_per_row(sample_weight, name, n_samples)
    column.refuse_others()
    weight = _finite_numbers(column)
    if np.isnan(weight).any():
        raise ValueError(f"{name} contains NaN, None or NA; every sample must have a weight.")
    if (weight < 0).any():
        raise ValueError(f"{name} contains negative values, such as {weight[weight < 0][0]}.")
    if not weight.any():
        raise ValueError(f"{name} must have a positive entry; all weights are zero.")
    check_total_weight(weight, name=name)
    return weight


def _finite_numbers(column):
    """Numbers of a column, to float64; NaN where missing. ValueError if one is infinite."""
    numbers = np.array(column.numbers(), dtype=np.float64)
    if np.isinf(numbers).any():
        raise ValueError(f"{column.name} contains infinity.")
    return numbers


def check_row_numbers(numbers, n_samples):
    """Check `indices`, numbers of rows or a mask of them, to int64 (n,).

    Parameters
    ----------
    numbers : int, array-like of int, or bool array-like of shape (n_samples,)
    n_samples : int

    Raises
    ------
    ValueError
        If they are no numbers of rows.
    """
    is_one = _is_single(numbers) or isinstance(numbers, str | bytes)
    column = read_per_row(np.full(1, numbers) if is_one else numbers, "indices")
    values = column.values
    if any(map(is_missing, values)):
        raise ValueError("indices contains NaN, None or NA; every entry must name a row.")
    if column.sorts.keys() == {BOOLS} or (column.declared == CATEGORIES and not values):
        if len(values) != n_samples:
            raise ValueError(
                f"indices is a mask of shape ({len(values)},); it must have shape ({n_samples},), "
                "one entry for each sample so far."
            )
        return np.flatnonzero(values)
    others = [column.sorts[sort] for sort in column.sorts.keys() - {NUMBERS}]
    others += [value for value in values if not isinstance(value, Integral)]
    if others:
        raise ValueError(f"indices must be ints or a mask; got {show(others[0])}.")
    unknown = [value for value in values if not 0 <= value < n_samples]
    if unknown:
        raise ValueError(f"indices must lie between 0 and {n_samples - 1}; got {unknown[0]}.")
    return np.array(values, dtype=np.int64)


def check_groups(groups, n_samples):
    """Check groups and count them from 0, to int64 (n_samples,).

    Parameters
    ----------
    groups : array-like of shape (n_samples,)
    n_samples : int

    Raises
    ------
    ValueError
        If there is not one group for each sample.
    """
    column = read_per_row(groups, "groups", n_samples)
    if any(map(is_missing, column.values)):
        raise ValueError("groups contains NaN, None or NA; every sample must have a group.")
    if column.kind in (TIMES, DURATIONS):
        return column.ranks().astype(np.int64)
    categories = column.categories
    try:
        codes = {category: code for code, category in enumerate(sorted(set(categories)))}
    except TypeError as error:  # of a dtype of categories
        found = " and ".join(map(show, column.sorts.values()))
        raise ValueError(f"groups must be all numbers or all text; got {found}.") from error
    return np.array([codes[category] for category in categories])


def _read_text(column, counted):
    """Column of the numbers or days that text stands for, of rows that count; else the column."""
    texts = column.count_texts(counted)
    reading = find_quantity(texts)
    if reading is None:
        return column
    if reading.is_assumed:
        what = reading.describe_example(texts)
        warn(f"{column.name} is read as {what}. Give dates or numbers if not.", ColumnWarning)
    numbers = np.where(counted, reading.parse_all(column.values), np.nan)
    unread = reading.find_unread(column, np.flatnonzero(np.isnan(numbers) & counted))
    if unread:
        raise ValueError(f"{column.name} holds {show(unread[0])} beside {reading.describe()}.")
    is_clock = reading.name == DURATIONS and reading.how != "units"
    if is_clock and not (numbers >= 1).any():
        raise ValueError(
            f"{column.name} holds times of day: times need their dates. Give elapsed times as "
            "numbers, or by pandas.to_timedelta."
        )
    return Column(numbers, column.name, NUMBERS)


def check_time(time, sample_weight):
    """Check when rows were observed, and rank them.

    Parameters
    ----------
    time : array-like of shape (n_samples,)
    sample_weight : ndarray of shape (n_samples,)

    Returns
    -------
    ranks : ndarray of shape (n_samples,)
        NaN for rows without a time.

    Raises
    ------
    ValueError
        If they are no numbers or times, of which at least two differ among the samples that count.
    """
    column = read_per_row(time, "time", len(sample_weight))
    if column.is_text():
        column = _read_text(column, sample_weight > 0)
    if column.kind == CATEGORIES:
        raise ValueError("time must hold numbers, dates or times; it holds categories or text.")
    if isinstance(column.sorts.get(DURATIONS), datetime.time):
        raise ValueError("time holds times of day: times need their dates.")
    if column.kind == NUMBERS:
        _finite_numbers(column)
    ranks = column.ranks()
    counted = ranks[sample_weight > 0]
    n_times = len(np.unique(counted[~np.isnan(counted)]))
    if n_times < 2:
        raise ValueError(
            f"time must hold at least 2 different numbers, dates or times; got {n_times}."
        )
    return ranks
