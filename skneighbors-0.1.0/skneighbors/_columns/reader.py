"""A table as a list of kinds of columns, and as one matrix that these read and take apart.

Each kind owns a block of the matrix's columns, in the order of the list.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, compress
from operator import itemgetter
from typing import TYPE_CHECKING

import numpy as np

from .._utils.arrays import Stored
from .._utils.printing import Printed
from .._utils.warn import warn
from .base import Kind, LearningRows
from .categories import Categories
from .column import CATEGORIES, NOTHING, as_categories, show
from .dates import Dates
from .durations import Durations
from .numbers import Numbers
from .words import Words

if TYPE_CHECKING:
    import pandas as pd

# A column is of the first kind that it can be. More are entered here, before those that would
# take their columns.
KINDS = [Dates, Durations, Numbers, Words, Categories]
_TITLE = "Columns of X, as fit has read them"
_DOUBTS = (
    "Text may be read otherwise than it is meant. {}. To end this warning, convert it to what is "
    "meant: numbers, after removing signs and separators (pandas.to_numeric), dates (to_datetime), "
    "durations as hh:mm:ss (to_timedelta), or categories (astype('category')). Drop what only "
    "names rows."
)


class ColumnWarning(UserWarning):
    """Warning of columns of text that may be read otherwise than they are meant.

    A fit raises it once, for all columns of text whose numbers or dates could be read in two
    ways or may be codes, those where most cells are numbers, dates or durations but some are not,
    those of categories with a number each, and those that hold nearly as many categories as rows.
    A fit and a prediction raise it for cells that count
    as missing, as they are not what their column is read as, or differ from a known category by
    case or spaces alone.

    See Also
    --------
    NONARegressor : Whose `fit` raises it.

    Examples
    --------
    >>> import warnings
    >>> import pandas as pd
    >>> from skneighbors import ColumnWarning, NONARegressor
    >>> sold = ["01/02/2024", "03/02/2024", "05/02/2024", "07/02/2024"] * 5  # which is the month?
    >>> X, y = pd.DataFrame({"sold": sold}), [120, 165, 183, 225] * 5
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", ColumnWarning)
    ...     month_first = NONARegressor(max_iter=1).fit(X, y)
    >>> day_first = X.assign(sold=pd.to_datetime(X["sold"], dayfirst=True))
    >>> model = NONARegressor(max_iter=1).fit(day_first, y)
    """


@dataclass(frozen=True, repr=False)
class ColumnSummary(Stored, Printed):
    """How ``fit`` has read the columns of X; the fitted attribute `columns_`.

    Printed, it is a table of one line a column.

    Attributes
    ----------
    names : list of str
        Names of the columns, ``x0`` and so on if they have none.
    read_as : list of str
        What each holds: numbers, dates, durations, categories and their number, text, or nothing.
    n_missing : list of int
        Number of missing values.
    n_unread : list of int
        Number of cells that count as missing because they are not what the column is read as.
    examples : list of str
        A value of each.

    Examples
    --------
    >>> import pandas as pd
    >>> from skneighbors import NONARegressor
    >>> X = pd.DataFrame({"price": ["$1,200", "$950", None], "sold": ["3 May 2024"] * 3})
    >>> print(NONARegressor(max_iter=1).fit(X, [1, 2, 3]).columns_)
    Columns of X, as fit has read them
    column                       read as  missing  unread       example
    price   numbers of $, decimal point        1       0      '$1,200'
    sold         dates, months by name        0       0  '3 May 2024'
    """

    names: list
    read_as: list
    n_missing: list
    n_unread: list
    examples: list

    def to_frame(self) -> pd.DataFrame:
        """Arrange the summary as a DataFrame, one row for each column of X.

        Returns
        -------
        frame : pandas.DataFrame

        Raises
        ------
        ImportError
            If pandas is missing.

        Examples
        --------
        >>> import pandas as pd
        >>> from skneighbors import NONARegressor
        >>> X = pd.DataFrame({"price": ["$1,200", "$950", None]})
        >>> NONARegressor(max_iter=1).fit(X, [1, 2, 3]).columns_.to_frame().shape
        (1, 5)
        """
        import pandas as pd

        head, *cells = self._cells()
        frame = pd.DataFrame(cells, columns=head)
        return frame.assign(missing=self.n_missing, unread=self.n_unread)

    def _cells(self):
        counts = [map(str, numbers) for numbers in (self.n_missing, self.n_unread)]
        lines = zip(self.names, self.read_as, *counts, self.examples, strict=True)
        return [["column", "read as", "missing", "unread", "example"], *map(list, lines)]

    def __len__(self) -> int:
        return len(self.names)

    def _tables(self):
        return [(_TITLE, self._cells())]


@dataclass(frozen=True, eq=False)
class TableReader(Stored):
    """Reads tables as the one it was made for.

    Attributes
    ----------
    kinds : list of Kind
        Of the columns with values, in the order of their names, so that another order of these
        changes nothing.
    order : list of int
        Their numbers in the table.
    names : list or None
        Of all columns of the table.
    """

    kinds: list[Kind]
    order: list[int]
    names: list | None = None

    @classmethod
    def of(cls, table):
        """Find the kinds of the columns of a table.

        Raises
        ------
        ValueError
            If `categorical_features` names no columns, or a column can't be read.
        """
        kinds = [_find_kind(table, j) for j in range(len(table.declared))]
        order, names = range(len(kinds)), table.names
        if names is not None and _all_are_text(names):
            order = sorted(order, key=names.__getitem__)
        return cls([kinds[j] for j in order], list(order), names)

    @cached_property
    def _widths(self):
        return [kind.width + kind.n_components for kind in self.kinds]

    @cached_property
    def column_of(self):
        """Place in `kinds` of each of the matrix's columns."""
        return np.repeat(np.arange(len(self.kinds)), self._widths)

    def blocks(self, X):
        """Pairs of each kind and its block of a matrix as read."""
        triples = zip(self.kinds, accumulate(self._widths), self._widths, strict=True)
        return [(kind, X[:, end - width : end]) for kind, end, width in triples]

    @property
    def columns(self):
        """Names of the columns; ``x0`` and so on where the table has none."""
        return [f"x{j}" if self.names is None else self.names[j] for j in self.order]

    def read(self, table):
        """Read a table, with the columns of the one this was made for.

        Returns
        -------
        X : ndarray of shape (n_samples, n_read)
            Float64; may be the table's own array.

        Warns
        -----
        ColumnWarning
            If cells count as missing that seem to be values.

        Raises
        ------
        ValueError
            If a column holds infinity, or something else than before.
        """
        self._check_order(table)
        at_once = set(table.plain())
        pairs = zip(self.kinds, self.order, strict=True)
        is_plain = [type(kind) is Numbers and j in at_once for kind, j in pairs]
        X = table.numbers(self.order) if all(is_plain) else self._gather(table, np.array(is_plain))
        infinite = self.column_of[np.isinf(X).any(axis=0)]
        if len(infinite):
            raise ValueError(
                f"{table.describe(min(self.order[i] for i in infinite))} contains infinity. A "
                "missing value is NaN, None or NA."
            )
        return X

    def _gather(self, table, is_plain):
        """Read columns, those that are plain numbers at once."""
        X, doubts, order = np.empty((len(table.data), len(self.column_of))), [], self.order
        if is_plain.any():
            X[:, is_plain[self.column_of]] = table.numbers(np.array(order)[is_plain].tolist())
        pairs = [(j, *own) for j, own in zip(order, self.blocks(X), strict=True)]
        for j, kind, block in sorted(compress(pairs, ~is_plain), key=itemgetter(0)):
            block[:] = kind.read(table.column(j))
            doubts.append(kind.explain_unread(table.column(j), block))
        if any(doubts):
            warn(" ".join(filter(None, doubts)), ColumnWarning)
        return X

    def _check_order(self, table):
        """Check names that are no text, of which scikit-learn takes no notice."""
        names = self.names, table.names
        if None in names or names[0] == names[1] or any(map(_all_are_text, names)):
            return
        old, new = map(as_categories, names)  # of which missing ones are the same
        # One may have names that pandas has given.
        if old == new or (set(old) != set(new) and list(range(len(new))) in (old, new)):
            return
        i = next(i for i, pair in enumerate(zip(old, new, strict=True)) if pair[0] != pair[1])
        raise ValueError(
            f"Columns of X must be those of fit, in the same order: after {i} columns there is "
            f"{show(new[i])}, in fit there was {show(old[i])}."
        )

    def learn(self, X, y, weight):
        """Let kinds learn from rows; columns without values are left out.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_read)
            What this has read.
        y : ndarray of shape (n_samples, n_targets)
        weight : ndarray of shape (n_samples,)

        Returns
        -------
        reader : TableReader
        X : ndarray of shape (n_samples, n_read by it)
            As it would read the table.

        Raises
        ------
        ValueError
            If no column is left.
        """
        known = (~np.isnan(X) & (weight > 0)[:, None]).any(axis=0)
        kept = np.unique(self.column_of[known]).tolist()
        if not kept:
            raise ValueError("X has no column with a value; all are NaN, None or NA.")
        X = X if len(kept) == len(self.kinds) else X[:, np.isin(self.column_of, kept)]
        kinds, order = ([every[i] for i in kept] for every in (self.kinds, self.order))
        reader = TableReader(kinds, order, self.names)
        is_coded = np.array([kind.is_coded for kind in reader.kinds])[reader.column_of]
        rows, blocks = LearningRows(X, is_coded, y, weight), reader.blocks(X)
        learned = [kind.learn(block, rows) for kind, block in blocks]
        if any(new is not old for (_, new), (_, old) in zip(learned, blocks, strict=True)):
            X = np.hstack([block for _, block in learned])
        return replace(reader, kinds=[kind for kind, _ in learned]), X

    @property
    def n_components(self):
        """Number of components, the last of what :meth:`expand` returns."""
        return sum(kind.n_components for kind in self.kinds)

    @property
    def n_categories(self):
        """Number of categories of each column of what :meth:`expand` returns; 0 for numbers."""
        own = [n for kind in self.kinds for n in kind.n_categories]
        n_others = self.n_components + sum(len(kind.parts) for kind in self.kinds)
        return np.array(own + [0] * n_others, dtype=np.int64)

    def expand(self, X):
        """Make of what this has read what networks and blended model get.

        These are the columns, then all parts of dates, then all components.
        """
        if all(type(kind).features is Kind.features for kind in self.kinds):
            return X  # which they take as it is
        groups = zip(*(kind.features(block) for kind, block in self.blocks(X)), strict=True)
        return np.hstack([part for group in groups for part in group if part is not None])

    def coordinates(self, X):
        """Make points of each column for likeness, a list of arrays; numbers are ranked before."""
        return [kind.coordinates(block) for kind, block in self.blocks(X)]

    def decode(self, X, table=None):
        """Undo :meth:`read`: numbers, categories, times; None for missing and unknown ones.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_read)
        table : Table, default=None
            What X was read from, if unknown categories are to be named, too.

        Returns
        -------
        values : object ndarray of shape (n_samples, n_columns)
        """
        columns = [None if table is None else table.column(j) for j in self.order]
        pairs = zip(self.blocks(X), columns, strict=True)
        return np.stack([kind.decode(block, column) for (kind, block), column in pairs], axis=1)

    def _check_fields(self, sizes):
        """Check that kinds are of different columns that are there."""
        n_columns = np.inf if self.names is None else len(self.names)
        is_there = all(0 <= j < n_columns for j in self.order)
        if not is_there or not (0 < len(set(self.order)) == len(self.order) == len(self.kinds)):
            raise ValueError("reader.order names columns that are not there")


def _find_kind(table, j):
    """Kind of a column; numbers if it has no value."""
    column = table.column(j)
    kind = next(filter(None, (kind.of(column) for kind in KINDS)), Numbers())
    if column.given is False and kind.name == CATEGORIES and not column.is_missing():
        raise ValueError(
            f"{column.name} holds {column.example()}, but categorical_features="
            f"{show(table.categorical_features)} does not name it. Name it, or encode it as "
            "numbers."
        )
    return kind


def _all_are_text(names):
    return all(isinstance(name, str) for name in names)


def summarize_columns(table, reader, X, rows):
    """Summarize a table that a reader was made for, and that it has read as X.

    Parameters
    ----------
    table : Table
    reader : TableReader
    X : ndarray of shape (n_samples, n_read)
    rows : bool ndarray of shape (n_samples,)
        Those that count.

    Returns
    -------
    columns : ColumnSummary
    doubts : str or None
        Which columns of text may be meant otherwise.
    """
    n = np.count_nonzero(rows)
    names = table.names or [f"x{j}" for j in range(len(table.declared))]
    lines, doubts = [(NOTHING, n, 0, "")] * len(names), []
    for j, (kind, block) in zip(reader.order, reader.blocks(X), strict=True):
        column = table.column(j)
        lines[j] = _describe(column, kind, block, rows)
        doubts.append(kind.doubt(column, block, rows))
    columns = ColumnSummary(list(map(str, names)), *map(list, zip(*lines, strict=True)))
    doubts = "; ".join(filter(None, doubts))
    return columns, _DOUBTS.format(doubts) if doubts else None


def _describe(column, kind, block, rows):
    """Say what a column is read as, its numbers of missing and unread cells, and an example."""
    has_value = ~np.isnan(block[:, 0])
    without = np.flatnonzero(rows & ~has_value)
    n_unread = len(kind.find_unread(column, without))
    example = show(column.value(int((rows & has_value).argmax())))
    return kind.describe(), len(without) - n_unread, n_unread, example
