"""The labelled neighbours of a fitted network, and what they predict.

::

    X -> embed -> choose_engine -> weighted averages of values -> + trend -> y_hat

    exact        every row, in double precision, block by block
    prefiltered  the same where few rows matter: scores in single precision tell which
      prefilter  (they come with a bound of their error)
    ranked       the same for ranks: the nearest alone are put in order
      sparse     what these two share: the few rows that matter to each query
    candidates   the nearest rows, found through an index, when the user asks for it
      index      FAISS's or scikit-learn's
      far_field  a sample in single precision that stands for all other rows

    residuals    how far predictions miss: quantiles, spread, intervals
    nearest      which rows are near in the learnt space, and how near rows usually are

A bank is immutable: rows that join or leave make a new one, with a numbering of its samples.
"""

from .bank import NeighborBank
from .index import ALGORITHMS, check_algorithm
from .nearest import find_nearest, novelty
from .numbering import SampleNumbering
from .residuals import HeldOutResiduals, ResidualDistribution

__all__ = [
    "ALGORITHMS",
    "HeldOutResiduals",
    "NeighborBank",
    "ResidualDistribution",
    "SampleNumbering",
    "check_algorithm",
    "find_nearest",
    "novelty",
]
