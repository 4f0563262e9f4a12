"""From the user's table to arrays, and back.

::

    X, y, sample_weight
       |  table       columns of a DataFrame, an array or lists
       |  column      what each holds, by its dtype or its values, and which values are the same
       |  base        what a kind of column has to say of one
       |  numbers, dates, durations, categories, words
       |              the kinds: how cells are read, and what is made of them
       |  reader      a table as a list of kinds: one matrix, what is made of it, how it was read
       |  checks      bad input is refused, by its name; weights, groups, times, numbers of rows
       |  merging     unique samples: those that agree in X and y are one, with their total weight
       |  samples     what the steps so far have made of it
       |  encoding    numbers scaled, missing values flagged, categories one-hot or codes; ranks
       |  likeness    Gower's distance by ranks, codes and components
       |  splits      training and validation rows of each member of the ensemble
       v  tensors     the one crossing into torch
    LabeledRows, EnsembleSplit

All is NumPy up to the crossing.
"""

from .checks import (
    check_features,
    check_row_numbers,
    check_weights,
    refuse_missing,
    refuse_what_is_no_number,
)
from .column import is_missing, show
from .encoding import FeatureEncoder, LikenessEncoder
from .likeness import Likeness, count_candidates
from .merging import check_total_weight, merge_rows
from .reader import KINDS, ColumnSummary, ColumnWarning, TableReader
from .samples import TrainingSamples
from .splits import EnsembleSplit, number_groups
from .table import Table, find_labels, unwrap
from .tensors import LabeledRows, Rows, none_if_ones
