"""Likeness of rows in their columns, whatever their targets: Gower's distance."""

from dataclasses import dataclass, replace

import numpy as np
import torch

from .._utils.arrays import Stored, array_field

# Distances are divided by that of the neighbor of this rank.
_TYPICAL_RANK = 80
# Fraction of the largest distance up to which distances are ties.
_TIE = 1e-12
# Number of candidates for likeness: the larger of this, and this per neighbor.
_N_CANDIDATES, _CANDIDATES_PER_NEIGHBOR = 200, 5


@dataclass(frozen=True, eq=False)
class Likeness(Stored):
    """Likeness, as a second part of the distance.

    The distance of a query and a row becomes ``r + strength * r_80 * g / g_80``, where r is the
    learned one, g Gower's, and r_80 and g_80 are those of the query's 80th nearest by each.

    Attributes
    ----------
    strength : float
        0 for none.
    column_weight : Tensor of shape (p + t,)
        See :class:`LikenessEncoder`.
    n_components : int
        Number t of components of texts.
    """

    strength: float
    column_weight: torch.Tensor = array_field("float64", "u", low=0)
    n_components: int = 0

    def _check_fields(self, sizes):
        """Check the strength, and the number of components."""
        if not 0 < self.strength < np.inf or self.n_components != sizes["texts"]:
            raise ValueError("likeness is out of range")

    def to(self, device):
        """Move the tensor to a device."""
        return replace(self, column_weight=self.column_weight.to(device))

    def compare(self, columns, row_columns):
        """Gower's distances (b, C) of queries (b, u) and candidates (b, C, u), encoded."""
        return gower_distances(columns, row_columns, self.column_weight, self.n_components)

    def choose(self, near, largest, g, k):
        """Choose the nearest candidates, the nearest first.

        Parameters
        ----------
        near : tuple of Tensor of shapes (b, C) and (m, b, C)
            Learned distances, inf for rows to leave out, and similarities by each member.
        largest : float
            Similarity of rows that coincide.
        g : Tensor of shape (b, C)
            What :meth:`compare` gives, whatever the strength.
        k : int

        Returns
        -------
        order : int Tensor of shape (b, k)
            Places of the candidates chosen.
        distances, s : Tensor of shapes (b, k) and (m, b, k)
            Their distances and similarities, likeness included.
        """
        distances, s = near
        counts = distances < torch.inf
        relative = self.strength * g / _typical(g, counts)
        s = s - _typical(largest - s, counts) * relative
        distances = distances + _typical(distances, counts) * relative
        unit = _TIE * distances.masked_fill(~counts, 0).amax(1, keepdim=True)
        unit.clamp_(min=torch.finfo(unit.dtype).tiny)
        steps = (distances.double() / unit).floor_()
        # One key each: of ties the first candidate comes first.
        place = torch.arange(steps.shape[1], dtype=steps.dtype, device=steps.device)
        order = steps.mul_(len(place)).add_(place).topk(k, largest=False).indices
        return order, distances.gather(1, order), s.gather(2, order.expand(len(s), -1, -1))


def count_candidates(k, n_rows):
    """Count the candidates, the nearest by the learned distance, of which likeness chooses k."""
    return min(n_rows, max(_N_CANDIDATES, _CANDIDATES_PER_NEIGHBOR * k))


def gower_distances(columns, row_columns, column_weight, n_components=0):
    """Gower's distances (b, K) of queries (b, u) and rows (b, K, u), encoded.

    The last columns are components of texts. See Gower, "A general coefficient of similarity and
    some of its properties", Biometrics 27 (1971).
    """
    differences = (row_columns - columns.unsqueeze(1)).abs_().nan_to_num_(1.0).clamp_(max=1.0)
    differences[..., differences.shape[-1] - n_components :].square_()
    return differences @ column_weight.to(differences)


def _typical(distances, counts):
    """Distance (..., 1) of the 80th nearest row that counts, or of the last.

    If that is 0, it is the smallest positive distance, or 1 if there is none.
    """
    rank = min(_TYPICAL_RANK, distances.shape[-1])
    typical = distances.masked_fill(~counts, torch.inf).kthvalue(rank, -1, keepdim=True).values
    last = distances.masked_fill(~counts, 0).amax(-1, keepdim=True)
    typical = torch.where(typical < torch.inf, typical, last)
    positive = distances.masked_fill(~counts | (distances <= 0), torch.inf)
    typical = torch.where(typical > 0, typical, positive.amin(-1, keepdim=True))
    return torch.where(typical < torch.inf, typical, 1.0)
