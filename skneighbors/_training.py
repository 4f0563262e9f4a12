"""The training loop: schedule, validation, best weights. Knows no estimator."""

import math
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from statistics import fmean
from typing import NamedTuple

import torch
from sklearn.exceptions import ConvergenceWarning

from ._bank import attend_in_batches, embed_in_batches
from ._context import ContextSampler
from ._torch_utils import keep_freed_memory, use_one_thread
from ._weights import FlatWeights, MovingAverage, Snapshot

# At least how often in a training near rows are looked for anew.
_N_REFRESHES = 16
# From twice as many epochs on, not every epoch is validated, but at least so many.
_N_VALIDATIONS = 64
# With fewer training rows a step is too short for a thread of its own to pay.
_MIN_ROWS_APART = 1000

LEARNING_RATES = ("cycles", "constant")


@dataclass(frozen=True)
class TrainingSettings:
    """How to train; see the estimators for the meaning of each."""

    max_iter: int
    batch_size: int
    context_size: int | None
    context_neighbors: int | None
    learning_rate: str
    learning_rate_init: float
    weight_decay: float
    ema_decay: float | None
    n_iter_no_change: int | None
    tol: float
    separable: bool = False  # whether no two members draw from one generator


class EpochResult(NamedTuple):
    """What came of an epoch.

    `error` is what to judge it by: the validation error, or the loss without
    validation rows; inf if it was not validated, NaN if the loss or the weights
    are not finite. `score` is the validation R2 or None.
    """

    loss: float
    error: float
    score: float | None


@dataclass
class TrainingHistory:
    """What happened: a loss for every epoch, a score for every validation."""

    losses: list[float] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    best_epoch: int = 0  # counted from 1; 0: none yet


def resolve_max_iter(max_iter, n_rows, batch_size, min_steps=1500, epochs=128):
    """Count the epochs; for ``"auto"``, 128 but no fewer than 1,500 steps."""
    if max_iter != "auto":
        return max_iter
    return max(epochs, math.ceil(min_steps / math.ceil(n_rows / batch_size)))


def validates(epoch, settings):
    """Whether to validate after an epoch, counted from 1: not after each of very many."""
    if settings.n_iter_no_change is not None or epoch in (1, settings.max_iter):
        return True
    return epoch % max(1, settings.max_iter // _N_VALIDATIONS) == 0


def learning_rate_factor(kind, progress):
    """Learning rate relative to its peak, after a share `progress` of the steps.

    ``"cycles"`` are the four cosine cycles of growing length of Holzmueller et
    al. (2024), ``(1 - cos(2 pi log2(1 + 15 progress))) / 2``.
    """
    if kind == "constant":
        return 1.0
    return 0.5 * (1 - math.cos(2 * math.pi * math.log2(1 + 15 * progress)))


def weighted_mse(y, y_hat, weight):
    """Weighted mean over rows (m, b) of the squared error averaged over the targets, (m,)."""
    loss = (y - y_hat).square().mean(-1)
    return loss.mean(-1) if weight is None else (weight * loss).sum(-1) / weight.sum(-1)


@torch.no_grad()
def validation_mse_and_r2(network, data, members):
    """Each member's error and R2 on its validation rows, its training rows as neighbours."""
    _set_mode(network, training=False)
    z = embed_in_batches(network, data.X)
    y_n, weight = data.take_labels(members.train)
    y_hat = attend_in_batches(
        network.head,
        _take_rows(z, members.validation),
        _take_rows(z, members.train),
        y_n,
        None if weight is None else weight.unsqueeze(-2),
    )
    y, weight = data.take_labels(members.validation)
    mse = weighted_mse(y, y_hat, weight)
    return mse, _r2(mse, y, weight)


def _take_rows(z, rows):
    return z.take_along_dim(rows.unsqueeze(-1), 1)


def _r2(mse, y, weight):
    """R2 of each member's error; as in r2_score, constant targets give 1 or 0."""
    share = torch.ones_like(y[..., 0]) if weight is None else weight
    mean = (share.unsqueeze(-2) @ y) / share.sum(-1)[:, None, None]
    variance = weighted_mse(y, mean, weight)
    # The mean of equal numbers is theirs up to rounding.
    rounding = 16 * torch.finfo(y.dtype).eps ** 2 * y.square().mean((-2, -1))
    return torch.where(variance > rounding, 1 - mse / variance, (mse <= rounding).to(mse.dtype))


def _set_mode(network, training):
    """Switch to training or evaluation; does nothing, fast, if that is the mode."""
    if network.training != training:
        network.train(training)


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
        n_members, n_rows = members.train.shape
        self.sampler = ContextSampler(
            n_rows,
            n_members,
            settings.batch_size,
            settings.context_size,
            settings.context_neighbors,
            generator,
            data.X.device,
        )
        self.refresh = max(1, settings.max_iter // _N_REFRESHES)
        self.n_steps = settings.max_iter * self.sampler.n_batches
        self.step = 0
        self.stopped = False
        self.weights = FlatWeights(network)
        self.average = None
        self.result, self.result_weights = network, self.weights
        if settings.ema_decay is not None:
            self.average = MovingAverage(network, self.weights, settings.ema_decay)
            self.result, self.result_weights = self.average.network, self.average.weights
        self.optimizer = torch.optim.AdamW(
            self.weights.vectors,
            lr=settings.learning_rate_init,
            betas=(0.9, 0.95),
            weight_decay=settings.weight_decay,
            fused=True,
        )

    def _set_learning_rate(self):
        settings = self.settings
        factor = learning_rate_factor(settings.learning_rate, (self.step + 0.5) / self.n_steps)
        for group in self.optimizer.param_groups:
            group["lr"] = settings.learning_rate_init * factor

    def epoch(self, validate):
        """Train on every row once; the mean loss, and what validation says of it."""
        loss = self._pass_over_rows()
        if self.stopped or not math.isfinite(loss):
            return EpochResult(loss, math.nan, None)
        if self.members.validation is None:
            # No loss has seen the last step yet.
            return EpochResult(loss, loss if self.weights.are_finite() else math.nan, None)
        if not validate:
            return EpochResult(loss, math.inf, None)
        mse, r2 = validation_mse_and_r2(self.result, self.data, self.members)
        error = mse.mean().item()
        return EpochResult(loss, error if math.isfinite(error) else math.nan, r2.mean().item())

    def _pass_over_rows(self):
        if self.sampler.n_near and self.step % (self.refresh * self.sampler.n_batches) == 0:
            self._find_near()
        _set_mode(self.network, training=True)
        total = 0.0
        for rows, n_queries, context_weight in self.sampler.epoch():
            if self.stopped:
                break
            self._set_learning_rate()
            batch = self.data.take(self.members.train.gather(1, rows))
            y_hat = self.network(batch.X, batch.y, n_queries, batch.weight, context_weight)
            weight = None if batch.weight is None else batch.weight[:, :n_queries]
            losses = weighted_mse(batch.y[:, :n_queries], y_hat, weight)
            losses.sum().backward()
            self.weights.take_gradients()
            self.optimizer.step()
            if self.average is not None:
                self.average.update()
            self.step += 1
            total = total + losses.detach().mean()
        return float(total) / self.sampler.n_batches

    @torch.no_grad()
    def _find_near(self):
        _set_mode(self.result, training=False)
        z = embed_in_batches(self.result, self.data.X)
        self.sampler.find_near(_take_rows(z, self.members.train))


class _Team:
    """Trainers side by side, each in a thread of its own as far as there are any."""

    def __init__(self, networks, data, members, settings, generator, n_threads):
        seeds = torch.randint(2**31, (len(networks),), generator=generator).tolist()
        generators = [torch.Generator().manual_seed(seed) for seed in seeds]
        self.trainers = [
            _Trainer(network, data, own, settings, generator)
            for network, own, generator in zip(networks, members, generators, strict=True)
        ]
        self._snapshots = [Snapshot(trainer.result_weights) for trainer in self.trainers]
        self._n_threads = min(n_threads, len(networks))
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

    def epoch(self, validate):
        """Train all for an epoch; the mean of their results."""
        run = map if self._pool is None else self._pool.map
        losses, errors, scores = zip(*run(lambda t: t.epoch(validate), self.trainers), strict=True)
        score = None if None in scores else fmean(scores)
        return EpochResult(fmean(losses), fmean(errors), score)

    def take_snapshot(self):
        """Copy all members' weights, to keep."""
        for snapshot in self._snapshots:
            snapshot.take()

    def restore_snapshot(self):
        """Give all trained networks the weights of the last copy."""
        for snapshot, trainer in zip(self._snapshots, self.trainers, strict=True):
            snapshot.restore(trainer.weights)


def train_network(network, data, members, settings, generator, report=None, n_threads=1):
    """Train the members of a network, leaving it with the weights of their best epoch.

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
        Called as ``report(loss, score)`` after every epoch; `score` is the
        validation R2 or None.
    n_threads : int
        How many threads members that are trained apart may share.

    Returns
    -------
    history : TrainingHistory

    Raises
    ------
    FloatingPointError
        If the loss is not finite before any epoch was complete.
    """
    keep_freed_memory()
    history = TrainingHistory()
    apart = settings.separable and _pays_apart(data, members)
    networks = network.split() if apart else [network]
    rows = members.split() if apart else [members]
    with _Team(networks, data, rows, settings, generator, n_threads) as team:
        try:
            _run_epochs(team, settings, history, report)
        except KeyboardInterrupt:
            if not history.best_epoch:
                raise
            warnings.warn(
                f"Training interrupted; the weights of epoch {history.best_epoch} are kept.",
                stacklevel=2,
            )
    team.restore_snapshot()
    if apart:
        network.join(networks)
    network.eval()
    return history


def _pays_apart(data, members):
    """Whether to step members each in a thread of its own, and not all at once.

    The number of threads has no say, lest results depend on it.
    """
    n_members, n_rows = members.train.shape
    return data.X.is_cpu and n_members > 1 and n_rows >= _MIN_ROWS_APART


def _run_epochs(team, settings, history, report):
    best, reference, n_without_gain = math.inf, math.inf, 0
    for epoch in range(1, settings.max_iter + 1):
        loss, mse, score = team.epoch(validates(epoch, settings))
        if math.isnan(mse):
            _warn_or_raise(epoch, history.best_epoch)
            return
        history.losses.append(loss)
        if score is not None:
            history.scores.append(score)
        if mse < best:
            best, history.best_epoch = mse, epoch
            team.take_snapshot()
        if report is not None:
            report(loss, score)
        n_without_gain += 1
        if mse < reference - settings.tol:
            reference, n_without_gain = mse, 0
        if n_without_gain == settings.n_iter_no_change:
            return


def _warn_or_raise(epoch, best_epoch):
    if not best_epoch:
        raise FloatingPointError(
            f"The loss or the weights were not finite in epoch {epoch} and no earlier epoch is "
            "left to fall back on. Lower learning_rate_init or check the scale of y."
        )
    warnings.warn(
        f"The loss or the weights were not finite in epoch {epoch}; training stopped and the "
        f"weights of epoch {best_epoch} are kept. Consider a lower learning_rate_init.",
        ConvergenceWarning,
        stacklevel=5,
    )
