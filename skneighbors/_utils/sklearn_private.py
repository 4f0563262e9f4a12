"""What is private in scikit-learn, gathered here, where a new version may break it."""

from numbers import Integral, Real

from sklearn.base import _fit_context
from sklearn.utils import _safe_indexing
from sklearn.utils._param_validation import (
    HasMethods,
    Interval,
    Options,
    StrOptions,
    validate_parameter_constraints,
)
from sklearn.utils.validation import _check_sample_weight

__all__ = [
    "HasMethods",
    "Interval",
    "Options",
    "StrOptions",
    "check_sample_weight",
    "counts_from",
    "fit_context",
    "reals",
    "take_samples",
    "validate_parameter_constraints",
]

fit_context = _fit_context
check_sample_weight = _check_sample_weight
take_samples = _safe_indexing


class _NumberRange(Interval):
    """Interval of numbers, of which True and False are none."""

    def is_satisfied_by(self, val):
        return not isinstance(val, bool) and super().is_satisfied_by(val)


def counts_from(low, high=2**31 - 1):
    """Constraint of a parameter that counts, both ends allowed."""
    return _NumberRange(Integral, low, high, closed="both")


def reals(low, high, closed):
    """Constraint of a parameter that is a number."""
    return _NumberRange(Real, low, high, closed=closed)
