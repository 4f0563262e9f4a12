"""The epochs of one training: validated, reviewed, kept, and perhaps repeated on all samples."""

import copy
import math
import time
from dataclasses import dataclass, field, replace

from .._utils.blocks import count_batches, keep_freed_memory
from .._utils.callbacks import FitCallbacks
from .._utils.clock import Clock
from .ensemble import ParallelTrainers
from .optim import copy_weights, is_finite
from .schedule import validates
from .stopping import Budget, Checkpoint, Patience, Review, Unaffordable, time_embedding
from .validation import EpochResult

# An epoch and what comes before and after it take about as long as to embed all rows so often.
_N_EMBEDDED = 20
# What follows a training, as long as so many validations.
_N_JUDGED_AFTER = 3


@dataclass
class TrainingHistory:
    """What happened: a loss for every epoch, a score for every one validated."""

    losses: list[float] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    validated_epochs: list[int] = field(default_factory=list)  # counted from 1
    best_epoch: int = 0  # counted from 1; 0: none yet
    best_before_refit: EpochResult | None = None  # of those before all samples were trained on
    interrupted: bool = False  # whether by an interrupt from the keyboard
    out_of_time: bool = False  # whether because no time was left
    refit_out_of_time: bool = False  # whether there was none to train anew on all samples
    fault: str | None = None  # a warning: what ended the training early

    def record(self, epoch, result):
        """Add an epoch."""
        self.losses.append(result.loss)
        if result.score is not None:
            self.scores.append(result.score)
            self.validated_epochs.append(epoch)

    def curves(self, validated):
        """Attributes of an estimator that tell of it; `validated`: whether rows are held out."""
        return dict(
            loss_curve_=list(self.losses),
            validation_scores_=list(self.scores) if validated else None,
            validation_iters_=list(self.validated_epochs) if validated else None,
            n_iter_=len(self.losses),
            best_iter_=self.best_epoch,
        )


class Training:
    """One training of one network, from its initial weights to those that are kept.

    Samples held out may be trained on in the end: in the last cycle of the learning
    rate, or, where training on harms, by another training for as many steps as were best.

    Parameters
    ----------
    network : NeighborNetwork
        Trained in place.
    data : LabelledRows
    split : EnsembleSplit
        Without validation rows the best epoch is that of lowest loss.
    plan : Plan
    target : Target
    generator : torch.Generator
        Source of batches and context, on the CPU.
    draws : BorrowedGenerators or None, default=None
        Torch's global generators, where the network draws from them.
    n_threads : int, default=1
        How many threads members that are trained apart may share.
    report : callable or None, default=None
        Called as ``report(loss, score, on_all, n_epochs)`` after every epoch, also of a
        repeated training; `score` is the validation R2 or None, `on_all` whether
        rows that were held out are trained on, `n_epochs` how many there will be at most.
    callbacks : FitCallbacks or None, default=None
        They may end the training with the best epoch so far.
    answer : callable or None, default=None
        Makes of a network, the plan and the history what callbacks may ask for.
    clock : Clock or None, default=None
        Ends it in time, whatever it has come to.
    may_narrow : bool, default=True
        Whether, for want of time, hidden layers may be left out.
    keep_interrupted : bool, default=True
        Whether an interrupt from the keyboard keeps what is learnt so far.
    """

    def __init__(
        self,
        network,
        data,
        split,
        plan,
        target,
        generator,
        *,
        draws=None,
        n_threads=1,
        report=None,
        clock=None,
        may_narrow=True,
        callbacks=None,
        answer=None,
        keep_interrupted=True,
    ):
        self._network, self._data, self._split, self._plan = network, data, split, plan
        self._target = target
        self._generator, self._draws, self._n_threads = generator, draws, n_threads
        self._report = report or (lambda loss, score, on_all, n_epochs: None)
        self._callbacks, self._answer = callbacks or FitCallbacks(), answer
        self._clock, self._may_narrow = clock or Clock(), may_narrow
        self._keep_interrupted = keep_interrupted
        self.history = TrainingHistory()

    def run(self):
        """Train; an interrupt from the keyboard after an epoch ends it, and is told.

        Returns
        -------
        history : TrainingHistory

        Raises
        ------
        FloatingPointError
            If the loss is not finite before any epoch was complete.
        Unaffordable
            If there is not enough time for the plan, but for another.
        """
        keep_freed_memory()
        history = self.history
        untrained = copy.deepcopy(self._network) if self._plan.refits else None
        with self._trainers(self._network, self._split, self._plan) as trainers:
            try:
                again = self._run_epochs(trainers)
            except KeyboardInterrupt:
                if not (history.best_epoch and self._keep_interrupted):
                    raise
                history.interrupted, again = True, False
        trainers.finish()
        refitted = False
        try:
            if history.best_epoch:
                trainers.sharpen()
            if again:
                refitted = self._refit(untrained)
        except KeyboardInterrupt:
            if not self._keep_interrupted:
                raise
            history.interrupted = True
        if refitted:
            if self._plan.sharpnesses:
                untrained.head.sharpness.copy_(self._network.head.sharpness)
            copy_weights(untrained, self._network)
        return history

    def _trainers(self, network, split, plan):
        return ParallelTrainers(
            network,
            self._data,
            split,
            plan,
            self._target,
            self._generator,
            self._draws,
            self._n_threads,
        )

    def _run_epochs(self, trainers):
        """Train; whether that has harmed, so that rows held out are to be trained on anew."""
        plan, history = self._plan, self.history
        checkpoint, review = Checkpoint(trainers), Review(plan)
        patience = Patience(plan.recipe.n_iter_no_change, plan.recipe.tol)
        on_all = False
        if self._clock.is_limited:
            self._prepare_for_short_time(trainers)
        budget = Budget(self._clock, plan)
        for epoch in range(1, plan.max_iter + 1):
            self._callbacks.begin_epoch("epoch")
            result = trainers.epoch(validates(epoch, plan), self._clock)
            if self._clock.is_over():
                history.out_of_time = True
                return False
            budget.check(epoch)
            if math.isnan(result.error):
                self._stop_at_fault(epoch)
                return False
            history.record(epoch, result)
            if not on_all:
                checkpoint.offer(epoch, result)
                history.best_before_refit = checkpoint.best
            elif epoch == plan.max_iter:
                # Nothing is held out any more: the last epoch is the one to keep.
                checkpoint.keep(epoch, result)
            history.best_epoch = checkpoint.epoch
            self._report(result.loss, result.score, on_all, plan.max_epochs)
            if self._callbacks_stop(trainers.copy_kept):
                return False
            if patience.is_exhausted(result.error):
                break
            if review.finds_harm(epoch, result, checkpoint.best):
                return plan.refits
            if epoch == review.last_epoch and plan.join_last_cycle:
                on_all = True
                trainers.train_on_all()
        return plan.always_refits

    def _prepare_for_short_time(self, trainers):
        """Keep the initial weights, for want of others, and time for what follows a training."""
        embedding = time_embedding(self._network, self._data.X)
        is_short = _N_EMBEDDED * embedding > self._clock.left() > 0
        if is_short and self._may_narrow and self._plan.hidden_layer_sizes:
            raise Unaffordable(hidden_layer_sizes=())
        start = time.monotonic()
        self.history.best_before_refit = trainers.judge()
        trainers.take_snapshot()
        seconds = max(embedding, time.monotonic() - start)
        self._clock = self._clock.set_aside(_N_JUDGED_AFTER * seconds)

    def _refit(self, network):
        """Train on all samples for as many steps as were best; whether it went well."""
        split, plan, history = self._split, self._plan, self.history
        everything = split.train_on_all(len(self._data.X))
        n_before, n_now = (
            count_batches(own.train.shape[1], plan.batch_size) for own in (split, everything)
        )
        max_iter = max(1, round(plan.max_iter * n_before / n_now))
        n_epochs = max(1, round(history.best_epoch * n_before / n_now))
        max_epochs = len(history.losses) + n_epochs
        with self._trainers(network, everything, replace(plan, max_iter=max_iter)) as trainers:
            for epoch in range(1, n_epochs + 1):
                self._callbacks.begin_epoch("refit-epoch")
                result = trainers.epoch(validated=False, clock=self._clock)
                if self._clock.is_over():
                    history.refit_out_of_time = True
                    return False
                if math.isnan(result.error):
                    self._stop_at_fault(epoch)
                    return False
                self._report(result.loss, None, True, max_epochs)
                if self._callbacks_stop(lambda: self._network):
                    return False
        trainers.take_snapshot()
        trainers.finish()
        return is_finite(network)

    def _callbacks_stop(self, keep):
        """Tell callbacks of an epoch; whether they end the training, for which `keep` is called."""
        history = self.history

        def fitted():
            return self._answer(keep(), self._plan, history).attributes()

        return self._callbacks.end_epoch(history.curves(self._plan.n_validation > 0), fitted)

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
