"""Columns of categories: codes that depend on the rows which have each, not on its name."""

import re
from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from sklearn.preprocessing import normalize

from .base import Kind
from .column import BOOLS, CATEGORIES, TEXT, find_numerals, is_missing, says_missing, show, sorts_of
from .dates import Dates
from .durations import Durations
from .numbers import CURRENCY, Numbers

# Code of categories that were not seen in fit.
UNKNOWN = -1.0
# Number of categories up to which all are equally far from each other.
_MAX_APART = 32
# From so many categories on, and for so large a fraction of the rows, categories name rows.
_LEAST_CATEGORIES, _FRACTION_OF_ROWS = 20, 0.9
# Fraction of cells that may be meant as numbers, dates or durations.
_MOST = 0.5
_ONE_NUMBER = re.compile(r"(\D*)(\d+(?:[.,]\d+)*)(\D*)")
_SIGNS = re.compile(rf"(?:\W|{CURRENCY})+")


@dataclass(frozen=True, eq=False)
class Categories(Kind):
    """Categories of any type; equal values are one.

    Networks get few of them one-hot, and learn an embedding of each of many. A row is like another
    in them or not.

    Attributes
    ----------
    codes : dict
        From each category to its code, numbered from 0.
    """

    codes: dict

    name, is_coded = CATEGORIES, True
    is_category = may_name_rows = True

    @classmethod
    def of(cls, column):
        """Return a kind with a code for each category of text or bools, or as given."""
        kind, given = column.kind, column.given
        if given and kind in (Dates.name, Durations.name):
            raise ValueError(
                f"{column.name} holds {kind}, but categorical_features names it. For a category "
                "of each, make it text."
            )
        return cls(number_categories(column)) if given or kind == CATEGORIES else None

    def read(self, column):
        """Read codes: NaN for missing values, -1 for unknown categories."""
        self._refuse_other_sorts(column)
        codes, categories = self.codes | {None: np.nan}, column.categories
        found = (codes.get(category, UNKNOWN) for category in categories)
        return np.fromiter(found, np.float64, len(categories))[:, None]

    @cached_property
    def _sorts(self):
        return set(sorts_of(list(self.codes)))

    def _refuse_other_sorts(self, column):
        """Raise ValueError for categories of a sort that there was none of in fit."""
        were = self._sorts
        for sort, value in sorts_of(column.categories).items():
            if sort == Numbers.name and were == {BOOLS}:  # of which 0 and 1 equal some
                value = next((own for own in column.categories if own not in (None, 0, 1)), None)
            is_known = sort in were or value is None or (sort == BOOLS and Numbers.name in were)
            if were and not is_known:
                was = "text" if were == {TEXT} else f"no {sort} but {' and '.join(sorted(were))}"
                raise ValueError(
                    f"{column.name} holds categories such as {show(value)}, of type "
                    f"{type(value).__name__!r}; in fit they were {was}."
                )

    def learn(self, block, rows):
        """Sort categories by their weights, and number them so.

        Those of the largest weights come first, those of one weight by the targets and numbers of
        their rows, and those alike in all of these by name, so that names don't matter. Those
        without weight become unknown.
        """
        counted, categories = rows.weight > 0, list(self.codes)
        new = rank_categories(block[counted, 0], rows.rank, rows.weight[counted], categories)
        codes, known = block.copy(), ~np.isnan(block)
        codes[known] = new[codes[known].astype(int)]
        numbered = [categories[i] for i in np.argsort(new)[np.count_nonzero(new < 0) :]]
        return replace(self, codes=dict(zip(numbered, range(len(numbered)), strict=True))), codes

    @property
    def n_categories(self):
        """Number of categories."""
        return (len(self.codes),)

    def coordinates(self, block):
        """Points of categories, 1 apart, of many on average; others are between all."""
        points = np.eye(len(self.codes))
        if len(points) > _MAX_APART:
            random = np.random.Generator(np.random.Philox(0))
            points = normalize(random.standard_normal((len(points), _MAX_APART)))
        points = np.pad(points / np.sqrt(2), [(0, 1), (0, 0)])
        return points[np.where(block[:, 0] >= 0, block[:, 0], -1).astype(int)]

    def decode(self, block, column=None):
        """Find categories."""
        categories = np.fromiter([*self.codes, None], dtype=object, count=len(self.codes) + 1)
        values = categories[np.where(block[:, 0] >= 0, block[:, 0], -1).astype(int)]
        if column is not None:
            for row in np.flatnonzero(~(block[:, 0] >= 0)):
                value = column.values[row]
                values[row] = None if is_missing(value) else value
        return values

    def describe(self):
        """Say in words what the column is read as."""
        return f"{len(self.codes)} categor{'y' if len(self.codes) == 1 else 'ies'}"

    @cached_property
    def _folded(self):
        """Categories that are text, by what case and spaces leave of them."""
        return {_fold(text): text for text in self.codes if isinstance(text, str)}

    def explain_unread(self, column, block):
        """Say which unknown categories case or spaces alone tell from known ones."""
        unknown = [column.values[i] for i in np.flatnonzero(block[:, 0] == UNKNOWN)]
        texts = [text for text in unknown if isinstance(text, str) and _fold(text) in self._folded]
        if not (texts and self.is_category):
            return None
        return (
            f"{column.name}: cells such as {show(texts[0])} count as missing ({len(texts)} of "
            f"{len(block)}), as the category is {show(self._folded[_fold(texts[0])])}."
        )

    def doubt(self, column, block, rows):
        """Say that most cells stand for something, or that categories nearly name rows."""
        if column.given is not None or column.has_categories:
            return None
        texts = column.count_texts(rows)
        categories = [category for category in self.codes if isinstance(category, str)]
        n_present, why = np.count_nonzero(~np.isnan(block[rows, 0])), None
        n_many = max(_LEAST_CATEGORIES, _FRACTION_OF_ROWS * n_present)
        if (most := find_quantity(texts, _MOST, may_lose=True)) is not None:
            others = [t for t in texts if most.parse(t) is None and not says_missing(t)]
            if others or most.loses(texts):
                categories[:0], why = (
                    others[:1],
                    f", though most are {most.describe_example(texts)}",
                )
        elif self.may_name_rows and len(categories) >= n_many:
            why = ""
        elif hold_numbers(texts):
            why = ", with a number each"
        if why is None:
            return None
        what = "categories" if self.is_category else "different texts"
        what = f"{len(self.codes)} {what} in {n_present} rows, such as {show(categories[0])}"
        return f"{column.name} holds {what}{why}"

    def _check_fields(self, sizes):
        """Raise ValueError if categories are not numbered from 0."""
        if list(self.codes.values()) != list(range(len(self.codes))):
            raise ValueError("codes do not number the categories")


def number_categories(column):
    """Give each category of a column a number, in their order."""
    unique = dict.fromkeys(category for category in column.categories if category is not None)
    return {category: code for code, category in enumerate(unique)}


def find_quantity(texts, *enough, may_lose=False):
    """Find a kind that texts, with their numbers of cells, stand for; see :func:`find_numerals`."""
    numerals = find_numerals(texts, *enough)
    found = [kind.find(*numerals) for kind in (Dates, Durations, Numbers)] if numerals else []
    return next((own for own in found if own and (may_lose or not own.loses(numerals[0]))), None)


def hold_numbers(texts):
    """Whether texts hold a number each, of many, beside one text or signs and currencies."""
    texts, needed = find_numerals(texts) or ({}, 1)
    around, numbers = Counter(), set()
    for match in filter(None, map(_ONE_NUMBER.fullmatch, texts)):
        around[match[1] + match[3]] += texts[match[0]]
        numbers.add(match[2])
    del around[""]
    signs = sum(count for text, count in around.items() if _SIGNS.fullmatch(text))
    most = max(around.values(), default=0)
    return len(numbers) >= _LEAST_CATEGORIES and max(signs, most) >= needed


def rank_categories(column, rank, weight, categories):
    """Find the new code of each old one; that of unknown ones if it has no weight.

    Rows that are alike have the same rank.
    """
    present = ~np.isnan(column)
    old, rank, weight = column[present].astype(int), rank[present], weight[present]
    # Sums in an order that depends on the rows alone, so that rounding does, too.
    order = np.lexsort([weight, rank, old])
    old, rank, weight = old[order], rank[order], weight[order]
    first = np.flatnonzero(np.diff(old, prepend=-1) | np.diff(rank, prepend=-1))
    old, rank, weight = old[first], rank[first], np.add.reduceat(weight, first)
    starts = np.flatnonzero(np.diff(old, prepend=-1))
    totals, cuts = -np.add.reduceat(weight, starts), starts[1:]
    parts = zip(totals, np.split(rank, cuts), np.split(weight, cuts), old[starts], strict=True)
    keys = sorted((t, r.tolist(), w.tolist(), repr(categories[i]), i) for t, r, w, i in parts)
    new = np.full(len(categories), UNKNOWN)
    new[[key[-1] for key in keys]] = np.arange(len(keys))
    return new


def _fold(text):
    return " ".join(text.split()).casefold()
