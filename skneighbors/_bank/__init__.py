"""The labelled rows of a fitted network, and what the nearest of them predict.

::

    X -> embed -> the k nearest rows -> attend among them -> weighted means, + trend -> y_hat

    spaces       the joint learnt space: what is near, by the embeddings of all members
    engines      who finds the nearest: scikit-learn, torch on a GPU, FAISS if it is asked for
    search       their order, from differences, and that of ties, from row numbers alone
    bank         the rows; attention among the nearest, or among all
    residuals    how far predictions miss: quantiles, spread, intervals
    held_out     what was not trained on
    nearness     how near rows usually are
    numbering    which row each sample is part of

A bank is immutable: rows that join or leave make a new one.
"""

from .bank import NeighborBank
from .engines import ALGORITHMS, check_algorithm
from .held_out import HeldOutQueries, HeldOutRows
from .nearness import novelty
from .numbering import SampleNumbering
from .residuals import ResidualDistribution, effective_number
from .search import find_nearest

__all__ = [
    "ALGORITHMS",
    "HeldOutQueries",
    "HeldOutRows",
    "NeighborBank",
    "ResidualDistribution",
    "SampleNumbering",
    "check_algorithm",
    "effective_number",
    "find_nearest",
    "novelty",
]
