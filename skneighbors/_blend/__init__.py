"""The blended model, and its weight in predictions.

::

    target_means   categories as codes, means of the target and counts
    trees          boosted trees as arrays, and their predictions
    growing        boosted trees fitted, by scikit-learn
    boosting       bags of them, of what a table's reader reads
    blended        boosted trees or the user's regressor, fitted
    given          what the user's regressor may be, and what its fit is given
    fitting        a blended model fitted, and predictions of rows that it was not fitted to
"""

from .blended import BlendedBoosting, NoBlendedModel, no_blend
from .boosting import BOOSTING, Bag, BaggedBoosting, BaggedLogisticBoosting
from .fitting import count_affordable, fit_blended
from .given import check_blend, metadata_for_blend, metadata_router
from .target_means import CategoryEncoder
from .trees import Trees
