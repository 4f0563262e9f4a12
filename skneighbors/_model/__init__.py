"""What a fit leaves and answers with: labelled rows, networks, and what comes of them.

::

    X -> embed -> the k nearest rows -> attend among them -> weighted means, + baseline -> y_hat

    model          the whole, frozen: predictions and all other answers; rows join and leave
    bank           the rows; attention among the nearest, or among all
    engines        who finds the nearest: scikit-learn, torch on a GPU, FAISS if it is asked for
    search         their order, from differences, and that of ties, from row numbers alone
    residuals      how far predictions miss: quantiles, spread, intervals
    held_out       what was not trained on, and warnings where that is too little
    nearness       how near rows usually are
    numbering      which row each sample is part of
    comparables    predictions taken apart, by rows and, through `shapley`, by columns
    explanations   what comes of that, to print and to plot
    suspects       rows whose targets are unlike what the others say of them
    printing       tables as text and HTML

What is near is said by the similarity (see `nn/_similarity.py`), by the embeddings of all
members side by side.
"""

from .bank import NeighborBank
from .engines import ALGORITHMS, check_algorithm
from .explanations import ColumnAdjustments, Explanation
from .held_out import HeldOutQueries, HeldOutRows, warn_if_infinite, warn_unless_held_out
from .model import Model, Queries, Search
from .numbering import SampleNumbering
from .suspects import Suspects

__all__ = [
    "ALGORITHMS",
    "ColumnAdjustments",
    "Explanation",
    "HeldOutQueries",
    "HeldOutRows",
    "Model",
    "NeighborBank",
    "Queries",
    "SampleNumbering",
    "Search",
    "Suspects",
    "check_algorithm",
    "warn_if_infinite",
    "warn_unless_held_out",
]
