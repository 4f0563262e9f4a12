"""From the user's table to arrays, and back.

::

    X, y, sample_weight
       |  checks    bad input is refused, by the name of its column
       |  merging   samples that agree in X and y become one, with the sum of their weights
       |  scaling   features and targets to a range of a few units; predictions back from it
       |  splits    which samples each member of the ensemble holds out
       v  tensors   the one crossing into torch
    LabelledRows, EnsembleSplit

All is NumPy up to the crossing.
"""

from .checks import check_appended_targets, check_features, check_training_data
from .merging import check_total_weight, merge_rows
from .scaling import FeatureScaler, TargetScaler
from .splits import EnsembleSplit
from .tensors import LabelledRows

__all__ = [
    "EnsembleSplit",
    "FeatureScaler",
    "LabelledRows",
    "TargetScaler",
    "check_appended_targets",
    "check_features",
    "check_total_weight",
    "check_training_data",
    "merge_rows",
]
