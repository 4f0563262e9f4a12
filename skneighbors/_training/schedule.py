"""Which learning rate a training takes, when it validates, and how it keeps to its time."""

import math

# From so many epochs on, those above this fraction of the peak learning rate aren't validated,
# and, of more, not all others either.
_N_VALIDATIONS = 32
_HIGH_RATE = 0.5
# Early epochs are validated more often: after each such part of the epochs so far.
_RESOLUTION = 16
# What follows a training takes about as long as so many epochs.
_AFTER = 1.0
# A cycle is begun only if there is time for this part of its epochs.
_LEAST = 0.25
# How long epochs take is not known before this part of the time: single steps may be slow.
_MEASURED = 0.05


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


def count_cycles(position, plan):
    """Count the cycles that have ended, to the nearest epoch."""
    return sum(end - position <= 0.5 for end in cycle_ends(plan)[:-1])


def has_ended_cycle(before, now, plan):
    """Whether a cycle, but for the first, has ended between two positions."""
    return max(1, count_cycles(before, plan)) < count_cycles(now, plan)


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
    """How far a network has come on its schedule, and how fast it goes on.

    As planned, if the present cycle of the learning rate ends in time. Else what is left of it
    is passed through in as many epochs as there is time for, so that the rate has fallen when
    the time is over; and a cycle that there is hardly time for is not begun. So all before is
    as it is without a limit.

    Parameters
    ----------
    plan : Plan
    clock : Clock
    ends : tuple of float
        Positions on the schedule, in epochs as planned, where cycles end; the last ends it.

    Attributes
    ----------
    position : float
        Of the present.
    is_last : bool
        Whether it is in its last cycle.
    is_over : bool
        Whether the schedule has come to its end, or the time.
    """

    def __init__(self, plan, clock, ends):
        self._plan, self._clock, self._ends = plan, clock, ends
        self._trained = self._skipped = 0.0  # epochs
        self._begin_cycle()
        self._pace = 1.0  # epochs planned to an epoch trained
        self._since = None  # seconds left and epochs trained, when first measured
        self.is_over = False

    @property
    def position(self):
        return self._trained + self._skipped

    def learning_rate(self, n_epochs, step, n_batches):
        """Give the rate of a step of an epoch, the next to take."""
        plan = self._plan
        skipped = self._skipped + 0.5 * (self._pace - 1) / n_batches
        progress = (n_epochs + (step + 0.5) / n_batches + skipped) / plan.max_iter
        factor = learning_rate_factor(plan.recipe.learning_rate_schedule, progress, plan.n_cycles)
        return plan.learning_rate_init * factor

    def advance(self, n_epochs, step, n_batches):
        """Count a step, and look at the clock."""
        self._skipped += (self._pace - 1) / n_batches
        self._trained = n_epochs + (step + 1) / n_batches
        if self._since is None:  # the first step takes longer
            self._since = self._clock.left(), self._trained
        n_left = self.epochs_left()
        if self._plan.always_refits:  # for as many epochs, perhaps
            n_left = (n_left - self._trained) / 2
        to_go, rest = self._end - self.position, n_epochs + 1 - self._trained
        if not rest and to_go <= 0.5 and not self.is_last:
            self._begin_cycle()
            to_go = self._end - self.position
            self.is_last |= n_left < to_go
            self.is_over = n_left < _LEAST * to_go
        self._pace = max(1.0, to_go / max(n_left, 1 / n_batches))
        passed = to_go <= 0 and (self.is_last or n_left < rest)
        self.is_over |= passed or n_left <= 0

    @property
    def n_cycles_left(self):
        """Number of cycles that have not ended."""
        return sum(end >= self._end for end in self._ends)

    @property
    def n_epochs(self):
        """Number of epochs of the whole schedule, as planned."""
        return round(self._ends[-1])

    def leave_out_last_cycle(self):
        """End the schedule after the present cycle, and a whole number of epochs."""
        self._end = round(self._end)
        self._ends, self.is_last = (self._end,), True

    def _begin_cycle(self):
        *others, last = self._ends
        self._end = next((end for end in others if end > self.position + 0.5), last)
        self.is_last = self._end == last

    def epochs_left(self):
        """How many more epochs there is time for, by what those so far took; inf if not known."""
        left = self._clock.left()
        seconds, epochs = self._since[0] - left, self._trained - self._since[1]
        if left > 0 and (math.isinf(left) or seconds <= _MEASURED * left):
            return math.inf
        if not (seconds > 0 and epochs):
            return 0.0
        return left * epochs / seconds - _AFTER
