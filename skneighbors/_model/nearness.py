"""How near rows usually are in the embedding space."""

import torch

from .residuals import sample_rows

# A row is as novel as the mean distance of so many neighbors is large.
_N_NEAREST = 5
# Rows of the bank that a distance is compared with; more would change little.
_MAX_COMPARED = 10_000


def novelty(bank, z, nearness):
    """Fraction (n,) of a bank's rows that are nearer to their neighbors than queries (n, m, d)."""
    (compared, cumulative), distance = nearness, _mean_distance(bank, z).cpu()
    # Half of those that are as near: where all are, a row is neither new nor known.
    nearer = [torch.searchsorted(compared, distance, right=right) for right in (False, True)]
    return sum(cumulative[place] for place in nearer) / (2 * cumulative[-1])


def measure_nearness(bank):
    """Sorted distances (c,) of the bank's rows to others, and their cumulative weights (c + 1,)."""
    rows = sample_rows(len(bank), _MAX_COMPARED).to(bank.rows.z.device)
    distance, order = _mean_distance(bank, bank.rows.z[rows], rows).sort()
    cumulative = bank.rows.weights()[rows][order].cumsum(0)
    return distance.cpu(), torch.cat([cumulative.new_zeros(1), cumulative]).cpu()


def _mean_distance(bank, z, self_index=None):
    """Mean distance (n,) of the nearest rows, whatever they weigh; inf if there are none.

    Without the rows that the queries are (n,), and their groups.
    """
    distances = bank.index.find(z, min(_N_NEAREST, len(bank)), "auto", self_index).distances
    found = torch.where(distances < torch.inf, distances, torch.nan)
    return found.nanmean(1).nan_to_num_(torch.inf)
