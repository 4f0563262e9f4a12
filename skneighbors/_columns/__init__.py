"""From the user's table to arrays, and back.

::

    X, y, sample_weight
       |  table       columns of a DataFrame, an array or lists
       |  column      what each holds, by its dtype or its values, and which values are the same
       |  base        what a kind of column has to say of one
       |  numbers, dates, durations, categories, words
       |              the kinds: how cells are read, and what is made of them
       |  reader      a table as a list of kinds: one matrix, and what is made of it
       |  summary     how each column was read, and what may be meant otherwise, for a warning
       |  per_row     weights, groups, times, numbers of rows
       |  checks      bad input is refused, by the name of its column
       |  merging     unique samples: those that agree in X and y are one, with their total weight
       |  samples     what the steps so far have made of it
       |  encoding    numbers scaled, missing values flagged, categories one-hot or codes; ranks
       |  likeness    Gower's distance by ranks, codes and components
       |  splits      training and validation rows of each member of the ensemble
       v  tensors     the one crossing into torch
    LabeledRows, EnsembleSplit

All is NumPy up to the crossing.
"""

from .checks import check_features, refuse_missing, refuse_what_is_no_number
from .column import is_missing, show
from .encoding import FeatureEncoder, LikenessEncoder
from .likeness import Likeness, count_candidates
from .merging import check_total_weight, merge_rows
from .per_row import check_row_numbers, check_weights
from .reader import KINDS, TableReader
from .samples import TrainingSamples
from .splits import EnsembleSplit, number_groups
from .summary import ColumnSummary, ColumnWarning
from .table import Table, find_labels, unwrap
from .tensors import LabeledRows, Rows, none_if_ones
from .words import TextEncoder
