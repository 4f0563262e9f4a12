"""Validation rows, and their residuals."""

import math
from dataclasses import dataclass, replace

import torch
from sklearn.neighbors import NearestNeighbors

from .._columns import Rows
from .._utils.arrays import array_field
from .._utils.sklearn_private import fit_unlogged
from .._utils.warn import warn
from ..nn._similarity import SIMILARITIES
from .rows import EmbeddedRows

# Candidates for a sample's row: products of embeddings lose digits where two coincide.
_N_CANDIDATES = 4
TOO_NARROW = "standard deviations, quantiles and intervals are much too narrow"


@dataclass(frozen=True, eq=False, kw_only=True)
class Judged(EmbeddedRows):
    """Rows whose residuals say how far off predictions are.

    Attributes
    ----------
    targets, residuals : Tensor of shape (n, k)
    weight : Tensor of shape (n,)
    group : int Tensor of shape (n,)
    """

    targets: torch.Tensor
    residuals: torch.Tensor
    weight: torch.Tensor
    group: torch.Tensor

    @classmethod
    def of_bank(cls, rows, residuals):
        """Take rows of a bank, NeighborRows, each without itself and its group as neighbors."""
        parts = dict(targets=rows.targets, weight=rows.weights(), group=rows.group)
        return cls(rows.z, rows.coordinates, rows.self_index, residuals=residuals, **parts)


@dataclass(frozen=True, eq=False)
class DrawnRows(Rows):
    """Validation rows that were drawn from the rows of the bank.

    Attributes
    ----------
    residuals : Tensor of shape (n, k)
        Mean residuals, scaled, over the members that they validated.
    rows : int Tensor of shape (n,)
        Which rows of the bank they are.
    n_neighbors : int or None
        How many neighbors left these residuals.
    """

    residuals: torch.Tensor = array_field("float64", "h k")
    rows: torch.Tensor = array_field("int64", "h", low=0, below="N")
    n_neighbors: int | None

    def _check_fields(self, sizes):
        """Check that there were neighbors."""
        if self.n_neighbors == 0:
            raise ValueError("validation.n_neighbors is 0")

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

    def join(self, z, rows):
        """Follow a bank that rows join: these are others."""
        return self

    def keep(self, mask):
        """Follow a bank that keeps the rows of a mask."""
        kept = self.select(mask[self.rows])
        return replace(kept, rows=mask.cumsum(0)[kept.rows] - 1)

    def weights(self, bank):
        """Weights and groups (n,) of the rows."""
        return bank.rows.weights()[self.rows], bank.rows.group[self.rows]

    def judge(self, bank, n_neighbors):
        """Residuals as predictions by so many neighbors leave them, as :class:`Judged`."""
        mine = self.to(bank.rows.z.device)
        own = bank.rows.leave_out(mine.rows)
        judged = Judged.of_bank(own, mine.residuals)
        if n_neighbors == self.n_neighbors:
            return judged
        # The change of `n_neighbors` changes them as it does those of the final networks, which
        # predict rows of the bank left out.
        counts = self.n_neighbors, n_neighbors
        before, now = (bank.predict(judged, own.blended, k) for k in counts)
        return replace(judged, residuals=judged.residuals + before - now)


@dataclass(frozen=True, eq=False)
class GivenRows(Rows):
    """A validation set given to `fit`, each sample of which is a group.

    Attributes
    ----------
    targets : Tensor of shape (n, k)
        Scaled.
    rows : int Tensor of shape (n,)
        Rows of the bank that they have become; -1 for those that have not joined it.
    z, coordinates, blended, weight : Tensor
        See :class:`NeighborRows`.
    """

    targets: torch.Tensor = array_field("float64", "h k")
    rows: torch.Tensor = array_field("int64", "h", low=-1, below="N")
    z: torch.Tensor = array_field("float64", "h m d")
    coordinates: torch.Tensor | None = array_field("float32", "h points")
    blended: torch.Tensor = array_field("float64", "h k")
    weight: torch.Tensor = array_field("float64", "h", low=0)

    def join(self, z, rows):
        """Find those that join a bank, as its rows (n_new,) of z (n_new, m, d)."""
        z, rows, near = z.cpu(), rows.cpu(), SIMILARITIES["l2"]
        search = NearestNeighbors(n_neighbors=min(_N_CANDIDATES, len(z)))
        fit_unlogged(NearestNeighbors, search, z.flatten(1).numpy())
        nearest = search.kneighbors(self.z.flatten(1).numpy(), return_distance=False)
        nearest = torch.from_numpy(nearest)
        smallest, place = near.compare(self.z, z, nearest)[1].min(1)
        norms = near.norms(self.z)
        joins = (smallest <= near.tolerance(norms, norms)) & (self.rows < 0)
        joined = rows[nearest.gather(1, place.unsqueeze(1)).squeeze(1)]
        return replace(self, rows=torch.where(joins, joined, self.rows))

    def keep(self, mask):
        """Follow a bank that keeps the rows of a mask; the set stays whole."""
        is_kept = (self.rows >= 0) & mask[self.rows]
        return replace(self, rows=torch.where(is_kept, mask.cumsum(0)[self.rows] - 1, -1))

    def weights(self, bank):
        """Weights and groups (n,) of the rows."""
        return self.weight, torch.arange(len(self), device=self.weight.device)

    def judge(self, bank, n_neighbors):
        """Residuals that predictions by so many neighbors leave, as :class:`Judged`."""
        mine = self.to(bank.rows.z.device)
        weight, group = mine.weights(bank)
        parts = dict(targets=mine.targets, weight=weight, group=group)
        judged = Judged(mine.z, mine.coordinates, mine.rows, residuals=mine.targets, **parts)
        y_hat = bank.predict(judged, mine.blended, n_neighbors)
        return replace(judged, residuals=mine.targets - y_hat)


def warn_unless_validated(model, what=TOO_NARROW):
    """Warn if there are no validation rows."""
    if not model.validation:
        warn(
            f"There are no validation rows, as by default with fewer than 30 samples, or after "
            f"all were forgotten: {what}. Fit with early_stopping=True, or give rows as X_val."
        )


def warn_of_infinite(what, confidence_level, n_validation):
    """Warn of what is infinite, as validation rows are too few."""
    n_needed = math.ceil(confidence_level / (1 - confidence_level) - 1e-9)
    warn(
        f"confidence_level={confidence_level} needs at least {n_needed} validation rows, or "
        f"as many groups, if fit was given groups; there are {n_validation:.0f}. These "
        f"{what}: lower it, or give more rows in X_val."
    )
