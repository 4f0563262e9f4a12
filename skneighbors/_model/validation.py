"""Validation rows and validation sets, and their residuals."""

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
    residuals : Tensor of shape (n, k)
    weight : Tensor of shape (n,)
    group : int Tensor of shape (n,)
    """

    residuals: torch.Tensor
    weight: torch.Tensor
    group: torch.Tensor

    @classmethod
    def of_bank(cls, rows, residuals):
        """Take rows of a bank, NeighborRows, each without itself and its group as neighbors."""
        parts = dict(residuals=residuals, weight=rows.weights(), group=rows.group)
        return cls(rows.z, rows.columns, rows.self_index, **parts)


@dataclass(frozen=True, eq=False)
class ValidationRows(Rows):
    """Rows of the bank that were validation rows of single members.

    Attributes
    ----------
    residuals : Tensor of shape (n, k)
        Mean residuals over the members that validated a row.
    rows : int Tensor of shape (n,)
    n_neighbors : int or None
        How many neighbors predicted them.
    """

    residuals: torch.Tensor = array_field("float64", "h k")
    rows: torch.Tensor = array_field("int64", "h", low=0, below="N")
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

    def join(self, z, rows):
        """Do nothing: samples that join a bank are no validation rows."""
        return self

    def keep(self, mask):
        """Keep those that stay when a bank keeps the rows of a mask."""
        kept = self.select(mask[self.rows])
        return replace(kept, rows=(mask.cumsum(0) - 1)[kept.rows])

    def judge(self, bank, n_neighbors):
        """Residuals as predictions by so many neighbors would leave them, as :class:`Judged`."""
        mine = self.to(bank.rows.z.device)
        rows, residuals = bank.rows.leave_out(mine.rows), mine.residuals
        if n_neighbors != self.n_neighbors:
            # The change of `n_neighbors` changes them as it does those of the final networks,
            # which predict these rows left out.
            counts = self.n_neighbors, n_neighbors
            before, now = (bank.predict(rows, rows.blended, k) for k in counts)
            residuals = residuals + before - now
        return Judged.of_bank(rows, residuals)


@dataclass(frozen=True, eq=False, kw_only=True)
class ValidationSet(EmbeddedRows):
    """A validation set given to `fit`, predicted from the bank's rows; each sample is a group.

    Attributes
    ----------
    y : Tensor of shape (n, k)
        Scaled targets.
    blended : Tensor of shape (n, k)
        Predictions of the blended model.
    weight : Tensor of shape (n,)
    rows : int Tensor of shape (n,)
        Their rows of the bank, where they have joined it; else -1.
    """

    z: torch.Tensor = array_field("float64", "h m d")
    columns: torch.Tensor | None = array_field("float64", "h u", allows="nan", default=None)
    y: torch.Tensor = array_field("float64", "h k")
    blended: torch.Tensor = array_field("float64", "h k")
    weight: torch.Tensor = array_field("float64", "h", low=0)
    rows: torch.Tensor = array_field("int64", "h", low=-1, below="N")

    def join(self, z, rows):
        """Find those that join a bank, whose rows (n_new,) of embeddings (n_new, m, d) they are."""
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
        """Keep all, with their new rows in a bank that keeps the rows of a mask."""
        is_kept = (self.rows >= 0) & mask[self.rows]
        return replace(self, rows=torch.where(is_kept, (mask.cumsum(0) - 1)[self.rows], -1))

    def judge(self, bank, n_neighbors):
        """Residuals of predictions by so many neighbors, as :class:`Judged`."""
        mine = self.to(bank.rows.z.device)
        mine = replace(mine, self_index=mine.rows)
        y_hat = bank.predict(mine, mine.blended, n_neighbors)
        group = torch.arange(len(mine), device=y_hat.device)
        parts = dict(residuals=mine.y - y_hat, weight=mine.weight, group=group)
        return Judged(mine.z, mine.columns, mine.self_index, **parts)


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
