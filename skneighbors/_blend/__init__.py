"""The blended model, and its weight in predictions.

::

    target_means   categories as codes, means of the target and counts
    trees          boosted trees as arrays, and their predictions
    growing        boosted trees fitted, by scikit-learn
    boosting       bags of them, of what a table's reader reads
    fitting        a blended model fitted, and predictions of rows that it was not fitted to
"""

from .boosting import BOOSTING, Bag, BaggedBoosting, BaggedLogisticBoosting
from .fitting import count_affordable, fit_blended, no_blend
from .target_means import CategoryEncoder
from .trees import Trees
