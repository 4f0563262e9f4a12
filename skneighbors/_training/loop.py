"""The epochs of one training: validation, early-stopping checks, and a refit on all samples."""

import copy
import itertools
import math
from dataclasses import dataclass, field, replace

from .._utils.blocks import count_batches
from .._utils.clock import Clock
from .._utils.process import keep_freed_memory
from .calibration import Calibrated
from .ensemble import ParallelTrainers
from .optim import copy_weights, is_finite
from .schedule import Pace
from .stopping import Checkpoint, OverfittingCheck, Patience
from .validation import EpochResult

# Networks are trained again only if there is time for this part of the epochs that were best.
_LEAST_AGAIN = 0.5


@dataclass
class TrainingHistory:
    """History of a training: a loss of every epoch, a score of every one validated."""

    losses: list[float] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    validated_epochs: list[int] = field(default_factory=list)  # counted from 1
    best_epoch: int = 0  # counted from 1; 0: none yet
    best_before_refit: EpochResult | None = None  # of those before all samples were trained on
    calibrated: Calibrated | None = None  # predictions of the validation rows in the end
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

    def curves(self, validated):
        """Attributes of an estimator; `validated` is whether there are validation rows."""
        return dict(
            loss_curve_=self.losses,
            validation_scores_=self.scores if validated else None,
            validation_iters_=self.validated_epochs if validated else None,
            n_iter_=len(self.losses),
            best_iter_=self.best_epoch,
        )


class Training:
    """One training of one network, from its initial weights to those that are kept.

    Validation rows may be trained on in the end: in the last cycle of the learning
    rate, or, after overfitting, by another training for as many steps as were best.

    Parameters
    ----------
    network : NeighborNetwork
        Trained in place.
    data : TrainingData
        Without validation rows the best epoch is that of lowest loss.
    plan : Plan
    runtime : Runtime
    """

    def __init__(self, network, data, plan, runtime):
        self._network, self._data, self._plan, self._runtime = network, data, plan, runtime
        self.history = TrainingHistory()
        clock = runtime.clock
        # Half of the time is kept for a training that follows in any case.
        self._pace = Pace(plan, Clock(clock.left() / 2) if plan.always_refits else clock)

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
        history = self.history
        untrained = copy.deepcopy(self._network) if self._plan.refits else None
        with ParallelTrainers(
            self._network, self._data, self._plan, self._runtime, self._pace
        ) as trainers:
            try:
                again = self._run_epochs(trainers)
            except KeyboardInterrupt:
                if not history.best_epoch:
                    raise
                history.interrupted, again = True, False
        trainers.finish()
        refitted = False
        try:
            if history.best_epoch:
                trainers.calibrate()
                history.calibrated = trainers.calibrated
            if again:
                refitted = self._refit(untrained)
        except KeyboardInterrupt:
            history.interrupted = True
        if refitted:
            copy_weights(untrained, self._network)
        return history

    def _run_epochs(self, trainers):
        """Train; whether to train again, on validation rows too."""
        plan, history, pace = self._plan, self.history, self._pace
        checkpoint, check = Checkpoint(trainers), OverfittingCheck(plan)
        patience = Patience(plan.recipe.n_iter_no_change, plan.recipe.tol)
        on_all = False
        for epoch in itertools.count(1):
            result = trainers.epoch(epoch)
            before, now = pace.positions[-2:]
            if math.isnan(result.error):
                self._stop_at_fault(epoch)
                return False
            history.record(epoch, result)
            if not on_all:
                checkpoint.offer(epoch, result)
                history.best_before_refit = checkpoint.best
            elif pace.is_over:
                # There are no validation rows any more: the last epoch is kept.
                checkpoint.keep(epoch, result)
            history.best_epoch = checkpoint.epoch
            self._runtime.report(result.loss, result.score, on_all, plan.max_epochs)
            if patience.is_exhausted(result.error):
                break
            is_due = check.is_due(before, now) and now < pace.n_epochs and not on_all
            is_noisy = is_due and result.score < plan.last_cycle_from_r2
            if is_noisy and plan.last_cycle_is_optional:
                pace.leave_out_last_cycle()  # so that the next may be the last
            is_last = pace.is_last
            if is_due and check.finds_overfitting(result, checkpoint.best, is_last):
                return plan.refits
            if pace.is_over:
                history.n_planned = pace.n_epochs if epoch < pace.n_epochs else 0
                break
            if is_due and is_last and plan.join_last_cycle:
                on_all = True
                trainers.train_on_all()
        return plan.always_refits

    def _refit(self, network):
        """Train on all samples for as many steps as were best; whether it went well."""
        plan, history, everything = self._plan, self.history, self._data.on_all()
        needed = self._pace.seconds(_LEAST_AGAIN * history.best_epoch)
        history.refit_out_of_time = self._runtime.clock.left() < needed
        if history.refit_out_of_time:
            return False
        n_before, n_now = (
            count_batches(data.split.train.shape[1], plan.batch_size)
            for data in (self._data, everything)
        )
        best = self._pace.positions[history.best_epoch]
        max_iter, n_epochs = (max(1, round(n * n_before / n_now)) for n in (plan.max_iter, best))
        max_epochs = len(history.losses) + n_epochs
        plan = replace(plan, max_iter=max_iter)
        pace = Pace(plan, self._runtime.clock, n_epochs)
        with ParallelTrainers(network, everything, plan, self._runtime, pace) as trainers:
            for epoch in itertools.count(1):
                result = trainers.epoch(epoch)
                if math.isnan(result.error):
                    self._stop_at_fault(epoch)
                    return False
                self._runtime.report(result.loss, None, True, max_epochs)
                if pace.is_over:
                    break
        trainers.take_snapshot()
        trainers.finish()
        return is_finite(network)

    def _stop_at_fault(self, epoch):
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
