"""How near rows usually are in the embedding space."""

from dataclasses import dataclass

import torch

from .residuals import sample_rows

# A row is as novel as the mean distance of so many neighbors is large.
_N_NEAREST = 5
# Rows of the bank that a distance is compared with; more would tell little more.
_MAX_COMPARED = 10_000


@dataclass(frozen=True, eq=False)
class Nearness:
    """Distances of a bank's rows to others.

    Attributes
    ----------
    distances : Tensor of shape (c,)
        Ascending.
    cumulative : Tensor of shape (c + 1,)
        Weight of the rows before each, and of all.
    """

    distances: torch.Tensor
    cumulative: torch.Tensor

    @classmethod
    def of(cls, bank):
        """Measure the distances of all rows, or of some drawn at random."""
        rows = sample_rows(len(bank), _MAX_COMPARED).to(bank.rows.z.device)
        distances, order = _mean_distance(bank, bank.rows.z[rows], rows).sort()
        cumulative = bank.rows.weights()[rows][order].cumsum(0)
        return cls(distances.cpu(), torch.cat([cumulative.new_zeros(1), cumulative]).cpu())

    def novelty(self, bank, z):
        """Fraction (n,) of rows that are nearer to their neighbors than queries (n, m, d)."""
        distance = _mean_distance(bank, z).cpu()
        # Half of those that are as near: where all are, a row is neither new nor known.
        nearer = sum(
            self.cumulative[torch.searchsorted(self.distances, distance, right=right)]
            for right in (False, True)
        )
        return nearer / (2 * self.cumulative[-1])


def _mean_distance(bank, z, self_index=None):
    """Mean distance (n,) of the nearest rows, whatever they weigh; inf if there are none.

    Without the rows that the queries are (n,), and their groups.
    """
    distances = bank.index.find(z, min(_N_NEAREST, len(bank)), "auto", self_index).distances
    found = torch.where(distances < torch.inf, distances, torch.nan)
    return found.nanmean(1).nan_to_num_(torch.inf)
