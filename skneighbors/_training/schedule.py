"""Which learning rate a training takes, when it validates, and how it keeps to its time."""

import math
import time

# From so many epochs on, those above this fraction of the peak learning rate aren't validated,
# and, of more, not all others either.
_N_VALIDATIONS = 32
_HIGH_RATE = 0.5
# Early epochs are validated more often: after each such part of the epochs so far.
_RESOLUTION = 16
# A cycle is begun only if there is time for this part of its epochs.
_LEAST = 0.25


def learning_rate_factor(kind, progress, n_cycles):
    """Learning rate relative to its peak, after a fraction `progress` of the steps.

    ``"cycles"`` are cosine cycles of growing length, ``(1 - cos(2 pi log2(1 + (2^n - 1)
    progress))) / 2``; Holzmueller et al. (2024) have n = 4 of them.
    """
    if kind == "constant":
        return 1.0
    return 0.5 * (1 - math.cos(2 * math.pi * math.log2(1 + (2**n_cycles - 1) * progress)))


def cycle_ends(plan):
    """Give the positions on a plan's schedule, in epochs, where cycles of the rate end."""
    ends = ((2**n - 1) / (2**plan.n_cycles - 1) for n in range(1, plan.n_cycles))
    return (*(end * plan.max_iter for end in ends), plan.max_iter)


def has_ended_cycle(before, now, plan):
    """Whether a cycle, but for the first, has ended between two positions, to the nearest epoch."""
    return any(end - now <= 0.5 < end - before for end in cycle_ends(plan)[1:-1])


def validates(epoch, before, now, plan):
    """Whether to validate after an epoch, counted from 1, from one position to another.

    Not after each of many, nor, then, where the learning rate is high: what
    matters are the first epoch, the last and those of the early-stopping check.
    """
    if plan.recipe.n_iter_no_change is not None:
        return True
    if epoch == 1 or now >= plan.max_iter:
        return True
    if plan.check_overfitting and has_ended_cycle(before, now, plan):
        return True
    if plan.max_iter >= _N_VALIDATIONS and plan.recipe.learning_rate_schedule == "cycles":
        rate = learning_rate_factor("cycles", now / plan.max_iter, plan.n_cycles)
        if rate > _HIGH_RATE:
            return False
    stride = min(math.ceil(plan.max_iter / _N_VALIDATIONS), epoch // _RESOLUTION)
    return epoch % max(1, stride) == 0


class Pace:
    """How far a training has come on its schedule, and when it ends, lest it takes too long.

    Where a cycle of the learning rate begins, the epochs so far tell how long it will take. One
    that there is no time for is the last, and the clock moves the position on; one that there is
    hardly time for is not begun. In the second half of its time the clock moves on any cycle, if
    the steps do not, so that the rate has always fallen when the time is over.

    Parameters
    ----------
    plan : Plan
    clock : Clock
    n_epochs : int, default=None
        After how many the schedule ends; the plan's.

    Attributes
    ----------
    n_epochs : int
        Of the whole schedule, whether there is time for them or not.
    positions : list of float
        Where epochs so far began and ended on the schedule, in epochs as planned.
    """

    def __init__(self, plan, clock, n_epochs=None):
        self._plan, self._clock, self._start = plan, clock, time.monotonic()
        self.n_epochs = self._end = plan.max_iter if n_epochs is None else n_epochs
        self.positions = [0.0]
        self._begin_cycle()

    @property
    def is_over(self):
        """Whether the schedule has come to its end, or to that which there is time for."""
        return self.positions[-1] >= self._end

    @property
    def is_last(self):
        """Whether it is in its last cycle, or the last that there is time for."""
        return self._cycle_end >= self._end

    def learning_rate(self, n_epochs):
        """Give the rate of a step whose middle comes after so many epochs."""
        plan = self._plan
        progress = self._position(n_epochs) / plan.max_iter
        factor = learning_rate_factor(plan.recipe.learning_rate_schedule, progress, plan.n_cycles)
        return plan.learning_rate_init * factor

    def ends(self, n_epochs):
        """Whether the present epoch ends now, after so many epochs."""
        return self._time_passed() >= 1 or self._position(n_epochs) >= self._end

    def advance(self):
        """Come to the end of an epoch, and begin the next cycle if it ends one."""
        self.positions.append(min(self._position(len(self.positions)), self._end))
        if not self.is_last and self._cycle_end - self.positions[-1] <= 0.5:
            self._begin_cycle()

    def leave_out_last_cycle(self):
        """End the schedule after the present cycle, if that is the last but one."""
        if self._cycle_end == cycle_ends(self._plan)[-2]:
            self._cycle_end = self.n_epochs = round(self._cycle_end)
            self._end = min(self._end, self.n_epochs)

    def seconds(self, n_epochs):
        """Seconds that so many epochs take, by those so far; 0 before the first."""
        elapsed = time.monotonic() - self._start
        return n_epochs * elapsed / max(1, len(self.positions) - 1)

    def _begin_cycle(self):
        """Plan the next cycle, and in how many seconds it ends."""
        begin, left = self.positions[-1], self._clock.left()
        ends = (end for end in cycle_ends(self._plan) if end > begin + 0.5)
        end = min(self._end, next(ends, self._end))
        # What follows takes about as long as an epoch, and the first one perhaps all the time.
        seconds = left - self.seconds(1) if begin else left / 2
        self._lead = 2.0  # of the steps over the clock: it moves on in the second half of the time
        if seconds < _LEAST * self.seconds(end - begin):
            self._end = begin
        elif seconds < self.seconds(end - begin):
            self._end, self._lead = end, 1.0
        self._cycle_begin, self._cycle_end, self._n_before = begin, end, len(self.positions) - 1
        self._cycle_start, self._cycle_seconds = time.monotonic(), max(seconds, 1e-9)

    def _time_passed(self):
        """Part of the time of the present cycle that has passed."""
        return (time.monotonic() - self._cycle_start) / self._cycle_seconds

    def _position(self, n_epochs):
        """Position after so many epochs, whole or not."""
        by_steps = self._cycle_begin + (n_epochs - self._n_before)
        to_go = self._lead * (self._cycle_end - self._cycle_begin) * (1 - self._time_passed())
        return max(by_steps, self._cycle_end - max(0.0, to_go))
