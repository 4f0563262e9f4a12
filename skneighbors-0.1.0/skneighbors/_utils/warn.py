"""Warnings that name the line of the user's code."""

import os
import sys
import warnings

import joblib
import sklearn

# Whatever may call a method for the user.
_BETWEEN = tuple(
    os.path.dirname(os.path.abspath(path)) + os.sep
    for path in (os.path.dirname(__file__), sklearn.__file__, joblib.__file__)
)


def warn(message, category=UserWarning):
    """Warn at the innermost line outside this package, scikit-learn and joblib."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_BETWEEN):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
