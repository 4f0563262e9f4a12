"""The parameters that all estimators have: their defaults, and what each may be."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from torch import nn

from ._blend import PARTS
from ._model import ALGORITHMS
from ._settings import Recipe
from ._utils.parameters import (
    AUTO,
    ArrayLike,
    CheckedFields,
    StrOptions,
    counts_from,
    parameter,
    reals,
)
from .nn._similarity import SIMILARITIES
from .nn._softstep import SOFTSTEP_FUNCTIONS


@dataclass(kw_only=True, eq=False, repr=False)
class CommonParameters(CheckedFields):
    """Parameters of all estimators; their docstrings say what they mean."""

    n_neighbors: int | None = parameter(20, counts_from(1), None)
    similarity: str = parameter("l2", StrOptions(SIMILARITIES.keys()))
    softstep: str | None = parameter("s2", StrOptions(set(SOFTSTEP_FUNCTIONS)), None)
    softstep_parameters: str = parameter("pointwise", StrOptions({"pointwise", "global"}))
    blend: str | None = parameter("auto", AUTO, StrOptions(PARTS.keys()), None)
    hidden_layer_sizes: ArrayLike = parameter("auto", AUTO, "array-like", counts_from(1))
    feature_extractor: nn.Module | Callable[[], nn.Module] | None = parameter(None, callable, None)
    categorical_features: ArrayLike | None = parameter(
        "from_dtype", "array-like", StrOptions({"from_dtype"}), None
    )
    n_estimators: int | str = parameter("auto", AUTO, counts_from(1))
    max_iter: int | str = parameter("auto", AUTO, counts_from(1))
    max_time: float | None = parameter(None, reals(0, None, "neither"), None)
    batch_size: int = parameter(256, counts_from(2))
    learning_rate_init: float = parameter(1e-2, reals(0, None, "neither"))
    weight_decay: float = parameter(0.1, reals(0, None, "left"))
    early_stopping: bool | str = parameter("auto", AUTO, "boolean")
    validation_fraction: float | str = parameter("auto", AUTO, reals(0, 1, "neither"))
    algorithm: str = parameter("auto", StrOptions(set(ALGORITHMS)))
    recipe: Recipe | None = parameter(None, Recipe, None)
    n_jobs: int | None = parameter(None, counts_from(1), counts_from(-(2**31), -1), None)
    device: str = parameter("auto", str)
    random_state: int | np.random.RandomState | None = parameter(
        None, counts_from(0, 2**32 - 1), np.random.RandomState, None
    )
    verbose: int = parameter(0, counts_from(0, 1), "boolean")
