"""The training loop: steps, validation, best weights. Knows no estimator."""

import copy
import math
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from statistics import fmean

import torch
from sklearn.exceptions import ConvergenceWarning

from ._bank import embed_in_batches
from ._context import ContextSampler, count_batches
from ._schedule import cycle_ends, learning_rate_factor, validates
from ._torch_utils import keep_freed_memory, use_one_thread
from ._validation import (
    EpochResult,
    has_harmed,
    overfits,
    set_mode,
    sharpen,
    take_rows,
    validate,
    weighted_mse,
)
from ._weights import AdamW, FlatWeights, MovingAverage, Snapshot, copy_weights, is_finite

# At least how often in a training near rows are looked for anew.
_N_REFRESHES = 16
# With fewer training rows a step is too short for a thread of its own to pay.
_MIN_ROWS_APART = 1000

# Validation R2 below which a training that harms stops, at the end of the second and of
# the third cycle: clean targets may yet be learnt better.
_MUCH_NOISE, _SOME_NOISE = 0.85, 0.95


@dataclass
class TrainingHistory:
    """What happened: a loss for every epoch, a score for every one validated."""

    losses: list[float] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    validated_epochs: list[int] = field(default_factory=list)  # counted from 1
    best_epoch: int = 0  # counted from 1; 0: none yet
    judged: EpochResult | None = None  # the best epoch, of those before all rows were trained on
    harmed: bool = False  # whether it was stopped because training on harmed
    interrupted: bool = False  # whether by an interrupt from the keyboard


class _Trainer:
    """Optimiser and data of one fit; :meth:`epoch` passes once over the rows.

    `result` is the network to validate and to keep: the trained one, or the
    moving average of its weights.
    """

    def __init__(self, network, data, members, settings, generator):
        self.network = network.train()
        self.data = data
        self.members = members
        self.settings = settings
        self.generator = generator
        self.refresh = max(1, settings.max_iter // _N_REFRESHES)
        self.n_epochs = 0
        self._make_sampler()
        self.stopped = False
        self._sharpness = None
        self.weights = FlatWeights(network)
        self.average = None
        self.result, self.result_weights = network, self.weights
        if settings.ema_decay is not None:
            self.average = MovingAverage(network, self.weights, settings.ema_decay)
            self.result, self.result_weights = self.average.network, self.average.weights
        self.optimizer = AdamW(self.weights, settings.weight_decay)

    def _make_sampler(self):
        n_members, n_rows = self.members.train.shape
        self.sampler = ContextSampler(
            n_rows,
            n_members,
            self.settings.batch_size,
            self.settings.context_size,
            self.settings.context_neighbors,
            self.generator,
            self.data.X.device,
        )

    def _share_sharpness(self):
        """Give the trained network the result's sharpness, lest the average mixes another in."""
        self.network.head.sharpness.copy_(self.result.head.sharpness)

    def sharpen(self, network):
        """Choose the sharpness of a network, the trained one or the result, if it is time to."""
        if not self.settings.sharpen_in_the_end:
            return
        if self.members.validation is not None:
            sharpen(network, self.data, self.members, self.settings.sharpnesses)
            self._sharpness = network.head.sharpness.clone()
        elif self._sharpness is not None:  # chosen before all rows were trained on
            network.head.sharpness.copy_(self._sharpness)

    def join_validation(self):
        """Train on all rows from now on."""
        self.sharpen(self.result)
        self._share_sharpness()
        self.members = self.members.joined(len(self.data.X))
        self._make_sampler()
        if self.sampler.n_near and self.n_epochs % self.refresh:
            self._find_near()

    def _learning_rate(self, step):
        settings = self.settings
        progress = (self.n_epochs + (step + 0.5) / self.sampler.n_batches) / settings.max_iter
        factor = learning_rate_factor(settings.learning_rate, progress)
        return settings.learning_rate_init * factor

    def epoch(self, validated):
        """Train on every row once; the mean loss, and what validation says of it."""
        loss = self._pass_over_rows()
        if self.stopped or not math.isfinite(loss):
            return EpochResult(loss, math.nan)
        if self.members.validation is None:
            # No loss has seen the last step yet.
            return EpochResult(loss, loss if self.weights.are_finite() else math.nan)
        if not validated:
            return EpochResult(loss, math.inf)
        sharpnesses = () if self.settings.sharpen_in_the_end else self.settings.sharpnesses
        errors, weight, mse, r2 = validate(self.result, self.data, self.members, sharpnesses)
        if sharpnesses:
            self._share_sharpness()
        error = mse.mean().item()
        error = error if math.isfinite(error) else math.nan
        return EpochResult(loss, error, r2.mean().item(), errors, weight)

    def _pass_over_rows(self):
        if self.sampler.n_near and self.n_epochs % self.refresh == 0:
            self._find_near()
        set_mode(self.network, training=True)
        total = 0.0
        for step, batch in enumerate(self.sampler.epoch()):
            if self.stopped:
                break
            losses = self._losses(batch)
            losses.sum().backward()
            self.weights.take_gradients()
            self.optimizer.step(self._learning_rate(step))
            if self.average is not None:
                self.average.update()
            total = total + losses.detach().mean()
        self.n_epochs += 1
        return float(total) / self.sampler.n_batches

    def _losses(self, batch):
        """Mean squared error of each member's queries."""
        rows, n_queries, context_weight, query_weight = batch
        data = self.data.take(self.members.train.gather(1, rows))
        y_hat = self.network(data.X, data.y, n_queries, data.weight, context_weight)
        weight = query_weight
        if data.weight is not None:
            weight = data.weight[:, :n_queries]
            weight = weight if query_weight is None else weight * query_weight
        return weighted_mse(data.y[:, :n_queries], y_hat, weight)

    @torch.no_grad()
    def _find_near(self):
        set_mode(self.result, training=False)
        z = embed_in_batches(self.result, self.data.X)
        self.sampler.find_near(take_rows(z, self.members.train))


class _Team:
    """Trainers side by side, each in a thread of its own as far as there are any.

    The network is trained as one, or its members apart; :meth:`finish` leaves it
    with the weights of the last snapshot.
    """

    def __init__(self, network, data, members, settings, generator, n_threads):
        self._network = network
        self._apart = settings.separable and _pays_apart(data, members)
        self._networks = network.split() if self._apart else [network]
        seeds = torch.randint(2**31, (len(self._networks),), generator=generator).tolist()
        generators = [torch.Generator().manual_seed(seed) for seed in seeds]
        rows = members.split() if self._apart else [members]
        self.trainers = [
            _Trainer(own, data, own_rows, settings, generator)
            for own, own_rows, generator in zip(self._networks, rows, generators, strict=True)
        ]
        self._snapshots = [Snapshot(trainer.result_weights) for trainer in self.trainers]
        self._n_threads = min(n_threads, len(self.trainers))
        self._pool = None

    def __enter__(self):
        if self._n_threads > 1:
            self._pool = ThreadPoolExecutor(self._n_threads, "member", use_one_thread)
        return self

    def __exit__(self, *exception):
        if self._pool is not None:
            for trainer in self.trainers:
                trainer.stopped = True
            self._pool.shutdown(cancel_futures=True)

    def epoch(self, validated):
        """Train all for an epoch; their results taken together."""
        run = map if self._pool is None else self._pool.map
        results = run(lambda trainer: trainer.epoch(validated), self.trainers)
        losses, errors, scores, row_errors, weights = zip(*results, strict=True)
        if None in scores:
            return EpochResult(fmean(losses), fmean(errors))
        weight = None if weights[0] is None else torch.cat(weights)
        return EpochResult(
            fmean(losses), fmean(errors), fmean(scores), torch.cat(row_errors), weight
        )

    def join_validation(self):
        """Let all train on their validation rows too."""
        for trainer in self.trainers:
            trainer.join_validation()

    def take_snapshot(self):
        """Copy all members' weights, to keep."""
        for snapshot in self._snapshots:
            snapshot.take()

    def finish(self):
        """Give the network the weights of the last snapshot."""
        for snapshot, trainer in zip(self._snapshots, self.trainers, strict=True):
            snapshot.restore(trainer.weights)
        self._join()
        self._network.eval()

    def sharpen(self):
        """Choose the sharpness of the weights that are kept, if it is time to."""
        for trainer in self.trainers:
            trainer.sharpen(trainer.network)
        self._join()

    def _join(self):
        if self._apart:
            self._network.join(self._networks)


def train_network(network, data, members, settings, generator, report=None, n_threads=1):
    """Train the members of a network, leaving it with the weights of their best epoch.

    Rows held out may be trained on in the end: in the last cycle of the learning
    rate, or by another training for as many steps as were best.

    Parameters
    ----------
    network : NeighborNetwork
        Trained in place.
    data : LabelledRows
    members : MemberRows
        Without validation rows the best epoch is that of lowest loss.
    settings : TrainingSettings
    generator : torch.Generator
        Source of batches and context, on the CPU.
    report : callable or None
        Called as ``report(loss, score, on_all)`` after every epoch, also of a
        repeated training; `score` is the validation R2 or None, `on_all` whether
        rows that were held out are trained on.
    n_threads : int
        How many threads members that are trained apart may share.

    Returns
    -------
    history : TrainingHistory
        An interrupt from the keyboard after an epoch ends the training, and is told here.

    Raises
    ------
    FloatingPointError
        If the loss is not finite before any epoch was complete.
    """
    keep_freed_memory()
    history = TrainingHistory()
    untrained = copy.deepcopy(network) if settings.repeat_on_all else None
    team = _Team(network, data, members, settings, generator, n_threads)
    with team:
        try:
            again = _run_epochs(team, settings, history, report)
        except KeyboardInterrupt:
            if not history.best_epoch:
                raise
            history.interrupted, again = True, False
    team.finish()
    trained = False
    try:
        team.sharpen()
        if again:
            trained = _train_on_all(
                untrained, data, members, settings, history, generator, report, n_threads
            )
    except KeyboardInterrupt:
        history.interrupted = True
    if trained:
        if settings.sharpnesses:
            untrained.head.sharpness.copy_(network.head.sharpness)
        copy_weights(untrained, network)
    return history


def _pays_apart(data, members):
    """Whether to step members each in a thread of its own, and not all at once.

    The number of threads has no say, lest results depend on it.
    """
    n_members, n_rows = members.train.shape
    return data.X.is_cpu and n_members > 1 and n_rows >= _MIN_ROWS_APART


def _run_epochs(team, settings, history, report):
    """Train; whether to train once more on all rows, for as long as was best."""
    best, reference, n_without_gain = EpochResult(math.inf, math.inf), math.inf, 0
    joined = False
    second, third = cycle_ends(settings.max_iter) if settings.stop_if_harmful else (0, 0)
    for epoch in range(1, settings.max_iter + 1):
        result = team.epoch(validates(epoch, settings))
        if math.isnan(result.error):
            _warn_or_raise(epoch, history.best_epoch)
            return False
        history.losses.append(result.loss)
        if result.score is not None:
            history.scores.append(result.score)
            history.validated_epochs.append(epoch)
        # Once nothing is held out, the last epoch is the one to keep.
        if epoch == settings.max_iter if joined else result.error < best.error:
            history.judged = history.judged if joined else result
            best, history.best_epoch = result, epoch
            team.take_snapshot()
        if report is not None:
            report(result.loss, result.score, joined)
        n_without_gain += 1
        if result.error < reference - settings.tol:
            reference, n_without_gain = result.error, 0
        if n_without_gain == settings.n_iter_no_change:
            break
        if epoch in (second, third):
            harmed = has_harmed(result, best)
            noisy = result.score < (_SOME_NOISE if epoch == third else _MUCH_NOISE)
            if harmed and noisy and overfits(result):
                history.harmed = True
                break
            may_join = settings.join_validation and epoch == third
            joined = may_join and not harmed and result.score >= _SOME_NOISE
            if joined:
                team.join_validation()
    return settings.repeat_on_all and history.best_epoch <= third


def _train_on_all(network, data, members, settings, history, generator, report, n_threads):
    """Train on all rows for as many steps as were best with some held out; whether it went well."""
    everything = members.joined(len(data.X))
    n_before, n_now = (
        count_batches(rows.train.shape[1], settings.batch_size) for rows in (members, everything)
    )
    n_epochs = max(1, round(history.best_epoch * n_before / n_now))
    settings = replace(settings, max_iter=max(1, round(settings.max_iter * n_before / n_now)))
    team = _Team(network, data, everything, settings, generator, n_threads)
    with team:
        for epoch in range(1, n_epochs + 1):
            result = team.epoch(validated=False)
            if math.isnan(result.error):
                _warn_or_raise(epoch, history.best_epoch)
                return False
            if report is not None:
                report(result.loss, None, True)
    team.take_snapshot()
    team.finish()
    return is_finite(network)


def _warn_or_raise(epoch, best_epoch):
    if not best_epoch:
        raise FloatingPointError(
            f"The loss or the weights were not finite in epoch {epoch} and no earlier epoch is "
            "left to fall back on. Lower learning_rate_init or check the scales of y "
            "and sample_weight."
        )
    warnings.warn(
        f"The loss or the weights were not finite in epoch {epoch}; training stopped and the "
        f"weights of epoch {best_epoch} are kept. Consider a lower learning_rate_init.",
        ConvergenceWarning,
        stacklevel=5,
    )
