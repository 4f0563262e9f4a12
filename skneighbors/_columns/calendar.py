"""What repeats in dates: their months, weekdays and hours, as columns of numbers."""

import numpy as np

# In days, as floats, a whole hour may be just below itself.
_ROUNDING = 1e-8


def _months(days):
    return np.floor(days).astype("datetime64[D]").astype("datetime64[M]").astype(np.int64) % 12 + 1


def _weekdays(days):
    return (np.floor(days).astype(np.int64) + 3) % 7  # from Monday, 0; 1970 began on a Thursday


def _hours(days):
    return np.floor((days - np.floor(days)) * 24 + _ROUNDING)


PARTS = {"month": _months, "weekday": _weekdays, "hour": _hours}


def find_parts(X, dates):
    """Find which parts of dates differ among the rows.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        As a :class:`TableReader` reads it.
    dates : sequence of int
        Columns of dates.

    Returns
    -------
    parts : list of tuple of (int, str)
        Columns, and which part of each.
    """
    found = []
    for j in dates:
        days = X[~np.isnan(X[:, j]), j]
        found += [(j, part) for part, take in PARTS.items() if len(np.unique(take(days))) > 1]
    return found


def take_parts(X, parts):
    """Take parts of dates, one column each, from X (n_samples, n_features); NaN without a date."""
    columns = np.full((len(X), len(parts)), np.nan)
    for i, (j, part) in enumerate(parts):
        present = ~np.isnan(X[:, j])
        columns[present, i] = PARTS[part](X[present, j])
    return columns
