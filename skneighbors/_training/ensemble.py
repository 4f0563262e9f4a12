"""The networks of an ensemble trained side by side."""

import copy
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from statistics import fmean

import torch

from .._utils.device import CPU
from .._utils.threads import map_in_threads, use_one_thread
from .optim import FlatWeights, Snapshot
from .trainer import Trainer
from .validation import EpochResult, HeldOut


class ParallelTrainers:
    """Trainers side by side, each in a thread of its own as far as there are any.

    The network is trained as one, or its members apart; :meth:`finish` leaves it
    with the weights of the last snapshot.

    Parameters
    ----------
    network : NeighborNetwork
    data : LabelledRows
    split : EnsembleSplit
    plan : Plan
    target : Target
    generator : torch.Generator
        Source of batches and context, on the CPU.
    draws : BorrowedGenerators or None
        Torch's global generators, where a training draws from them; its members are then
        not trained apart.
    n_threads : int
        How many threads members that are trained apart may share.
    """

    def __init__(self, network, data, split, plan, target, generator, draws, n_threads):
        self._network = network
        # The number of threads has no say, lest results depend on it.
        self._apart = plan.parallel and draws is None and data.X.is_cpu and len(split.train) > 1
        self._networks = network.split() if self._apart else [network]
        seeds = torch.randint(
            2**31, (len(self._networks),), generator=generator, device=CPU
        ).tolist()
        generators = [torch.Generator().manual_seed(seed) for seed in seeds]
        splits = split.members() if self._apart else [split]
        self.trainers = [
            Trainer(own, data, own_split, plan, target, generator)
            for own, own_split, generator in zip(self._networks, splits, generators, strict=True)
        ]
        self._snapshots = [Snapshot(trainer.result_weights) for trainer in self.trainers]
        self._draws = nullcontext if draws is None else draws
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

    def epoch(self, validated, clock):
        """Train all for an epoch; their results taken together."""
        return self._gather(lambda trainer: trainer.epoch(validated, clock))

    def judge(self):
        """Validate them as they are."""
        return self._gather(Trainer.judge)

    def _gather(self, question):
        run = map if self._pool is None else self._pool.map
        with self._draws():
            results = list(run(question, self.trainers))
        losses, errors, scores, held_out = zip(*results, strict=True)
        if None in scores:
            return EpochResult(fmean(losses), fmean(errors))
        parts = zip(*held_out, strict=True)
        held_out = HeldOut(*(None if part[0] is None else torch.cat(part) for part in parts))
        return EpochResult(fmean(losses), fmean(errors), fmean(scores), held_out)

    def train_on_all(self):
        """Let all train on the samples they have held out, too."""
        for trainer in self.trainers:
            trainer.train_on_all()

    def take_snapshot(self):
        """Copy all members' weights, to keep."""
        for snapshot in self._snapshots:
            snapshot.take()

    def copy_kept(self):
        """Copy the network, as it would be kept if the training ended now."""
        parts = [copy.deepcopy(trainer.network) for trainer in self.trainers]
        for part, snapshot, trainer in zip(parts, self._snapshots, self.trainers, strict=True):
            snapshot.restore(FlatWeights(part))
            trainer.sharpen(part)
        if not self._apart:
            return parts[0].eval()
        network = copy.deepcopy(self._network)
        network.join(parts)
        return network.eval()

    def finish(self):
        """Give the network the weights of the last snapshot."""
        for snapshot, trainer in zip(self._snapshots, self.trainers, strict=True):
            snapshot.restore(trainer.weights)
        self._join()
        self._network.eval()

    def sharpen(self):
        """Choose the sharpness of the weights that are kept."""
        map_in_threads(lambda own: own.sharpen(own.network), self.trainers, self._n_threads)
        self._join()

    def _join(self):
        if self._apart:
            self._network.join(self._networks)
