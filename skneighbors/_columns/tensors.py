"""Training samples as tensors: the one crossing from NumPy into torch."""

from typing import NamedTuple

import torch


class LabelledRows(NamedTuple):
    """Scaled features (n, ...), scaled targets (n, k) and weights (n,) or None."""

    X: torch.Tensor
    y: torch.Tensor
    weight: torch.Tensor | None

    @classmethod
    def from_numpy(cls, X, y, weight, device):
        """Rows on a device; unit weights are None, which is faster."""
        weight = None if (weight == 1).all() else torch.from_numpy(weight).to(device)
        return cls(torch.from_numpy(X).to(device), torch.from_numpy(y).to(device), weight)

    def float(self):
        """Rows in float32."""
        return LabelledRows(*(part if part is None else part.float() for part in self))

    def take(self, rows):
        """Select rows (m, N) of m members, to shapes (m, N, ...)."""
        return LabelledRows(self.X[rows], *self.take_labels(rows))

    def take_labels(self, rows):
        """Select the targets (m, N, k) and weights (m, N) of rows (m, N)."""
        return self.y[rows], None if self.weight is None else self.weight[rows]
