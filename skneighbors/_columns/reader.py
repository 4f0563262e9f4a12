"""Tables to matrices of float64: a missing value is NaN, a category its code, a time its day.

Columns of the table come first, then the components of columns of text.
"""

from collections import Counter
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import itemgetter

import numpy as np

from .._utils.arrays import Stored
from .._utils.warn import warn
from .calendar import PARTS, find_parts, take_parts
from .codes import UNKNOWN, encode_categories, number_categories, rank_categories
from .column import CATEGORIES, NOTHING, TEXTS
from .doubts import ColumnWarning
from .merging import merge_rows
from .ngrams import TextEncoder, fit_text_encoder, holds_text
from .text import Reading, find_reading
from .values import (
    BOOLS,
    DURATIONS,
    NUMBERS,
    TIMES,
    as_categories,
    is_missing,
    show,
    sorts_of,
)

# What makes numbers, dates or durations of text.
_CONVERTED = {
    NUMBERS: "pandas.to_numeric(..., errors='coerce')",
    TIMES: "pandas.to_datetime(..., errors='coerce')",
    DURATIONS: "pandas.to_timedelta(..., errors='coerce') of hh:mm:ss",
}
_EPOCH = np.datetime64("1970-01-01", "us")
_MICROSECONDS_A_DAY = 86_400_000_000


@dataclass(frozen=True, eq=False)
class TableReader(Stored):
    """Reads tables as the one it was made for.

    Attributes
    ----------
    kinds : list
        What each column of the table holds; NOTHING is not read.
    codes : list of (dict or None)
        For columns of categories and of text, the code of each; equal values are one category.
    readings : list of (Reading or None)
        How text is read in columns of numbers, times or durations.
    order : list of int
        The matrix's columns, by their numbers in the table: those with values, in the order
        of their names, so that another order changes nothing.
    names : list or None
        Of the table's columns.
    parts : list of tuple of (int, str)
        Columns of the matrix that hold dates, and parts of these that :meth:`expand` adds.
    texts : list of (TextEncoder or None)
        What encodes columns of text, and of categories that are text as well.
    """

    kinds: list[str]
    codes: list[dict | None]
    readings: list[Reading | None]
    order: list[int]
    names: list | None = None
    parts: list[tuple[int, str]] = field(default_factory=list)
    texts: list[TextEncoder | None] = field(default_factory=list)

    @classmethod
    def of(cls, table, categorical_features, sample_weight):
        """Make a reader for a table.

        Parameters
        ----------
        table : Table
        categorical_features : as of the estimators
        sample_weight : ndarray of shape (n_samples,)
            What each row counts when it is found out how text is read.

        Raises
        ------
        ValueError
            If `categorical_features` names no columns, or a column can't be read.
        """
        kinds, codes, readings = [], [], []
        for j, given in enumerate(find_categorical(categorical_features, table)):
            column, reading = table.column(j), None
            is_text = not given and not table.has_categories(j) and column.is_text()
            if is_text:
                cells = _weigh_cells(column.values, sample_weight)
                reading = find_reading(cells)
            if reading is not None:
                kind = reading.kind
            elif is_text and given is None and holds_text(cells):
                kind = TEXTS
            else:
                kind = _kind_of(column, given, categorical_features)
            kinds.append(kind)
            readings.append(reading)
            has_codes = kind in (CATEGORIES, TEXTS)
            codes.append(number_categories(column.categories()) if has_codes else None)
        order, names = range(len(kinds)), table.names
        if names is not None and _all_are_text(names):
            order = sorted(order, key=names.__getitem__)
        return cls(kinds, codes, readings, list(order), names, [], [None] * len(kinds))

    @cached_property
    def _sorts(self):
        """Sorts of the categories of each column."""
        return [set(sorts_of(list(codes or ()))) for codes in self.codes]

    @property
    def n_categories(self):
        """Number of categories of the table's columns; 0 for numbers."""
        return np.array([len(self.codes[j] or ()) for j in self.order])

    @cached_property
    def _text_columns(self):
        """Columns of the matrix that have components, by their numbers."""
        return [i for i, j in enumerate(self.order) if self.texts[j] is not None]

    @cached_property
    def text_of(self):
        """Number of the table's column, by `order`, of each component the matrix ends with."""
        sizes = [self.texts[self.order[i]].n_components for i in self._text_columns]
        return np.repeat(np.array(self._text_columns, dtype=int), sizes)

    @property
    def column_of(self):
        """Number of the table's column, by `order`, of each of the matrix's columns."""
        return np.concatenate([np.arange(len(self.order)), self.text_of])

    @property
    def n_components(self):
        """Number of components of texts."""
        return len(self.text_of)

    def _find_all(self, kind):
        """Columns of the matrix of a kind; those of TEXTS only say which texts are the same."""
        return [i for i, j in enumerate(self.order) if self.kinds[j] == kind]

    @property
    def n_expanded_categories(self):
        """Number of categories of what :meth:`expand` returns; 0 for numbers."""
        columns = np.delete(self.n_categories, self._find_all(TEXTS))
        return np.pad(columns, (0, len(self.parts) + self.n_components))

    def check_fields(self, sizes):
        """Check that all lists are about the same columns, and codes number categories."""
        n_columns, dates = len(self.kinds), self._find_all(TIMES)
        names = self.kinds if self.names is None else self.names
        fits = {*map(len, (self.codes, self.readings, self.texts, names))} == {n_columns}
        fits &= len(set(self.order)) == len(self.order) and set(self.order) <= {*range(n_columns)}
        fits &= all(i in dates and part in PARTS for i, part in self.parts)
        for codes, text in zip(self.codes, self.texts, strict=True):
            fits &= list((codes or {}).values()) == list(range(len(codes or {})))
            fits &= text is None or codes is not None
        if not fits:
            raise ValueError("reader does not fit")

    def expand(self, X):
        """Make of what this has read what a fit gets: columns, parts of dates, then components.

        Codes of texts, which only say which are the same, are left out.
        """
        if not (self.parts or self.n_components):
            return X
        columns, components = np.split(X, [len(self.order)], axis=1)
        kept = np.delete(columns, self._find_all(TEXTS), axis=1)
        return np.hstack([kept, take_parts(columns, self.parts), components])

    def read(self, table):
        """Read a table, with the columns of the one this was made for.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
            Float64: numbers, days and codes; NaN for missing values, -1 for unknown categories.
            Then components of texts, 0 for missing ones.

        Warns
        -----
        ColumnWarning
            If cells of text are not what the column is read as, and count as missing; or if they
            differ from known categories by case or spaces alone.

        Raises
        ------
        ValueError
            If a column holds infinity, or something else than before.
        """
        self._check_order(table)
        X = self._gather(table)
        infinite = np.isinf(X).any(axis=0)
        if infinite.any():
            raise ValueError(
                f"{table.describe(int(infinite.argmax()))} contains infinity. A missing value is "
                "NaN, None or NA."
            )
        X = X if self.order == list(range(len(self.kinds))) else X[:, self.order]
        parts = [self._components(i, table) for i in self._text_columns]
        return np.hstack([X, *parts]) if parts else X

    def _components(self, i, table):
        """Components (n_samples, k) of the texts in a column of the matrix."""
        j = self.order[i]
        cells, encoder = table.column(j).categories(), self.texts[j]
        known = {text: place for place, text in enumerate(dict.fromkeys(cells))}
        unique = encoder.transform(["" if text is None else text for text in known])
        return unique[[known[text] for text in cells]]

    def _check_order(self, table):
        """Check names that are no text, of which scikit-learn takes no notice."""
        names = self.names, table.names
        if None in names or names[0] == names[1] or any(map(_all_are_text, names)):
            return
        old, new = map(as_categories, names)  # of which missing ones are the same
        if old == new:
            return
        if set(old) != set(new) and list(range(len(new))) in (old, new):
            return  # one has names that pandas has given
        i = next(i for i, pair in enumerate(zip(old, new, strict=True)) if pair[0] != pair[1])
        raise ValueError(
            f"Columns of X must be those of fit, in the same order: after {i} columns there is "
            f"{show(new[i])}, in fit there was {show(old[i])}."
        )

    def _gather(self, table):
        """Read all columns, in the table's order."""
        at_once = [j for j in table.plain() if self.kinds[j] == NUMBERS]
        if len(at_once) == len(self.kinds):
            return table.numbers(at_once)
        X, doubts = np.full((len(table.data), len(self.kinds)), np.nan), []
        if at_once:
            X[:, at_once] = table.numbers(at_once)
        for j in sorted(set(range(len(self.kinds))).difference(at_once)):
            kind, codes = self.kinds[j], self.codes[j]
            if kind == NOTHING:
                continue
            column = table.column(j)
            if codes is not None:
                X[:, j] = encode_categories(column, codes, self._sorts[j])
                if kind == CATEGORIES:
                    doubts += self._find_misspelled(j, column, X[:, j])
            elif self.readings[j] is not None and column.is_text():
                X[:, j], others = self.readings[j].parse_all(column.values)
                if others:
                    example, what = show(next(iter(others))), self.readings[j].describe()
                    doubts.append(
                        f"{column.name} is read as {what}: cells such as {example} count as "
                        f"missing ({sum(others.values())} of {len(X)}). Convert those that are "
                        f"values, for instance by {_CONVERTED[kind]}."
                    )
            elif _is_of(column, kind):
                X[:, j] = column.numbers() if kind == NUMBERS else column.days()
        if doubts:
            warn(" ".join(doubts), ColumnWarning)
        return X

    def _find_misspelled(self, j, column, X):
        """Say which unknown categories case or spaces alone tell from known ones; a list."""
        unknown = [column.values[i] for i in np.flatnonzero(X == UNKNOWN)]
        found = [
            (text, self._folded[j][folded])
            for text in unknown
            if isinstance(text, str) and (folded := _fold(text)) in self._folded[j]
        ]
        if not found:
            return []
        text, category = map(show, found[0])
        return [
            f"{column.name}: cells such as {text} count as missing ({len(found)} of {len(X)}), as "
            f"the category is {category}."
        ]

    @cached_property
    def _folded(self):
        """Categories of each column that are text, by what case and spaces leave of them."""
        return [
            {_fold(category): category for category in codes or () if isinstance(category, str)}
            for codes in self.codes
        ]

    @property
    def columns(self):
        """Names of the matrix's columns; ``x0`` and so on where the table has none."""
        return [f"x{j}" if self.names is None else self.names[j] for j in self.order]

    def decode(self, X, table=None):
        """Undo :meth:`read`: numbers, categories, times; None for missing and unknown ones.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)
        table : Table, default=None
            What X was read from, if unknown categories are to be named, too.

        Returns
        -------
        values : object ndarray of shape (n_samples, n_columns)
        """
        values = np.empty((len(X), len(self.order)), dtype=object)
        for i, j in enumerate(self.order):
            is_category = self.codes[j] is not None
            present = X[:, i] >= 0 if is_category else ~np.isnan(X[:, i])
            values[present, i] = _decode(X[present, i], self.kinds[j], self.codes[j])
            if table is not None and is_category:
                given = table.column(j).values
                for row in np.flatnonzero(~present):
                    values[row, i] = None if is_missing(given[row]) else given[row]
        return values

    def settle(self, X, y, sample_weight):
        """Leave columns without values out, number categories, find which of them are text.

        Categories of the largest weights come first, those of one weight by the targets and
        numbers of their rows, and those alike in all of these by name, so that names don't matter.
        Categories without weight become unknown.

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
            With the new codes, and components of texts.

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
        codes = [known if j in left else None for j, known in enumerate(self.codes)]
        categorical = [i for i, j in enumerate(order) if codes[j] is not None]
        if categorical:
            X = X.copy()  # the caller's stays as it is
            numbers = np.delete(X[counted], categorical, axis=1)
            numbers[np.isnan(numbers)] = -np.inf  # equal to itself
            alike = np.column_stack([numbers, y[counted]])
            rank = np.unique(alike, axis=0, return_inverse=True)[1].ravel()
        for i in categorical:
            j = order[i]
            new = rank_categories(X[counted, i], rank, sample_weight[counted], list(codes[j]))
            known = ~np.isnan(X[:, i])
            X[known, i] = new[X[known, i].astype(int)]
            categories = zip(codes[j], new, strict=True)
            numbered = ((category, int(code)) for category, code in categories if code >= 0)
            codes[j] = dict(sorted(numbered, key=itemgetter(1)))
        changed = {"kinds": kinds, "codes": codes, "order": order}
        reader = replace(self, **changed)
        parts = find_parts(X[counted], reader._find_all(TIMES))
        return replace(reader, parts=parts)._settle_texts(X, sample_weight)

    def _settle_texts(self, X, sample_weight):
        """Find which columns are text rather than categories, or both; add their components."""
        kinds, texts, columns = list(self.kinds), list(self.texts), [X]
        if TEXTS in kinds:
            rows = merge_rows(X, np.empty((len(X), 0)), sample_weight)[0]
        for i, j in enumerate(self.order):
            if kinds[j] != TEXTS:
                continue
            n_present = np.count_nonzero(~np.isnan(X[rows, i]))
            texts[j], is_category = fit_text_encoder(self.codes[j], n_present, len(rows))
            kinds[j] = CATEGORIES if is_category else TEXTS
            if texts[j] is not None:
                # Missing texts are 0, and unknown ones have no weight.
                known = np.pad(texts[j].transform(self.codes[j]), [(0, 1), (0, 0)])
                columns.append(known[np.nan_to_num(X[:, i], nan=-1).astype(int)])
        reader = replace(self, kinds=kinds, texts=texts)
        return reader, np.hstack(columns) if len(columns) > 1 else X


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
    given = [] if categorical_features is None else categorical_features
    if isinstance(given, list) and any(isinstance(name, tuple) for name in given):
        names, given = given, np.empty(len(given), dtype=object)
        given[:] = names  # of a MultiIndex
    given = np.asarray(given)
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


def _all_are_text(names):
    return all(isinstance(name, str) for name in names)


def _kind_of(column, given, categorical_features):
    """Kind of a column, which is `given` as categorical, or not, or neither (None)."""
    kind = column.kind
    if given and kind in (TIMES, DURATIONS):
        raise ValueError(
            f"{column.name} holds {kind}, but categorical_features names it. For a category of "
            "each, make it text."
        )
    if given is False and kind == CATEGORIES and not column.is_missing():
        raise ValueError(
            f"{column.name} holds {column.example()}, but categorical_features="
            f"{show(categorical_features)} does not name it. Name it, or encode it as numbers."
        )
    return CATEGORIES if given else kind


def _is_of(column, kind):
    """Whether a column is to be read as of a kind; False if it has no value.

    Raises
    ------
    ValueError
        If it holds something else.
    """
    if column.kind == kind or (kind == NUMBERS and column.sorts.keys() == {BOOLS}):
        return True
    if not column.is_missing():
        what, advice = column.kind, ""
        if column.is_text() and kind in _CONVERTED:
            what, advice = "text", f" Convert it with {_CONVERTED[kind]}."
        raise ValueError(
            f"{column.name} holds {what}, such as {column.example()}; in fit it held {kind}."
            f"{advice}"
        )
    return False


def _weigh_cells(cells, sample_weight):
    """Sum the weights of each cell that is not missing."""
    weights = Counter()
    for cell, weight in zip(cells, sample_weight.tolist(), strict=True):
        if weight and not is_missing(cell):
            weights[cell] += weight
    return weights


def _fold(text):
    return " ".join(text.split()).casefold()


def _decode(column, kind, codes):
    if codes is not None:
        categories = np.empty(len(codes), dtype=object)
        categories[list(codes.values())] = list(codes)
        return categories[column.astype(int)]
    if kind in (TIMES, DURATIONS):
        microseconds = np.rint(column * _MICROSECONDS_A_DAY).astype("timedelta64[us]")
        return (microseconds if kind == DURATIONS else _EPOCH + microseconds).astype(object)
    return column
