"""Columns of text that may be read otherwise than they are meant."""

from collections import Counter

import numpy as np

from .column import CATEGORIES
from .text import find_reading, says_missing
from .values import show

# From so many categories on, and for so large a fraction of the rows, categories name rows.
_LEAST_CATEGORIES, _FRACTION_OF_ROWS = 20, 0.9
# Fraction of cells that may be meant as numbers, dates or durations.
_MOST = 0.5


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


def find_doubts(table, reader, matrix, categorical_features):
    """Say which columns of text may be meant otherwise.

    Parameters
    ----------
    table : Table
    reader : TableReader
    matrix : ndarray of shape (n_samples, n_features)
        What it has read.
    categorical_features : as of the estimators
        If it is given, there is no doubt of categories.

    Returns
    -------
    doubts : str or None
    """
    found, is_given = [], not isinstance(categorical_features, str)
    for i, j in enumerate(reader.order):
        name, reading = table.describe(j), reader.readings[j]
        if reading is not None:
            if reading.is_assumed:
                what = describe_reading(table.column(j).values, reading)
                found.append(f"{name} is read as {what}")
        elif reader.kinds[j] == CATEGORIES and not (is_given or table.has_categories(j)):
            categories = [value for value in reader.codes[j] if isinstance(value, str)]
            n_present = np.count_nonzero(~np.isnan(matrix[:, i]))
            cells = Counter(cell for cell in table.column(j).values if isinstance(cell, str))
            if (most := find_reading(cells, _MOST)) is not None:
                others = (cell for cell in cells if most.parse(cell) is None)
                other = next((cell for cell in others if not says_missing(cell)), None)
                if other is not None:
                    what = f"{len(categories)} categories, such as {show(other)}, though most cells"
                    found.append(f"{name} holds {what} are {describe_reading(cells, most)}")
            elif reader.texts[j] is not None:
                continue
            elif len(categories) >= max(_LEAST_CATEGORIES, _FRACTION_OF_ROWS * n_present):
                what = f"{len(categories)} categories in {n_present} rows"
                found.append(f"{name} holds {what}, such as {show(categories[0])}")
    if not found:
        return None
    return (
        f"Text may be read otherwise than it is meant. {'; '.join(found)}. To end this warning, "
        "convert it to what is meant: numbers, after removing signs and separators (pandas."
        "to_numeric), dates (to_datetime), durations as hh:mm:ss (to_timedelta), or categories "
        "(astype('category')). Drop what only names rows."
    )


def describe_reading(cells, reading):
    """Describe a reading, with an example that has a separator if there is one."""
    texts = [cell for cell in cells if isinstance(cell, str) and reading.parse(cell) is not None]
    example = next((text for text in texts if "," in text or "." in text), texts[0])
    return f"{reading.describe()}, such as {show(example)} as {reading.show(example)}"
