"""What a kind of column has to say of one, from its cells to an explanation.

To add one, write a file with a subclass of :class:`Kind`, and enter it in ``KINDS`` of
``reader.py``, where kinds are tried in order. It owns a block of columns of the matrix that a
table is read as: :meth:`Kind.of` and :meth:`Kind.learn` fit it, :meth:`Kind.read` reads cells, and
all the rest takes its block: :meth:`Kind.features` what networks, trees and linear models get,
:meth:`Kind.coordinates` what likeness compares, :meth:`Kind.decode` what explanations show.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from .._utils.arrays import Stored
from .column import BOOLS, LONGEST_NUMERAL, NUMBERS, is_missing, says_missing, show
from .rows import merge_rows


class Features(NamedTuple):
    """What is made of a block: arrays of shape (n_samples, any), None for none.

    `columns` are numbers or codes, `parts` further numbers, and `components` have unit length.
    """

    columns: np.ndarray
    parts: np.ndarray | None = None
    components: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class LearningRows:
    """Samples that kinds of columns learn from.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_read)
        All columns, as read.
    is_coded : bool ndarray of shape (n_read,)
        Which hold codes, whose order says nothing.
    y : ndarray of shape (n_samples, n_targets)
    weight : ndarray of shape (n_samples,)
    """

    X: np.ndarray
    is_coded: np.ndarray
    y: np.ndarray
    weight: np.ndarray

    @cached_property
    def rank(self):
        """Rank of each that counts by targets and numbers; of rows that are alike the same."""
        counted = self.weight > 0
        numbers = self.X[counted][:, ~self.is_coded]
        numbers[np.isnan(numbers)] = -np.inf  # equal to itself
        alike = np.column_stack([numbers, self.y[counted]])
        return np.unique(alike, axis=0, return_inverse=True)[1].ravel()

    @cached_property
    def unique(self):
        """First sample of each unique row of X."""
        return merge_rows(self.X, np.empty((len(self.X), 0)), self.weight)[0]


@dataclass(frozen=True, eq=False)
class Kind(Stored):
    """A kind of column, and how one column of a fitted table is read as of it.

    Subclasses have

    ``of(column)``, a class method
        Kind of a column with a value, or None if it is of another.
    ``read(column)``
        Cells as float64 (n_samples, width + n_components), NaN in the first where there is no
        value; ValueError if the column holds something else than in fit.

    The rest suits columns that are read as `width` numbers.

    Attributes
    ----------
    name : str
        What it holds, for messages and `columns_`.
    width : int
        Number of columns of its block, without those of components.
    is_coded : bool
        Whether these hold codes, whose order says nothing; likeness ranks others.
    parts : tuple
        Further numbers among the features.
    n_components : int
        Number of components, which stand behind the columns of block and features.
    """

    name, width, is_coded, parts, n_components = "", 1, False, (), 0

    def learn(self, block, rows):
        """Kind and block (n_samples, width) of it that `rows`, :class:`LearningRows`, lead to."""
        return self, block

    @property
    def n_categories(self):
        """Number of categories of each of the columns of the features; 0 for numbers."""
        return (0,) * self.width

    def features(self, block):
        """Make :class:`Features` for networks, trees and linear model."""
        return Features(block)

    def coordinates(self, block):
        """Points (n_samples, any) for likeness, at most 1 apart; numbers of the block are ranks.

        A missing value is where the middle rank is, but at least root 3/4 from all others.
        """
        missing = np.isnan(block)
        ranks = np.where(missing, 0.5, block) / self.width**0.5
        return np.concatenate([ranks, missing[:, :1] * 0.75**0.5], axis=1)

    def decode(self, block, column=None):
        """Undo :meth:`read`, to objects (n_samples,); None for missing and unknown values.

        With the column that the block was read from, unknown values are as there.
        """
        values, present = np.empty(len(block), dtype=object), ~np.isnan(block[:, 0])
        values[present] = self.decode_present(block[present])
        return values

    def decode_present(self, block):
        """Undo :meth:`read` where there are values."""
        return block[:, 0]

    def describe(self):
        """Say in words what the column is read as."""
        return self.name

    def find_unread(self, column, rows):
        """List the cells of some rows without values that are not missing."""
        return []

    def explain_unread(self, column, block):
        """Say which cells of a column just read count as missing; None if none should not."""

    def doubt(self, column, block, rows):
        """Say how some rows (n_samples,), a mask, may be meant otherwise; None if not."""


@dataclass(frozen=True, eq=False)
class Quantity(Kind):
    """A kind of one number a cell, which may be written as text.

    Subclasses have ``find(texts, needed)``, the kind by which so many cells of some texts can be
    read, or None (see :func:`find_numerals`), ``parse_stripped(text)``, the number that a text
    stands for, or None, and ``show(text)``, what this is. Text that :meth:`loses` something when
    it is read so is of another kind.

    Attributes
    ----------
    how : str or None
        How text is read, one of `styles`; None if the column held none.
    is_assumed : bool
        Whether the cells could be read otherwise.
    styles : dict
        Patterns of text by names.
    conversion : str
        What makes such a column of text, for messages.
    """

    how: str | None = None
    is_assumed: bool = False

    @classmethod
    def of(cls, column):
        """Kind of a column that holds it, or text that stands for it."""
        found = cls.find(*column.numerals) if column.numerals else None
        if found and not found.loses(column.numerals[0]):
            return found
        return cls() if not column.given and column.kind == cls.name else None

    def read(self, column):
        """Read a column of it, or of text that stands for it."""
        if self.how is not None and column.is_text():
            return self.parse_all(column.values)[:, None]
        fits = column.kind == self.name
        if fits or (self.name == NUMBERS and column.sorts.keys() == {BOOLS}):
            return np.asarray(column.numbers(), dtype=np.float64)[:, None]
        if column.is_missing():
            return np.full((len(column.data), 1), np.nan)
        what = "text" if column.is_text() else column.kind
        advice = f" Convert it with {self.conversion}." if column.is_text() else ""
        what = f"{what}, such as {column.example()}; in fit it held {self.name}.{advice}"
        raise ValueError(f"{column.name} holds {what}")

    def loses(self, texts):
        """Whether texts say more than the numbers that they are read as."""
        return False

    def parse(self, text):
        """Read a cell of text: a number, days since 1970, or days; None if it is none."""
        text = text.strip()
        return None if len(text) > LONGEST_NUMERAL else self.parse_stripped(text)

    def parse_all(self, cells):
        """Read a list of cells of text, of which some are missing; NaN where there is no value."""
        numbers = {cell: self.parse(cell) for cell in {c for c in cells if not is_missing(c)}}
        return np.array([numbers.get(cell) for cell in cells], dtype=np.float64)

    def find_unread(self, column, rows):
        """List the texts that are something else."""
        cells = [column.values[i] for i in rows] if self.how is not None else []
        return [cell for cell in cells if not (is_missing(cell) or says_missing(cell))]

    def explain_unread(self, column, block):
        """Say which texts are something else."""
        others = self.find_unread(column, np.flatnonzero(np.isnan(block[:, 0])))
        if not others:
            return None
        return (
            f"{column.name} is read as {self.describe()}: cells such as {show(others[0])} count as "
            f"missing ({len(others)} of {len(block)}). Convert those that are values, for instance "
            f"by {self.conversion}."
        )

    def doubt(self, column, block, rows):
        """Say how text is read that could be read otherwise."""
        if not self.is_assumed:
            return None
        return f"{column.name} is read as {self.describe_example(column.count_texts(rows))}"

    def describe_example(self, texts):
        """Describe how texts are read, by one that has a separator if there is one."""
        read = [text for text in texts if self.parse(text) is not None]
        example = next((text for text in read if "," in text or "." in text), read[0])
        return f"{self.describe()}, such as {show(example)} as {self.show(example)}"

    def _check_fields(self, sizes):
        """Raise ValueError if text cannot be read so."""
        if self.how not in (None, *self.styles):
            raise ValueError("a reading is unknown")
