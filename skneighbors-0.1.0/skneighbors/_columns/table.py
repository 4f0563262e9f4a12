"""A user's table, of whatever library, as columns."""

from dataclasses import dataclass, field, replace
from functools import cached_property

import narwhals as nw
import numpy as np
from sklearn.utils.validation import check_array

from .column import CATEGORIES, DURATIONS, NUMBERS, TIMES, Column, show

# What NumPy's dtypes hold, by their kinds; None if that does not say.
_OF_KIND = {"b": CATEGORIES, "m": DURATIONS, "M": TIMES, "O": None} | dict.fromkeys("iuf", NUMBERS)


@dataclass(frozen=True, eq=False)
class Table:
    """What a user may give as X: a DataFrame of any library, an array or nested lists.

    Attributes
    ----------
    data : narwhals.DataFrame or ndarray of shape (n_samples, n_columns)
    names : list or None
    declared : list
        What each column holds by its dtype: NUMBERS, CATEGORIES, TIMES or DURATIONS; None if
        that does not say.
    categorical_features : as of the estimators
    weight : ndarray of shape (n_samples,) or None
        What each row counts when it is found out how text is read.
    columns : dict
        Those that were looked at, by their numbers: what they have read is read once.
    """

    data: object
    names: list | None
    declared: list
    categorical_features: object = "from_dtype"
    weight: np.ndarray | None = None
    columns: dict = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def of(cls, X):
        """Table of X; None if it has not two dimensions.

        Raises
        ------
        TypeError
            If X is a lazy frame, or sparse.
        ValueError
            If columns share a name.
        """
        refuse_lazy(X, "X")
        # Checks for other libraries' frames take longer.
        frame = X if isinstance(X, np.ndarray) else as_frame(X)
        if isinstance(frame, nw.DataFrame):
            return cls(frame, frame.columns, _declared_in(frame))
        if hasattr(X, "tocsr"):
            raise TypeError(
                "X is sparse, and these estimators need a dense array: X.toarray(). Encoders such "
                "as OneHotEncoder take sparse_output=False, ColumnTransformer sparse_threshold=0."
            )
        try:
            array = as_array(X, "X")
        except ValueError:  # ragged
            return None
        if array.ndim != 2:
            return None
        if array.dtype.kind == "c":
            check_array(array)  # which refuses it
        declared = _OF_KIND.get(array.dtype.kind)
        return cls(array, None, [declared] * array.shape[1])

    @cached_property
    def _given(self):
        return _find_categorical(self.categorical_features, self)

    def column(self, j):
        """Column by its number."""
        if j not in self.columns:
            data = self.data[:, j] if self.names is None else self.data.get_column(self.names[j])
            weight = np.ones(len(self.data)) if self.weight is None else self.weight
            parts = self.describe(j), self.declared[j], self._given[j], weight
            self.columns[j] = Column(data, *parts)
        return self.columns[j]

    def describe(self, j):
        """Name a column, for messages."""
        return f"Column {j if self.names is None else show(self.names[j])} of X"

    def plain(self):
        """Columns of numbers that can be read at once: those by dtypes of NumPy."""
        if self.names is None:
            dtypes = [self.data.dtype] * len(self.declared)
        elif self.data.implementation.is_pandas():
            dtypes = nw.to_native(self.data).dtypes
        else:
            return []
        is_number = [isinstance(dtype, np.dtype) and dtype.kind in "iuf" for dtype in dtypes]
        return np.flatnonzero(is_number).tolist()

    def numbers(self, columns):
        """Read some of :meth:`plain`, to float64; may be the array of the table itself."""
        native = nw.to_native(self.data, pass_through=True)
        if len(columns) < len(self.declared):
            return np.asarray(native.take(columns, axis=1), dtype=np.float64)
        X = np.asarray(native, dtype=np.float64)
        return X if columns == sorted(columns) else X[:, columns]


def _find_categorical(categorical_features, table):
    """Say for each column of a table whether it is given as categorical; None: by its dtype.

    Raises
    ------
    ValueError
        If `categorical_features` is not valid for the table.
    """
    n_columns, given = table.data.shape[1], categorical_features
    if isinstance(given, str):  # "from_dtype"
        return [None] * n_columns
    if isinstance(given, list) and any(isinstance(name, tuple) for name in given):
        names, given = given, np.empty(len(given), dtype=object)
        given[:] = names  # of a MultiIndex
    given = np.asarray([] if given is None else given)
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
    # NumPy's `tolist` would make integers of times.
    listed = list(given) if given.dtype.kind in "mM" else given.tolist()
    columns = range(n_columns) if given.dtype.kind in "iu" or not listed else table.names or ()
    for column in listed:
        if column not in columns:
            raise ValueError(
                f"categorical_features names {show(column)}, which is no column of X: give names, "
                f"indices from 0 to {n_columns - 1}, or a mask. Ints are indices, not names."
            )
    # Names equal to what is listed, as times of two kinds, need not have its hash.
    named = set(listed) if given.dtype.kind in "iu" else listed
    return [column in named for column in columns]


def unwrap(X, name="X"):
    """X as something scikit-learn knows: without a wrapper, computed, masked values as missing.

    Raises
    ------
    TypeError
        If X is a lazy frame, but of Dask, which computes it.
    ValueError
        If its columns share a name, or it is a list of masked arrays.
    """
    X = nw.to_native(X, pass_through=True)
    refuse_lazy(X, name)
    if isinstance(X, np.ma.MaskedArray):
        if X.dtype.kind in "mM":
            return X.filled(np.array("NaT", X.dtype))
        return np.where(np.ma.getmaskarray(X), None, X.data.astype(object))
    kinds = set(map(type, X)) if isinstance(X, list | tuple) else ()
    if any(issubclass(kind, np.ma.MaskedArray) for kind in kinds):  # read through their masks
        raise ValueError(f"{name} is a list of masked values: make it one masked array.")
    if hasattr(type(X), "compute") and hasattr(X, "columns"):  # Dask's, if it is no column's name
        return X.compute()
    is_arrows = hasattr(X, "__arrow_c_stream__") and hasattr(X, "schema")
    if is_arrows and as_frame(X) is X:  # of another library than narwhals knows
        return nw.from_arrow(X, backend="pyarrow").to_native()
    return X


def single_column(values, name):
    """Column of an array-like, by a name for messages; masked values are missing.

    Raises
    ------
    TypeError
        If NumPy cannot read it.
    """
    values = _with_dtype(unwrap(values, name))
    series = nw.from_native(values, allow_series=True, eager_only=True, pass_through=True)
    if isinstance(series, nw.Series):
        return replace(Table.of(series.alias("values").to_frame()).column(0), name=name)
    array = as_array(values, name)
    return Column(array, name, _OF_KIND.get(array.dtype.kind))


def _with_dtype(values):
    """Series of what pandas and Arrow hold beside frames and series, which NumPy would round."""
    pandas, arrow = nw.dependencies.get_pandas(), nw.dependencies.get_pyarrow()
    if pandas and isinstance(values, pandas.Index):
        return values.to_series()
    if pandas and isinstance(values, pandas.api.extensions.ExtensionArray):
        return pandas.Series(values)
    if arrow and isinstance(values, arrow.Array):
        return arrow.chunked_array([values])
    return values


def as_frame(X, name="X"):
    """Frame of narwhals for X; X itself if it is none. ValueError if columns share a name."""
    try:
        return nw.from_native(X, eager_only=True, pass_through=True)
    except nw.exceptions.DuplicateError as error:
        raise ValueError(f"Columns of {name} must have unique names. {error}") from error


def as_array(values, name):
    """Array of values, none of which becomes another, as numbers beside text in a list would.

    Raises
    ------
    TypeError
        If NumPy cannot read them, as tensors of types that it has not.
    """
    try:
        array = np.asarray(values, dtype=object if isinstance(values, list | tuple) else None)
    except (TypeError, RuntimeError) as error:
        dtype = f" of dtype {values.dtype}" if hasattr(values, "dtype") else ""
        raise TypeError(
            f"{name} is a {type(values).__name__}{dtype}, which NumPy cannot read: {error}"
        ) from error
    return array.astype(object) if array.dtype.kind in "SUT" else array


def refuse_lazy(data, name):
    """Raise TypeError for a frame that holds no values yet."""
    if hasattr(data, "collect") and not hasattr(data, "__array__"):
        raise TypeError(f"{name} is a {type(data).__name__}: collect it first.")


def find_labels(X):
    """Labels of the rows of X, an ndarray, if it is a frame with an index; else None."""
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    index = nw.maybe_get_index(frame) if isinstance(frame, nw.DataFrame) else None
    if index is None:
        return None
    labels = index.to_numpy()
    return labels if labels.dtype.kind in "iu" else index.astype(object).to_numpy()


def _declared_in(frame):
    """Say what the columns of a frame hold by their dtypes."""
    dtypes = getattr(nw.to_native(frame), "dtypes", [None] * len(frame.columns))
    pairs = zip(frame.columns, dtypes, strict=True)
    return [_declared(dtype, frame, name) for name, dtype in pairs]


def _declared(dtype, frame, name):
    if isinstance(dtype, np.dtype):  # of pandas, for which narwhals would look at values
        return _OF_KIND.get(dtype.kind)
    if hasattr(dtype, "tz"):
        return TIMES  # of the zones of pandas narwhals knows some
    column = frame.get_column(name)
    dtype, native = column.dtype, column.to_native()
    if dtype in (nw.Int128, nw.UInt128):
        return None  # which NumPy has not
    own = getattr(native, "type", getattr(native, "dtype", None))
    if dtype.is_numeric() or str(own).startswith("decimal256"):  # which narwhals does not know
        return NUMBERS
    if dtype in (nw.Date, nw.Datetime):
        return TIMES
    if dtype in (nw.Duration, nw.Time):
        return DURATIONS
    return CATEGORIES if dtype in (nw.Boolean, nw.Categorical, nw.Enum, nw.String) else None
