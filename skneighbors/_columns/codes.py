"""Codes of categories: by their order in a table, then by the rows that have them."""

import numpy as np

from .values import BOOLS, NUMBERS, TEXT, show, sorts_of

# Code of categories that were not seen in fit.
UNKNOWN = -1.0


def number_categories(categories):
    """Give each category a number, in their order; None has none."""
    unique = dict.fromkeys(category for category in categories if category is not None)
    return {category: code for code, category in enumerate(unique)}


def encode_categories(column, codes, were):
    """Codes of a column's categories; NaN for those that are missing, -1 for unknown ones.

    `were` are the sorts of categories in fit.

    Raises
    ------
    ValueError
        If it holds categories of a sort that there was none of in fit.
    """
    categories = column.categories()
    for sort, value in sorts_of(categories).items():
        # A bool equals a number.
        if sort == BOOLS and NUMBERS in were:
            continue
        if sort == NUMBERS and were == {BOOLS}:
            value = next(
                (category for category in categories if category not in (None, 0, 1)), None
            )
            if value is None:
                continue
        if were and sort not in were:
            was = "text" if were == {TEXT} else f"no {sort} but {' and '.join(sorted(were))}"
            raise ValueError(
                f"{column.name} holds categories such as {show(value)}, of type "
                f"{type(value).__name__!r}; in fit they were {was}."
            )
    codes = codes | {None: np.nan}
    found = (codes.get(category, UNKNOWN) for category in categories)
    return np.fromiter(found, np.float64, len(categories))


def rank_categories(column, rank, weight, categories):
    """Find the new code of each old one; that of unknown ones if it has no weight.

    Rows that are alike have the same rank.
    """
    present = ~np.isnan(column)
    old, rank, weight = column[present].astype(int), rank[present], weight[present]
    # Sums in an order that depends on the rows alone, so that rounding does, too.
    order = np.lexsort([weight, rank, old])
    old, rank, weight = old[order], rank[order], weight[order]
    first = np.flatnonzero(np.diff(old, prepend=-1) | np.diff(rank, prepend=-1))
    old, rank, weight = old[first], rank[first], np.add.reduceat(weight, first)
    starts = np.flatnonzero(np.diff(old, prepend=-1))
    parts = zip(
        -np.add.reduceat(weight, starts),
        np.split(rank, starts[1:]),
        np.split(weight, starts[1:]),
        old[starts],
        strict=True,
    )
    keys = sorted(
        (total, ranks.tolist(), weights.tolist(), repr(categories[code]), code)
        for total, ranks, weights, code in parts
    )
    new = np.full(len(categories), UNKNOWN)
    new[[key[-1] for key in keys]] = np.arange(len(keys))
    return new
