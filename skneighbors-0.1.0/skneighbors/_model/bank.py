"""The training samples of a fitted network, and attention among them."""

import copy
from dataclasses import dataclass, field, replace
from functools import cached_property

import torch

from .._network import NeighborNetwork, embed_in_batches
from .._space import Space
from .._task import Task
from .._utils.arrays import Stored
from .._utils.blocks import bounded_length, count_queries, cut, gather_rows
from .._utils.process import keep_freed_memory
from .._utils.threads import map_batches
from .cache import Cache
from .rows import NeighborRows
from .search import NeighborIndex

# Queries whose neighbors are searched at a time, at most, and attended to at a time.
_SEARCHED, _ATTENDED = 4096, 512
# Numbers that a search keeps of each neighbor, beside its similarities by the members.
_PER_NEIGHBOR = 4
# Number of tensors of the size of the weights that attention needs at a time.
_TEMPORARIES = 8


@dataclass(frozen=True, eq=False)
class Neighbors:
    """The rows that predict b queries, and how much each weighs.

    Attributes
    ----------
    queries : slice
        Which of all queries these are.
    rows : int Tensor of shape (b, K)
        The nearest first, or all rows of the bank in their order.
    weights : Tensor of shape (m, b, K)
        Weights by each member, over their number: they sum to 1 over members and rows.
    """

    queries: slice
    rows: torch.Tensor | None
    weights: torch.Tensor

    @property
    def total_weights(self):
        """Weights (b, K) of the rows."""
        return self.weights.sum(0)

    def by_weight(self):
        """Weights and rows, each (b, K), the largest weights first, and the order (b, K)."""
        weights, order = self.total_weights.sort(dim=1, descending=True, stable=True)
        return weights, self.rows.gather(1, order), order

    def take(self, values):
        """Values (N, ...) of the rows, to (b, K, ...)."""
        return gather_rows(values, self.rows)

    def average(self, values):
        """Weighted means (b, k) of values (N, m, k)."""
        return torch.einsum("mbn,bnmk->bk", self.weights, self.take(values))


@dataclass(frozen=True, eq=False)
class NeighborBank(Stored):
    """Training samples as the neighbors of queries. Immutable; see :meth:`build`.

    With the trend `t` of a member the neighbors predict ``t(query) + sum of weights x (target -
    t(row))``; that is averaged with what the blended model predicts.

    Attributes
    ----------
    network : NeighborNetwork
        In float64: then a row predicted alone equals the same row predicted in a batch.
    rows : NeighborRows
    task : Task
    blend_weight : float
        The blended model's weight in predictions; 0 if there is none.
    space : Space
        In which the nearest are found.
    algorithm : {"auto", "ivf", "hnsw"}, default="auto"
        How these are found.
    cache : Cache
        Of engines; empty in what is made by `replace`.
    """

    network: NeighborNetwork
    rows: NeighborRows
    task: Task
    blend_weight: float
    space: Space
    algorithm: str = field(default="auto", metadata={"in_files": False})
    cache: Cache = field(default_factory=Cache, init=False)

    def _check_fields(self, sizes):
        """Check that there are weights of rows, and one of the blended model."""
        if not self.rows.weights().sum() > 0:
            raise ValueError("bank holds no weights")
        if not 0 <= self.blend_weight <= 1:
            raise ValueError("the weight of the blended model is out of range")
        if self.space.similarity != self.network.head.similarity:
            raise ValueError("space does not fit the network")

    @classmethod
    @torch.no_grad()
    def build(cls, network, rows, task, blended=None):
        """Embed rows as the neighbors of a copy of a network.

        Parameters
        ----------
        network : NeighborNetwork
        rows : LabeledRows
            N training samples, in float64. Without `group` each is a group.
        task : Task
        blended : Tensor of shape (N, k), default=None
            Predictions of the blended model, if there is one; it has no weight as yet.
        """
        network = copy.deepcopy(network).double().eval().requires_grad_(False)
        bank = cls(network, None, task, 0.0, Space(network.head.similarity))
        blended = torch.zeros_like(rows.y) if blended is None else blended.to(rows.y)
        new = bank._make_rows(bank.embed(rows.X), rows.coordinates, rows.y, blended)
        if rows.group is not None:
            new = replace(new, group=rows.group)
        return replace(bank, rows=new.with_weights(rows.weight))

    def at(self, space, calibration, blend_weight):
        """Bank in another space, with what goes with it."""
        network = copy.deepcopy(self.network)
        network.head.calibration.copy_(calibration)
        rows = self.rows if space.strength else replace(self.rows, coordinates=None)
        made = dict(network=network, rows=rows, space=space, blend_weight=blend_weight)
        return replace(self, **made)

    def _make_rows(self, z, coordinates, y, blended, n_before=0):
        """Rows of embeddings (n, m, d), each a group; `n_before` are there before."""
        return NeighborRows(
            z=z,
            coordinates=coordinates,
            targets=y,
            values=self.task.bound(y).unsqueeze(1) - self.trends(z),
            blended=blended,
            group=n_before + torch.arange(len(y), device=y.device),
        )

    def __len__(self):
        return len(self.rows)

    @cached_property
    def index(self):
        """Index of the rows by which the nearest are found."""
        return NeighborIndex(self.space, self.rows, self.algorithm, self.cache)

    @cached_property
    def bounded(self):
        """Scaled targets (N, k) as they are averaged and judged: none is far from all others."""
        return self.task.bound(self.rows.targets)

    @cached_property
    def limits(self):
        """Smallest and largest predicted values there may be, (2, k)."""
        return self.task.limits(*self.bounded.aminmax(dim=0))

    def limits_left_out(self):
        """Smallest and largest predicted values, (2, N, k), without each row and its group."""
        rows = replace(self.rows, targets=self.bounded)
        return self.task.limits(*rows.extremes_left_out())

    @property
    def has_trend(self):
        """Whether a trend is part of predictions."""
        return self.network.head.trend is not None

    def to(self, device, algorithm=None):
        """Bank on a device, that searches by an algorithm, or as it does: itself, or a copy."""
        algorithm = self.algorithm if algorithm is None else algorithm
        if self.rows.z.device == device and self.algorithm == algorithm:
            return self
        moved = replace(self, algorithm=algorithm)
        if self.rows.z.device != device:
            network = copy.deepcopy(self.network).to(device)
            moved = replace(moved, network=network, rows=self.rows.to(device))
        vars(moved)["cache"] = self.cache  # which knows devices and algorithms
        return moved

    @torch.no_grad()
    def extend(self, queries, y, blended, sample_weight):
        """Bank with further rows, each a group; of all rows the new weights.

        Parameters
        ----------
        queries : EmbeddedRows
            n of them.
        y, blended : Tensor of shape (n, k)
        sample_weight : Tensor of shape (N + n,)
        """
        rows = replace(self.rows, sample_weight=None)
        rows = rows.concat(self._make_rows(queries.z, queries.coordinates, y, blended, len(self)))
        task = self.task.bounding(rows.targets.cpu().numpy(), sample_weight.cpu().numpy())
        moved = task.bound(rows.targets) - self.task.bound(rows.targets)
        rows = replace(rows, values=rows.values + moved.unsqueeze(1))
        return replace(self, task=task, rows=rows.with_weights(sample_weight))

    @torch.no_grad()
    def keep(self, mask, sample_weight):
        """Bank of the rows of a mask, with new weights."""
        return replace(self, rows=self.rows.select(mask).with_weights(sample_weight))

    def embed(self, X):
        """Embed X (n, ...) for every member, to (n, m, d)."""
        return embed_in_batches(self.network, X).transpose(0, 1).contiguous()

    def trends(self, z):
        """Trends (n, m, k) of the members for embeddings (n, m, d)."""
        return self.network.trends(z, self.task.n_values)

    @torch.no_grad()
    def predict(self, queries, blended, n_neighbors=None):
        """Predict, to (n, k); see :meth:`attend`.

        Parameters
        ----------
        queries : EmbeddedRows
        blended : Tensor of shape (n, k)
            Predictions of the blended model.
        n_neighbors : int or None
        """
        means = self.average(queries, n_neighbors)
        return self.complete(queries.z, means, blended).clamp(*self.limits)

    def predict_left_out(self, rows, n_neighbors):
        """Predict some rows (c,), each without itself and its group; not clipped to the limits."""
        left_out = self.rows.leave_out(rows)
        return self.complete(left_out.z, self.average(left_out, n_neighbors), left_out.blended)

    def average(self, queries, n_neighbors):
        """Weighted means (n, k) of the values of neighbors; see :meth:`attend`."""
        values = self.rows.values
        return torch.cat(self.attend(queries, lambda near: near.average(values), n_neighbors))

    def complete(self, z, means, blended):
        """Turn means (n, k) of values into predictions: add the trends, mix with the blended."""
        return torch.lerp(means + self.trends(z).mean(1), blended, self.blend_weight)

    @torch.no_grad()
    def attend(self, queries, function, n_neighbors=None, n_beside=0):
        """Results of a function of :class:`Neighbors`, for batches of queries in their order.

        Parameters
        ----------
        queries : EmbeddedRows
            n of them.
        function : callable
            Called in several threads at once.
        n_neighbors : int or None
            Number of rows, the nearest, to attend to; None for all.
        n_beside : int, default=0
            If these are more rows, the function is given the neighbors among so many, too.

        Returns
        -------
        results : list
        """
        keep_freed_memory()
        n_neighbors = len(self) if n_neighbors is None else n_neighbors
        n_beside = 0 if n_beside <= n_neighbors else n_beside
        counts = [min(n, len(self)) for n in (n_neighbors, n_beside) if n]
        row_bytes = 8 * counts[-1] * (queries.z.shape[1] + _PER_NEIGHBOR)
        is_cpu, most = queries.z.is_cpu, min(_SEARCHED, bounded_length(row_bytes))
        length = min(_ATTENDED, count_queries(row_bytes, is_cpu, _TEMPORARIES))
        results = []
        for part in cut(len(queries), most):
            weigh = self._weigh(queries.select(part), counts)

            def attend(batch, start=part.start, weigh=weigh):
                found = slice(start + batch.start, start + batch.stop)
                return function(*(Neighbors(found, rows, w / len(w)) for rows, w in weigh(batch)))

            results += map_batches(attend, cut(part.stop - part.start, length))
        return results

    def _weigh(self, queries, counts):
        """Make a function of batches: for each count the nearest rows and weights (m, b, K)."""
        z, self_index = queries.z, queries.self_index
        if counts[0] == len(self):
            nearest = self.index.find_all(queries)
        else:
            nearest = self.index.find(queries, counts[-1])
        total, weight = self.rows.total_weight, None
        if self_index is not None:
            lost = self.rows.weights_by_group()[self.rows.group[self_index]]
            total = total - torch.where(self_index >= 0, lost, 0).unsqueeze(1)
        is_exact = self.algorithm == "auto"
        if self_index is not None or self.rows.sample_weight is not None or not is_exact:
            weight = (nearest.distances < torch.inf).to(z) * self.rows.weights()[nearest.rows]

        def weigh(batch):
            q, of_all = z[batch].transpose(0, 1), total if len(total) == 1 else total[batch]
            for k in counts:
                own = None if weight is None else weight[batch, :k]
                s = nearest.s[:, batch, :k]
                weights = self.network.head.weights_of(q, s, sample_weight=own, total=of_all)
                yield nearest.rows[batch, :k], weights

        return weigh
