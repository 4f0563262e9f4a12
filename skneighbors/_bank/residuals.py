"""How far predictions miss: residuals of rows left out, and of rows held out."""

from dataclasses import dataclass, replace

import numpy as np
import torch
from sklearn.neighbors import NearestNeighbors

from .._network import concat_members
from .._utils.locks import ForkSafeLock
from .engines import ExactEngine
from .exact import effective_number

# A prediction's distribution counts, beside its own neighbours, this many of any rows: few
# neighbours alone say little of tails.
_N_ANY = 10
# Rows whose residuals are known; more would tell little more and take long.
_MAX_ROWS = 10_000
# Of the targets' standard deviation: no spread is taken to be smaller.
_MIN_SPREAD = 1e-12
# Held while something is derived, so that threads that ask at once share it.
_deriving = ForkSafeLock()


def sample_rows(n_rows, n_most):
    """Rows of a bank, all, or some at random, always the same ones; in their order."""
    if n_rows <= n_most:
        return torch.arange(n_rows)
    order = torch.randperm(n_rows, generator=torch.Generator().manual_seed(0))
    return order[:n_most].sort().values


class Derived:
    """Whatever is computed from a whole bank, once, when first asked for."""

    def __init__(self):
        self._kept = {}

    def get(self, compute, bank):
        """Find what ``compute(bank)`` gives, kept under the function's name."""
        name = compute.__name__
        if name not in self._kept:
            with _deriving:
                if name not in self._kept:
                    self._kept[name] = compute(bank)
        return self._kept[name]


@dataclass(frozen=True, eq=False)
class HeldOutResiduals:
    """Residuals of samples that networks have predicted without having trained on them.

    Attributes
    ----------
    residuals : Tensor of shape (n, k)
        Scaled targets less predictions; less only what a regressor beside the networks says,
        if `network_share` is not 0.
    weight : Tensor of shape (n,)
    rows : int Tensor of shape (n,)
        Their rows of the bank; -1 for those that are not among its neighbours.
    z : Tensor of shape (m, n, d) or None
        Their embeddings; None for those of their rows.
    network_share : float
        Share of what the networks predict of them, with the neighbours there are, that is
        still to be subtracted.
    """

    residuals: torch.Tensor
    weight: torch.Tensor
    rows: torch.Tensor
    z: torch.Tensor | None = None
    network_share: float = 0.0

    @classmethod
    def of_queries(cls, residuals, network_share, weight, z):
        """Residuals of samples that are not among the neighbours."""
        rows = torch.full((len(weight),), -1)
        return cls(residuals, weight, rows, z, network_share)

    @classmethod
    def of_members(cls, residuals, weight, rows):
        """Mean residuals of the bank's rows over the members that held them out.

        Parameters
        ----------
        residuals : Tensor of shape (m, n, k)
        weight : Tensor of shape (m, n) or None
        rows : int Tensor of shape (m, n)
        """
        residuals, rows = residuals.double().flatten(0, 1).cpu(), rows.flatten().cpu()
        weight = torch.ones_like(residuals[:, 0]) if weight is None else weight.flatten().cpu()
        unique, place, counts = rows.unique(return_inverse=True, return_counts=True)
        sums = residuals.new_zeros(len(unique), residuals.shape[1]).index_add_(0, place, residuals)
        own_weight = torch.empty_like(sums[:, 0])
        own_weight[place] = weight.double()
        return cls(sums / counts.unsqueeze(1), own_weight, unique)

    def extend(self, z_new, n_rows):
        """Find those that join the bank, of `n_rows` so far, with new rows (m, n_new, d)."""
        if self.z is None:
            return self
        own, new = (concat_members(part).cpu().numpy() for part in (self.z, z_new))
        distances, nearest = NearestNeighbors(n_neighbors=1).fit(new).kneighbors(own)
        joins = torch.from_numpy(distances[:, 0] <= 1e-9 * (1 + np.abs(own).max(axis=1)))
        joins &= self.rows < 0
        return replace(
            self, rows=torch.where(joins, torch.from_numpy(nearest[:, 0]) + n_rows, self.rows)
        )

    def select(self, keep, sample_weight):
        """Residuals of those that stay when the bank keeps the rows of a mask."""
        place = keep.cumsum(0) - 1
        is_kept = (self.rows >= 0) & keep[self.rows]
        rows = torch.where(is_kept, place[self.rows], -1)
        if self.z is not None:
            return replace(self, rows=rows)
        rows = rows[is_kept]
        residuals = self.residuals[is_kept]
        return replace(self, residuals=residuals, weight=sample_weight[rows], rows=rows)


@dataclass(frozen=True, eq=False)
class ResidualDistribution:
    """Distribution of a prediction's residual: that of its neighbours', left out themselves.

    Residuals of training rows, each predicted without itself as a neighbour, are too small:
    networks have trained on them. `scale` corrects that by the median of residuals held out.

    Attributes
    ----------
    rows : int Tensor of shape (c,)
        Rows of the bank whose residuals are known: all, or as many as are enough.
    residuals : Tensor of shape (c, k)
        Their leave-one-out residuals, scaled targets less predictions.
    scale : Tensor of shape (k,)
    scores : Tensor of shape (n, k), sorted along n
        Absolute residuals held out, relative to the spread where they are; those of `rows`
        where there are none.
    cumulative : Tensor of shape (n, k)
        Total weights of these, up to each.
    """

    rows: torch.Tensor
    residuals: torch.Tensor
    scale: torch.Tensor
    scores: torch.Tensor
    cumulative: torch.Tensor

    @classmethod
    def of(cls, bank):
        """Distribution for a bank, kept with it."""
        return bank.derived.get(_measure, bank)

    def quantiles(self, bank, z, levels):
        """Quantiles (n, l, k) at levels (l,) for queries (m, n, d)."""
        near = _Nearby(bank, self.rows)
        values, order = (self.residuals * self.scale).to(z.device).sort(0)
        any_row = _N_ANY * near.weight[order].cumsum(0) / near.weight.sum()  # (c, k)
        levels = levels.to(z.device) - 1e-12

        def quantiles_of(weights):
            (share, n_near), out = near.weigh(weights), []
            for own, rows, own_any in zip(values.T, order.T, any_row.T, strict=True):
                cumulative = share[:, rows].cumsum_(1)
                torch.addcmul(own_any, cumulative, n_near, out=cumulative)
                found = torch.searchsorted(cumulative, levels * (n_near + _N_ANY))
                out.append(own[found.clamp_(max=len(own) - 1)])
            return torch.stack(out, 2)

        return torch.cat(ExactEngine(bank).attend(z, quantiles_of))

    def std(self, bank, z):
        """Root mean squares (n, k) for queries (m, n, d)."""
        squares = _Nearby(bank, self.rows).expect(self.residuals.square())
        variance = torch.cat(ExactEngine(bank).attend(z, squares))
        return variance.sqrt() * self.scale.to(z.device)

    def half_widths(self, bank, z, confidence):
        """Half widths (n, k) of split-conformal intervals for queries (m, n, d).

        Raises
        ------
        ValueError
            If residuals held out are too few for such a confidence.
        """
        factor = self._factor(confidence).to(z.device)
        spread = _Nearby(bank, self.rows).expect(self.residuals.abs())
        return factor * torch.cat(ExactEngine(bank).attend(z, spread)).clamp(min=_MIN_SPREAD)

    def _factor(self, confidence):
        """Scores (k,) that a new row exceeds with a probability of at most 1 - confidence."""
        total = self.cumulative[-1]
        place = (self.cumulative < confidence * (total + 1) * (1 - 1e-12)).sum(0, keepdim=True)
        if (place >= len(self.scores)).any():
            n_needed = confidence / (1 - confidence)
            raise ValueError(
                f"confidence_level={confidence} needs held-out rows (or, if none are, neighbours) "
                f"of a total weight of at least {n_needed:.6g}; got {float(total.min()):.6g}. "
                "Lower it, or give more in X_val."
            )
        return self.scores.gather(0, place)[0]


def _measure(bank):
    """Residuals of a bank's rows left out, and scores of what was held out."""
    engine, rows = ExactEngine(bank), sample_rows(len(bank), _MAX_ROWS).to(bank.z_n.device)
    near = _Nearby(bank, rows)
    z = bank.z_n[:, rows]
    residuals = bank.targets()[rows] - _predict_left_out(bank, z, rows)
    spread_of = near.expect(residuals.abs())
    held_out = bank.held_out
    if not bank.has_held_out:
        own, size, weight = rows, residuals.abs(), near.weight
    else:
        parts = held_out.rows, held_out.residuals, held_out.weight
        own, size, weight = (part.to(rows.device) for part in parts)
        z = bank.z_n[:, own] if held_out.z is None else held_out.z.to(rows.device)
        if held_out.network_share:
            size = size - held_out.network_share * _predict_left_out(bank, z, own)
        size = size.abs()
    spread = torch.cat(engine.attend_to_others(z, own, spread_of))
    scores, order = (size / spread.clamp(min=_MIN_SPREAD)).sort(0)
    left_out, missed = _median(residuals.abs(), near.weight), _median(size, weight)
    scale = torch.where((left_out > 0) & (missed > 0), missed / left_out, 1.0)
    found = rows, residuals, scale, scores, weight[order].cumsum(0)
    return ResidualDistribution(*(part.cpu() for part in found))


def _predict_left_out(bank, z, own):
    """Predictions (n, k) of queries (m, n, d), their own rows (n,) left out."""
    parts = ExactEngine(bank).attend_to_others(z, own, lambda weights, _: bank.averages(weights))
    return bank.mean(bank.complete(z, torch.cat(parts, 1)))


class _Nearby:
    """Some rows of a bank as neighbours, beside any of them."""

    def __init__(self, bank, rows):
        self._bank, self._rows = bank, rows.to(bank.z_n.device)
        self.weight = bank.weights()[self._rows]

    def weigh(self, weights, own=None):
        """Shares (b, c) of the rows in their weights, and how many spread them as far, (b, 1).

        `weights` are those (b, N) of all rows, a tensor for each member; `own` (b,) are the
        queries' own rows, if these are left out.
        """
        share = self._bank.mean_weights(weights)
        if len(self._rows) < len(self._bank):
            share = share[:, self._rows]
            total = share.sum(1, keepdim=True)
            share /= total.masked_fill(total == 0, 1)
        if self._bank.sample_weight is None:
            return share, effective_number(share, None)
        weight = self.weight
        if own is not None:
            is_own = self._rows == own.unsqueeze(1)
            weight = (weight - is_own.to(weight)).clamp_(min=torch.finfo(weight.dtype).tiny)
        return share, effective_number(share, weight)

    def expect(self, values):
        """Make a function of weights that averages values (c, k) of the rows, to (b, k)."""
        values = values.to(self.weight.device)
        any_row = (self.weight @ values) / self.weight.sum()

        def average(weights, own=None):
            share, n_near = self.weigh(weights, own)
            return (n_near * (share @ values) + _N_ANY * any_row) / (n_near + _N_ANY)

        return average


def _median(values, weight):
    """Weighted medians (k,) of values (n, k)."""
    values, order = values.sort(0)
    cumulative = weight[order].cumsum(0)
    place = (cumulative < cumulative[-1:] / 2).sum(0, keepdim=True)
    return values.gather(0, place)[0]
