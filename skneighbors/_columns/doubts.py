"""Columns of text that may be read otherwise than they are meant."""

import numpy as np

from .column import CATEGORIES
from .values import show

# From so many categories on, and for so large a fraction of the rows, categories name rows.
_LEAST_CATEGORIES, _FRACTION_OF_ROWS = 20, 0.9


class ColumnWarning(UserWarning):
    """Warning of columns of text that may be read otherwise than they are meant.

    A fit raises it once, for all columns of text whose numbers or dates could be read in two
    ways, and those that hold nearly as many categories as rows. A fit and a prediction raise it
    for cells that count as missing, as they are not what their column is read as.

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
        What it has read; rows that don't count may be left out.
    categorical_features : as of the estimators
        If it is given, there is no doubt of categories.

    Returns
    -------
    doubts : str or None
    """
    found, is_given = [], not isinstance(categorical_features, str)
    for i, j in enumerate(reader.order):
        name, reading = table.describe(j), reader.readings[j]
        if reading is not None and reading.is_assumed:
            texts = (cell for cell in table.column(j).values if isinstance(cell, str))
            example = next(text for text in texts if reading.parse(text) is not None)
            found.append(f"{name}, such as {show(example)}, is read as {reading.describe()}")
        elif (
            reader.kinds[j] == CATEGORIES
            and reader.texts[j] is None
            and not (is_given or table.has_categories(j))
        ):
            categories = [value for value in reader.codes[j] if isinstance(value, str)]
            n_present = np.count_nonzero(~np.isnan(matrix[:, i]))
            if len(categories) >= max(_LEAST_CATEGORIES, _FRACTION_OF_ROWS * n_present):
                what = f"{len(categories)} categories in {n_present} rows"
                found.append(f"{name} holds {what}, such as {show(categories[0])}")
    if not found:
        return None
    return (
        f"Text may be read otherwise than it is meant. {'; '.join(found)}. Convert what is wrong, "
        "for instance with pandas.to_numeric or pandas.to_datetime, and drop what only names rows. "
        "What is right has a dtype that says so, for instance of categories."
    )
