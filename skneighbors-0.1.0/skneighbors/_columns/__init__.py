"""From the user's table to arrays, and back.

::

    X, y, sample_weight
       |  table       columns of a DataFrame, an array or lists
       |  column      what each holds, by its dtype or its values, and which values are the same
       |  base        what a kind of column has to say of one
       |  numbers, dates, durations, categories, words
       |              the kinds: how cells are read, and what is made of them
       |  reader      a table as a list of kinds: one matrix, what is made of it, how it was read
       |  rows        unique samples: those that agree in X and y are one, with their total weight
       |  checks      bad input is refused, by its name; weights, groups, times, numbers of rows
       |  encoding    numbers scaled, missing values flagged, categories one-hot or codes; points
       |              that are near where columns are alike
       v
    TrainingSamples, LabeledRows

All is NumPy until `LabeledRows` cross into torch.
"""

from .checks import (
    TrainingSamples,
    check_features,
    check_row_numbers,
    check_weights,
    refuse_missing,
    refuse_what_is_no_number,
)
from .column import is_missing, show, sorts_of
from .encoding import FeatureEncoder, LikenessEncoder, weighted_quantiles
from .reader import KINDS, ColumnSummary, ColumnWarning, TableReader
from .rows import (
    LabeledRows,
    Rows,
    check_total_weight,
    merge_rows,
    none_if_ones,
    number_groups,
)
from .table import Table, find_labels, unwrap
