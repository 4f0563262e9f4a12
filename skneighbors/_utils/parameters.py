"""Parameters and arguments checked in scikit-learn's manner, and the message of a wrong one."""

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, fields
from functools import wraps
from numbers import Integral, Real
from typing import Any, TypeVar

import numpy as np
from sklearn import config_context, get_config
from sklearn.base import BaseEstimator

_Method = TypeVar("_Method", bound=Callable[..., Any])


class InvalidParameterError(ValueError, TypeError):
    """A parameter or an argument that has another type or value than those allowed."""


@dataclass(frozen=True)
class StrOptions:
    """Constraint of a parameter that is one of several words, or a key of a dict as it is then."""

    options: Collection[str]

    def __str__(self):
        return f"a str among {{{', '.join(map(repr, sorted(self.options)))}}}"

    def is_satisfied_by(self, value):
        """Whether a parameter may be this value."""
        return isinstance(value, str) and value in self.options


@dataclass(frozen=True)
class _NumberRange:
    """Constraint of a parameter that is a number, of which True and False are none."""

    kind: type
    low: float
    high: float
    closed: str

    def __str__(self):
        left = "[" if self.closed in ("left", "both") else "("
        right = "]" if self.closed in ("right", "both") else ")"
        what = "an int" if self.kind is Integral else "a float"
        return f"{what} in the range {left}{self.low}, {self.high}{right}"

    def is_satisfied_by(self, value):
        """Whether a parameter may be this value."""
        if not isinstance(value, self.kind) or isinstance(value, bool):
            return False
        return self.low < value < self.high or (
            (value == self.low and self.closed in ("left", "both"))
            or (value == self.high and self.closed in ("right", "both"))
        )


AUTO = StrOptions({"auto"})


def counts_from(low, high=2**31 - 1):
    """Constraint of a parameter that counts, both ends allowed."""
    return _NumberRange(Integral, low, high, "both")


def reals(low, high, closed):
    """Constraint of a parameter that is a number; None for no upper bound."""
    return _NumberRange(Real, float(low), math.inf if high is None else float(high), closed)


def _is_array_like(value):
    has_items = any(hasattr(value, name) for name in ("__len__", "shape", "__array__"))
    return has_items and not np.isscalar(value)


# Further constraints are None, a class, `callable`, and these.
_NAMED = {
    "array-like": ("an array-like", _is_array_like),
    "boolean": ("a bool", lambda value: isinstance(value, bool | np.bool_)),
    "random_state": (
        "an int in the range [0, 4294967295], an instance of 'numpy.random.RandomState' or None",
        lambda value: (
            value is None
            or isinstance(value, np.random.RandomState)
            or counts_from(0, 2**32 - 1).is_satisfied_by(value)
        ),
    ),
}


def _is_satisfied(constraint, value):
    if constraint is None:
        return value is None
    if constraint is callable:
        return callable(value)
    if isinstance(constraint, type):
        return isinstance(value, constraint)
    if isinstance(constraint, str):
        return _NAMED[constraint][1](value)
    return constraint.is_satisfied_by(value)


def _describe(constraint):
    if constraint is callable:
        return "a callable"
    if isinstance(constraint, type):
        return f"an instance of {constraint.__qualname__!r}"
    return _NAMED[constraint][0] if isinstance(constraint, str) else str(constraint)


def check_argument(caller, name, value, allowed):
    """Check an argument by a list of constraints, any of which will do.

    Raises
    ------
    InvalidParameterError
        If it satisfies none; the message names it, what is allowed and what it is.
    """
    if not any(_is_satisfied(constraint, value) for constraint in allowed):
        *first, last = map(_describe, allowed)
        text = f"{', '.join(first)} or {last}" if first else last
        raise InvalidParameterError(
            f"The {name!r} parameter of {caller} must be {text}. Got {value!r} instead."
        )


def parameter(default, *allowed):
    """Field of :class:`CheckedFields`: its default, and what it may be."""
    return field(default=default, metadata={"allowed": list(allowed)})


class CheckedFields(BaseEstimator):
    """Base of estimators whose parameters are the fields of a dataclass."""

    @property
    def _parameter_constraints(self):
        # A field that a subclass adds may say nothing.
        own = [each for each in fields(self) if "allowed" in each.metadata]
        return {each.name: each.metadata["allowed"] for each in own}

    def _read_parameters(self):
        """Read parameters as attributes: a subclass may have fewer, or others, in `__init__`."""
        return {name: getattr(self, name) for name in self._parameter_constraints}

    def _validate_params(self):
        constraints = self._parameter_constraints
        for name, value in self._read_parameters().items():
            check_argument(type(self).__name__, name, value, constraints[name])


def check_parameters_first(fit: _Method) -> _Method:
    """Decorate a `fit`: parameters are checked before it."""

    @wraps(fit)
    def checked(estimator, *args, **kwargs):
        if not get_config()["skip_parameter_validation"]:
            estimator._validate_params()
        with config_context(skip_parameter_validation=True):  # of estimators within
            return fit(estimator, *args, **kwargs)

    return checked
