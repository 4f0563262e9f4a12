"""The stored neighbours of a fitted network."""

import copy
from dataclasses import dataclass, field, replace
from functools import cached_property

import torch

from .._columns import none_if_ones
from .._network import NeighborNetwork, embed_in_batches
from .._utils.blocks import CACHED_BYTES, bounded_length, cut, gather_rows, keep_freed_memory
from .._utils.locks import ForkSafeLock
from .._utils.threads import map_batches
from ..nn._similarity import SIMILARITIES
from .engines import EngineCache
from .held_out import HeldOutQueries, HeldOutRows
from .residuals import LeftOut, joined_since, measure
from .search import find_nearest

# Of the targets' range: how far beyond it a prediction may lie.
_MARGIN = 0.1
# Queries whose neighbours are looked for at a time, at most, and attended to at a time.
_SEARCHED, _ATTENDED = 4096, 512
# What a search keeps of a neighbour, beside its similarity by each member.
_PER_NEIGHBOR = 4
# Tensors of the size of the weights that attention needs at a time.
_TEMPORARIES = 8
# Of fields that a file does not hold.
_NOT_KEPT = {"kept": False}
# Held while something is derived, so that threads that ask at once share it.
_deriving = ForkSafeLock()


class Derived:
    """Whatever is computed from a whole bank, once, when first asked for."""

    def __init__(self):
        self._kept = {}

    def get(self, compute, bank, *arguments):
        """Find what ``compute(bank, *arguments)`` gives; of each function the last is kept."""
        name = compute.__name__
        kept = self._kept.get(name)
        if kept is None or kept[0] != arguments:
            with _deriving:
                kept = self._kept.get(name)
                if kept is None or kept[0] != arguments:
                    kept = self._kept[name] = arguments, compute(bank, *arguments)
        return kept[1]

    def peek(self, compute):
        """Find what is kept of a function, whatever its arguments; None if nothing is."""
        return self._kept.get(compute.__name__, (None, None))[1]


@dataclass(frozen=True, eq=False)
class Neighbors:
    """The rows that predict b queries, and how much each weighs.

    Attributes
    ----------
    queries : slice
        Which of all queries these are.
    rows : int Tensor of shape (b, K) or None
        The nearest first; None for all rows of the bank.
    weights : Tensor of shape (m, b, K)
        Weights by each member times its share: they sum to 1 over members and rows.
    reach : Tensor of shape (b,)
        Distance of the furthest of the rows: those beyond have no say. inf if all have.
    """

    queries: slice
    rows: torch.Tensor | None
    weights: torch.Tensor
    reach: torch.Tensor

    @property
    def total_weights(self):
        """Weights (b, K) of the rows."""
        return self.weights.sum(0)

    def by_weight(self):
        """Weights and rows, each (b, K), the heaviest first, and the order (b, K) to take."""
        weights, order = self.total_weights.sort(dim=1, descending=True, stable=True)
        return weights, order if self.rows is None else self.rows.gather(1, order), order

    def take(self, values):
        """Values (N, ...) of the rows, to (b, K, ...)."""
        if self.rows is None:
            return values.expand(self.weights.shape[1], *values.shape)
        return gather_rows(values, self.rows)

    def average(self, values):
        """Weighted means (b, k) of values (N, m, k)."""
        if self.rows is None:
            return torch.einsum("mbn,nmk->bk", self.weights, values)
        return torch.einsum("mbn,bnmk->bk", self.weights, gather_rows(values, self.rows))


@dataclass(frozen=True, eq=False)
class NeighborBank:
    """Embedded, labelled neighbours of a trained network. Immutable; see :meth:`build`.

    With the baseline `T` of a member, its trend and the second model in their shares, a
    prediction is ``T(query) + sum of weights x (target - T(row))``.

    Attributes
    ----------
    network : NeighborNetwork
        In float64: then a row predicted alone equals the same row predicted in a batch.
    z_n : Tensor of shape (N, m, d)
        Embeddings by the m members of the ensemble.
    targets : Tensor of shape (N, k)
        Scaled targets.
    values : Tensor of shape (N, m, k)
        What to average: targets less the members' baselines.
    sample_weight : Tensor of shape (N,) or None
        Positive weights; None for ones, which is faster.
    member_weight : Tensor of shape (m,)
        The members' shares of a prediction, which sum to 1.
    blended : Tensor of shape (N, k)
        What the second model predicts of the rows, scaled; part of their baselines.
    left_out_blended : Tensor of shape (N, k)
        The same by what was not fitted to a row, where there is such.
    blend_share : float
        The second model's share in baselines; 0 if there is none.
    group : int Tensor of shape (N,)
        Rows of one group are no neighbours of each other where rows are left out. Below N.
    held_out : HeldOutRows, HeldOutQueries or None
        Samples that networks had held out.
    left_out : LeftOut or None
        Of the bank as it was before rows joined it.
    engines : EngineCache
    derived : Derived
    """

    network: NeighborNetwork
    z_n: torch.Tensor
    targets: torch.Tensor
    values: torch.Tensor
    sample_weight: torch.Tensor | None
    member_weight: torch.Tensor
    blended: torch.Tensor
    left_out_blended: torch.Tensor
    blend_share: float
    group: torch.Tensor
    held_out: HeldOutRows | HeldOutQueries | None = None
    left_out: LeftOut | None = field(default=None, metadata=_NOT_KEPT)
    engines: EngineCache = field(default_factory=EngineCache, metadata=_NOT_KEPT)
    derived: Derived = field(default_factory=Derived, metadata=_NOT_KEPT)

    @classmethod
    @torch.no_grad()
    def build(
        cls,
        network,
        X,
        y,
        sample_weight,
        member_weight,
        blended=None,
        blend_share=0.0,
        group=None,
        left_out_blended=None,
    ):
        """Embed rows as the neighbours of a copy of a network.

        Parameters
        ----------
        network : NeighborNetwork
        X : Tensor of shape (N, ...)
            Scaled features, float64.
        y : Tensor of shape (N, k)
            Scaled targets, float64.
        sample_weight : Tensor of shape (N,) or None
        member_weight : Tensor of shape (m,)
        blended : Tensor of shape (N, k), default=None
            What a second model predicts, if there is one.
        blend_share : float, default=0.0
        group : int Tensor of shape (N,), default=None
            None: each row is a group of its own.
        left_out_blended : Tensor of shape (N, k), default=None
            The same by what was not fitted to a row; None: `blended`.
        """
        network = copy.deepcopy(network).double().eval().requires_grad_(False)
        z_n = embed_in_batches(network, X).transpose(0, 1).contiguous()
        blended = torch.zeros_like(y) if blended is None else blended
        group = torch.arange(len(y), device=y.device) if group is None else _renumber(group)
        left_out_blended = blended if left_out_blended is None else left_out_blended
        own = blended, left_out_blended, blend_share, group
        bank = cls(network, z_n, y, y, sample_weight, member_weight, *own)
        return replace(bank, values=y.unsqueeze(1) - bank.baselines(z_n, blended))

    def __len__(self):
        return len(self.z_n)

    @property
    def space(self):
        """Joint learnt space of the network's similarity."""
        return SIMILARITIES[self.network.head.similarity]

    @cached_property
    def radius(self):
        """Size of the largest embedding."""
        return self.space.norms(self.z_n).max()

    @cached_property
    def total_weight(self):
        """Weight (1, 1) of all rows."""
        return self.weights().sum().view(1, 1)

    @cached_property
    def limits(self):
        """Smallest and largest prediction there may be, (2, k)."""
        return _widen(*self.targets.aminmax(dim=0))

    def limits_left_out(self):
        """Smallest and largest prediction, (2, N, k), of each row without it and its group."""
        group, ends = self.group.unsqueeze(1), []
        for sign in (1, -1):
            least = self.targets.new_full((int(group.max()) + 1, self.targets.shape[1]), torch.inf)
            least.scatter_reduce_(0, group.expand_as(self.targets), sign * self.targets, "amin")
            (first, second), (place, _) = least.topk(2, dim=0, largest=False)
            ends.append(sign * torch.where(group == place, second, first))
        return _widen(*ends)

    @property
    def has_baseline(self):
        """Whether anything but the neighbours has a say."""
        trend = self.network.head.trend
        return self.blend_share > 0 or (trend is not None and bool(trend.on.any()))

    @property
    def has_held_out(self):
        """Whether anything is left of what was held out."""
        return self.held_out is not None and len(self.held_out) > 0

    def to(self, device):
        """Bank whose tensors lie on `device`: itself, or a copy."""
        if self.z_n.device == device:
            return self
        tensors = {
            name: own for name, own in self.__dict__.items() if isinstance(own, torch.Tensor)
        }
        fields = self.__dataclass_fields__
        moved = {name: own.to(device) for name, own in tensors.items() if name in fields}
        return replace(self, network=copy.deepcopy(self.network).to(device), **moved)

    @torch.no_grad()
    def extend(self, z_n, y, blended, sample_weight):
        """Bank with further rows, embedded, each a group of its own; of all rows the new weights.

        Parameters
        ----------
        z_n : Tensor of shape (n, m, d)
        y, blended : Tensor of shape (n, k)
        sample_weight : Tensor of shape (N + n,)
        """
        values = y.unsqueeze(1) - self.baselines(z_n, blended)
        new_groups = len(self) + torch.arange(len(y), device=y.device)
        z_all, held_out = torch.cat([self.z_n, z_n]), self.held_out
        joined = joined_since(self.weights(), sample_weight)
        if held_out is not None and len(joined):
            held_out = held_out.extend(z_all[joined], joined)
        return replace(
            self,
            z_n=z_all,
            targets=torch.cat([self.targets, y]),
            values=torch.cat([self.values, values]),
            sample_weight=none_if_ones(sample_weight),
            blended=torch.cat([self.blended, blended]),
            left_out_blended=torch.cat([self.left_out_blended, blended]),
            group=_renumber(torch.cat([self.group, new_groups])),
            held_out=held_out,
            engines=EngineCache(),
            left_out=(self.derived.peek(measure) or self).left_out,
            derived=Derived(),
        )

    @torch.no_grad()
    def select(self, keep, sample_weight):
        """Bank of the rows of a mask, with new weights."""
        return replace(
            self,
            z_n=self.z_n[keep],
            targets=self.targets[keep],
            values=self.values[keep],
            sample_weight=none_if_ones(sample_weight),
            blended=self.blended[keep],
            left_out_blended=self.left_out_blended[keep],
            group=_renumber(self.group[keep]),
            held_out=None if self.held_out is None else self.held_out.select(keep),
            engines=EngineCache(),
            left_out=None,
            derived=Derived(),
        )

    def __getstate__(self):
        kept = ("radius", "total_weight", "limits")
        return {name: value for name, value in self.__dict__.items() if name not in kept}

    def embed(self, X):
        """Embed X (n, ...) for every member, to (n, m, d)."""
        return embed_in_batches(self.network, X).transpose(0, 1).contiguous()

    def baselines(self, z, blended):
        """Baselines (n, m, k) of embeddings (n, m, d); `blended` (n, k) is the second model's."""
        trends = self.network.trends(z, self.targets.shape[1])
        return (1 - self.blend_share) * trends + self.blend_share * blended.unsqueeze(1)

    def weights(self):
        """Sample weights of the rows (N,)."""
        return (
            torch.ones_like(self.z_n[:, 0, 0]) if self.sample_weight is None else self.sample_weight
        )

    @torch.no_grad()
    def predict(self, z, blended, n_neighbors=None, algorithm="auto", own=None):
        """Predict embeddings (n, m, d), to (n, k); see :meth:`attend`.

        Parameters
        ----------
        z : Tensor of shape (n, m, d)
        blended : Tensor of shape (n, k)
            What the second model predicts.
        n_neighbors : int or None
        algorithm : {"auto", "ivf", "hnsw"}
        own : int Tensor of shape (n,) or None
        """
        means = self.attend(z, lambda near: near.average(self.values), n_neighbors, algorithm, own)
        return self.complete(z, torch.cat(means), blended).clamp(*self.limits)

    def complete(self, z, means, blended):
        """Make means (n, k) of values predictions: add the baselines, by the members' shares."""
        return means + torch.einsum("nmk,m->nk", self.baselines(z, blended), self.member_weight)

    @torch.no_grad()
    def attend(self, z, function, n_neighbors=None, algorithm="auto", own=None):
        """Results of a function of :class:`Neighbors`, for batches of queries in their order.

        Parameters
        ----------
        z : Tensor of shape (n, m, d)
            Queries.
        function : callable
            Called in several threads at once.
        n_neighbors : int or None
            Number of rows, those nearest in the joint space, to attend to; None for all.
        algorithm : {"auto", "ivf", "hnsw"}
        own : int Tensor of shape (n,) or None
            Rows that the queries themselves are, -1 for none. Each is left out, with its whole
            weight and its group.

        Returns
        -------
        results : list
        """
        keep_freed_memory()
        if n_neighbors is None or n_neighbors >= len(self):
            return self._attend_to_all(z, function, own)
        results = []
        row_bytes = 8 * n_neighbors * (z.shape[1] + _PER_NEIGHBOR)
        for part in cut(len(z), min(_SEARCHED, bounded_length(row_bytes))):
            own_part = None if own is None else own[part]
            results += self._attend_to_few(
                z[part], function, n_neighbors, algorithm, own_part, part
            )
        return results

    def _attend_to_few(self, z, function, n_neighbors, algorithm, own, part):
        is_excluded = None
        if own is not None:
            is_excluded = lambda queries, rows: self.excludes(own[queries], rows)  # noqa: E731
        rows, distances, s = find_nearest(self, z, n_neighbors, algorithm, is_excluded)
        total = self._total_weight(own)
        found = None
        if own is not None or self.sample_weight is not None or algorithm != "auto":
            found = (distances < torch.inf).to(z) * self.weights()[rows]

        def attend(batch):
            weights = self.network.head.weights_of(
                z[batch].transpose(0, 1),
                s[:, batch],
                sample_weight=None if found is None else found[batch],
                total=total if len(total) == 1 else total[batch],
            )
            queries = slice(part.start + batch.start, part.start + batch.stop)
            near = rows[batch], self._by_share(weights), distances[batch, -1]
            return function(Neighbors(queries, *near))

        return map_batches(attend, cut(len(z), _ATTENDED))

    def _attend_to_all(self, z, function, own):
        z_n, every = self.z_n.transpose(0, 1), torch.arange(len(self), device=self.z_n.device)

        def attend(batch):
            weight = self.sample_weight
            if own is not None:
                excluded = self.excludes(own[batch], every.expand(batch.stop - batch.start, -1))
                weight = self.weights() * ~excluded
            q = z[batch].transpose(0, 1)
            weights = self.network.head.weights(q, z_n, sample_weight=weight)
            reach = z.new_full((batch.stop - batch.start,), torch.inf)
            return function(Neighbors(batch, None, self._by_share(weights), reach))

        cached = CACHED_BYTES * _TEMPORARIES if z.is_cpu else None
        length = bounded_length(8 * _TEMPORARIES * z_n.shape[:2].numel(), cached)
        return map_batches(attend, cut(len(z), length))

    def _by_share(self, weights):
        return weights * self.member_weight[:, None, None]

    def excludes(self, own, rows):
        """Whether rows (b, K) are the queries' own (b,), or of their groups."""
        own = own.unsqueeze(1)
        return (self.group[rows] == self.group[own]) & (own >= 0)

    def _total_weight(self, own):
        """Weight (1, 1) of all rows, or (n, 1) of those that the queries leave."""
        if own is None:
            return self.total_weight
        by_group = self.targets.new_zeros(int(self.group.max()) + 1)
        by_group.index_add_(0, self.group, self.weights())
        return self.total_weight - torch.where(own >= 0, by_group[self.group[own]], 0).unsqueeze(1)


def _widen(low, high):
    """Limits of predictions by the smallest and the largest target."""
    margin = _MARGIN * (high - low)
    return torch.stack([low - margin, high + margin])


def _renumber(group):
    """Count groups from 0, without gaps."""
    return group.unique(return_inverse=True)[1]
