"""Residuals of rows left out, and of validation rows: quantiles, spread and intervals."""

from dataclasses import dataclass, replace

import torch

from .._utils.blocks import sample_rows
from .._utils.device import CPU
from .bank import NeighborBank
from .validation import Judged

# Number of any rows that a prediction's distribution counts beside its neighbors, as a few
# neighbors say little of tails.
_N_ANY = 10
# Fewest neighbors that a spread rests on; a prediction may rest on fewer.
_N_SPREAD = 80
# Largest number of rows whose residuals are computed; more would change little and take long.
_MAX_ROWS = 10_000
# Smallest spread, as a fraction of the targets' standard deviation.
_MIN_SPREAD = 1e-12


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores of rows, by which regions are calibrated.

    Attributes
    ----------
    values : Tensor of shape (n, k), sorted along n
    weight, group : Tensor of shape (n, k)
        How much each counts, and its group.
    """

    values: torch.Tensor
    weight: torch.Tensor
    group: torch.Tensor

    @classmethod
    def of(cls, values, judged):
        """Sort scores (n, k) of rows, :class:`Judged`."""
        weight = weigh_by_group(judged.weight, judged.group).cpu()
        values, order = values.cpu().sort(0)
        return cls(values, weight[order], judged.group.cpu()[order])

    def exceeded(self, confidence):
        """Scores (k,) that a new row exceeds with a probability of at most 1 - confidence."""
        parts = zip(self.values.T, self.weight.T, self.group.T, strict=True)
        return torch.stack([conformal_score(*part, confidence) for part in parts])


@dataclass(frozen=True, eq=False)
class ResidualDistribution:
    """Distribution of a prediction's residual: that of its neighbors', left out themselves.

    Residuals of training rows, each predicted without itself as a neighbor, are too small:
    networks have trained on them. `scale` corrects that by the median of validation residuals.

    Attributes
    ----------
    known : NeighborBank
        Of the rows whose residuals are known: all, or as many as are enough.
    n_neighbors : int or None
        How many of these a query takes.
    residuals : Tensor of shape (c, k)
        Their leave-one-out residuals, scaled targets less predictions.
    scale : Tensor of shape (k,)
    rows : int Tensor of shape (c,)
        These rows' numbers, ascending.
    y_hat : Tensor of shape (c, k)
        Their predictions, scaled, and not clipped to the limits.
    scores : Scores
        Absolute residuals of validation rows, relative to the spread where they are; those of
        `known` where there are none.
    """

    known: NeighborBank
    n_neighbors: int | None
    residuals: torch.Tensor
    scale: torch.Tensor
    rows: torch.Tensor
    y_hat: torch.Tensor
    scores: Scores | None = None

    def quantiles(self, queries, levels):
        """Quantiles (n, l, k) at levels (l,) for n queries."""
        known = self.known.to(queries.device)
        weight = known.rows.weights()
        values, order = (self.residuals * self.scale).to(queries.device).sort(0)
        any_row = _N_ANY * weight[order].cumsum(0) / weight.sum()  # (c, k)
        levels = levels.to(queries.device) - 1e-12

        def quantiles_of(near):
            mass, n_near, out = near.total_weights, effective_number(near.total_weights), []
            mass = mass.new_zeros(len(mass), len(values)).scatter_(1, near.rows, mass)
            for residuals, rows, any_mass in zip(values.T, order.T, any_row.T, strict=True):
                cumulative = mass[:, rows].cumsum_(1)
                torch.addcmul(any_mass, cumulative, n_near, out=cumulative)
                found = torch.searchsorted(cumulative, levels * (n_near + _N_ANY))
                out.append(residuals[found.clamp_(max=len(residuals) - 1)])
            return torch.stack(out, 2)

        return torch.cat(known.attend(queries, quantiles_of, self.n_neighbors))

    def std(self, queries):
        """Root mean squares (n, k) for n queries."""
        squares = self._expect(queries, self.residuals.square())
        return squares.sqrt() * self.scale.to(queries.device)

    def half_widths(self, queries, confidence):
        """Half widths (n, k) of split-conformal intervals for n queries.

        inf where validation rows are too few for such a confidence.
        """
        factor = self.scores.exceeded(confidence).to(queries.device)
        return factor * self.spread(queries)

    def spread(self, queries):
        """Mean absolute residuals (n, k) of the neighbors of n queries, among `known`."""
        return self._expect(queries, self.residuals.abs()).clamp(min=_MIN_SPREAD)

    def _expect(self, queries, values):
        """Average values (c, k) over the neighbors of queries, and over any rows."""
        known, values = self.known.to(queries.device), values.to(queries.device)
        weight = known.rows.weights()
        any_row = (weight @ values) / weight.sum()

        def average(near):
            n_near = effective_number(near.total_weights)
            means = (near.total_weights.unsqueeze(2) * near.take(values)).sum(1)
            return (n_near * means + _N_ANY * any_row) / (n_near + _N_ANY)

        return torch.cat(known.attend(queries, average, self.n_neighbors))


def conformal_score(scores, weight, group, confidence):
    """Score that a row of a new group exceeds with a probability of at most 1 - confidence.

    Hierarchical conformal prediction: groups are exchangeable, their rows are not (Lee, Barber
    and Willett, "Distribution-free inference with hierarchical data", 2023). It counts a group
    as one draw, though it may be worth more: as many as the variance between groups leaves
    (Kish, "Survey Sampling", 1965, section 5.4, the design effect). Where each row is a group,
    that is split-conformal prediction.

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
    n_groups, n_rows = effective_count(totals), effective_count(weight)
    place = torch.searchsorted(cumulative, level * (1 + 1 / n_groups))
    if place == len(scores):
        return scores.new_tensor(torch.inf)
    below, inside = cumulative[place], slice(place + 1)
    reached = group[inside].bincount(weight[inside], len(totals))
    variance = ((reached - below * totals) / total).square().sum()
    n_draws = (below * (1 - below) / variance).nan_to_num_(torch.inf).clamp_(n_groups, n_rows)
    return scores[torch.searchsorted(cumulative, level * (1 + 1 / n_draws))]


def effective_count(weight):
    """Kish's effective sample size."""
    return weight.sum().square() / weight.square().sum()


def effective_number(weights):
    """Effective number (b, 1) of rows of weights (b, K)."""
    # The weights of a query without neighbors are 0.
    return weights.square().sum(1, keepdim=True).reciprocal_().nan_to_num_(posinf=0.0)


@torch.no_grad()
def measure(bank, validation, n_neighbors):
    """Residuals of a bank's rows left out, and scores of validation rows.

    Parameters
    ----------
    bank : NeighborBank
    validation : DrawnRows, GivenRows or None
    n_neighbors : int or None

    Returns
    -------
    residuals : ResidualDistribution
    """
    rows = sample_rows(len(bank), _MAX_ROWS).to(bank.rows.z.device)
    y_hat = bank.predict_left_out(rows, n_neighbors)
    residuals, known = bank.bounded[rows] - y_hat.clamp(*bank.limits), bank
    if len(rows) < len(bank):
        is_known = torch.zeros(len(bank), dtype=torch.bool, device=rows.device)
        is_known[rows] = True
        known = bank.keep(is_known, bank.rows.weights()[rows])
    if validation:
        judged = validation.judge(bank, n_neighbors)
        judged = replace(judged, self_index=stand_ins(bank.rows.group, judged.self_index, rows))
    else:
        every = torch.arange(len(rows), device=rows.device)
        judged = Judged.of_bank(known.rows.leave_out(every), residuals)
    size = judged.residuals.abs()
    usual = _median(residuals.abs(), weigh_by_group(known.rows.weights(), known.rows.group))
    missed = _median(size, weigh_by_group(judged.weight, judged.group))
    own = ResidualDistribution(
        known=known,
        n_neighbors=None if n_neighbors is None else max(n_neighbors, _N_SPREAD),
        residuals=residuals,
        scale=torch.where((usual > 0) & (missed > 0), missed / usual, 1.0).cpu(),
        rows=rows.cpu(),
        y_hat=y_hat.cpu(),
    )
    scores = Scores.of(size / own.spread(judged), judged)
    return replace(own, known=known.to(CPU), residuals=residuals.cpu(), scores=scores)


def stand_ins(group, self_index, rows):
    """For rows `self_index` (n,) of a bank, places in `rows` (c,) of one of their group, or -1.

    To leave a group out any row of it will do.
    """
    place = torch.full_like(group, -1)
    place[group[rows]] = torch.arange(len(rows), device=rows.device)
    return torch.where(self_index >= 0, place[group[self_index]], -1)


def weigh_by_group(weight, group):
    """Weights (n,) of rows when each group counts as its mean row."""
    return weight / group.bincount()[group]


def _median(values, weight):
    """Weighted medians (k,) of values (n, k), which torch has not."""
    values, order = values.sort(0)
    cumulative = weight[order].cumsum(0)
    place = (cumulative < cumulative[-1:] / 2).sum(0, keepdim=True)
    return values.gather(0, place)[0]
