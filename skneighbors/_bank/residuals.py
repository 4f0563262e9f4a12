"""How far predictions miss: residuals of rows left out, and of rows held out."""

from dataclasses import dataclass, replace

import torch

from .._utils.locks import ForkSafeLock
from .engines import ExactEngine

# A prediction's distribution counts, beside its own neighbours, this many of any rows: few
# neighbours alone say little of tails.
_N_ANY = 10
# Of the targets' standard deviation: no spread is taken to be smaller.
_MIN_SPREAD = 1e-12
# Held while something is derived, so that threads that ask at once share it.
_deriving = ForkSafeLock()


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
        Scaled targets less predictions.
    weight : Tensor of shape (n,)
    rows : int Tensor of shape (n,) or None
        Their rows of the bank, if they are among its neighbours.
    z : Tensor of shape (m, n, d) or None
        Their embeddings, if they are not.
    """

    residuals: torch.Tensor
    weight: torch.Tensor
    rows: torch.Tensor | None = None
    z: torch.Tensor | None = None

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

    def select(self, keep):
        """Residuals of those that stay when the bank keeps the rows of a mask."""
        if self.rows is None:
            return self
        stays = keep[self.rows]
        place = keep.cumsum(0) - 1
        return replace(
            self,
            residuals=self.residuals[stays],
            weight=self.weight[stays],
            rows=place[self.rows[stays]],
        )


@dataclass(frozen=True, eq=False)
class ResidualDistribution:
    """Distribution of a prediction's residual: that of its neighbours', left out themselves.

    Residuals of training rows, each predicted without itself as a neighbour, are too small:
    networks have trained on them. `scale` corrects that by the median of residuals held out.

    Attributes
    ----------
    residuals : Tensor of shape (N, k)
        Leave-one-out residuals of the bank's rows, scaled targets less predictions.
    scale : Tensor of shape (k,)
    scores : Tensor of shape (n, k), sorted along n
        Absolute residuals held out, relative to the spread where they are; those of the
        bank's rows where there are none.
    cumulative : Tensor of shape (n, k)
        Total weights of these, up to each.
    """

    residuals: torch.Tensor
    scale: torch.Tensor
    scores: torch.Tensor
    cumulative: torch.Tensor

    @classmethod
    def of(cls, bank):
        """Distribution for a bank, kept with it."""
        return bank.derived.get(_measure, bank)

    def quantiles(self, bank, z, levels):
        """Quantiles (n, l, k) at sorted or unsorted levels (l,) for queries (m, n, d)."""
        weight = bank.weights()
        values, order = (self.residuals * self.scale).to(z.device).sort(0)
        any_row = _N_ANY * weight[order].cumsum(0) / weight.sum()  # (N, k)

        def quantiles_of(weights):
            mean = bank.mean_weights(weights)
            n_local, out = bank.effective_number(mean), []
            for own, rows, own_any in zip(values.T, order.T, any_row.T, strict=True):
                cumulative = mean[:, rows].cumsum_(1)
                torch.addcmul(own_any, cumulative, n_local, out=cumulative)
                reached = (levels - 1e-12) * (n_local + _N_ANY)
                found = torch.searchsorted(cumulative, reached)
                out.append(own[found.clamp_(max=len(own) - 1)])
            return torch.stack(out, 2)

        return torch.cat(ExactEngine(bank).attend(z, quantiles_of))

    def std(self, bank, z):
        """Root mean squares (n, k) for queries (m, n, d)."""
        squares = _expect(bank, (self.residuals * self.scale).square().to(z.device))
        return torch.cat(ExactEngine(bank).attend(z, squares)).sqrt()

    def half_widths(self, bank, z, confidence):
        """Half widths (n, k) of split-conformal intervals for queries (m, n, d).

        Raises
        ------
        ValueError
            If residuals held out are too few for such a confidence.
        """
        spread_of = _expect(bank, self.residuals.abs().to(z.device))
        spread = torch.cat(ExactEngine(bank).attend(z, spread_of)).clamp(min=_MIN_SPREAD)
        return self._factor(confidence).to(z.device) * spread

    def _factor(self, confidence):
        """Scores (k,) that a new row exceeds with a probability of at most 1 - confidence."""
        total = self.cumulative[-1]
        place = (self.cumulative < confidence * (total + 1) * (1 - 1e-12)).sum(0, keepdim=True)
        if (place >= len(self.scores)).any():
            n_needed = confidence / (1 - confidence)
            raise ValueError(
                f"confidence_level={confidence} needs held-out rows of a total weight of at least "
                f"{n_needed:.6g}; got {float(total.min()):.6g}. Lower it, or give more in X_val."
            )
        return self.scores.gather(0, place)[0]


def _measure(bank):
    """Residuals of a bank's rows left out, and scores of what was held out."""
    engine, device, weight = ExactEngine(bank), bank.z_n.device, bank.weights()
    rows = torch.arange(len(bank), device=device)
    averages = torch.cat(engine.attend_to_others(rows, bank.averages), 1)
    residuals = bank.targets() - bank.mean(bank.complete(bank.z_n, averages))
    held_out = bank.held_out
    if held_out is None:
        held_out = HeldOutResiduals(residuals, weight, rows)
    spread_of = _expect(bank, residuals.abs())
    if held_out.rows is None:
        spread = engine.attend(held_out.z.to(device), spread_of)
    else:
        spread = engine.attend_to_others(held_out.rows.to(device), spread_of)
    size, own_weight = held_out.residuals.to(device).abs(), held_out.weight.to(device)
    scores, order = (size / torch.cat(spread).clamp(min=_MIN_SPREAD)).sort(0)
    expected, found = _median(residuals.abs(), weight), _median(size, own_weight)
    scale = torch.where((expected > 0) & (found > 0), found / expected, 1.0)
    parts = residuals, scale, scores, own_weight[order].cumsum(0)
    return ResidualDistribution(*(part.cpu() for part in parts))


def _expect(bank, values):
    """Make a function of weights that averages values (N, k) of the bank's rows, to (b, k)."""
    weight = bank.weights()
    any_row = (weight @ values) / weight.sum()

    def expect(weights):
        mean = bank.mean_weights(weights)
        n_local = bank.effective_number(mean)
        return (n_local * (mean @ values) + _N_ANY * any_row) / (n_local + _N_ANY)

    return expect


def _median(values, weight):
    """Weighted medians (k,) of values (n, k)."""
    values, order = values.sort(0)
    cumulative = weight[order].cumsum(0)
    place = (cumulative < cumulative[-1:] / 2).sum(0, keepdim=True)
    return values.gather(0, place)[0]
