"""The blended model, and its weight in predictions.

::

    base       what its parts are fitted to, in which folds, and by which interface
    trees      boosted trees: grown by scikit-learn, as arrays, and their predictions
    boosting   a part: bags of boosted trees, of categories as codes, means and counts
    linear     a part: ridge and logistic regressions
    mixture    the mean of the parts, by weights chosen out of fold, and the list of them
"""

from .base import BlendData, BlendSettings
from .boosting import BOOSTING, Bag, BaggedBoosting, BaggedLogisticBoosting, CategoryEncoder
from .linear import LINEAR, LinearFeatures, LinearModel, LogisticModel
from .mixture import PARTS, BlendFit, Mixture, fit_blended
from .trees import Trees
