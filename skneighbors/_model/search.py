"""The nearest rows of a bank, in an order that depends on nothing but the rows."""

from typing import NamedTuple

import torch

from .._utils.blocks import CACHED_BYTES, DIFFERENCES_BYTES, bounded_length, cut, gather_rows
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
    every, n_found = torch.arange(len(z), device=z.device), k + _MARGIN
    found, is_settled = _search(bank, z, every, k, n_found, algorithm, is_excluded)
    while not is_settled.all():
        left, n_found = every[~is_settled], 4 * n_found
        again, is_settled[left] = _search(bank, z[left], left, k, n_found, algorithm, is_excluded)
        found.rows[left], found.distances[left], found.s[:, left] = again
    return found


def _search(bank, z, own, k, n_found, algorithm, is_excluded):
    """Find the k nearest among so many candidates, and whether no other row can be nearer.

    `own` (n,) numbers the queries.
    """
    norms, complete = bank.space.norms(z), n_found >= len(bank)
    if complete:
        candidates = torch.arange(len(bank), device=z.device).expand(len(z), -1)
    else:
        engine = bank.engines.get(bank, algorithm)
        candidates = engine.nearest(bank.space.query_points(z), n_found)
        complete = not engine.is_exact

    def settle(part):
        return _order(bank, z[part], norms[part], candidates[part], k, own[part], is_excluded)

    length = bounded_length(_row_bytes(z, candidates), DIFFERENCES_BYTES)
    parts = map_batches(settle, cut(len(z), length))
    found, is_settled = zip(*parts, strict=True)
    rows, distances, s = zip(*found, strict=True)
    found = Nearest(torch.cat(rows), torch.cat(distances), torch.cat(s, 1))
    return found, torch.cat(is_settled) | complete


def tie_order(rows):
    """Say in which order rows come that are equally near: one that knows nothing of targets.

    Rows are numbered by their features and targets, so that the numbers themselves do.
    """
    return rows * 2654435761 % 2**32  # Knuth's multiplicative hash, one to one


def _row_bytes(z, rows):
    """Bytes of the differences between one of queries (n, m, d) and rows (n, K)."""
    return 8 * rows.shape[1] * z.shape[1:].numel()


def _compare(bank, z, rows):
    """Compare queries (n, m, d) with rows (n, K), so few at a time that a CPU caches them."""
    length = bounded_length(_row_bytes(z, rows), CACHED_BYTES) if z.is_cpu else len(z)
    parts = [
        bank.space.compare(z[batch], gather_rows(bank.z_n, rows[batch]))
        for batch in cut(len(z), length)
    ]
    s, distances = zip(*parts, strict=True)
    return torch.cat(s, 1), torch.cat(distances)


def _order(bank, z, norms, rows, k, own, is_excluded):
    """Put candidates (b, K) in order; the first k, and whether no other row can be among them."""
    rows = rows.gather(1, tie_order(rows).argsort(1))
    missing = rows < 0
    s, distances = _compare(bank, z, rows.clamp(min=0))
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
