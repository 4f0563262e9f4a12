"""The stored neighbours of a fitted network."""

import copy
from dataclasses import dataclass, field, replace

import torch

from .._columns import none_if_ones
from .._network import NeighborNetwork, embed_in_batches
from ..nn import take_member
from .engines import ExactEngine, IndexCache, choose_engine

# Of the targets' range: how far beyond it a member's prediction may lie.
_MARGIN = 0.1


@dataclass(frozen=True, eq=False)
class NeighborBank:
    """Embedded, labelled neighbours of a trained network. Immutable; see :meth:`build`.

    Attributes
    ----------
    network : NeighborNetwork
        In float64: then a row predicted alone equals the same row predicted in a batch.
    z_n : Tensor of shape (m, n_rows, d)
        Embeddings by the m members of the ensemble.
    values : Tensor of shape (m, n_rows, k)
        What to average: scaled targets, or their residuals from the members' trends.
    y_range : Tensor of shape (2, k)
        Smallest and largest scaled targets.
    sample_weight : Tensor of shape (n_rows,) or None
        Positive weights; None for ones, which is faster.
    member_weight : Tensor of shape (m,)
        The members' shares of a prediction, which sum to 1.
    indices : IndexCache
    """

    network: NeighborNetwork
    z_n: torch.Tensor
    values: torch.Tensor
    y_range: torch.Tensor
    sample_weight: torch.Tensor | None
    member_weight: torch.Tensor
    indices: IndexCache = field(default_factory=IndexCache)

    @classmethod
    @torch.no_grad()
    def build(cls, network, X, y, sample_weight, member_weight):
        """Embed rows as the neighbours of a copy of a network.

        Parameters
        ----------
        network : NeighborNetwork
        X : Tensor of shape (n_rows, ...)
            Scaled features, float64.
        y : Tensor of shape (n_rows, k)
            Scaled targets, float64.
        sample_weight : Tensor of shape (n_rows,) or None
        member_weight : Tensor of shape (m,)
        """
        network = copy.deepcopy(network).double().eval().requires_grad_(False)
        z_n = embed_in_batches(network, X)
        values = _leave_residuals(network, z_n, y)
        return cls(network, z_n, values, _range_of(y), sample_weight, member_weight)

    def __len__(self):
        return self.z_n.shape[1]

    def to(self, device):
        """Bank whose tensors lie on `device`: itself, or a copy."""
        if self.z_n.device == device:
            return self
        names = ("z_n", "values", "y_range", "sample_weight", "member_weight")
        moved = {name: getattr(self, name) for name in names}
        moved = {name: None if own is None else own.to(device) for name, own in moved.items()}
        return replace(self, network=copy.deepcopy(self.network).to(device), **moved)

    @torch.no_grad()
    def extend(self, X, y, sample_weight):
        """Bank with further rows, given as to :meth:`build`, all with weights."""
        z_n = embed_in_batches(self.network, X)
        values = _leave_residuals(self.network, z_n, y)
        weight = self.sample_weight
        weight = torch.ones_like(self.values[0, :, 0]) if weight is None else weight
        return replace(
            self,
            z_n=torch.cat([self.z_n, z_n], 1),
            values=torch.cat([self.values, values], 1),
            y_range=_range_of(torch.cat([self.y_range, y])),
            sample_weight=none_if_ones(torch.cat([weight, sample_weight])),
            indices=IndexCache(),
        )

    @torch.no_grad()
    def select(self, keep, sample_weight):
        """Bank of the rows of a mask, with new weights."""
        z_n, values = self.z_n[:, keep], self.values[:, keep]
        y = self.network.head.add_trend(z_n, values)[0]  # up to rounding
        return replace(
            self,
            z_n=z_n,
            values=values,
            y_range=_range_of(y),
            sample_weight=none_if_ones(sample_weight),
            indices=IndexCache(),
        )

    def members(self):
        """Head, embeddings, values and weights of every member."""
        return [
            (take_member(self.network.head, i), z_n, values, self.sample_weight)
            for i, (z_n, values) in enumerate(zip(self.z_n, self.values, strict=True))
        ]

    @torch.no_grad()
    def embed(self, X):
        """Embed X (n, ...) for every member, to (m, n, d)."""
        return embed_in_batches(self.network, X)

    @torch.no_grad()
    def predict(self, X, n_candidates=None, algorithm="auto"):
        """Predict X (n, ...), to (n, k), each member kept near the targets' range."""
        z = self.embed(X)
        averages = choose_engine(self, n_candidates, algorithm).compute(z)
        low, high = self.y_range
        margin = _MARGIN * (high - low)
        y_hat = self.network.head.add_trend(z, averages).clamp(low - margin, high + margin)
        return (y_hat * self.member_weight[:, None, None]).sum(0)

    @torch.no_grad()
    def largest_weights(self, X, n_neighbors):
        """Largest weights of each row of X (n, ...) and their bank rows, both (n, n_neighbors)."""
        return ExactEngine(self).largest_weights(self.embed(X), n_neighbors)


def _leave_residuals(network, z_n, y):
    return network.head.subtract_trend(z_n, y.expand(len(z_n), -1, -1)).contiguous()


def _range_of(y):
    """Smallest and largest targets of rows (n, k), to (2, k)."""
    return torch.stack(y.aminmax(dim=0))
