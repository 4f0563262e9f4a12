"""Displays of what fitted estimators have learned and predict."""

from .._columns import ColumnSummary
from .._model import ClassExplanation, ClassSuspects, ColumnDifferences, Explanation, Suspects
from ._embedding import EmbeddingDisplay
from ._intervals import IntervalDisplay
from ._neighbors import NeighborsDisplay
from ._softstep import SoftStepDisplay
from ._suspects import SuspectsDisplay

__all__ = [
    "ClassExplanation",
    "ClassSuspects",
    "ColumnDifferences",
    "ColumnSummary",
    "EmbeddingDisplay",
    "Explanation",
    "IntervalDisplay",
    "NeighborsDisplay",
    "SoftStepDisplay",
    "Suspects",
    "SuspectsDisplay",
]
