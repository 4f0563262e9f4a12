"""From the user's table to arrays, and back.

::

    X, y, sample_weight
       |  table     columns of a DataFrame, an array or lists
       |  column    what each holds, by its dtype or its values
       |  values    which values are the same, whatever type they come in
       |  text      text that stands for numbers, dates or durations
       |  ngrams    other text, as components of its character n-grams
       |  calendar  months, weekdays and hours of dates
       |  codes     categories as numbers
       |  reader    all of them as one matrix: missing values NaN, categories codes, times days
       |  per_row   weights, groups, times, numbers of rows
       |  checks    bad input is refused, by the name of its column
       |  merging   unique samples: those that agree in X and y become one, with their total weight
       |  doubts    columns of text that may be meant otherwise, for a warning
       |  summary   how each column was read
       |  samples   what the steps so far have made of it
       |  encoding  numbers scaled, missing values flagged, categories one-hot or left as codes
       |  likeness  ranks and codes, and Gower's distance by them
       |  splits    training and validation rows of each member of the ensemble
       v  tensors   the one crossing into torch
    LabeledRows, EnsembleSplit

All is NumPy up to the crossing.
"""

from .checks import check_features, refuse_missing, refuse_what_is_no_number
from .doubts import ColumnWarning
from .encoding import FeatureEncoder
from .likeness import Likeness, LikenessEncoder, count_candidates
from .merging import check_total_weight, merge_rows
from .per_row import check_row_numbers, check_weights
from .reader import TableReader
from .samples import TrainingSamples
from .splits import EnsembleSplit, number_groups
from .summary import ColumnSummary
from .table import Table, find_labels, unwrap
from .tensors import LabeledRows, Rows, none_if_ones
from .values import is_missing, show
