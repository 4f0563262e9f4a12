"""Samples that networks have predicted without having trained on them."""

from dataclasses import dataclass, replace

import torch
from sklearn.neighbors import NearestNeighbors

from .._utils.blocks import gather_rows
from .._utils.sklearn_private import fit_unlogged
from ..nn._similarity import SIMILARITIES

# Candidates for a sample's own row: products of embeddings lose digits where two coincide.
_N_CANDIDATES = 4


@dataclass(frozen=True, eq=False)
class HeldOutRows:
    """Rows of the bank that single networks had held out before all were trained on.

    Attributes
    ----------
    residuals : Tensor of shape (n, k)
        Mean residuals over the networks that held a row out.
    weight : Tensor of shape (n,)
    rows : int Tensor of shape (n,)
    n_neighbors : int or None
        How many neighbours predicted them.
    """

    residuals: torch.Tensor
    weight: torch.Tensor
    rows: torch.Tensor
    n_neighbors: int | None

    @classmethod
    def of_members(cls, residuals, weight, rows, n_neighbors):
        """Average over members.

        Parameters
        ----------
        residuals : Tensor of shape (m, n, k)
            Scaled targets less predictions.
        weight : Tensor of shape (m, n) or None
        rows : int Tensor of shape (m, n)
        n_neighbors : int or None
        """
        residuals, rows = residuals.double().flatten(0, 1).cpu(), rows.flatten().cpu()
        weight = torch.ones_like(residuals[:, 0]) if weight is None else weight.flatten().cpu()
        unique, place, counts = rows.unique(return_inverse=True, return_counts=True)
        sums = residuals.new_zeros(len(unique), residuals.shape[1]).index_add_(0, place, residuals)
        own_weight = torch.empty_like(sums[:, 0])
        own_weight[place] = weight.double()
        return cls(sums / counts.unsqueeze(1), own_weight, unique, n_neighbors)

    def __len__(self):
        return len(self.rows)

    def extend(self, z_new, n_rows):
        """Those of a bank that rows join."""
        return self

    def select(self, keep, sample_weight):
        """Those that stay when a bank keeps the rows of a mask, with new weights."""
        is_kept = keep[self.rows]
        rows = (keep.cumsum(0) - 1)[self.rows[is_kept]]
        return replace(
            self, residuals=self.residuals[is_kept], weight=sample_weight[rows], rows=rows
        )

    def look_up(self, bank, n_neighbors):
        """Embeddings (n, m, d), rows (n,), residuals (n, k) and weights (n,)."""
        rows, residuals, weight = (
            part.to(bank.z_n.device) for part in (self.rows, self.residuals, self.weight)
        )
        z = bank.z_n[rows]
        if n_neighbors != self.n_neighbors:
            # As much as it changes what the final networks predict of these rows, left out.
            before, now = (
                bank.predict(z, bank.blended[rows], k, own=rows)
                for k in (self.n_neighbors, n_neighbors)
            )
            residuals = residuals + before - now
        return z, rows, residuals, weight


@dataclass(frozen=True, eq=False)
class HeldOutQueries:
    """Samples that were given for validation, which the neighbours there are predict.

    Attributes
    ----------
    z : Tensor of shape (n, m, d)
        Embeddings.
    y : Tensor of shape (n, k)
        Scaled targets.
    blended : Tensor of shape (n, k)
        What the second model predicts of them.
    weight : Tensor of shape (n,)
    rows : int Tensor of shape (n,)
        Their rows of the bank, where they have joined it; else -1.
    """

    z: torch.Tensor
    y: torch.Tensor
    blended: torch.Tensor
    weight: torch.Tensor
    rows: torch.Tensor

    def __len__(self):
        return len(self.rows)

    def extend(self, z_new, n_rows):
        """Find those that join a bank, of `n_rows` so far, with new rows (n_new, m, d)."""
        z_new = z_new.cpu()
        search = NearestNeighbors(n_neighbors=min(_N_CANDIDATES, len(z_new)))
        fit_unlogged(NearestNeighbors, search, z_new.flatten(1).numpy())
        nearest = search.kneighbors(self.z.flatten(1).numpy(), return_distance=False)
        nearest = torch.from_numpy(nearest)
        distances = SIMILARITIES["l2"].compare(self.z, gather_rows(z_new, nearest))[1]
        smallest, place = distances.min(1)
        joins = (smallest == 0) & (self.rows < 0)
        joined = nearest.gather(1, place.unsqueeze(1)).squeeze(1) + n_rows
        return replace(self, rows=torch.where(joins, joined, self.rows))

    def select(self, keep, sample_weight):
        """Those whose rows stay when a bank keeps the rows of a mask; the others have none."""
        is_kept = (self.rows >= 0) & keep[self.rows]
        return replace(self, rows=torch.where(is_kept, (keep.cumsum(0) - 1)[self.rows], -1))

    def look_up(self, bank, n_neighbors):
        """Embeddings (n, m, d), rows (n,), residuals (n, k) and weights (n,)."""
        device = bank.z_n.device
        parts = self.z, self.y, self.blended, self.weight, self.rows
        z, y, blended, weight, rows = (part.to(device) for part in parts)
        y_hat = bank.predict(z, blended, n_neighbors, own=rows)
        return z, rows, y - y_hat, weight
