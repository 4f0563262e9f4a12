"""How near rows usually are in the embedding space."""

import torch

from .._utils.blocks import sample_rows

# Number of neighbors whose mean distance says how novel a row is.
_N_NEAREST = 5
# Number of rows that a distance is compared with; more would change little.
_MAX_COMPARED = 10_000


def novelty(bank, queries, nearness):
    """Fraction (n,) of a bank's rows that are nearer to their neighbors than n queries."""
    (compared, cumulative), distance = nearness, _mean_distance(bank, queries).cpu()
    # Rows that are as near count half.
    nearer = [torch.searchsorted(compared, distance, right=right) for right in (False, True)]
    return sum(cumulative[place] for place in nearer) / (2 * cumulative[-1])


def measure_nearness(bank):
    """Sorted distances (c,) of the bank's rows to others, and their cumulative weights (c + 1,)."""
    rows = sample_rows(len(bank), _MAX_COMPARED).to(bank.rows.z.device)
    distance, order = _mean_distance(bank, bank.rows.leave_out(rows)).sort()
    cumulative = bank.rows.weights()[rows][order].cumsum(0)
    return distance.cpu(), torch.cat([cumulative.new_zeros(1), cumulative]).cpu()


def _mean_distance(bank, queries):
    """Mean distance (n,) of the nearest rows, whatever they weigh; inf if there are none."""
    distances = bank.index.find(queries, min(_N_NEAREST, len(bank))).distances
    found = torch.where(distances < torch.inf, distances, torch.nan)
    return found.nanmean(1).nan_to_num_(torch.inf)
