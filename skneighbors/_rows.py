"""Training rows as tensors, and which of them each member of an ensemble has."""

from typing import NamedTuple

import numpy as np
import torch

# What "auto" sets aside: more rows would cost time and tell little more.
_VALIDATION_FRACTION, _MAX_VALIDATION_ROWS = 0.15, 1024


def split_rows(n_rows, validation_fraction, random_state):
    """Draw validation rows.

    Parameters
    ----------
    n_rows : int
    validation_fraction : float or "auto"
    random_state : numpy.random.RandomState

    Returns
    -------
    train, validation : int ndarrays, sorted
    """
    if validation_fraction == "auto":
        n_validation = min(round(_VALIDATION_FRACTION * n_rows), _MAX_VALIDATION_ROWS)
    else:
        n_validation = round(validation_fraction * n_rows)
    n_validation = min(max(1, n_validation), n_rows - 2)
    order = random_state.permutation(n_rows)
    return np.sort(order[n_validation:]), np.sort(order[:n_validation])


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


class MemberRows(NamedTuple):
    """Rows that the members train on (m, n_train) and validate on (m, n_validation) or None."""

    train: torch.Tensor
    validation: torch.Tensor | None

    @classmethod
    def drawn(cls, n_rows, n_members, validation_fraction, random_state):
        """Rows of each member; those to validate on at random, none for a fraction of None."""
        if validation_fraction is None:
            return cls(torch.arange(n_rows).repeat(n_members, 1), None)
        splits = [split_rows(n_rows, validation_fraction, random_state) for _ in range(n_members)]
        return cls(*(torch.from_numpy(np.stack(rows)) for rows in zip(*splits, strict=True)))

    def to(self, device):
        """Rows on a device."""
        return MemberRows(*(rows if rows is None else rows.to(device) for rows in self))

    def joined(self, n_rows):
        """All rows to train on, none to validate on."""
        rows = torch.arange(n_rows, device=self.train.device)
        return MemberRows(rows.repeat(len(self.train), 1), None)

    def split(self):
        """Rows of each member alone."""
        return [
            MemberRows(*(rows if rows is None else rows[i : i + 1] for rows in self))
            for i in range(len(self.train))
        ]
