"""Rows: arrays that share their first dimension, and the one crossing from NumPy into torch."""

from dataclasses import dataclass, fields, replace

import numpy as np
import torch

from .._utils.arrays import Stored


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
    and columns (n, p), as a :class:`LikenessEncoder` encodes them; None where there are none.
    """

    X: object
    y: object
    weight: object = None
    group: object = None
    columns: object = None

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
