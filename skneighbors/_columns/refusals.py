"""What is no number, or is missing, refused by the name of its argument and column."""

from contextlib import contextmanager
from dataclasses import replace

import narwhals as nw
import numpy as np

from .column import TEXT, is_missing, show
from .table import Table, as_frame, single_column, unwrap

_ENCODE = (
    "Encode it as numbers, for instance with sklearn.preprocessing.OneHotEncoder or "
    "TargetEncoder in a ColumnTransformer"
)
_CLASSES = (
    "Regressors predict numbers. For classes, use a classifier, such as NONAClassifier; convert "
    "numbers that are written as text, for instance with pandas.to_numeric, after removing units "
    "and signs such as $"
)
_SHOWN = 200  # characters from each end of an error of scikit-learn


@contextmanager
def naming(argument):
    """Let an error begin with the name of an argument."""
    try:
        yield
    except (ValueError, TypeError) as error:
        raise ValueError(f"{argument}: {error}") from error


@contextmanager
def shortening():
    """Shorten errors of scikit-learn that show all of an array."""
    try:
        yield
    except ValueError as error:
        text = str(error)
        if len(text) <= 2 * _SHOWN:
            raise
        raise ValueError(f"{text[:_SHOWN]} ... {text[-_SHOWN:]}") from None


def refuse_what_is_no_number(data, name):
    """Raise ValueError for text, times or missing values, which NumPy would convert silently."""
    data = unwrap(data, name)
    frame = as_frame(data, name)
    if isinstance(frame, nw.DataFrame):
        table = Table.of(frame)
        for j, own in enumerate(table.names):
            _refuse_values(replace(table.column(j), name=f"Column {show(own)} of {name}"))
        return
    is_plain = isinstance(data, str | bytes | list | tuple) or hasattr(data, "dtype")
    if is_plain and not hasattr(data, "tocsr"):
        try:
            column = single_column(data, name)
        except ValueError:  # ragged: for scikit-learn to refuse
            return
        _refuse_values(column)


def refuse_missing(missing, what):
    """Raise ValueError if a value of some rows is missing; `missing` (n_samples,) says of which."""
    rows = np.flatnonzero(missing)
    if len(rows):
        raise ValueError(
            f"{what} in {len(rows)} of {len(missing)} rows, such as row {rows[0]}. Leave these "
            "rows out."
        )


def _refuse_values(column):
    dtype = getattr(nw.to_native(column.data, pass_through=True), "dtype", None)
    # Types of pandas and polars have no kind, or that of the values which a category stands for.
    if isinstance(dtype, np.dtype) and dtype.kind not in "OMm":
        return
    shape = column.data.shape or (1,)
    if isinstance(column.data, np.ndarray):
        column = replace(column, data=column.data.ravel())
    if TEXT in column.sorts:
        column.refuse_others(_ENCODE if column.name.endswith("X") else _CLASSES)
    column.refuse_others()
    missing = np.array([*map(is_missing, column.values)], dtype=bool).reshape(shape)
    refuse_missing(
        missing.any(axis=tuple(range(1, len(shape)))), f"{column.name} contains NaN, None or NA"
    )
