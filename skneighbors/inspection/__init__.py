"""Pictures of what fitted estimators have learnt and predict, in scikit-learn's manner."""

from .._explanations import Explanation
from ._embedding import EmbeddingDisplay
from ._intervals import IntervalDisplay
from ._neighbors import NeighborsDisplay
from ._softstep import SoftStepDisplay

__all__ = [
    "EmbeddingDisplay",
    "Explanation",
    "IntervalDisplay",
    "NeighborsDisplay",
    "SoftStepDisplay",
]
