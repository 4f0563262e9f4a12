"""How the columns of a table were read, as a small table."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import compress
from typing import TYPE_CHECKING

from .._utils.arrays import Stored
from .._utils.printing import Printed
from .column import CATEGORIES, NOTHING
from .values import is_missing, show

if TYPE_CHECKING:
    import pandas as pd

_TITLE = "Columns of X, as fit has read them"


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


def summarize_columns(table, reader):
    """Summarize a table that a reader was made for, to a :class:`ColumnSummary`."""
    lines = [_describe(table.column(j), reader, j) for j in range(len(reader.kinds))]
    names = reader.names or [f"x{j}" for j in range(len(lines))]
    return ColumnSummary(list(map(str, names)), *map(list, zip(*lines, strict=True)))


def _describe(column, reader, j):
    """Say what a column is read as, its numbers of missing and unread cells, and an example."""
    kind, reading, values = reader.kinds[j], reader.readings[j], column.values
    codes, read, n_unread = reader.codes[j], [not is_missing(value) for value in values], 0
    if codes is not None and kind == CATEGORIES:
        is_text = reader.texts[j] is not None
        kind = f"{len(codes)} categor{'y' if len(codes) == 1 else 'ies'}{is_text * ', text'}"
    elif codes is not None:
        kind = f"text, {len(codes)} different"
    elif reading is not None:
        kind = reading.describe()
        numbers, unread = reading.parse_all(values)
        read, n_unread = [number == number for number in numbers], sum(unread.values())
    elif kind == NOTHING:
        read = [False] * len(values)
    example = next((show(value) for value in compress(values, read)), "")
    return kind, len(values) - sum(read) - n_unread, n_unread, example
