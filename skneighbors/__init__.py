"""Deep neighbour-based regression with scikit-learn's manners."""

from . import nn
from ._nona import NONARegressor
from ._recipe import PAPER, Recipe
from ._softstep_knn import SoftStepKNNRegressor

__version__ = "0.1.0.dev0"

__all__ = ["PAPER", "NONARegressor", "Recipe", "SoftStepKNNRegressor", "__version__", "nn"]
