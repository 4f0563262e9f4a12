"""The networks of an ensemble trained side by side."""

import copy
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from itertools import zip_longest
from statistics import fmean

import torch

from .._utils.device import CPU
from .._utils.threads import map_in_threads, use_one_thread
from .calibration import Calibrated
from .optim import copy_weights
from .schedule import validates
from .trainer import Trainer
from .validation import EpochResult, ValidationResult


class ParallelTrainers:
    """Trainers side by side, in as many threads as there are.

    The network is trained as one, or its members apart; :meth:`finish` leaves it
    with the weights of the last snapshot.

    Parameters
    ----------
    network : NeighborNetwork
    data : TrainingData
    plan : Plan
    runtime : Runtime
    pace : Pace
    """

    def __init__(self, network, data, plan, runtime, pace):
        self._network, self._plan, self._pace = network, plan, pace
        several = len(data.split.train) > 1 and data.rows.X.is_cpu
        # The number of threads does not count, lest results depend on it.
        self._apart = plan.parallel and several and not runtime.draws_globally
        self._networks = network.split() if self._apart else [network]
        seeds = torch.randint(
            2**31, (len(self._networks),), generator=runtime.generator, device=CPU
        ).tolist()
        generators = [torch.Generator().manual_seed(seed) for seed in seeds]
        parts = zip(self._networks, data.members() if self._apart else [data], strict=True)
        self.trainers = [
            Trainer(*part, plan, generator, pace)
            for part, generator in zip(parts, generators, strict=True)
        ]
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

    def epoch(self, epoch):
        """Train all for an epoch, counted from 1; their results taken together."""
        pace = self._pace
        with self._draws():
            # Trainers of the same thread take turns, lest the first takes all the time.
            self._run(_take_turns, self._crews)
            pace.advance()
            validated = pace.is_over or validates(epoch, *pace.positions[-2:], self._plan)
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
        """Predict the validation rows in the end, by the weights that are kept."""
        map_in_threads(
            lambda trainer: trainer.calibrate(trainer.network), self.trainers, self._n_threads
        )

    @property
    def calibrated(self):
        """Predictions of the validation rows in the end; None if nothing is to be chosen."""
        parts = [trainer.calibrated for trainer in self.trainers]
        return None if None in parts else Calibrated.of_members(parts)


def _take_turns(trainers):
    """Train some for an epoch, step by step."""
    for _ in zip_longest(*[trainer.epoch() for trainer in trainers]):
        pass
