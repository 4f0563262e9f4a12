"""Pictures of what fitted estimators have learnt and predict, and of what a fit may expect."""

from .._model import ColumnAdjustments, Explanation, Suspects
from ._embedding import EmbeddingDisplay
from ._hold_out import HoldOutDisplay
from ._intervals import IntervalDisplay
from ._neighbors import NeighborsDisplay
from ._softstep import SoftStepDisplay
from ._suspects import SuspectsDisplay

__all__ = [
    "ColumnAdjustments",
    "EmbeddingDisplay",
    "Explanation",
    "HoldOutDisplay",
    "IntervalDisplay",
    "NeighborsDisplay",
    "SoftStepDisplay",
    "Suspects",
    "SuspectsDisplay",
]
