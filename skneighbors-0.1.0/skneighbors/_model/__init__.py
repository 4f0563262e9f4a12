"""The fitted model: training samples, networks, and predictions from them.

::

    X -> embed -> the k nearest rows -> attend among them -> means, trend, blended model -> y_hat

    model          the whole, frozen: what each public method returns; samples join and leave
    bank           networks and rows; attention among the nearest, or among all
    rows           unique training samples as tensors
    search         the nearest rows in order, from differences; ties by row numbers alone
    engines        search for candidates: scikit-learn, torch on a GPU, FAISS on demand
    cache          results computed once, when first needed: engines, residuals, nearness
    residuals      how far off predictions are: quantiles, spread, intervals
    validation     validation rows, drawn or given, and warnings where they are too few
    nearness       how near rows usually are
    numbering      which row each sample is part of
    decomposition  predictions split by rows and, through `shapley`, by columns
    fitted_network networks and rows as a torch module
    explanations   the results, to print and to plot, in the words of the task
    suspects       label errors: rows whose targets are unlike their predictions by the others

The nearest rows are those in the :class:`Space` of the embeddings of all members side by side, and
of the columns.
"""

from .bank import NeighborBank
from .engines import ALGORITHMS, check_algorithm
from .explanations import ColumnDifferences, Explanation
from .fitted_network import FittedNetwork
from .model import Model, Queries, Search
from .numbering import SampleNumbering
from .rows import EmbeddedRows
from .suspects import Suspects
from .validation import (
    TOO_NARROW,
    DrawnRows,
    GivenRows,
    warn_of_infinite,
    warn_unless_validated,
)
