"""Rows: arrays that share their first dimension; unique ones, and the crossing into torch."""

from dataclasses import dataclass, fields, replace

import numpy as np
import torch

from .._utils.arrays import Stored

# Bounds of the sum of all weights, which leave room for products in float32.
_LEAST_WEIGHT, _LARGEST_WEIGHT = 1e-30, 1e30


def check_total_weight(*sample_weights, name="sample_weight"):
    """Check that single precision can hold the sum of all weights.

    Raises
    ------
    ValueError
        If it is beyond 1e30, or below 1e-30.
    """
    with np.errstate(over="ignore"):
        total = sum(weight.sum() for weight in sample_weights)
    if not _LEAST_WEIGHT <= total <= _LARGEST_WEIGHT:
        raise ValueError(
            f"{name} must sum to between {_LEAST_WEIGHT:g} and {_LARGEST_WEIGHT:g}, for "
            f"training in single precision; got {total:g}."
        )


def merge_rows(X, y, sample_weight, groups=None):
    """Find the unique rows, in an order that depends on nothing but them.

    Rows that agree in X, y and group become one, with the sum of their weights; rows
    of weight 0 disappear. So a row of weight 2 and a row that stands twice are
    the same training set, in whatever order it comes.

    Parameters
    ----------
    X : ndarray of shape (n_samples, ...)
        Features, float64; NaN equals NaN.
    y : ndarray of shape (n_samples, n_targets)
        Targets, float64.
    sample_weight : ndarray of shape (n_samples,)
        Non-negative weights.
    groups : int ndarray of shape (n_samples,), default=None

    Returns
    -------
    rows : int ndarray of shape (n_rows,)
        For each unique row the first sample that it stands for.
    weight : ndarray of shape (n_rows,)
        Their weights.
    row_of : int ndarray of shape (n_samples,)
        The unique row that each sample is part of, -1 for none.
    """
    present = np.flatnonzero(sample_weight > 0)
    parts = [X[present].reshape(len(present), -1), y[present]]
    flat = np.column_stack(parts if groups is None else [*parts, groups[present]])
    flat = np.ascontiguousarray(flat + 0.0)  # -0.0 becomes 0.0: equal rows, equal bytes
    flat[np.isnan(flat)] = np.nan
    keys = flat.view(np.dtype((np.void, flat.itemsize * flat.shape[1]))).ravel()
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    weight = np.bincount(inverse.ravel(), weights=sample_weight[present])
    row_of = np.full(len(X), -1)
    row_of[present] = inverse.ravel()
    return present[first], weight, row_of


def number_groups(groups):
    """Give groups numbers from 0, in the order in which they appear, whatever their names."""
    _, first, place = np.unique(groups, return_index=True, return_inverse=True)
    return first.argsort().argsort()[place]


def none_if_ones(weight):
    """Weights, or None for unit weights, which is faster."""
    return None if weight is None or (weight == 1).all() else weight


class Rows(Stored):
    """Base of frozen dataclasses of arrays, or tensors, that share their first dimension.

    A field may be None; what is neither stays as it is. The first field is never None.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> import torch
    >>> from skneighbors._columns import Rows
    >>> @dataclass(frozen=True, eq=False)
    ... class Points(Rows):
    ...     x: torch.Tensor
    ...     color: torch.Tensor | None = None
    >>> points = Points(torch.arange(3))
    >>> points.concat(points.select([0, 2])).x.tolist()
    [0, 1, 2, 0, 2]
    """

    def __len__(self):
        return len(getattr(self, fields(self)[0].name))

    def arrays(self):
        """Arrays or tensors by the names of their fields."""
        values = {part.name: getattr(self, part.name) for part in fields(self)}
        return {n: own for n, own in values.items() if isinstance(own, np.ndarray | torch.Tensor)}

    def select(self, rows):
        """Rows of a mask, a slice or indices, of any shape."""
        return replace(self, **{name: part[rows] for name, part in self.arrays().items()})

    def concat(self, other):
        """Append others with the same arrays."""
        pairs = {name: [part, getattr(other, name)] for name, part in self.arrays().items()}
        is_torch = isinstance(next(iter(pairs.values()))[0], torch.Tensor)
        join = torch.cat if is_torch else np.concatenate
        return replace(self, **{name: join(pair) for name, pair in pairs.items()})

    def to(self, device):
        """Rows on a device, as tensors."""
        parts = {name: torch.as_tensor(part, device=device) for name, part in self.arrays().items()}
        return replace(self, **parts)


@dataclass(frozen=True, eq=False)
class LabeledRows(Rows):
    """Rows on their way from the table to the bank: features (n, ...), targets (n, k) and more.

    First they are arrays, X as a :class:`TableReader` reads it and y as given; in the end tensors,
    X encoded and y scaled. The others are weights (n,), None for ones among tensors, groups (n,)
    and coordinates (n, u) of a :class:`LikenessEncoder`; None where there are none.
    """

    X: object
    y: object
    weight: object = None
    group: object = None
    coordinates: object = None

    def to(self, device):
        """Rows on a device, as tensors."""
        return Rows.to(replace(self, weight=none_if_ones(self.weight)), device)

    def float(self):
        """Rows in float32."""
        parts = {name: part.float() for name, part in self.arrays().items() if name != "group"}
        return replace(self, **parts)

    def take_labels(self, rows):
        """Select the targets (m, N, k) and weights (m, N) of rows (m, N)."""
        return self.y[rows], None if self.weight is None else self.weight[rows]
