"""Tables to matrices of float64: a gap is NaN, a level its code, a time its day."""

from dataclasses import dataclass

import numpy as np

from .table import CATEGORIES, DURATIONS, EPOCH, NOTHING, NUMBERS, TIMES, check_levels, is_missing

_MICROSECONDS_A_DAY = 86_400_000_000


@dataclass(frozen=True, eq=False)
class TableReader:
    """Reads tables as the one it was made for.

    Attributes
    ----------
    kinds : list
        What each column of the table holds; NOTHING is not read.
    codes : list of (dict or None)
        For columns of categories, the code of each level; equal values are one level.
    order : list of int
        The matrix's columns, by their numbers in the table: those with values, in the order
        of their names, so that another order changes nothing.
    names : list or None
        Of the table's columns.
    """

    kinds: list
    codes: list
    order: list
    names: list | None = None

    @classmethod
    def of(cls, table, categorical_features):
        """Reader for a :class:`Table`; for `categorical_features` see the estimators.

        Raises
        ------
        ValueError
            If `categorical_features` names no columns, or a column can't be read.
        """
        categorical = find_categorical(categorical_features, table)
        kinds = []
        for j, given in enumerate(categorical):
            kind = table.kind(j)
            if given and kind in (TIMES, DURATIONS):
                raise ValueError(
                    f"{table.describe(j)} holds {kind}, but categorical_features names it. For a "
                    "category of each, make it text."
                )
            kind = CATEGORIES if given else kind
            if kind == CATEGORIES and given is False and not table.is_missing(j):
                raise ValueError(
                    f"{table.describe(j)} holds {_example(table, j)}, but categorical_features="
                    f"{categorical_features!r} does not name it. Name it, or encode it as numbers."
                )
            kinds.append(kind)
        codes = [
            _number_levels(_levels_of(table, j)) if kind == CATEGORIES else None
            for j, kind in enumerate(kinds)
        ]
        order, names = range(len(kinds)), table.names
        if names is not None and all(isinstance(name, str) for name in names):
            order = sorted(order, key=names.__getitem__)
        return cls(kinds, codes, list(order), names)

    @property
    def n_levels(self):
        """Number of levels of the matrix's columns; 0 for numbers."""
        return np.array([len(self.codes[j] or ()) for j in self.order])

    def read(self, table):
        """Read a table, with the columns of the one this was made for.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
            Float64: numbers, days and codes; NaN for gaps and unknown levels.

        Raises
        ------
        ValueError
            If a column holds infinity, or something else than before.
        """
        X = self._gather(table)
        infinite = np.isinf(X).any(axis=0)
        if infinite.any():
            raise ValueError(
                f"{table.describe(int(infinite.argmax()))} contains infinity. A gap is NaN, None "
                "or NA."
            )
        return X if self.order == list(range(len(self.kinds))) else X[:, self.order]

    def _gather(self, table):
        """Read all columns, in the table's order."""
        missing = {j for j, kind in enumerate(self.kinds) if self._is_missing(table, j, kind)}
        numbers = [j for j, kind in enumerate(self.kinds) if kind == NUMBERS and j not in missing]
        if len(numbers) == len(self.kinds):
            return table.numbers(numbers)
        X = np.full((len(table.data), len(self.kinds)), np.nan)
        if numbers:
            X[:, numbers] = table.numbers(numbers)
        for j, (kind, codes) in enumerate(zip(self.kinds, self.codes, strict=True)):
            if kind == CATEGORIES:
                X[:, j] = _encode(_levels_of(table, j), codes, table.describe(j))
            elif kind in (TIMES, DURATIONS) and j not in missing:
                X[:, j] = table.days(j)
        return X

    def _is_missing(self, table, j, kind):
        """Whether a column has no value to be read; raise ValueError if it has others."""
        if kind in (CATEGORIES, NOTHING) or table.kind(j) == kind:
            return kind == NOTHING
        if not table.is_missing(j):
            raise ValueError(
                f"{table.describe(j)} holds {table.kind(j)}, such as {_example(table, j)}; in fit "
                f"it held {kind}."
            )
        return True

    @property
    def columns(self):
        """Names of the matrix's columns; ``x0`` and so on where the table has none."""
        return [f"x{j}" if self.names is None else self.names[j] for j in self.order]

    def decode(self, X, table=None):
        """Undo :meth:`read`: numbers, levels, times; None for gaps and unknown levels.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)
        table : Table, default=None
            What X was read from, if unknown levels are to be named, too.

        Returns
        -------
        values : object ndarray of shape (n_samples, n_features)
        """
        values = np.empty(X.shape, dtype=object)
        for i, j in enumerate(self.order):
            present = ~np.isnan(X[:, i])
            values[present, i] = _decode(X[present, i], self.kinds[j], self.codes[j])
            if table is not None and self.kinds[j] == CATEGORIES:
                given = table.values(j)
                for row in np.flatnonzero(~present):
                    values[row, i] = None if is_missing(given[row]) else given[row]
        return values

    def settle(self, X, y, sample_weight):
        """Leave columns without values out, and number levels so that names don't matter.

        The heaviest levels come first, those of one weight by the targets and numbers of
        their rows, and those alike in all of these by name. Levels without weight become
        unknown.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)
            What this has read.
        y : ndarray of shape (n_samples, n_targets)
        sample_weight : ndarray of shape (n_samples,)

        Returns
        -------
        reader : TableReader
        X : ndarray of shape (n_samples, n_features left)
            With the new codes.

        Raises
        ------
        ValueError
            If no column is left.
        """
        counted = sample_weight > 0
        kept = np.flatnonzero((~np.isnan(X) & counted[:, None]).any(axis=0))
        if not len(kept):
            raise ValueError("X has no column with a value; all are NaN, None or NA.")
        order, X = [self.order[i] for i in kept], X if len(kept) == X.shape[1] else X[:, kept]
        left = set(order)
        kinds = [kind if j in left else NOTHING for j, kind in enumerate(self.kinds)]
        codes = [own if j in left else None for j, own in enumerate(self.codes)]
        categorical = [i for i, j in enumerate(order) if kinds[j] == CATEGORIES]
        if categorical:
            X = X.copy()  # the caller's stays as it is
            numbers = np.delete(X[counted], categorical, axis=1)
            numbers[np.isnan(numbers)] = -np.inf  # equal to itself
            alike = np.column_stack([numbers, y[counted]])
            rank = np.unique(alike, axis=0, return_inverse=True)[1].ravel()
        for i in categorical:
            j = order[i]
            new = _rank_levels(X[counted, i], rank, sample_weight[counted], list(codes[j]))
            known = ~np.isnan(X[:, i])
            X[known, i] = new[X[known, i].astype(int)]
            levels = zip(codes[j], new, strict=True)
            codes[j] = {level: int(code) for level, code in levels if not np.isnan(code)}
        return TableReader(kinds, codes, order, self.names), X


def find_categorical(categorical_features, table):
    """Say for each column of a table whether it is given as categorical; None: by its dtype.

    Raises
    ------
    ValueError
        If `categorical_features` is not valid for the table.
    """
    n_columns = table.data.shape[1]
    if isinstance(categorical_features, str):  # "from_dtype"
        return [None] * n_columns
    given = np.asarray([] if categorical_features is None else categorical_features)
    if given.ndim != 1:
        raise ValueError(
            f"categorical_features must have one dimension; got {categorical_features!r}."
        )
    if given.dtype.kind == "b":
        if given.shape != (n_columns,):
            raise ValueError(
                f"categorical_features as a mask must have an entry for each of the {n_columns} "
                f"columns of X; got shape {given.shape}."
            )
        return given.tolist()
    columns = range(n_columns) if given.dtype.kind in "iu" else table.names or ()
    for column in given.tolist():
        if column not in columns:
            raise ValueError(
                f"categorical_features names {column!r}, which is no column of X: give names, "
                f"indices from 0 to {n_columns - 1}, or a mask."
            )
    if given.dtype.kind in "iu":
        named = set(given.tolist())
    else:
        named = {table.names.index(name) for name in given.tolist()}
    return [j in named for j in range(n_columns)]


def _levels_of(table, j):
    """Read a column's levels; those of a dtype of categories may be anything."""
    values = table.values(j)
    if table.declared[j] != CATEGORIES:
        check_levels(values, table.describe(j))
    return values


def _number_levels(values):
    levels = dict.fromkeys(value for value in values if not is_missing(value))
    return {level: code for code, level in enumerate(levels)}


def _encode(values, codes, name):
    """Codes of a column's levels; NaN for those that are missing or unknown."""
    were_text = {isinstance(level, str) for level in codes}
    for value in values:
        if not is_missing(value) and were_text and isinstance(value, str) not in were_text:
            was = "text" if True in were_text else "no text"
            raise ValueError(
                f"{name} holds categories such as {value!r}, of type {type(value).__name__!r}; in "
                f"fit they were {was}."
            )
    return np.fromiter((codes.get(value, np.nan) for value in values), np.float64, len(values))


def _decode(column, kind, codes):
    if kind == CATEGORIES:
        levels = np.empty(len(codes), dtype=object)
        levels[list(codes.values())] = list(codes)
        return levels[column.astype(int)]
    if kind in (TIMES, DURATIONS):
        microseconds = np.rint(column * _MICROSECONDS_A_DAY).astype("timedelta64[us]")
        return (microseconds if kind == DURATIONS else EPOCH + microseconds).astype(object)
    return column


def _rank_levels(column, rank, weight, levels):
    """Find the new code of each old one; NaN if it has no weight.

    Rows that are alike have the same rank.
    """
    present = ~np.isnan(column)
    old, rank, weight = column[present].astype(int), rank[present], weight[present]
    # Sums in an order that is the rows' own, so that rounding is, too.
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
        (total, ranks.tolist(), weights.tolist(), repr(levels[code]), code)
        for total, ranks, weights, code in parts
    )
    new = np.full(len(levels), np.nan)
    new[[key[-1] for key in keys]] = np.arange(len(keys))
    return new


def _example(table, j):
    """Show a value of a column; one that is no number, if there is any."""
    present = [value for value in table.values(j) if not is_missing(value)]
    return repr(next((value for value in present if isinstance(value, str)), present[0]))
