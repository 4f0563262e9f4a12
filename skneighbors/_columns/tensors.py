"""Training samples as tensors: the one crossing from NumPy into torch."""

from typing import NamedTuple

import torch


def none_if_ones(weight):
    """Weights, or None for unit weights, which is faster."""
    return None if weight is None or (weight == 1).all() else weight


class LabelledRows(NamedTuple):
    """Encoded features (n, ...), scaled targets (n, k), weights (n,) and groups (n,) or None."""

    X: torch.Tensor
    y: torch.Tensor
    weight: torch.Tensor | None
    group: torch.Tensor | None = None

    @classmethod
    def from_numpy(cls, X, y, weight, group, device):
        """Rows on a device."""
        parts = X, y, none_if_ones(weight), group
        return cls(*(part if part is None else torch.from_numpy(part).to(device) for part in parts))

    def float(self):
        """Rows in float32."""
        weight = None if self.weight is None else self.weight.float()
        return LabelledRows(self.X.float(), self.y.float(), weight, self.group)

    def take(self, rows):
        """Select rows (m, N) of m members, to shapes (m, N, ...)."""
        group = None if self.group is None else self.group[rows]
        return LabelledRows(self.X[rows], *self.take_labels(rows), group)

    def first(self, n_rows):
        """Select the first rows."""
        X, y, weight, group = (part if part is None else part[:n_rows] for part in self)
        return LabelledRows(X, y, none_if_ones(weight), group)

    def take_labels(self, rows):
        """Select the targets (m, N, k) and weights (m, N) of rows (m, N)."""
        return self.y[rows], None if self.weight is None else self.weight[rows]
