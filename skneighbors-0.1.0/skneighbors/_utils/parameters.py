"""Parameters as fields of a dataclass, and arguments: their types, and checks by scikit-learn's."""

import os
from dataclasses import field, fields, is_dataclass
from numbers import Integral, Real
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import torch
from sklearn.base import BaseEstimator

from .sklearn_private import Interval, StrOptions, validate_parameter_constraints

AUTO = StrOptions({"auto"})


class _Numbers(Interval):
    """Interval of numbers, of which True and False are none."""

    def is_satisfied_by(self, val):
        return not isinstance(val, bool) and super().is_satisfied_by(val)


def counts_from(low, high=2**31 - 1):
    """Constraint of a parameter that counts, both ends allowed."""
    return _Numbers(Integral, low, high, closed="both")


def reals(low, high, closed):
    """Constraint of a parameter that is a number; None for no upper bound."""
    return _Numbers(Real, low, high, closed=closed)


def parameter(default, *allowed):
    """Field of :class:`CheckedFields`: its default, and what it may be."""
    return field(default=default, metadata={"allowed": list(allowed)})


class CheckedFields(BaseEstimator):
    """Base of estimators whose parameters are the fields of a dataclass."""

    @property
    def _parameter_constraints(self):
        # A field that a subclass adds, or gives another default, may say nothing.
        kinds = [kind for kind in reversed(type(self).__mro__) if is_dataclass(kind)]
        own = [each for kind in kinds for each in fields(kind) if "allowed" in each.metadata]
        return {each.name: each.metadata["allowed"] for each in own}

    def _read_parameters(self):
        """Read parameters as attributes: a subclass may have fewer, or others, in `__init__`."""
        return {name: getattr(self, name) for name in self._parameter_constraints}

    def _validate_params(self):
        constraints, params = self._parameter_constraints, self._read_parameters()
        validate_parameter_constraints(constraints, params, type(self).__name__)


def check_argument(caller, name, value, allowed):
    """Check an argument by a list of constraints, any of which will do.

    Raises
    ------
    InvalidParameterError
        If it satisfies none; the message names it, what is allowed and what it is.
    """
    validate_parameter_constraints({name: allowed}, {name: value}, caller)


def check_int(name, value, low, high, remark=""):
    """Check an argument that is an int within bounds, to int; `remark` says where they are from."""
    is_int = isinstance(value, Integral) and not isinstance(value, bool)
    if not is_int or not low <= value <= high:
        raise ValueError(f"{name} must be an int from {low} to {high}{remark}; got {value!r}.")
    return int(value)


def check_quantiles(quantiles):
    """Quantiles as a tensor (n_quantiles,)."""
    levels = np.atleast_1d(np.asarray(quantiles))
    if levels.ndim != 1 or not levels.size or levels.dtype.kind not in "iuf":
        raise ValueError(f"quantiles must be a number or some numbers; got {quantiles!r}.")
    wrong = levels[~((levels >= 0) & (levels <= 1))]
    if wrong.size:
        raise ValueError(f"quantiles must lie between 0 and 1; got {wrong[0]}.")
    return torch.from_numpy(levels.astype(np.float64))


# DataFrames of pandas and Polars, arrays, tensors, lists.
ArrayLike: TypeAlias = npt.ArrayLike
PathLike: TypeAlias = str | os.PathLike[str]
