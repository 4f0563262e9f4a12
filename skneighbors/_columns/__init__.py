"""From the user's table to arrays, and back.

::

    X, y, sample_weight
       |  table     columns of a DataFrame, an array or lists, and what each holds
       |  reader    all of them as one matrix: gaps NaN, levels codes, times days
       |  checks    bad input is refused, by the name of its column
       |  merging   samples that agree in X and y become one, with the sum of their weights
       |  samples   what the steps so far have made of it
       |  encoding  numbers scaled, gaps told, levels one-hot or left as codes
       |  splits    which samples each member of the ensemble holds out
       v  tensors   the one crossing into torch
    LabelledRows, EnsembleSplit

All is NumPy up to the crossing.
"""

from .checks import check_features, refuse_what_is_no_number
from .encoding import FeatureEncoder
from .merging import check_total_weight
from .reader import TableReader
from .samples import TrainingSamples
from .splits import EnsembleSplit, draw_groups
from .table import Table, find_labels
from .tensors import LabelledRows, none_if_ones

__all__ = [
    "EnsembleSplit",
    "FeatureEncoder",
    "LabelledRows",
    "Table",
    "TableReader",
    "TrainingSamples",
    "check_features",
    "check_total_weight",
    "draw_groups",
    "find_labels",
    "none_if_ones",
    "refuse_what_is_no_number",
]
