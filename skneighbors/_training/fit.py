"""The trainings of one fit: another, with more dropout, where the first has harmed."""

from typing import NamedTuple

import numpy as np
import torch

from .._network import NeighborNetwork
from .._utils.progress import progress_bar
from .._utils.random import BorrowedGenerators
from .loop import Training, TrainingHistory

_MAX_SEED = np.iinfo(np.int32).max


class TrainingRun(NamedTuple):
    """A training: what it was told, what happened and what it made."""

    dropout: float
    history: TrainingHistory
    network: NeighborNetwork


class NetworkFitter:
    """Trains networks on the same samples by the same recipe.

    Parameters
    ----------
    make_network : callable
        Called with a dropout, returns a NeighborNetwork with initial weights.
    data : LabelledRows
    split : EnsembleSplit
    recipe : ResolvedRecipe
    random_state : numpy.random.RandomState
        Source of the seeds.
    draws_globally : bool
        Whether networks draw from torch's global generators, with dropout or without.
    n_threads : int
    verbose : bool
        Whether to show a progress bar.
    """

    def __init__(
        self, make_network, data, split, recipe, random_state, draws_globally, n_threads, verbose
    ):
        self._make_network, self._data, self._split, self._recipe = (
            make_network,
            data,
            split,
            recipe,
        )
        self._random_state, self._draws_globally = random_state, draws_globally
        self._n_threads, self._verbose = n_threads, verbose

    def fit(self):
        """Train once, or, where that harms, once more.

        Returns
        -------
        runs : list of TrainingRun
            The last one's history tells of an interrupt from the keyboard.
        """
        recipe = self._recipe
        first = self._run(recipe.dropout)
        again = recipe.dropout_if_harmful is not None and first.history.harmed
        if not again or first.history.interrupted:
            return [first]
        try:
            return [first, self._run(recipe.dropout_if_harmful)]
        except FloatingPointError:
            return [first]
        except KeyboardInterrupt:
            first.history.interrupted = True
            return [first]

    def _run(self, dropout):
        device, recipe = self._data.X.device, self._recipe
        seed, own_seed = (int(self._random_state.randint(_MAX_SEED)) for _ in range(2))
        borrowed = BorrowedGenerators(seed, device)
        with borrowed():
            network = self._make_network(dropout).to(device)
        draws = borrowed if dropout > 0 or self._draws_globally else None
        generator = torch.Generator().manual_seed(own_seed)
        with (
            torch.autocast(device.type, enabled=False),
            progress_bar(self._verbose, recipe.max_iter) as report,
        ):
            training = Training(
                network,
                self._data,
                self._split,
                recipe,
                generator,
                draws=draws,
                n_threads=self._n_threads,
                report=report,
            )
            return TrainingRun(dropout, training.run(), network)
