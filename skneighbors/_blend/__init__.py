"""The second model that is blended with the networks, and its share.

::

    target_means   categories as codes, means of the target and counts
    boosting       bags of boosted trees of what a table's reader reads
    given          what the user's regressor may be, and what its fit is handed
    second_model   that, or a regressor of the user's: fitted, and what it predicts of rows left out
    share          how much of a prediction is its
    flat_trees     boosted trees as arrays, for a file
"""

from .boosting import Bag, BaggedBoosting
from .trees import Trees
from .given import check_blend, metadata_for_blend, metadata_router
from .second_model import (
    BoostedTrees,
    NoSecondModel,
    count_affordable,
    fit_second_model,
    no_second_fit,
)
from .target_means import CategoryEncoder

__all__ = [
    "Bag",
    "BaggedBoosting",
    "BoostedTrees",
    "CategoryEncoder",
    "Trees",
    "NoSecondModel",
    "check_blend",
    "count_affordable",
    "fit_second_model",
    "metadata_for_blend",
    "metadata_router",
    "no_second_fit",
]
