"""Displays of what fitted estimators have learned and predict."""

from .._columns import ColumnSummary
from .._model import ColumnDifferences, Explanation, Suspects
from ._intervals import IntervalDisplay
from ._neighbors import NeighborsDisplay

__all__ = [
    "ColumnDifferences",
    "ColumnSummary",
    "Explanation",
    "IntervalDisplay",
    "NeighborsDisplay",
    "Suspects",
]
