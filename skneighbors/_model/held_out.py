"""Samples that networks have predicted without having trained on them."""

import math
import warnings
from dataclasses import dataclass, replace

import numpy as np
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
    rows : int Tensor of shape (n,)
    n_neighbors : int or None
        How many neighbours predicted them.
    """

    residuals: torch.Tensor
    rows: torch.Tensor
    n_neighbors: int | None

    @classmethod
    def of_members(cls, residuals, rows, n_neighbors):
        """Average over members.

        Parameters
        ----------
        residuals : Tensor of shape (m, n, k)
            Scaled targets less predictions.
        rows : int Tensor of shape (m, n)
        n_neighbors : int or None
        """
        residuals, rows = residuals.double().flatten(0, 1).cpu(), rows.flatten().cpu()
        unique, place, counts = rows.unique(return_inverse=True, return_counts=True)
        sums = residuals.new_zeros(len(unique), residuals.shape[1]).index_add_(0, place, residuals)
        return cls(sums / counts.unsqueeze(1), unique, n_neighbors)

    def __len__(self):
        return len(self.rows)

    def extend(self, z, rows):
        """Those of a bank that samples join."""
        return self

    def select(self, keep):
        """Those that stay when a bank keeps the rows of a mask."""
        is_kept = keep[self.rows]
        rows = (keep.cumsum(0) - 1)[self.rows[is_kept]]
        return replace(self, residuals=self.residuals[is_kept], rows=rows)

    def look_up(self, bank, n_neighbors):
        """Embeddings (n, m, d), rows, residuals (n, k), weights and groups, each (n,)."""
        rows, residuals = self.rows.to(bank.z_n.device), self.residuals.to(bank.z_n.device)
        z = bank.z_n[rows]
        if n_neighbors != self.n_neighbors:
            # As much as it changes what the final networks predict of these rows, left out.
            before, now = (
                bank.predict(z, bank.blended[rows], k, own=rows)
                for k in (self.n_neighbors, n_neighbors)
            )
            residuals = residuals + before - now
        return z, rows, residuals, bank.weights()[rows], bank.group[rows]


@dataclass(frozen=True, eq=False)
class HeldOutQueries:
    """Samples that were given for validation, which the neighbours there are predict.

    Each is a group of its own.

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

    def extend(self, z, rows):
        """Find those that join a bank, whose rows (n_new,) of embeddings (n_new, m, d) they are."""
        z, rows, space = z.cpu(), rows.cpu(), SIMILARITIES["l2"]
        search = NearestNeighbors(n_neighbors=min(_N_CANDIDATES, len(z)))
        fit_unlogged(NearestNeighbors, search, z.flatten(1).numpy())
        nearest = search.kneighbors(self.z.flatten(1).numpy(), return_distance=False)
        nearest = torch.from_numpy(nearest)
        smallest, place = space.compare(self.z, gather_rows(z, nearest))[1].min(1)
        norms = space.norms(self.z)
        joins = (smallest <= space.tolerance(norms, norms)) & (self.rows < 0)
        joined = rows[nearest.gather(1, place.unsqueeze(1)).squeeze(1)]
        return replace(self, rows=torch.where(joins, joined, self.rows))

    def select(self, keep):
        """Those whose rows stay when a bank keeps the rows of a mask; the others have none."""
        is_kept = (self.rows >= 0) & keep[self.rows]
        return replace(self, rows=torch.where(is_kept, (keep.cumsum(0) - 1)[self.rows], -1))

    def look_up(self, bank, n_neighbors):
        """Embeddings (n, m, d), rows, residuals (n, k), weights and groups, each (n,)."""
        device = bank.z_n.device
        parts = self.z, self.y, self.blended, self.weight, self.rows
        z, y, blended, weight, rows = (part.to(device) for part in parts)
        y_hat = bank.predict(z, blended, n_neighbors, own=rows)
        return z, rows, y - y_hat, weight, torch.arange(len(y), device=device)


def warn_unless_held_out(bank):
    """Warn, at the line that calls a public method, where residuals are of rows trained on."""
    if not bank.has_held_out:
        warnings.warn(
            "No rows were held out in fit, as by default of fewer than 30: standard deviations, "
            "quantiles and intervals are much too narrow. Fit with early_stopping=True, or give "
            "rows as X_val.",
            stacklevel=3,
        )


def warn_if_infinite(interval, confidence_level, n_held_out):
    """Warn, at the line that calls a public method, where too few rows were held out."""
    if np.isinf(interval).any():
        n_needed = math.ceil(confidence_level / (1 - confidence_level) - 1e-9)
        warnings.warn(
            f"confidence_level={confidence_level} needs at least {n_needed} rows that were "
            "held out, or as many groups, if fit was given groups; "
            f"{n_held_out:.6g} were. These intervals are infinite: lower it, or "
            "give more rows in X_val.",
            stacklevel=3,
        )
