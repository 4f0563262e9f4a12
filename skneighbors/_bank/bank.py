"""The stored neighbours of a fitted network."""

import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import torch
import torch.nn.functional as F

from .._columns import none_if_ones
from .._network import NeighborNetwork, embed_in_batches
from .._utils.blocks import gather_rows
from ..nn import take_member
from .engines import ExactEngine, IndexCache, choose_engine
from .exact import ExactAttention, effective_number
from .residuals import Derived, HeldOutResiduals

# Of the targets' range: how far beyond it a member's prediction may lie.
_MARGIN = 0.1


class Contributions(NamedTuple):
    """What predictions y_hat (n, k) are made of; they are sums over the members, by their shares.

    `averages` (n, k) is what all neighbours contribute, `largest` (n, c, k) what those `rows`
    (n, c) do that have the largest `weights` (n, c). Values count as they differ from each
    member's mean value.
    """

    y_hat: torch.Tensor
    averages: torch.Tensor
    weights: torch.Tensor
    rows: torch.Tensor
    largest: torch.Tensor


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
    group : int Tensor of shape (n_rows,) or None
        Rows of one group are no neighbours of each other where rows are left out; -1 for none.
    held_out : HeldOutResiduals or None
        Of samples that networks had held out.
    indices : IndexCache
    derived : Derived
        What is computed from all rows when first asked for, and kept.
    """

    network: NeighborNetwork
    z_n: torch.Tensor
    values: torch.Tensor
    y_range: torch.Tensor
    sample_weight: torch.Tensor | None
    member_weight: torch.Tensor
    group: torch.Tensor | None = None
    held_out: HeldOutResiduals | None = None
    indices: IndexCache = field(default_factory=IndexCache)
    derived: Derived = field(default_factory=Derived)

    @classmethod
    @torch.no_grad()
    def build(cls, network, X, y, sample_weight, member_weight, group=None):
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
        group : int Tensor of shape (n_rows,) or None, default=None
        """
        network = copy.deepcopy(network).double().eval().requires_grad_(False)
        z_n = embed_in_batches(network, X)
        values = _leave_residuals(network, z_n, y)
        return cls(network, z_n, values, _range_of(y), sample_weight, member_weight, group)

    def __len__(self):
        return self.z_n.shape[1]

    @property
    def has_held_out(self):
        """Whether anything is left of what was held out."""
        return self.held_out is not None and len(self.held_out.residuals) > 0

    def to(self, device):
        """Bank whose tensors lie on `device`: itself, or a copy."""
        if self.z_n.device == device:
            return self
        names = ("z_n", "values", "y_range", "sample_weight", "member_weight", "group")
        moved = {name: getattr(self, name) for name in names}
        moved = {name: None if own is None else own.to(device) for name, own in moved.items()}
        return replace(self, network=copy.deepcopy(self.network).to(device), **moved)

    @torch.no_grad()
    def extend(self, X, y, sample_weight):
        """Bank with further rows, given as to :meth:`build`, all with weights."""
        z_n = embed_in_batches(self.network, X)
        values = _leave_residuals(self.network, z_n, y)
        return replace(
            self,
            z_n=torch.cat([self.z_n, z_n], 1),
            values=torch.cat([self.values, values], 1),
            y_range=_range_of(torch.cat([self.y_range, y])),
            sample_weight=none_if_ones(torch.cat([self.weights(), sample_weight])),
            group=None if self.group is None else F.pad(self.group, (0, len(y)), value=-1),
            held_out=None if self.held_out is None else self.held_out.extend(z_n, len(self)),
            indices=IndexCache(),
            derived=Derived(),
        )

    @torch.no_grad()
    def select(self, keep, sample_weight):
        """Bank of the rows of a mask, with new weights."""
        return replace(
            self,
            z_n=self.z_n[:, keep],
            values=self.values[:, keep],
            y_range=_range_of(self.targets()[keep]),
            sample_weight=none_if_ones(sample_weight),
            group=None if self.group is None else self.group[keep],
            held_out=None if self.held_out is None else self.held_out.select(keep, sample_weight),
            indices=IndexCache(),
            derived=Derived(),
        )

    def members(self):
        """Head, embeddings, values and weights of every member."""
        parts = zip(self._heads, self.z_n, self.values, strict=True)
        return [(*own, self.sample_weight) for own in parts]

    @cached_property
    def exact(self):
        """Attention of every member, kept for small predictions."""
        return [ExactAttention(*member) for member in self.members()]

    @cached_property
    def _heads(self):
        return [take_member(self.network.head, i) for i in range(len(self.z_n))]

    def __getstate__(self):
        kept = ("_heads", "exact")
        return {name: value for name, value in self.__dict__.items() if name not in kept}

    @torch.no_grad()
    def embed(self, X):
        """Embed X (n, ...) for every member, to (m, n, d)."""
        return embed_in_batches(self.network, X)

    def predict(self, X, n_candidates=None, algorithm="auto"):
        """Predict X (n, ...), to (n, k), each member kept near the targets' range."""
        return self.predict_embedded(self.embed(X), n_candidates, algorithm)

    @torch.no_grad()
    def predict_embedded(self, z, n_candidates=None, algorithm="auto"):
        """Predict embeddings (m, n, d)."""
        averages = choose_engine(self, n_candidates, algorithm).compute(z)
        return self.mean(self.complete(z, averages))

    def complete(self, z, averages):
        """Make averages (m, n, k) for queries (m, n, d) the members' predictions (m, n, k)."""
        low, high = self.y_range
        margin = _MARGIN * (high - low)
        return self.network.head.add_trend(z, averages).clamp(low - margin, high + margin)

    def mean(self, by_member):
        """Sum (m, n, k) over the members by their shares."""
        return (by_member * self.member_weight[:, None, None]).sum(0)

    def targets(self):
        """Scaled targets (N, k) of the rows, up to rounding."""
        return self.network.head.add_trend(self.z_n, self.values)[0]

    def weights(self):
        """Sample weights of the rows (N,)."""
        if self.sample_weight is None:
            return torch.ones_like(self.z_n[0, :, 0])
        return self.sample_weight

    def weights_outside_groups(self, rows):
        """Sample weights (b, N) for rows (b,), 0 within their groups; None without groups."""
        if self.group is None:
            return None
        group = torch.where(rows >= 0, self.group[rows], -1).unsqueeze(1)
        return self.weights() * ((group != self.group) | (group < 0))

    def mean_weights(self, weights):
        """Sum weights (b, N), one tensor for each member, by the members' shares."""
        shares = self.member_weight.tolist()
        mean = weights[0] * shares[0]
        for own, share in zip(weights[1:], shares[1:], strict=True):
            mean.add_(own, alpha=share)
        return mean

    def averages(self, weights):
        """Averages (m, b, k) of the values by weights (b, N), one tensor for each member."""
        return torch.stack([own @ values for own, values in zip(weights, self.values, strict=True)])

    def attend(self, X, function):
        """Results of a function of weights for batches of X, in order; see ExactEngine."""
        return ExactEngine(self).attend(self.embed(X), function)

    def effective_n_neighbors(self, X):
        """Count the neighbours of X (n, ...), to (n,); see :func:`effective_number`."""

        def count(weights):
            return effective_number(self.mean_weights(weights), self.sample_weight)

        return torch.cat(self.attend(X, count)).squeeze(1)

    @torch.no_grad()
    def explain(self, X, n_neighbors):
        """Take predictions of X (n, ...) apart, to :class:`Contributions`."""
        sample_weight = self.weights()
        center = (sample_weight @ self.values / sample_weight.sum()).unsqueeze(1)  # (m, 1, k)
        centered = self.values - center

        def explain_batch(weights):
            top = self.mean_weights(weights).topk(n_neighbors)
            largest = torch.stack(
                [
                    own.gather(1, top.indices).unsqueeze(2) * gather_rows(values, top.indices)
                    for own, values in zip(weights, centered, strict=True)
                ],
                3,
            )
            return self.averages(weights), top.values, top.indices, largest @ self.member_weight

        z = self.embed(X)
        averages, *top = zip(*ExactEngine(self).attend(z, explain_batch), strict=True)
        averages = torch.cat(averages, 1)
        y_hat = self.mean(self.complete(z, averages))
        return Contributions(y_hat, self.mean(averages - center), *map(torch.cat, top))


def _leave_residuals(network, z_n, y):
    return network.head.subtract_trend(z_n, y.expand(len(z_n), -1, -1)).contiguous()


def _range_of(y):
    """Smallest and largest targets of rows (n, k), to (2, k)."""
    return torch.stack(y.aminmax(dim=0))
