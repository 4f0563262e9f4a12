"""Pictures of what fitted estimators have learnt and predict, in scikit-learn's manner."""

from .._model import ColumnAdjustments, Explanation
from ._embedding import EmbeddingDisplay
from ._intervals import IntervalDisplay
from ._neighbors import NeighborsDisplay
from ._softstep import SoftStepDisplay

__all__ = [
    "ColumnAdjustments",
    "EmbeddingDisplay",
    "Explanation",
    "IntervalDisplay",
    "NeighborsDisplay",
    "SoftStepDisplay",
]
