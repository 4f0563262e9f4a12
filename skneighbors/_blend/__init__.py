"""The second model that is blended with the networks, and its share.

::

    boosting       histogram boosting of what a table's reader reads
    second_model   that, or a regressor of the user's: fitted to all, and to what is not held out
    share          how much of a prediction is its
    flat_trees     boosted trees as arrays, for a file
"""

from .flat_trees import FlatTrees, StoredTrees
from .second_model import BoostedTrees, NoSecondModel, fit_second_model
from .share import share_of_second

__all__ = [
    "BoostedTrees",
    "FlatTrees",
    "NoSecondModel",
    "StoredTrees",
    "fit_second_model",
    "share_of_second",
]
