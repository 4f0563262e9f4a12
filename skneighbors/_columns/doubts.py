"""Columns of text that were hardly meant as categories."""

import re

import numpy as np

from .column import CATEGORIES
from .values import show

# From so many categories on, and for so large a fraction of the rows, categories name rows.
_LEAST_CATEGORIES, _FRACTION_OF_ROWS = 20, 0.9
# Text that stands for a missing value.
_SAY_MISSING = {"", "-", "--", ".", "?", "na", "n/a", "#n/a", "nan", "<na>", "nat", "none", "null"}
_DIGITS = r"\d{1,3}([,.' ]\d{3})+([.,]\d+)?|\d+([.,]\d*)?|[.,]\d+"
_NUMBER = re.compile(rf"[-+]?([$€£] ?)?({_DIGITS})([eE][-+]?\d+)?( ?[%€$£])?")
_CLOCK = r"\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?( ?[AaPp]\.?[Mm]\.?)?( ?(Z|[-+]\d{2}:?\d{2}|UTC|GMT))?"
_MONTH = r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_DAY = "|".join(
    (
        r"\d{4}[-./]\d{1,2}[-./]\d{1,2}",
        r"\d{1,2}[-./]\d{1,2}[-./](\d{4}|\d{2})",
        r"\d{4}[-/]\d{2}",
        rf"\d{{1,2}}\.?[ -]{_MONTH}[-, ]*(\d{{4}}|\d{{2}})",
        rf"{_MONTH} \d{{1,2}},? \d{{4}}",
        rf"{_MONTH}[ -]\d{{4}}",
    )
)
_DATE = re.compile(rf"({_DAY})([T ,]+{_CLOCK})?|{_CLOCK}", re.IGNORECASE)


class ColumnWarning(UserWarning):
    """Warning of columns of text that are read as categories, but were hardly meant so.

    A fit raises it once, for all columns of text that hold numbers or dates throughout, or
    nearly as many categories as rows. If they are meant as categories, name them in
    `categorical_features`, or give them a dtype of categories.

    See Also
    --------
    NONARegressor : Whose `fit` raises it, unless `categorical_features` is given.

    Examples
    --------
    >>> import warnings
    >>> import pandas as pd
    >>> from skneighbors import ColumnWarning, NONARegressor
    >>> X, y = pd.DataFrame({"size": ["40", "55", "61", "75"] * 5}), [120, 165, 183, 225] * 5
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", ColumnWarning)
    ...     by_levels = NONARegressor(max_iter=1).fit(X, y)
    >>> by_numbers = NONARegressor(max_iter=1).fit(X.astype(float), y)
    """


def find_doubts(table, reader, matrix, categorical_features):
    """Say which columns of text were hardly meant as categories.

    Parameters
    ----------
    table : Table
    reader : TableReader
    matrix : ndarray of shape (n_samples, n_features)
        What it has read; rows that don't count may be left out.
    categorical_features : as of the estimators
        If it is given, there is no doubt.

    Returns
    -------
    doubts : str or None
    """
    if not isinstance(categorical_features, str):
        return None
    found = []
    for i, j in enumerate(reader.order):
        if reader.kinds[j] == CATEGORIES and not table.has_categories(j):
            n_present = np.count_nonzero(~np.isnan(matrix[:, i]))
            doubt = _doubt_of(list(reader.codes[j]), n_present)
            if doubt is not None:
                found.append(f"{table.describe(j)} holds {doubt}")
    if not found:
        return None
    return (
        f"Text is read as categories. {'; '.join(found)}. Convert numbers and dates, for instance "
        "with pandas.to_numeric or pandas.to_datetime, and drop what only names rows. If they are "
        "meant as categories, say so by a dtype of categories or by categorical_features."
    )


def _doubt_of(categories, n_rows):
    """Describe what text holds instead of categories; None if it may be categories."""
    texts = [category.strip() for category in categories if isinstance(category, str)]
    values = [text for text in texts if text.lower() not in _SAY_MISSING]
    if not values or len(texts) < len(categories):
        return None
    for pattern, what in ((_NUMBER, "numbers"), (_DATE, "dates or times")):
        if all(map(pattern.fullmatch, values)):
            return f"{what} as text, such as {show(values[0])}"
    if len(categories) >= _LEAST_CATEGORIES and len(categories) > _FRACTION_OF_ROWS * n_rows:
        return f"{len(categories)} categories in {n_rows} rows, such as {show(values[0])}"
    return None
