"""Rows as tensors: what shares its first dimension, and the one crossing from NumPy into torch."""

from dataclasses import dataclass, fields, replace

import torch

from .._utils.arrays import Stored


def none_if_ones(weight):
    """Weights, or None for unit weights, which is faster."""
    return None if weight is None or (weight == 1).all() else weight


class Rows(Stored):
    """Base of frozen dataclasses of tensors that share their first dimension.

    A field may be None; what is no tensor stays as it is. The first field is never None.

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

    def tensors(self):
        """Tensors by the names of their fields."""
        values = {part.name: getattr(self, part.name) for part in fields(self)}
        return {name: value for name, value in values.items() if isinstance(value, torch.Tensor)}

    def select(self, rows):
        """Rows of a mask, a slice or indices, of any shape."""
        return replace(self, **{name: part[rows] for name, part in self.tensors().items()})

    def concat(self, other):
        """Append others with the same tensors."""
        pairs = [(name, part, getattr(other, name)) for name, part in self.tensors().items()]
        return replace(self, **{name: torch.cat([part, more]) for name, part, more in pairs})

    def to(self, device):
        """Rows on a device."""
        return replace(self, **{name: part.to(device) for name, part in self.tensors().items()})


@dataclass(frozen=True, eq=False)
class LabeledRows(Rows):
    """Encoded features (n, ...), scaled targets (n, k), and optional tensors.

    These are weights (n,), groups (n,) and columns (n, p), as a :class:`LikenessEncoder` encodes
    them; None where they are not needed.
    """

    X: torch.Tensor
    y: torch.Tensor
    weight: torch.Tensor | None = None
    group: torch.Tensor | None = None
    columns: torch.Tensor | None = None

    @classmethod
    def from_numpy(cls, X, y, weight, group, columns, device):
        """Rows on a device."""
        parts = X, y, none_if_ones(weight), group, columns
        return cls(*(None if part is None else torch.from_numpy(part) for part in parts)).to(device)

    def float(self):
        """Rows in float32."""
        parts = {name: part.float() for name, part in self.tensors().items() if name != "group"}
        return replace(self, **parts)

    def take_labels(self, rows):
        """Select the targets (m, N, k) and weights (m, N) of rows (m, N)."""
        return self.y[rows], None if self.weight is None else self.weight[rows]
