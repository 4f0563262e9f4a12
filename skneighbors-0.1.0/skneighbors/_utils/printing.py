"""Tables of results, as text and as HTML."""

import html
import math

import numpy as np

# Rows of a query that are printed, at most.
N_ROWS = 10
# Words for the names of what is averaged with the neighbors, where they are others.
_PART_WORDS = {"boosting": "boosted trees", "linear": "linear model"}


def part_words(name):
    """Words for what is averaged with the neighbors, by its name."""
    return _PART_WORDS.get(name, name)


def text_table(title, cells):
    """Lines of a table, the first of whose columns is to the left."""
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = [
        "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip()
        for row in cells
    ]
    return "\n".join([title, *lines])


def html_table(title, cells):
    """Write a table, the first of whose rows is its head, for a notebook."""
    rows = [[html.escape(cell) for cell in row] for row in cells]
    head, *body = ["<tr><td>" + "</td><td>".join(row) + "</td></tr>" for row in rows]
    head = head.replace("td>", "th>")
    return f"<p><b>{html.escape(title)}</b></p><table>{head}{''.join(body)}</table>"


class Printed:
    """Base of results that are printed as tables with notes below, as text and as HTML.

    Subclasses have `_tables`, which returns titles and cells, and may have `_notes`.
    """

    def __str__(self) -> str:
        tables = [text_table(title, cells) for title, cells in self._tables()]
        return "\n\n".join([*tables, *self._notes()])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        tables = [html_table(title, cells) for title, cells in self._tables()]
        return "".join([*tables, *(f"<p>{html.escape(note)}</p>" for note in self._notes())])

    def _notes(self):
        return []


def percent(fraction):
    """Write a fraction in percent."""
    return f"{100 * fraction:.1f} %"


def by_target(values, names=None):
    """Index of each target in values (n,) or (n, n_targets), and a suffix for names of columns."""
    if values.ndim == 1:
        return [(..., "")]
    names = range(values.shape[1]) if names is None else names
    return [((..., k), f"_{name}") for k, name in enumerate(names)]


def same_decimals(*values):
    """Make a function that writes numbers so that the largest of the values has five digits."""
    largest = max(np.abs(value).max() for value in values)
    digits = 4 - math.floor(math.log10(largest)) if largest > 0 else 0
    style = f",.{max(0, digits)}f" if -11 < digits < 11 else ".4e"

    def write(value, sign=""):
        rounded = np.round(np.atleast_1d(value), max(0, digits)) + 0.0  # no -0
        return ", ".join(f"{number:{sign}{style}}" for number in rounded)

    return write
