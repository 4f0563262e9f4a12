"""Networks in training: the steps of one, and those of an ensemble side by side, in threads."""

import copy
import math
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from statistics import fmean

import torch

from .._columns import LabeledRows
from .._network import embed_in_batches
from .._task import Task
from .._utils.device import CPU, MAX_SEED, BorrowedGenerators
from .._utils.progress import Clock
from .._utils.threads import map_in_threads, use_one_thread
from .batches import ContextSampler
from .calibration import Calibrated, calibrate
from .optim import AdamW, MovingAverage, copy_weights, is_finite
from .splits import EnsembleSplit
from .validation import (
    EpochResult,
    ValidationResult,
    mean_over_rows,
    set_mode,
    take_rows,
    validate,
)

# At least how often in a training near rows are looked for again.
_N_REFRESHES = 32


@dataclass(frozen=True, eq=False)
class TrainingData:
    """Rows, which of them each member trains on, and what is predicted of them."""

    rows: LabeledRows
    split: EnsembleSplit
    task: Task

    def on_all(self):
        """Train on all rows."""
        n_members, rows = (
            len(self.split.train),
            torch.arange(len(self.rows), device=self.rows.X.device),
        )
        return replace(self, split=EnsembleSplit(rows.repeat(n_members, 1), None))

    def members(self):
        """Give each member its data."""
        train, validation = self.split
        n_members = len(train)
        validation = [None] * n_members if validation is None else validation.split(1)
        parts = zip(train.split(1), validation, strict=True)
        return [replace(self, split=EnsembleSplit(*part)) for part in parts]


@dataclass(frozen=True, eq=False)
class Runtime:
    """What a training runs with.

    Attributes
    ----------
    generator : torch.Generator
        Source of batches and context, on the CPU.
    borrowed : BorrowedGenerators
        Torch's global generators, from which initial weights are drawn.
    draws_globally : bool
        Whether a training draws from these, too; its members are then not trained apart.
    n_threads : int
        How many threads members that are trained apart may share.
    clock : Clock
        Ends it in time: see :class:`Pace`.
    """

    generator: torch.Generator
    borrowed: BorrowedGenerators
    draws_globally: bool = False
    n_threads: int = 1
    clock: Clock = field(default_factory=Clock)

    @classmethod
    def draw(cls, random_state, device, *others):
        """Draw the seeds of generators from a RandomState."""
        seed, batch_seed = (int(random_state.randint(MAX_SEED)) for _ in range(2))
        generator = torch.Generator().manual_seed(batch_seed)
        return cls(generator, BorrowedGenerators(seed, device), *others)


class Trainer:
    """Trains one network, by its optimizer; :meth:`epoch` passes once over the rows.

    `result` is the network to validate and to keep: the trained one, or the
    moving average of its weights.
    """

    def __init__(self, network, data, generator, settings, pace):
        self.network, self.data, self.settings = network.train(), data, settings
        self.generator, self.pace = generator, pace
        self.refresh = max(1, pace.schedule.n_epochs // _N_REFRESHES)
        self.n_epochs, self.loss = 0, math.nan
        self._make_sampler()
        self.stopped = False
        self.calibrated = None
        self.result, self.average = network, None
        if settings.recipe.ema_decay is not None:
            self.average = MovingAverage(network, settings.recipe.ema_decay)
            self.result = self.average.network
        self.optimizer = AdamW(network, settings.params["weight_decay"])

    def _make_sampler(self):
        recipe, train = self.settings.recipe, self.data.split.train
        sizes = self.settings.params["batch_size"], recipe.context_size, recipe.context_neighbors
        self.sampler = ContextSampler(*train.T.shape, *sizes, self.generator, train.device)

    def calibrate(self, network):
        """Predict the validation rows, if there still are any, by a network: the one to keep."""
        if self.settings.calibrates and self.data.split.validation is not None:
            self.calibrated = calibrate(network, self.data, self.settings)
        return self.calibrated

    def train_on_all(self):
        """Train on all rows from now on."""
        self.calibrate(self.result)
        self.data = self.data.on_all()
        self._make_sampler()
        if self.sampler.n_near and self.n_epochs % self.refresh:
            self._find_near()

    def judge(self, validated):
        """Return the result of the last epoch, by validation rows if it is to be validated."""
        loss = self.loss
        if self.stopped or not math.isfinite(loss):
            return EpochResult(loss, math.nan)
        if self.data.split.validation is None:
            # The last step has been taken after the last loss.
            return EpochResult(loss, loss if is_finite(self.network) else math.nan)
        if not validated:
            return EpochResult(loss, math.inf)
        n_neighbors = self.settings.params["n_neighbors"]
        validation, errors, scores = validate(self.result, self.data, n_neighbors)
        error = errors.mean().item()
        error = error if math.isfinite(error) else math.nan
        return EpochResult(loss, error, scores.mean().item(), validation)

    def epoch(self):
        """Train on every row once, or as long as there is time; yields after every step."""
        if self.sampler.n_near and self.n_epochs % self.refresh == 0:
            self._find_near()
        set_mode(self.network, training=True)
        total, n_batches = 0.0, self.sampler.n_batches
        for step, batch in enumerate(self.sampler.epoch()):
            losses = self._losses(batch)
            losses.sum().backward()
            self.optimizer.step(self.pace.learning_rate(self.n_epochs + (step + 0.5) / n_batches))
            if self.average is not None:
                self.average.update()
            total = total + losses.detach().mean()
            if self.stopped or self.pace.ends(self.n_epochs + (step + 1) / n_batches):
                break
            yield
        self.n_epochs += 1
        self.loss = float(total) / (step + 1)

    def _losses(self, batch):
        """Mean error of each member's queries."""
        rows, n_queries, context_weight, query_weight = batch
        data = self.data.rows.select(self.data.split.train.gather(1, rows))
        y_hat = self.network(data.X, data.y, n_queries, data.weight, context_weight, data.group)
        weight = query_weight
        if data.weight is not None:
            weight = data.weight[:, :n_queries]
            weight = weight if query_weight is None else weight * query_weight
        return mean_over_rows(self.data.task.losses(y_hat, data.y[:, :n_queries]), weight)

    @torch.no_grad()
    def _find_near(self):
        set_mode(self.result, training=False)
        z = embed_in_batches(self.result, self.data.rows.X)
        self.sampler.find_near(take_rows(z, self.data.split.train))


class ParallelTrainers:
    """Trainers side by side, in as many threads as there are.

    The network is trained as one, or its members apart; :meth:`finish` leaves it
    with the weights of the last snapshot.

    Parameters
    ----------
    network : NeighborNetwork
    data : TrainingData
    settings : Settings
    runtime : Runtime
    pace : Pace
    """

    def __init__(self, network, data, settings, runtime, pace):
        self._network, self._pace = network, pace
        self._validates_all = settings.recipe.n_iter_no_change is not None
        several = len(data.split.train) > 1 and data.rows.X.is_cpu
        # The number of threads does not count, lest results depend on it.
        self._apart = settings.parallel and several and not runtime.draws_globally
        self._networks = network.split() if self._apart else [network]
        data = data.members() if self._apart else [data]
        n_seeds, source = (len(data),), runtime.generator
        seeds = torch.randint(2**31, n_seeds, generator=source, device=CPU).tolist()
        generators = [torch.Generator().manual_seed(seed) for seed in seeds]
        parts = zip(self._networks, data, generators, strict=True)
        self.trainers = [Trainer(*part, settings, pace) for part in parts]
        self._kept = [copy.deepcopy(trainer.result) for trainer in self.trainers]
        self._draws = runtime.borrowed if runtime.draws_globally else nullcontext
        self._n_threads = min(runtime.n_threads, len(self.trainers))
        self._crews = [self.trainers[i :: self._n_threads] for i in range(self._n_threads)]
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

    def epoch(self):
        """Train all for an epoch; their results taken together."""
        pace = self._pace
        with self._draws():
            # Trainers of the same thread take turns, lest the first takes all the time.
            self._run(_take_turns, self._crews)
            pace.advance()
            validated = self._validates_all or pace.validates()
            results = self._run(lambda trainer: trainer.judge(validated), self.trainers)
        losses, errors, scores, validation = zip(*results, strict=True)
        if None in scores:
            return EpochResult(fmean(losses), fmean(errors))
        joined = ValidationResult.of_members(validation)
        return EpochResult(fmean(losses), fmean(errors), fmean(scores), joined)

    def _run(self, function, parts):
        return list((map if self._pool is None else self._pool.map)(function, parts))

    def train_on_all(self):
        """Let all train on their validation rows, too."""
        for trainer in self.trainers:
            trainer.train_on_all()

    def take_snapshot(self):
        """Copy all members' weights, to keep."""
        for trainer, kept in zip(self.trainers, self._kept, strict=True):
            copy_weights(trainer.result, kept)

    def finish(self):
        """Give the network the weights of the last snapshot."""
        for trainer, kept in zip(self.trainers, self._kept, strict=True):
            copy_weights(kept, trainer.network)
        if self._apart:
            self._network.join(self._networks)
        self._network.eval()

    def calibrate(self):
        """Calibrate by the weights that are kept, for each likeness; None if nothing is chosen."""
        parts = map_in_threads(
            lambda own: own.calibrate(own.network), self.trainers, self._n_threads
        )
        if None in parts:
            return None
        return [Calibrated.of_members(own) for own in zip(*parts, strict=True)]


def _take_turns(trainers):
    """Train some for an epoch, step by step."""
    for _ in zip_longest(*[trainer.epoch() for trainer in trainers]):
        pass
