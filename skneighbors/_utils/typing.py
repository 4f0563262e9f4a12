"""Types of what users hand in."""

import os
from typing import TypeAlias

import numpy.typing as npt

# DataFrames of pandas and Polars, arrays, tensors, lists.
ArrayLike: TypeAlias = npt.ArrayLike
PathLike: TypeAlias = str | os.PathLike[str]
