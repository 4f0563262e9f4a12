"""How the columns of a table were read, as a small table, and what a fit warns of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .._utils.printing import Printed
from .column import NOTHING, show

if TYPE_CHECKING:
    import pandas as pd

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
    ways, those where most cells are numbers, dates or durations but some are not, and those that
    hold nearly as many categories as rows. A fit and a prediction raise it for cells that count
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
class ColumnSummary(Printed):
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
