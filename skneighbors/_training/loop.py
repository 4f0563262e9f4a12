"""One training: its phases, why it ends, which weights it keeps, and a refit on all samples."""

import copy
import math
from dataclasses import dataclass, field

from .._settings import COMPLETE, NO_GAIN, OVERFITTING
from .._utils.blocks import count_batches
from .._utils.process import keep_freed_memory
from .._utils.progress import Clock
from .calibration import Calibrated
from .optim import copy_weights, is_finite
from .pace import Pace
from .trainer import ParallelTrainers
from .validation import EpochResult, exceeds

FAULT, INTERRUPT = "fault", "interrupt"
# Networks are trained again only if there is time for this part of the epochs that were best.
_LEAST_AGAIN = 0.5
_NONE = EpochResult(math.inf, math.inf)


@dataclass
class TrainingHistory:
    """History of a training: a loss of every epoch, a score of every one validated."""

    losses: list[float] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    validated_epochs: list[int] = field(default_factory=list)  # counted from 1
    best: EpochResult = _NONE  # before all samples were trained on
    best_epoch: int = 0  # whose weights are kept, counted from 1; 0: none yet
    calibrated: list[Calibrated] | None = None  # of the validation rows in the end, by likeness
    interrupted: bool = False  # whether by an interrupt from the keyboard
    n_planned: int = 0  # how many epochs, if there was no time for all of them
    refit_out_of_time: bool = False  # whether there was none to train again on all samples
    fault: str | None = None  # a warning: what ended the training early

    def record(self, epoch, result):
        """Add an epoch."""
        self.losses.append(result.loss)
        if result.score is not None:
            self.scores.append(result.score)
            self.validated_epochs.append(epoch)


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


class Training:
    """One training of one network, from its initial weights to those that are kept.

    It ends when its schedule is complete or the time is over, without gain, by overfitting, by a
    fault or by an interrupt. Validation rows may be trained on in the end: in the last phase, or,
    after overfitting, by another training for as many steps as were best.

    Parameters
    ----------
    network : NeighborNetwork
        Trained in place.
    data : TrainingData
        Without validation rows the best epoch is that of lowest loss.
    settings : Settings
    schedule : Schedule
    runtime : Runtime
    report : callable
        Called as ``report(loss, score, on_all, n_epochs)`` after every epoch, also of a refit;
        see :func:`show_progress`.
    """

    def __init__(self, network, data, settings, schedule, runtime, report):
        self._network, self._data, self._runtime = network, data, runtime
        self._settings, self._schedule, self._report = settings, schedule, report
        self.history, self._on_all = TrainingHistory(), False
        clock = runtime.clock
        # Half of the time is kept for a training that follows in any case.
        clock = Clock(clock.left() / 2) if COMPLETE in schedule.refits_after else clock
        self._pace = Pace(schedule, clock)

    def run(self):
        """Train; an interrupt from the keyboard after an epoch ends it, and is recorded.

        Returns
        -------
        history : TrainingHistory

        Raises
        ------
        FloatingPointError
            If the loss is not finite before any epoch was complete.
        """
        keep_freed_memory()
        history, refits_after = self.history, self._schedule.refits_after
        untrained = copy.deepcopy(self._network) if refits_after else None
        parts = self._network, self._data, self._settings, self._runtime, self._pace
        with ParallelTrainers(*parts) as trainers:
            try:
                end = self._train(trainers)
            except KeyboardInterrupt:
                if not history.best_epoch:
                    raise
                end = INTERRUPT
        history.interrupted = end == INTERRUPT
        trainers.finish()
        try:
            history.calibrated = trainers.calibrate()
            if end in refits_after and self._refit(untrained):
                copy_weights(untrained, self._network)
        except KeyboardInterrupt:
            history.interrupted = True
        return history

    def _train(self, trainers):
        """Train, to why it ends."""
        recipe, pace = self._settings.recipe, self._pace
        patience = Patience(recipe.n_iter_no_change, recipe.tol)
        for phase in pace.phases():
            before = self.history.best
            for epoch in pace.epochs():
                result = trainers.epoch()
                if math.isnan(result.error):
                    return self._note_fault(epoch)
                self._record(epoch, result, trainers)
                if patience.is_exhausted(result.error):
                    return NO_GAIN
            if phase.check and not self._on_all and pace.positions[-1] < pace.n_epochs:
                if self._overfits(result, before):
                    return OVERFITTING
                if pace.is_last and self._schedule.phases[-1].on_all:
                    self._on_all = True
                    trainers.train_on_all()
        self.history.n_planned = pace.n_epochs if epoch < pace.n_epochs else 0
        return COMPLETE

    def _record(self, epoch, result, trainers):
        """Record an epoch, and keep its weights if it is the best so far, or the last on all."""
        history = self.history
        history.record(epoch, result)
        if not self._on_all and result.error < history.best.error:
            history.best, history.best_epoch = result, epoch
            trainers.take_snapshot()
        elif self._on_all and self._pace.is_over:
            # There are no validation rows any more: the last epoch is kept.
            history.best_epoch = epoch
            trainers.take_snapshot()
        max_epochs = self._schedule.max_epochs
        self._report(result.loss, result.score, self._on_all, max_epochs)

    def _overfits(self, result, before):
        """Whether training has harmed, at the end of a phase; `before` it was the best result.

        Before the last phase, if the validation error exceeds its best beyond chance. Before
        earlier ones only noisy targets are checked, as clean ones may yet be learned better: if
        the phase brought no gain. Which phase is the last is decided before.
        """
        settings, pace, best = self._settings, self._pace, self.history.best
        if result.score < settings.last_cycle_from_r2:
            pace.leave_out_optional_phases()  # so that the next may be the last
        if not pace.is_last:
            return best is before and result.score < settings.early_check_below_r2
        errors = result.validation.errors, best.validation.errors
        enough = settings.overfitting_in_standard_errors
        return exceeds(*errors, result.validation.weight, enough)

    def _refit(self, network):
        """Train on all samples for as many steps as were best; whether it went well."""
        history, everything, clock = self.history, self._data.on_all(), self._runtime.clock
        needed = self._pace.seconds(_LEAST_AGAIN * history.best_epoch)
        history.refit_out_of_time = clock.left() < needed
        if history.refit_out_of_time:
            return False
        n_before, n_now = (
            count_batches(data.split.train.shape[1], self._settings.params["batch_size"])
            for data in (self._data, everything)
        )
        best = self._pace.positions[history.best_epoch]
        pace = Pace(self._schedule.again(best, n_before, n_now), clock)
        max_epochs = len(history.losses) + pace.n_epochs
        with ParallelTrainers(network, everything, self._settings, self._runtime, pace) as trainers:
            for _ in pace.phases():
                for epoch in pace.epochs():
                    result = trainers.epoch()
                    if math.isnan(result.error):
                        self._note_fault(epoch)
                        return False
                    self._report(result.loss, None, True, max_epochs)
        trainers.take_snapshot()
        trainers.finish()
        return is_finite(network)

    def _note_fault(self, epoch):
        best_epoch = self.history.best_epoch
        if not best_epoch:
            raise FloatingPointError(
                f"The loss or the weights were not finite in epoch {epoch} and no earlier epoch is "
                "left to fall back on. Lower learning_rate_init or check the scales of y "
                "and sample_weight."
            )
        self.history.fault = (
            f"The loss or the weights were not finite in epoch {epoch}; training stopped and the "
            f"weights of epoch {best_epoch} are kept. Consider a lower learning_rate_init."
        )
        return FAULT
