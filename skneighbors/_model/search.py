"""The nearest rows of a bank, in an order that depends on nothing but the rows."""

from typing import NamedTuple

import torch

from .._utils.blocks import DIFFERENCES_BYTES, bounded_length, gather_rows
from .._utils.threads import map_batches

# How many more than are asked for an engine looks for: enough to see most ties whole.
_MARGIN = 8


class Nearest(NamedTuple):
    """The k nearest rows of b queries.

    Attributes
    ----------
    rows : int Tensor of shape (b, k)
        The nearest first; those as near up to rounding in the :func:`tie_order`.
    distances : Tensor of shape (b, k)
        In the joint space; inf for rows that are none, where fewer than k are found.
    s : Tensor of shape (m, b, k)
        Similarities by each member.
    """

    rows: torch.Tensor
    distances: torch.Tensor
    s: torch.Tensor


def find_nearest(bank, z, k, algorithm="auto", is_excluded=None):
    """Find the k nearest rows of a bank for queries (n, m, d).

    Candidates come from an engine. Their distances are computed again, from differences,
    and where the last one might tie with a row that is no candidate, more are looked for.

    Parameters
    ----------
    bank : NeighborBank
    z : Tensor of shape (n, m, d)
    k : int
        Up to the number of rows.
    algorithm : {"auto", "ivf", "hnsw"}
    is_excluded : callable, default=None
        Says of queries, as an int Tensor (t,), and rows (t, K) which are not to be found.

    Returns
    -------
    nearest : Nearest
    """
    n_rows, engine = len(bank), None
    points, norms = bank.space.query_points(z), bank.space.norms(z)
    with torch.inference_mode(False):  # in which the threads that fill it are not
        out = Nearest(
            torch.empty((len(z), k), dtype=torch.int64, device=z.device),
            z.new_empty(len(z), k),
            z.new_empty(z.shape[1], len(z), k),
        )
    open_queries, n_found = torch.arange(len(z), device=z.device), k + _MARGIN
    while len(open_queries):
        if n_found < n_rows:
            engine = engine or bank.engines.get(bank, algorithm)
            candidates = engine.nearest(points[open_queries], n_found)
        else:
            candidates = torch.arange(n_rows, device=z.device).expand(len(open_queries), -1)
        complete = n_found >= n_rows or not engine.is_exact

        def settle(part, queries=open_queries, candidates=candidates, complete=complete):
            own, rows = queries[part], candidates[part]
            found, is_settled = _order(bank, z[own], norms[own], rows, k, own, is_excluded)
            for whole, own_part in zip(out[:2], found[:2], strict=True):
                whole[own] = own_part
            out.s[:, own] = found.s
            return is_settled | complete

        length = bounded_length(
            3 * 8 * candidates.shape[1] * z.shape[1:].numel(), DIFFERENCES_BYTES
        )
        parts = [slice(i, i + length) for i in range(0, len(open_queries), length)]
        is_settled = torch.cat(map_batches(settle, parts))
        open_queries, n_found = open_queries[~is_settled], 4 * n_found
    return out


def tie_order(rows):
    """Say in which order rows come that are equally near: one that knows nothing of targets.

    Rows are numbered by their features and targets, so that the numbers themselves do.
    """
    return rows * 2654435761 % 2**32  # Knuth's multiplicative hash, one to one


def _order(bank, z, norms, rows, k, own, is_excluded):
    """Put candidates (b, K) in order; the first k, and whether no other row can be among them."""
    rows = rows.gather(1, tie_order(rows).argsort(1))
    missing = rows < 0
    s, distances = bank.space.compare(z, gather_rows(bank.z_n, rows.clamp(min=0)))
    furthest = distances.masked_fill(missing, -torch.inf).amax(1)
    if is_excluded is not None:
        missing = missing | is_excluded(own, rows)
    distances = distances.masked_fill_(missing, torch.inf)
    unit = bank.space.tolerance(norms, bank.radius).clamp_(min=torch.finfo(z.dtype).tiny)
    order = (distances / unit.unsqueeze(1)).floor_().argsort(dim=1, stable=True)[:, :k]
    rows, distances = rows.clamp(min=0).gather(1, order), distances.gather(1, order)
    reach = bank.space.reach(distances[:, -1], norms, bank.radius, z[0].numel())
    is_settled = reach + 2 * unit < furthest
    return Nearest(rows, distances, s.gather(2, order.expand(len(s), -1, -1))), is_settled
