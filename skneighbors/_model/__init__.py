"""What a fit leaves: training samples, networks, and what comes of them.

::

    X -> embed -> the k nearest rows -> attend among them -> weighted means, + baseline -> y_hat

    model          the whole, frozen: predictions and all else; samples join and leave
    bank           networks and rows; attention among the nearest, or among all
    rows           unique training samples as tensors
    search         the nearest rows in order, from differences; ties by row numbers alone
    engines        what finds candidates: scikit-learn, torch on a GPU, FAISS on demand
    cache          what is computed once, when first needed: engines, residuals, nearness
    residuals      how far off predictions are: quantiles, spread, intervals
    validation     what was not trained on, and warnings where that is too little
    nearness       how near rows usually are
    numbering      which row each sample is part of
    decomposition  predictions taken apart, by rows and, through `shapley`, by columns
    explanations   what comes of that, to print and to plot
    suspects       rows whose targets are unlike what the others predict of them
    printing       tables as text and HTML

What is near is said by the similarity (see `nn/_similarity.py`), by the embeddings of all
members side by side.
"""

from .bank import NeighborBank
from .engines import ALGORITHMS, check_algorithm
from .explanations import ColumnAdjustments, Explanation
from .model import Model, Queries, Search
from .numbering import SampleNumbering
from .rows import NeighborRows
from .suspects import Suspects
from .validation import ValidationRows, ValidationSet, warn_if_infinite, warn_unless_validated

__all__ = [
    "ALGORITHMS",
    "ColumnAdjustments",
    "Explanation",
    "Model",
    "NeighborBank",
    "NeighborRows",
    "Queries",
    "SampleNumbering",
    "Search",
    "Suspects",
    "ValidationRows",
    "ValidationSet",
    "check_algorithm",
    "warn_if_infinite",
    "warn_unless_validated",
]
