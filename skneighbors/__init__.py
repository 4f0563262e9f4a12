"""Deep neighbor-based regression and classification with scikit-learn's manners."""

from . import nn
from ._columns import ColumnWarning
from ._io import ModelFileError
from ._load import load
from ._nona import PAPER, NONAClassifier, NONARegressor
from ._settings import Recipe
from ._softstep_knn import SoftStepKNNClassifier, SoftStepKNNRegressor

__version__ = "0.1.0"

__all__ = [
    "PAPER",
    "ColumnWarning",
    "ModelFileError",
    "NONAClassifier",
    "NONARegressor",
    "Recipe",
    "SoftStepKNNClassifier",
    "SoftStepKNNRegressor",
    "__version__",
    "load",
    "nn",
]
