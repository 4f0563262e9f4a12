"""The labelled neighbours of a fitted network, and what they predict.

::

    X -> embed -> choose_engine -> weighted averages of values -> + trend -> y_hat

    exact        every row, in double precision, block by block
    prefiltered  the same where few rows matter: scores in single precision tell which
      prefilter  (they come with a bound of their error)
    candidates   the nearest rows, found through an index, when the user asks for it
      index      FAISS's or scikit-learn's
      far_field  a sample in single precision that stands for all other rows

A bank is immutable: rows that join or leave make a new one, with a numbering of its samples.
"""

from .bank import NeighborBank
from .index import ALGORITHMS, check_algorithm
from .numbering import SampleNumbering

__all__ = ["ALGORITHMS", "NeighborBank", "SampleNumbering", "check_algorithm"]
