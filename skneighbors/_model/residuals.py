"""How far predictions miss: residuals of rows left out, and of rows held out."""

from dataclasses import dataclass, replace

import numpy as np
import torch

from .._utils.blocks import DIFFERENCES_BYTES, bounded_length, cut
from .._utils.device import CPU

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
        return torch.arange(n_rows, device=CPU)
    numbers = np.random.Generator(np.random.Philox(0)).random(n_rows)
    return torch.from_numpy(np.sort(np.argpartition(numbers, n_most)[:n_most]))


@dataclass(frozen=True, eq=False)
class LeftOut:
    """Predictions of rows of a bank, each left out of its own neighbours.

    Attributes
    ----------
    weight : Tensor of shape (n,)
        Weights of the bank's rows.
    n_neighbors : int or None
    rows : int Tensor of shape (c,)
        Those predicted, ascending.
    y_hat : Tensor of shape (c, k)
        Scaled, and not cut off at the limits.
    reach : Tensor of shape (c,)
        Distance of the furthest neighbour of each.
    """

    weight: torch.Tensor
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
    weight, group : Tensor of shape (n, k)
        How much each counts, and its group.
    left_out : LeftOut
        Where the residuals come from.
    """

    known: object
    n_neighbors: int | None
    residuals: torch.Tensor
    scale: torch.Tensor
    scores: torch.Tensor
    weight: torch.Tensor
    group: torch.Tensor
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
            share, n_near, out = near.total_weights, effective_number(near.total_weights), []
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

        inf where too few residuals are held out for such a confidence.
        """
        return self.factor(confidence).to(z.device) * self.spread(z)

    def spread(self, z, own=None):
        """Mean absolute residuals (n, k) of the neighbours of queries (n, m, d).

        `own` (n,), on the CPU, are rows of `known` to leave out with their groups, -1 for none.
        """
        own = own if own is None else own.to(z.device)
        return self._expect(z, self.residuals.abs(), own).clamp(min=_MIN_SPREAD)

    def _expect(self, z, values, own=None):
        return expect(self.known.to(z.device), z, values.to(z.device), self.n_neighbors, own)

    def factor(self, confidence):
        """Scores (k,) that a new row exceeds with a probability of at most 1 - confidence."""
        parts = zip(self.scores.T, self.weight.T, self.group.T, strict=True)
        return torch.stack([conformal_score(*part, confidence) for part in parts])

    @property
    def n_held_out(self):
        """How many groups of equal weight the scores are of."""
        return float(_effective_count(self.group[:, 0].bincount(self.weight[:, 0])))


def conformal_score(scores, weight, group, confidence):
    """Score that a row of a new group exceeds with a probability of at most 1 - confidence.

    Hierarchical conformal prediction: groups are exchangeable, their rows are not (Lee, Barber
    and Willett, "Distribution-free inference with hierarchical data", 2023). It counts a group
    as one draw, though it may have told more: as many as the variance between groups leaves
    (Kish, "Survey Sampling", 1965, section 5.4, the design effect). Where each row is a group
    of its own, that is split-conformal prediction.

    Parameters
    ----------
    scores : Tensor of shape (n,)
        Ascending.
    weight : Tensor of shape (n,)
        Each group's sum to what it counts.
    group : int Tensor of shape (n,)
    confidence : float

    Returns
    -------
    score : Tensor of shape ()
        inf if there are too few groups.
    """
    totals, total = group.bincount(weight), weight.sum()
    cumulative, level = weight.cumsum(0) / total, confidence * (1 - 1e-12)
    n_groups, n_rows = _effective_count(totals), _effective_count(weight)
    place = torch.searchsorted(cumulative, level * (1 + 1 / n_groups))
    if place == len(scores):
        return scores.new_tensor(torch.inf)
    share, inside = cumulative[place], slice(place + 1)
    reached = group[inside].bincount(weight[inside], len(totals))
    variance = ((reached - share * totals) / total).square().sum()
    n_draws = (share * (1 - share) / variance).nan_to_num_(torch.inf).clamp_(n_groups, n_rows)
    return scores[torch.searchsorted(cumulative, level * (1 + 1 / n_draws))]


def _effective_count(weight):
    """How many of equal weight would vary as much (Kish): whatever all weigh."""
    return weight.sum().square() / weight.square().sum()


def expect(known, z, values, n_neighbors, own=None):
    """Average values (c, k) of a bank's rows over the neighbours of queries, and over any rows."""
    any_row = (known.weights() @ values) / known.weights().sum()

    def average(near):
        n_near = effective_number(near.total_weights)
        means = (near.total_weights.unsqueeze(2) * near.take(values)).sum(1)
        return (n_near * means + _N_ANY * any_row) / (n_near + _N_ANY)

    return torch.cat(known.attend(z, average, n_neighbors, own=own))


def effective_number(weights):
    """How many rows of equal weight would spread weights (b, K) as far, (b, 1)."""
    # Without any neighbour there is no weight.
    return weights.square().sum(1, keepdim=True).reciprocal_().nan_to_num_(posinf=0.0)


def _leave_out(bank, n_neighbors):
    """Predict the rows whose residuals are known; of those known before, what changes."""
    rows, device = sample_rows(len(bank), _MAX_ROWS), bank.z_n.device
    y_hat = torch.empty(len(rows), bank.targets.shape[1], dtype=torch.float64, device=CPU)
    reach = torch.empty(len(rows), dtype=torch.float64, device=CPU)
    is_open = torch.ones(len(rows), dtype=torch.bool, device=CPU)
    before = bank.left_out
    # A rank is a share of all rows, whose number has changed; many rows change nearly all.
    if (
        before
        and before.n_neighbors == n_neighbors
        and len(joined := joined_since(before.weight, bank.weights().cpu())) <= _MAX_JOINED
        and not bank.network.head.ranked
    ):
        place = _places(rows, before.rows)
        kept = torch.nonzero(place >= 0).squeeze(1)
        y_hat[kept], reach[kept] = before.y_hat[place[kept]], before.reach[place[kept]]
        is_open[kept] = _is_reached(bank, rows[kept], reach[kept], joined)
    own = rows[is_open].to(device)
    if len(own):
        z, blended = bank.z_n[own], bank.left_out_blended[own]
        parts = bank.attend(
            z, lambda near: (near.average(bank.values), near.reach), n_neighbors, own=own
        )
        means, reached = map(torch.cat, zip(*parts, strict=True))
        y_hat[is_open], reach[is_open] = bank.complete(z, means, blended).cpu(), reached.cpu()
    return LeftOut(bank.weights().cpu(), n_neighbors, rows, y_hat, reach)


def joined_since(before, weight):
    """Rows that samples have joined since the first ones had the weights `before`."""
    missing = weight.new_zeros(len(weight) - len(before))
    return torch.nonzero(weight != torch.cat([before, missing])).squeeze(1)


def _is_reached(bank, rows, reach, joined):
    """Whether any row of `joined` is among the neighbours of `rows` (c,)."""
    if not len(joined):
        return torch.zeros_like(reach, dtype=torch.bool)
    device = bank.z_n.device
    new = bank.z_n[joined.to(device)]
    length = bounded_length(3 * 8 * new.numel(), DIFFERENCES_BYTES)
    reached = []
    for batch in cut(len(rows), length):
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
        z, own, missed, weight, group = bank.held_out.look_up(bank, n_neighbors)
        own = stand_ins(bank.group, own, rows)
    else:
        z, missed, weight, group = known.z_n, residuals, known.weights(), known.group
        own = torch.arange(len(rows), device=rows.device)
    weight = _by_group(weight, group)
    spread = expect(known, z, residuals.abs(), n_neighbors, own)
    size = missed.abs()
    scores, order = (size / spread.clamp(min=_MIN_SPREAD)).sort(0)
    usual = _median(residuals.abs(), _by_group(known.weights(), known.group))
    missed = _median(size, weight)
    scale = torch.where((usual > 0) & (missed > 0), missed / usual, 1.0)
    found = residuals, scale, scores, weight[order], group[order]
    known = known.to(CPU)
    return ResidualDistribution(known, n_neighbors, *(part.cpu() for part in found), left_out)


def _places(own, rows):
    """Where each of `own` (n,) stands in the sorted `rows` (c,), -1 where it does not."""
    place = torch.searchsorted(rows, own).clamp_(max=len(rows) - 1)
    return torch.where(rows[place] == own, place, -1)


def stand_ins(group, own, rows):
    """For rows `own` (n,) of a bank, places in `rows` (c,) of one of their group; -1 without.

    To leave a group out any row of it will do.
    """
    place = torch.full_like(group, -1)
    place[group[rows]] = torch.arange(len(rows), device=rows.device)
    return torch.where(own >= 0, place[group[own]], -1)


def _by_group(weight, group):
    """Weights (n,) of rows when each group counts as its mean row."""
    return weight / group.bincount()[group]


def _median(values, weight):
    """Weighted medians (k,) of values (n, k), which torch has not."""
    values, order = values.sort(0)
    cumulative = weight[order].cumsum(0)
    place = (cumulative < cumulative[-1:] / 2).sum(0, keepdim=True)
    return values.gather(0, place)[0]
