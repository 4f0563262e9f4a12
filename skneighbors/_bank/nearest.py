"""Which rows of a bank are near in the learnt space, and how near rows usually are."""

import torch
from sklearn.utils import gen_batches

from .._network import concat_members
from .._utils.threads import map_batches
from ..nn import similarity
from .exact import block_length
from .residuals import sample_rows

# A row is as novel as the mean distance of so many neighbours is large.
_N_NEAREST = 5
# Rows of the bank that a distance is compared with; more would tell little more.
_MAX_COMPARED = 10_000


def find_nearest(bank, z, n_neighbors, own=None):
    """Find the nearest rows of a bank, by the embeddings of all members side by side.

    Parameters
    ----------
    bank : NeighborBank
    z : Tensor of shape (m, n, d)
        Queries.
    n_neighbors : int
    own : int Tensor of shape (n,), default=None
        Rows of the bank that the queries themselves are; they come first.

    Returns
    -------
    distances : Tensor of shape (n, n_neighbors)
        Ascending. Minus the similarity, 1 minus the cosine.
    rows : int Tensor of shape (n, n_neighbors)
    """
    metric = bank.network.head.similarity
    offset = 1.0 if metric == "cosine" else 0.0
    z_n, z = map(concat_members, (bank.z_n, z))

    def find(batch):
        distances = offset - similarity(z[batch], z_n, metric)
        order = distances
        if own is not None:
            order = distances.scatter(1, own[batch].unsqueeze(1), -torch.inf)
        rows = order.topk(n_neighbors, largest=False).indices
        return distances.gather(1, rows), rows

    found = map_batches(find, gen_batches(len(z), block_length(len(bank))))
    return tuple(map(torch.cat, zip(*found, strict=True)))


def novelty(bank, z):
    """Share (n,) of a bank's rows that are nearer to their neighbours than queries (m, n, d)."""
    compared, cumulative = bank.derived.get(_measure_nearness, bank)
    distances, rows = find_nearest(bank, z, min(_N_NEAREST, len(bank)))
    distance = _mean_distance(distances, bank.weights()[rows]).cpu()
    nearer = torch.searchsorted(compared, distance)
    return cumulative[nearer] / cumulative[-1]


def _measure_nearness(bank):
    """Sorted distances (c,) of the bank's rows to others, and their cumulative weights (c + 1,)."""
    n_rows, weight = len(bank), bank.weights()
    own = sample_rows(n_rows, _MAX_COMPARED).to(weight.device)
    distances, rows = find_nearest(bank, bank.z_n[:, own], min(_N_NEAREST + 1, n_rows), own)
    near_weight = weight[rows]
    near_weight[:, 0] -= 1  # its own, of which others are equal rows
    distances, place = distances.sort(1)  # a row need not be its own nearest
    near_weight = near_weight.clamp_(min=0).gather(1, place)
    distance, order = _mean_distance(distances, near_weight).sort()
    cumulative = weight[own][order].cumsum(0)
    return distance.cpu(), torch.cat([cumulative.new_zeros(1), cumulative]).cpu()


def _mean_distance(distances, weight):
    """Mean (n,) of the smallest of distances (n, c), as far as their weights (n, c) count."""
    before = weight.cumsum(1) - weight
    counted = torch.minimum(weight, (_N_NEAREST - before).clamp_(min=0))
    total = counted.sum(1)
    mean = (counted * distances).sum(1) / total
    return mean.masked_fill(total == 0, torch.inf)  # there are no others
