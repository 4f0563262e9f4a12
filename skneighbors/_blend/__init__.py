"""The blended model, and its weight in predictions.

::

    data           what all are fitted to, and in which folds
    target_means   categories as codes, means of the target and counts
    trees          boosted trees as arrays, and their predictions
    growing        boosted trees fitted, by scikit-learn
    boosting       bags of them, of what a table's reader reads
    linear         ridge and logistic regressions
    mixture        the mean of both, by weights chosen out of fold
    fitting        a blended model fitted, and predictions of rows that it was not fitted to
"""

from .fitting import count_affordable, fit_blended, no_blend
from .mixture import Mixture
