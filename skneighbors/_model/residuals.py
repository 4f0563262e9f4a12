"""How far predictions miss: residuals of rows left out, and of rows held out."""

from dataclasses import dataclass, replace

import numpy as np
import torch
from sklearn.utils import gen_batches

from .._utils.blocks import DIFFERENCES_BYTES, bounded_length

# A prediction's distribution counts, beside its own neighbours, this many of any rows: few
# neighbours alone say little of tails.
_N_ANY = 10
# Rows whose residuals are known; more would tell little more and take long.
_MAX_ROWS = 10_000
# Rows that join for which it pays to find out whose residuals they change.
_MAX_JOINED = 100
# Of the targets' standard deviation: no spread is taken to be smaller.
_MIN_SPREAD = 1e-12


def sample_rows(n_rows, n_most):
    """Rows of a bank, all, or some at random; in their order. More rows change few of them."""
    if n_rows <= n_most:
        return torch.arange(n_rows)
    numbers = np.random.Generator(np.random.Philox(0)).random(n_rows)
    return torch.from_numpy(np.sort(np.argpartition(numbers, n_most)[:n_most]))


@dataclass(frozen=True, eq=False)
class LeftOut:
    """Predictions of rows of a bank, each left out of its own neighbours.

    Attributes
    ----------
    n_rows : int
        Number of rows of the bank.
    n_neighbors : int or None
    rows : int Tensor of shape (c,)
        Those predicted, ascending.
    y_hat : Tensor of shape (c, k)
        Scaled, and not cut off at the limits.
    reach : Tensor of shape (c,)
        Distance of the furthest neighbour of each.
    """

    n_rows: int
    n_neighbors: int | None
    rows: torch.Tensor
    y_hat: torch.Tensor
    reach: torch.Tensor


@dataclass(frozen=True, eq=False)
class ResidualDistribution:
    """Distribution of a prediction's residual: that of its neighbours', left out themselves.

    Residuals of training rows, each predicted without itself as a neighbour, are too small:
    networks have trained on them. `scale` corrects that by the median of residuals held out.

    Attributes
    ----------
    known : NeighborBank
        Of the rows whose residuals are known: all, or as many as are enough.
    n_neighbors : int or None
        How many of these a query takes.
    residuals : Tensor of shape (c, k)
        Their leave-one-out residuals, scaled targets less predictions.
    scale : Tensor of shape (k,)
    scores : Tensor of shape (n, k), sorted along n
        Absolute residuals held out, relative to the spread where they are; those of `known`
        where there are none.
    cumulative : Tensor of shape (n, k)
        Total weights of these, up to each.
    left_out : LeftOut
        Where the residuals come from.
    """

    known: object
    n_neighbors: int | None
    residuals: torch.Tensor
    scale: torch.Tensor
    scores: torch.Tensor
    cumulative: torch.Tensor
    left_out: LeftOut

    @classmethod
    def of(cls, bank, n_neighbors):
        """Distribution for a bank, kept with it."""
        return bank.derived.get(measure, bank, n_neighbors)

    def quantiles(self, z, levels):
        """Quantiles (n, l, k) at levels (l,) for queries (n, m, d)."""
        known = self.known.to(z.device)
        weight = known.weights()
        values, order = (self.residuals * self.scale).to(z.device).sort(0)
        any_row = _N_ANY * weight[order].cumsum(0) / weight.sum()  # (c, k)
        levels = levels.to(z.device) - 1e-12

        def quantiles_of(near):
            share, n_near, out = near.total_weights, effective_number(near, known), []
            if near.rows is not None:
                share = share.new_zeros(len(share), len(values)).scatter_(1, near.rows, share)
            for own, rows, own_any in zip(values.T, order.T, any_row.T, strict=True):
                cumulative = share[:, rows].cumsum_(1)
                torch.addcmul(own_any, cumulative, n_near, out=cumulative)
                found = torch.searchsorted(cumulative, levels * (n_near + _N_ANY))
                out.append(own[found.clamp_(max=len(own) - 1)])
            return torch.stack(out, 2)

        return torch.cat(known.attend(z, quantiles_of, self.n_neighbors))

    def std(self, z):
        """Root mean squares (n, k) for queries (n, m, d)."""
        return self._expect(z, self.residuals.square()).sqrt() * self.scale.to(z.device)

    def half_widths(self, z, confidence):
        """Half widths (n, k) of split-conformal intervals for queries (n, m, d).

        Raises
        ------
        ValueError
            If residuals held out are too few for such a confidence.
        """
        factor = self._factor(confidence).to(z.device)
        return factor * self._expect(z, self.residuals.abs()).clamp(min=_MIN_SPREAD)

    def _expect(self, z, values):
        return expect(self.known.to(z.device), z, values.to(z.device), self.n_neighbors)

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


def expect(known, z, values, n_neighbors, own=None):
    """Average values (c, k) of a bank's rows over the neighbours of queries, and over any rows."""
    any_row = (known.weights() @ values) / known.weights().sum()

    def average(near):
        n_near = effective_number(near, known)
        means = (near.total_weights.unsqueeze(2) * near.take(values)).sum(1)
        return (n_near * means + _N_ANY * any_row) / (n_near + _N_ANY)

    return torch.cat(known.attend(z, average, n_neighbors, own=own))


def effective_number(near, bank):
    """How many neighbours of equal weight would spread the weights as far, (b, 1).

    A neighbour of sample weight c counts as c of them.
    """
    weights = near.total_weights
    if bank.sample_weight is not None:
        weights = weights * near.take(bank.sample_weight).rsqrt()
    # Without any neighbour there is no weight.
    return weights.square().sum(1, keepdim=True).reciprocal_().nan_to_num_(posinf=0.0)


def _leave_out(bank, n_neighbors):
    """Predict the rows whose residuals are known; of those known before, what changes."""
    rows, device = sample_rows(len(bank), _MAX_ROWS), bank.z_n.device
    y_hat = torch.empty(len(rows), bank.targets.shape[1], dtype=torch.float64)
    reach = torch.empty(len(rows), dtype=torch.float64)
    is_open = torch.ones(len(rows), dtype=torch.bool)
    before = bank.left_out
    # A rank is a share of all rows, whose number has changed; many rows change nearly all.
    if (
        before
        and before.n_neighbors == n_neighbors
        and len(bank) - before.n_rows <= _MAX_JOINED
        and not bank.network.head.ranked
    ):
        place = _places(rows, before.rows)
        kept = torch.nonzero(place >= 0).squeeze(1)
        y_hat[kept], reach[kept] = before.y_hat[place[kept]], before.reach[place[kept]]
        is_open[kept] = _is_reached(bank, rows[kept], reach[kept], before.n_rows)
    own = rows[is_open].to(device)
    z, blended = bank.z_n[own], bank.blended[own]
    parts = bank.attend(
        z, lambda near: (near.average(bank.values), near.reach), n_neighbors, own=own
    )
    if parts:
        means, reached = map(torch.cat, zip(*parts, strict=True))
        y_hat[is_open], reach[is_open] = bank.complete(z, means, blended).cpu(), reached.cpu()
    return LeftOut(len(bank), n_neighbors, rows, y_hat, reach)


def _is_reached(bank, rows, reach, n_before):
    """Whether any row from number `n_before` on is among the neighbours of `rows` (c,)."""
    new, device = bank.z_n[n_before:], bank.z_n.device
    length = bounded_length(3 * 8 * new.numel(), DIFFERENCES_BYTES)
    reached = []
    for batch in gen_batches(len(rows), length):
        z = bank.z_n[rows[batch].to(device)]
        distances = bank.space.compare(z, new.expand(len(z), *new.shape))[1].amin(1)
        unit = bank.space.tolerance(bank.space.norms(z), bank.radius)
        reached.append((distances <= reach[batch].to(device) + 2 * unit).cpu())
    return torch.cat(reached)


@torch.no_grad()
def measure(bank, n_neighbors):
    """Residuals of a bank's rows left out, and scores of what was held out."""
    left_out = _leave_out(bank, n_neighbors)
    rows = left_out.rows.to(bank.z_n.device)
    residuals = bank.targets[rows] - left_out.y_hat.to(rows.device).clamp(*bank.limits)
    # A bank of its own, lest the one that keeps this refers to itself.
    known = replace(bank, held_out=None, left_out=None, derived=type(bank.derived)())
    if len(rows) < len(bank):
        is_known = torch.zeros(len(bank), dtype=torch.bool, device=rows.device)
        is_known[rows] = True
        known = known.select(is_known, bank.weights()[rows])
    if bank.has_held_out:
        z, own, missed, weight = bank.held_out.look_up(bank, n_neighbors)
        own = _places(own, rows)
    else:
        z, missed, weight = known.z_n, residuals, known.weights()
        own = torch.arange(len(rows), device=rows.device)
    spread = expect(known, z, residuals.abs(), n_neighbors, own)
    size = missed.abs()
    scores, order = (size / spread.clamp(min=_MIN_SPREAD)).sort(0)
    usual, missed = _median(residuals.abs(), known.weights()), _median(size, weight)
    scale = torch.where((usual > 0) & (missed > 0), missed / usual, 1.0)
    found = residuals, scale, scores, weight[order].cumsum(0)
    known = known.to(torch.device("cpu"))
    return ResidualDistribution(known, n_neighbors, *(part.cpu() for part in found), left_out)


def _places(own, rows):
    """Where each of `own` (n,) stands in the sorted `rows` (c,), -1 where it does not."""
    place = torch.searchsorted(rows, own).clamp_(max=len(rows) - 1)
    return torch.where(rows[place] == own, place, -1)


def _median(values, weight):
    """Weighted medians (k,) of values (n, k)."""
    values, order = values.sort(0)
    cumulative = weight[order].cumsum(0)
    place = (cumulative < cumulative[-1:] / 2).sum(0, keepdim=True)
    return values.gather(0, place)[0]
