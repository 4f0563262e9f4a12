"""The training of one fit: its seeds, its progress bar, its interrupts."""

import torch

from .._utils import interrupts
from .._utils.device import CPU
from .._utils.progress import progress_bar
from .._utils.random import MAX_SEED, BorrowedGenerators
from .loop import Training


def fit_networks(
    make_network,
    data,
    split,
    plan,
    target,
    random_state,
    clock,
    *,
    draws_globally,
    n_threads=1,
    verbose=False,
    callbacks,
    answer,
):
    """Train networks side by side.

    Parameters
    ----------
    make_network : callable
        Returns a NeighborNetwork with initial weights, drawn from torch's generators.
    data : LabeledRows
    split : EnsembleSplit
    plan : Plan
    target : Target
    random_state : numpy.random.RandomState
        Source of the seeds.
    clock : Clock
        If time is short, there are fewer epochs than planned.
    draws_globally : bool
        Whether a training draws from torch's global generators, too.
    n_threads : int, default=1
    verbose : bool, default=False
        Whether to show a progress bar.
    callbacks, answer
        See :class:`Training`.

    Returns
    -------
    network : NeighborNetwork
    history : TrainingHistory
        Tells of an interrupt from the keyboard, or a fault, that ended the training.

    Raises
    ------
    FloatingPointError
        If the loss is not finite before any epoch was complete.
    """
    device = data.X.device
    seed, own_seed = (int(random_state.randint(MAX_SEED)) for _ in range(2))
    callbacks.begin(plan.max_epochs)
    borrowed = BorrowedGenerators(seed, device)
    with borrowed(), CPU:
        network = make_network().to(device)
    with (
        torch.autocast(device.type, enabled=False),
        progress_bar(verbose, plan.max_epochs) as report,
    ):
        training = Training(
            network,
            data,
            split,
            plan,
            target,
            torch.Generator().manual_seed(own_seed),
            draws=borrowed if draws_globally else None,
            n_threads=n_threads,
            report=report,
            clock=clock,
            callbacks=callbacks,
            answer=answer,
            keep_interrupted=not interrupts.ends_the_program(),
        )
        return network, training.run()
