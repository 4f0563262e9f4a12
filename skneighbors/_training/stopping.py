"""When a training ends, which weights it keeps, and on which samples it goes on.

Each decision is a part of its own: :class:`Checkpoint` (which epoch to keep),
:class:`Patience` (no gain for too long), :class:`Review` (has training on harmed?),
:class:`Budget` (is there time for all epochs?).
"""

import math
import time

import torch

from .._network import embed_in_batches
from .schedule import cycle_ends
from .validation import EpochResult, set_mode

# Share of the time by which to tell what an epoch takes; and of what is left, to fill with epochs.
_MEASURED, _PLANNED = 0.1, 0.8
# Rows by which to tell what it takes to embed all.
_N_PROBED = 512


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


class Unaffordable(Exception):
    """There is not enough time for a training, but for one by other parameters."""

    def __init__(self, **params):
        super().__init__(params)
        self.params = params


def time_embedding(network, X):
    """Estimate how many seconds it takes to embed all rows, by some of them."""
    set_mode(network, training=False)
    some = X[:_N_PROBED]
    for _ in range(2):  # what is done first takes longer
        start = time.monotonic()
        embed_in_batches(network, some).sum().item()  # a GPU has then ended
        seconds = time.monotonic() - start
    return seconds * len(X) / len(some)


class Budget:
    """Whether there is time for all epochs, asked once, as soon as a tenth of it has passed."""

    def __init__(self, clock, plan):
        self._clock, self._plan = clock, plan
        self._start, self._left = time.monotonic(), clock.left()

    def check(self, epoch):
        """Raise :class:`Unaffordable` if what epochs took so far is too long for all of them."""
        passed, left = time.monotonic() - self._start, self._clock.left()
        if passed < _MEASURED * self._left:
            return
        self._left = math.inf
        # Those on all rows may be as many again.
        n_left = epoch * left / passed / (2 if self._plan.always_refits else 1)
        n_planned = int(_PLANNED * n_left)
        # Of a single one that begins anew little would come.
        if n_left < self._plan.max_iter - epoch and n_planned > 1:
            raise Unaffordable(max_iter=n_planned)


class Review:
    """Whether training on has harmed, asked where the last but one of the rate's cycles ends.

    And where earlier ones end, if the targets are noisy: clean ones may yet be learnt better.
    """

    def __init__(self, plan):
        self._plan = plan
        self._early, self.last_epoch = (), None
        if plan.review:
            *self._early, self.last_epoch = cycle_ends(plan.max_iter, plan.n_cycles)

    def finds_harm(self, epoch, result, best):
        """Whether it is due and the validation error exceeds its best beyond chance."""
        due = epoch == self.last_epoch
        if epoch in self._early and result.score < self._plan.early_review_below_r2:
            due = True
        return due and significantly_worse(result, best, self._plan.harm_in_standard_errors)


def significantly_worse(now, best, n_standard_errors=1.0):
    """Whether the validation errors of an epoch exceed another one's beyond chance.

    The standard error is that of the mean difference over the rows of all members, as if
    these rows were independent.

    Parameters
    ----------
    now, best : EpochResult
    n_standard_errors : float
    """
    now, best = now.held_out, best.held_out
    return exceeds(now.errors, best.errors, now.weight, n_standard_errors)


def exceeds(errors, others, weight, n_standard_errors=1.0):
    """Whether errors of rows, as if independent, exceed others by so many standard errors."""
    gain = (errors - others).double().flatten()
    weight = torch.ones_like(gain) if weight is None else weight.double().flatten()
    total = weight.sum()
    mean = (weight * gain).sum() / total
    # Of a row as one draw, whatever it weighs.
    variance = (weight * (gain - mean)).square().sum() / total.square()
    return bool(mean > n_standard_errors * variance.sqrt())
