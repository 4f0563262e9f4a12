"""Which learning rate a training takes, when it validates, and how it keeps to its time."""

import math
import time

# From so many epochs on, those above this fraction of the peak learning rate aren't validated,
# and, of more, not all others either.
_N_VALIDATIONS = 32
_HIGH_RATE = 0.5
# Early epochs are validated more often: after each such part of the epochs so far.
_RESOLUTION = 16
# A phase is begun only if there is time for this part of its epochs.
_LEAST = 0.25


def learning_rate_factor(kind, progress, n_cycles):
    """Learning rate relative to its peak, after a fraction `progress` of the steps.

    ``"cycles"`` are cosine cycles of growing length, ``(1 - cos(2 pi log2(1 + (2^n - 1)
    progress))) / 2``; Holzmueller et al. (2024) have n = 4 of them.
    """
    if kind == "constant":
        return 1.0
    return 0.5 * (1 - math.cos(2 * math.pi * math.log2(1 + (2**n_cycles - 1) * progress)))


class Pace:
    """How far a training has come on its schedule, and when it ends, lest it takes too long.

    Where a phase begins, the epochs so far tell how long it will take. One that there is no time
    for is the last, and the clock moves the position on; one that there is hardly time for is not
    begun. In the second half of its time the clock moves on any phase, if the steps do not, so
    that the rate has always fallen when the time is over.

    Parameters
    ----------
    schedule : Schedule
    clock : Clock

    Attributes
    ----------
    n_epochs : int
        Of the whole schedule, whether there is time for them or not.
    positions : list of float
        Where epochs so far began and ended on the schedule, in epochs as planned.
    """

    def __init__(self, schedule, clock):
        self.schedule, self._clock, self._start = schedule, clock, time.monotonic()
        self.n_epochs = self._end = schedule.phases[-1].end
        self.positions = [0.0]
        self._begin_phase()

    def phases(self):
        """Yield the phases that there is time for, one after the other; one in any case."""
        yield self._phase
        while not self.is_over:
            yield self._phase

    def epochs(self):
        """Yield the numbers of the present phase's epochs, counted from 1; one in any case."""
        begin = self._begin
        yield len(self.positions)
        while not self.is_over and self._begin == begin:
            yield len(self.positions)

    @property
    def is_over(self):
        """Whether the schedule has come to its end, or to that which there is time for."""
        return self.positions[-1] >= self._end

    @property
    def is_last(self):
        """Whether it is in its last phase, or the last that there is time for."""
        return self._phase_end >= self._end

    def learning_rate(self, n_epochs):
        """Give the rate of a step whose middle comes after so many epochs."""
        return self.schedule.learning_rate * self._factor(self._position(n_epochs))

    def _factor(self, position):
        schedule = self.schedule
        return learning_rate_factor(schedule.kind, position / schedule.n_epochs, schedule.n_cycles)

    def ends(self, n_epochs):
        """Whether the present epoch ends now, after so many epochs."""
        return self._time_passed() >= 1 or self._position(n_epochs) >= self._end

    def advance(self):
        """Come to the end of an epoch, and begin the next phase if it ends one."""
        self.positions.append(min(self._position(len(self.positions)), self._end))
        has_ended = not self.is_last and self._phase_end - self.positions[-1] <= 0.5
        self._ended = self._phase if has_ended or self.is_over else None
        if has_ended:
            self._begin_phase()

    def validates(self):
        """Whether to validate after an epoch.

        Not after each of many, nor, then, where the learning rate is high: what
        matters are the first epoch, the last and those of the early-stopping check.
        """
        epoch, schedule = len(self.positions) - 1, self.schedule
        if epoch == 1 or self.is_over or (self._ended is not None and self._ended.check):
            return True
        is_many = schedule.n_epochs >= _N_VALIDATIONS and schedule.kind == "cycles"
        if is_many and self._factor(self.positions[-1]) > _HIGH_RATE:
            return False
        stride = min(math.ceil(schedule.n_epochs / _N_VALIDATIONS), epoch // _RESOLUTION)
        return epoch % max(1, stride) == 0

    def leave_out_optional_phases(self):
        """End the schedule after the present phase, if the next is optional."""
        following = [phase for phase in self.schedule.phases if phase.end > self._phase.end]
        if following and following[0].is_optional:
            self._phase_end = self.n_epochs = round(self._phase_end)
            self._end = min(self._end, self.n_epochs)

    def seconds(self, n_epochs):
        """Seconds that so many epochs take, by those so far; 0 before the first."""
        elapsed = time.monotonic() - self._start
        return n_epochs * elapsed / max(1, len(self.positions) - 1)

    def _begin_phase(self):
        """Plan the next phase, and in how many seconds it ends."""
        begin, left, phases = self.positions[-1], self._clock.left(), self.schedule.phases
        self._phase = next((phase for phase in phases if phase.end > begin + 0.5), phases[-1])
        end = min(self._end, self._phase.end)
        # What follows takes about as long as an epoch, and the first one perhaps all the time.
        seconds = left - self.seconds(1) if begin else left / 2
        self._lead = 2.0  # of the steps over the clock: it moves on in the second half of the time
        if seconds < _LEAST * self.seconds(end - begin):
            self._end = begin
        elif seconds < self.seconds(end - begin):
            self._end, self._lead = end, 1.0
        self._begin, self._phase_end, self._n_before = begin, end, len(self.positions) - 1
        self._phase_start, self._phase_seconds = time.monotonic(), max(seconds, 1e-9)

    def _time_passed(self):
        """Part of the time of the present phase that has passed."""
        return (time.monotonic() - self._phase_start) / self._phase_seconds

    def _position(self, n_epochs):
        """Position after so many epochs, whole or not."""
        by_steps = self._begin + (n_epochs - self._n_before)
        to_go = self._lead * (self._phase_end - self._begin) * (1 - self._time_passed())
        return max(by_steps, self._phase_end - max(0.0, to_go))
