"""When a training ends, which weights it keeps, and on which samples it goes on.

Each decision has its class: :class:`Checkpoint` (which epoch to keep),
:class:`Patience` (no gain for too long), :class:`OverfittingCheck` (is it overfitting?).
When the time is over, :class:`Pace` says.
"""

import math

import torch

from .schedule import has_ended_cycle
from .validation import EpochResult

# Fraction of the evidence for overfitting that ends a training early, which saves most of its time.
_EARLY = 0.5


class Checkpoint:
    """The best epoch so far, and through `trainers` a copy of its weights."""

    def __init__(self, trainers):
        self._trainers = trainers
        self.best, self.epoch = EpochResult(math.inf, math.inf), 0  # 0: none yet

    def offer(self, epoch, result):
        """Keep an epoch if it is better than all before."""
        if result.error < self.best.error:
            self.keep(epoch, result)

    def keep(self, epoch, result):
        """Keep an epoch whatever came before."""
        self.best, self.epoch = result, epoch
        self._trainers.take_snapshot()


class Patience:
    """Ends a training after `n_iter_no_change` epochs without a gain of `tol`; never if None."""

    def __init__(self, n_iter_no_change, tol):
        self._n_iter_no_change, self._tol = n_iter_no_change, tol
        self._reference, self._n_without_gain = math.inf, 0

    def is_exhausted(self, error):
        """Count an epoch of this error; whether it was the last."""
        self._n_without_gain += 1
        if error < self._reference - self._tol:
            self._reference, self._n_without_gain = error, 0
        return self._n_without_gain == self._n_iter_no_change


class OverfittingCheck:
    """Check for overfitting where the last cycle of the learning rate begins.

    Where earlier cycles begin, only noisy targets are checked: clean ones may yet be learned
    better. Which cycle is the last is decided before.
    """

    def __init__(self, plan):
        self._plan = plan

    def is_due(self, before, now):
        """Whether to check between two positions; the later one has been validated."""
        return self._plan.check_overfitting and has_ended_cycle(before, now, self._plan)

    def finds_overfitting(self, result, best, is_last):
        """Whether the validation error exceeds its best beyond chance, in a cycle to check."""
        plan = self._plan
        if not is_last and result.score >= plan.early_check_below_r2:
            return False
        enough = plan.overfitting_in_standard_errors
        return significantly_worse(result, best, enough if is_last else _EARLY * enough)


def significantly_worse(now, best, n_standard_errors=1.0):
    """Whether the validation errors of an epoch exceed another one's beyond chance.

    The standard error is that of the mean difference over the rows of all members, as if
    these rows were independent.

    Parameters
    ----------
    now, best : EpochResult
    n_standard_errors : float
    """
    now, best = now.validation, best.validation
    return exceeds(now.errors, best.errors, now.weight, n_standard_errors)


def exceeds(errors, others, weight, n_standard_errors=1.0):
    """Whether errors of rows, as if independent, exceed others by so many standard errors."""
    gain = (errors - others).double().flatten()
    weight = torch.ones_like(gain) if weight is None else weight.double().flatten()
    total = weight.sum()
    mean = (weight * gain).sum() / total
    # Each row counts as one draw, whatever its weight.
    variance = (weight * (gain - mean)).square().sum() / total.square()
    return bool(mean > n_standard_errors * variance.sqrt())
