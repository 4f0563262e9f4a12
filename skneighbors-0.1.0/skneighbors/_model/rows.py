"""Rows in the embedding space: queries, and the training samples of a bank."""

from dataclasses import dataclass, field, replace
from functools import cached_property

import torch

from .._columns import Rows, none_if_ones
from .._utils.arrays import array_field


@dataclass(frozen=True, eq=False)
class EmbeddedRows(Rows):
    """Rows in the embedding space.

    Attributes
    ----------
    z : Tensor of shape (n, m, d)
        Embeddings by the m members of the ensemble.
    coordinates : Tensor of shape (n, u) or None
        Points of :class:`LikenessEncoder`; None without likeness.
    self_index : int Tensor of shape (n,) or None
        Which row of the bank each is, -1 for none. As queries they have no neighbors in that row,
        whatever it weighs, nor in its group. None if all may have any.
    """

    z: torch.Tensor
    coordinates: torch.Tensor | None
    self_index: torch.Tensor | None = field(default=None, metadata={"in_files": False})

    @property
    def device(self):
        """Device of the tensors."""
        return self.z.device


@dataclass(frozen=True, eq=False, kw_only=True)
class NeighborRows(EmbeddedRows):
    """Unique training samples, embedded.

    Attributes
    ----------
    z : Tensor of shape (N, m, d)
    coordinates, self_index : Tensor or None
        See :class:`EmbeddedRows`.
    targets : Tensor of shape (N, k)
        Scaled targets, not bounded.
    values : Tensor of shape (N, m, k)
        What to average: bounded targets less the members' trends.
    blended : Tensor of shape (N, k)
        Predictions of the blended model, scaled, by what was not fitted to a row, where there is
        such.
    group : int Tensor of shape (N,)
        Rows of one group are no neighbors of each other where rows are left out. Below N.
    sample_weight : Tensor of shape (N,) or None
        Positive weights; None for ones, which is faster.
    """

    z: torch.Tensor = array_field("float64", "N m d")
    coordinates: torch.Tensor | None = array_field("float32", "N points", default=None)
    targets: torch.Tensor = array_field("float64", "N k")
    values: torch.Tensor = array_field("float64", "N m k")
    blended: torch.Tensor = array_field("float64", "N k")
    group: torch.Tensor = array_field("int64", "N", low=0, below="N")
    sample_weight: torch.Tensor | None = array_field("float64", "N", low=0, default=None)

    def leave_out(self, rows):
        """Rows (n,) as queries that have no neighbors in themselves."""
        return replace(self.select(rows), self_index=rows)

    def with_weights(self, sample_weight):
        """Rows with other weights, whose groups are counted from 0, without holes."""
        group = self.group.unique(return_inverse=True)[1]
        return replace(self, sample_weight=none_if_ones(sample_weight), group=group)

    def weights(self):
        """Sample weights (N,)."""
        weight = self.sample_weight
        return torch.ones_like(self.z[:, 0, 0]) if weight is None else weight

    def weights_by_group(self):
        """Sum of the weights of each group."""
        sums = self.targets.new_zeros(int(self.group.max()) + 1)
        return sums.index_add_(0, self.group, self.weights())

    @cached_property
    def total_weight(self):
        """Weight (1, 1) of all rows."""
        return self.weights().sum().view(1, 1)

    def extremes_left_out(self):
        """Smallest and largest targets, each (N, k), without each row and its group."""
        group, ends = self.group.unsqueeze(1), []
        for sign in (1, -1):
            least = self.targets.new_full((int(group.max()) + 1, self.targets.shape[1]), torch.inf)
            least.scatter_reduce_(0, group.expand_as(self.targets), sign * self.targets, "amin")
            (first, second), (place, _) = least.topk(2, dim=0, largest=False)
            ends.append(sign * torch.where(group == place, second, first))
        return ends
