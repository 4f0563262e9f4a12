"""How near rows usually are in the learnt space."""

import torch

from .residuals import sample_rows
from .search import find_nearest

# A row is as novel as the mean distance of so many neighbours is large.
_N_NEAREST = 5
# Rows of the bank that a distance is compared with; more would tell little more.
_MAX_COMPARED = 10_000


def novelty(bank, z):
    """Share (n,) of a bank's rows that are nearer to their neighbours than queries (n, m, d)."""
    compared, cumulative = bank.derived.get(_measure_nearness, bank)
    distance = _mean_distance(bank, z).cpu()
    # Half of those that are as near: where all are, a row is neither new nor known.
    nearer = [torch.searchsorted(compared, distance, right=right) for right in (False, True)]
    return sum(cumulative[own] for own in nearer) / (2 * cumulative[-1])


def _measure_nearness(bank):
    """Sorted distances (c,) of the bank's rows to others, and their cumulative weights (c + 1,)."""
    own = sample_rows(len(bank), _MAX_COMPARED).to(bank.z_n.device)
    distance, order = _mean_distance(bank, bank.z_n[own], own=own).sort()
    cumulative = bank.weights()[own][order].cumsum(0)
    return distance.cpu(), torch.cat([cumulative.new_zeros(1), cumulative]).cpu()


def _mean_distance(bank, z, own=None):
    """Mean distance (n,) of the nearest rows, whatever they weigh; inf if there are none.

    Without the rows that the queries are (n,), and their groups.
    """
    is_excluded = None
    if own is not None:
        is_excluded = lambda queries, rows: bank.excludes(own[queries], rows)  # noqa: E731
    found = find_nearest(bank, z, min(_N_NEAREST, len(bank)), "auto", is_excluded)
    is_found = found.distances < torch.inf
    return torch.where(is_found, found.distances, torch.nan).nanmean(1).nan_to_num_(torch.inf)
