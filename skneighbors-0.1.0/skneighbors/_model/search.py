"""The nearest rows, in an order that depends on nothing but the rows."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import torch

from .._space import Space
from .._utils.blocks import CACHED_BYTES, DIFFERENCES_BYTES, bounded_length, count_queries, cut
from .._utils.threads import map_batches
from .cache import Cache
from .engines import make_engine
from .rows import NeighborRows

# How many more candidates than needed an engine finds: enough for all rows of most ties.
_MARGIN = 8


class Nearest(NamedTuple):
    """The k nearest rows of b queries.

    Attributes
    ----------
    rows : int Tensor of shape (b, k)
        The nearest first; those as near up to rounding in the :func:`tie_order`.
    distances : Tensor of shape (b, k)
        By all members; inf for rows that are none, where fewer than k are found.
    s : Tensor of shape (m, b, k)
        Similarities by each member.
    """

    rows: torch.Tensor
    distances: torch.Tensor
    s: torch.Tensor


@dataclass(frozen=True, eq=False)
class NeighborIndex:
    """Embedded rows to search.

    Attributes
    ----------
    space : Space
    rows : NeighborRows
    algorithm : {"auto", "ivf", "hnsw"}
    cache : Cache
        Of engines, which :meth:`find` makes when they are first needed.
    """

    space: Space
    rows: NeighborRows
    algorithm: str
    cache: Cache

    @cached_property
    def radius(self):
        """Size of the largest row."""
        return self.space.norms(self.rows).max()

    def excludes(self, self_index, rows=slice(None)):
        """Whether queries are rows (b, K), or of their groups; `self_index` (b,) is -1 for none."""
        self_index = self_index.unsqueeze(1)
        return (self.rows.group[rows] == self.rows.group[self_index]) & (self_index >= 0)

    def find(self, queries, k):
        """Find the k nearest rows of queries.

        Candidates come from an engine. Their distances are computed again, from differences,
        and where the last one might tie with a row that is no candidate, more are searched.

        Parameters
        ----------
        queries : EmbeddedRows
            n of them.
        k : int
            Up to the number of rows.

        Returns
        -------
        nearest : Nearest
        """
        n_found = k + _MARGIN
        found, is_settled = self._search(queries, k, n_found)
        while not is_settled.all():
            left, n_found = torch.nonzero(~is_settled).squeeze(1), 4 * n_found
            again, is_settled[left] = self._search(queries.select(left), k, n_found)
            found.rows[left], found.distances[left], found.s[:, left] = again
        return found

    def find_all(self, queries):
        """All rows in their own order, whose distances are 0, or inf for rows that are none."""
        rows = replace(self.rows, z=self.rows.z.transpose(0, 1))

        def compare(part):
            q = queries.select(part)
            return self.space.similarities(replace(q, z=q.z.transpose(0, 1)), rows)

        length = count_queries(8 * rows.z.shape[:2].numel(), queries.z.is_cpu)
        s = torch.cat(map_batches(compare, cut(len(queries), length)), 1)
        every, distances = torch.arange(len(self.rows), device=s.device), torch.zeros_like(s[0])
        if queries.self_index is not None:
            distances.masked_fill_(self.excludes(queries.self_index), torch.inf)
        return Nearest(every.expand_as(distances), distances, s)

    def _search(self, queries, k, n_found):
        """Find the k nearest among so many candidates, and whether no other row can be nearer."""
        z, complete = queries.z, n_found >= len(self.rows)
        if complete:
            candidates = torch.arange(len(self.rows), device=z.device).expand(len(z), -1)
        else:
            engine = self.cache.get((z.device, self.algorithm), None, self._make_engine)
            candidates = engine.nearest(self.space.query_points(queries), n_found)
            complete = not engine.is_exact

        def settle(part):
            return self._order(queries.select(part), candidates[part], k)

        length = bounded_length(self._row_bytes(candidates), DIFFERENCES_BYTES)
        parts = map_batches(settle, cut(len(z), length))
        found, is_settled = zip(*parts, strict=True)
        rows, distances, s = zip(*found, strict=True)
        found = Nearest(torch.cat(rows), torch.cat(distances), torch.cat(s, 1))
        return found, torch.cat(is_settled) | complete

    def _make_engine(self):
        return make_engine(self.space.row_points(self.rows), self.space.p, self.algorithm)

    def _row_bytes(self, rows):
        """Bytes of the differences between one query and its rows (n, K)."""
        return 8 * rows.shape[1] * self.space.n_dims(self.rows)

    def _compare(self, queries, rows):
        """Compare queries with rows (n, K) each, so few at a time that a CPU caches them."""
        n = len(queries)
        length = bounded_length(self._row_bytes(rows), CACHED_BYTES) if queries.z.is_cpu else n
        parts = [
            self.space.compare(queries.select(batch), self.rows, rows[batch])
            for batch in cut(n, length)
        ]
        s, distances = zip(*parts, strict=True)
        return torch.cat(s, 1), torch.cat(distances)

    def _order(self, queries, rows, k):
        """Put candidates (b, K) in order; the first k, and whether no other can be among them."""
        near, norms = self.space.near, self.space.norms(queries)
        rows = rows.gather(1, tie_order(rows).argsort(1))
        missing = rows < 0
        s, distances = self._compare(queries, rows.clamp(min=0))
        furthest = distances.masked_fill(missing, -torch.inf).amax(1)
        if queries.self_index is not None:
            missing = missing | self.excludes(queries.self_index, rows)
        distances = distances.masked_fill_(missing, torch.inf)
        unit = near.tolerance(norms, self.radius).clamp_(min=torch.finfo(norms.dtype).tiny)
        order = (distances / unit.unsqueeze(1)).floor_().argsort(dim=1, stable=True)[:, :k]
        rows, distances = rows.clamp(min=0).gather(1, order), distances.gather(1, order)
        n_dims = self.space.n_dims(self.rows)
        reach = near.reach(distances[:, -1], norms, self.radius, n_dims)
        is_settled = reach + 2 * unit < furthest
        s = s.gather(2, order.expand(len(s), -1, -1))
        return Nearest(rows, distances, s), is_settled


def tie_order(rows):
    """Order of rows that are equally near: one that does not depend on their targets.

    (Their numbers do: rows are numbered by their features and targets.)
    """
    return rows * 2654435761 % 2**32  # Knuth's multiplicative hash, one to one
