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
class ValidationRows(Rows):
    """Validation rows: drawn from the rows of the bank, or a validation set given to `fit`.

    Attributes
    ----------
    residuals : Tensor of shape (n, k)
        Of rows of the bank the mean residuals, scaled, over the members that they validated; of
        a given set, which nothing has predicted yet, the scaled targets.
    rows : int Tensor of shape (n,)
        Their rows of the bank; -1 for those of a given set that have not joined it.
    n_neighbors : int or None
        How many neighbors left these residuals; 0 for a given set.
    z, coordinates, blended, weight : Tensor or None
        Of a given set, each sample of which is a group; see :class:`NeighborRows`. None for rows
        of the bank, which knows them.
    """

    residuals: torch.Tensor = array_field("float64", "h k")
    rows: torch.Tensor = array_field("int64", "h", low=-1, below="N")
    n_neighbors: int | None
    z: torch.Tensor | None = array_field("float64", "h m d", default=None)
    coordinates: torch.Tensor | None = array_field("float32", "h points", default=None)
    blended: torch.Tensor | None = array_field("float64", "h k", default=None)
    weight: torch.Tensor | None = array_field("float64", "h", low=0, default=None)

    def _check_fields(self, sizes):
        """Check that a given set is whole, and other rows are the bank's."""
        parts = self.z, self.blended, self.weight
        if len({part is None for part in parts}) > 1:
            raise ValueError("validation lacks some of its parts")
        if not self.is_given and (self.rows < 0).any():
            raise ValueError("validation.rows holds values below 0")
        if not self.is_given and self.n_neighbors == 0:
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

    @property
    def is_given(self):
        """Whether this is a set given to `fit`."""
        return self.z is not None

    def join(self, z, rows):
        """Find those of a given set that join a bank, as its rows (n_new,) of z (n_new, m, d)."""
        if not self.is_given:
            return self
        z, rows, space = z.cpu(), rows.cpu(), SIMILARITIES["l2"]
        search = NearestNeighbors(n_neighbors=min(_N_CANDIDATES, len(z)))
        fit_unlogged(NearestNeighbors, search, z.flatten(1).numpy())
        nearest = search.kneighbors(self.z.flatten(1).numpy(), return_distance=False)
        nearest = torch.from_numpy(nearest)
        smallest, place = space.compare(self.z, z, nearest)[1].min(1)
        norms = space.norms(self.z)
        joins = (smallest <= space.tolerance(norms, norms)) & (self.rows < 0)
        joined = rows[nearest.gather(1, place.unsqueeze(1)).squeeze(1)]
        return replace(self, rows=torch.where(joins, joined, self.rows))

    def keep(self, mask):
        """Follow a bank that keeps the rows of a mask; a given set stays whole."""
        is_kept = (self.rows >= 0) & mask[self.rows]
        kept = replace(self, rows=torch.where(is_kept, mask.cumsum(0)[self.rows] - 1, -1))
        return kept if self.is_given else kept.select(is_kept)

    def judge(self, bank, n_neighbors):
        """Residuals as predictions by so many neighbors leave them, as :class:`Judged`."""
        mine = self.to(bank.rows.z.device)
        if self.is_given:
            own, group = mine, torch.arange(len(mine), device=mine.z.device)
            parts = dict(targets=mine.residuals, residuals=mine.residuals, weight=mine.weight)
            judged = Judged(mine.z, mine.coordinates, mine.rows, group=group, **parts)
        else:
            own = bank.rows.leave_out(mine.rows)
            judged = Judged.of_bank(own, mine.residuals)
        if n_neighbors == self.n_neighbors:
            return judged
        # The change of `n_neighbors` changes them as it does those of the final networks, which
        # predict rows of the bank left out.
        counts = self.n_neighbors, n_neighbors
        before, now = (bank.predict(judged, own.blended, k) if k != 0 else 0.0 for k in counts)
        return replace(judged, residuals=judged.residuals + before - now)


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
