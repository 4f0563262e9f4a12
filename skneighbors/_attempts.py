"""Trainings of one fit: another, with more dropout, where the first has harmed."""

from typing import NamedTuple

from ._network import NeighborNetwork
from ._training import TrainingHistory


class Attempt(NamedTuple):
    """A training: what it was told, what happened and what it made."""

    dropout: float
    history: TrainingHistory
    network: NeighborNetwork


def train_attempts(train, dropout, more_dropout=None):
    """Train once, or, where that harms, once more.

    Parameters
    ----------
    train : callable
        Called with a dropout, trains a new network; returns history and network.
    dropout : float
    more_dropout : float or None, default=None
        For another training if the first stops because it has harmed; None for no other.

    Returns
    -------
    attempt : Attempt
        That of lower error on the validation rows; its history tells of an interrupt of
        either.
    """
    first = Attempt(dropout, *train(dropout))
    if more_dropout is None or not first.history.harmed or first.history.interrupted:
        return first
    try:
        second = Attempt(more_dropout, *train(more_dropout))
    except FloatingPointError:
        return first
    except KeyboardInterrupt:
        first.history.interrupted = True
        return first
    first.history.interrupted = second.history.interrupted
    return min(first, second, key=lambda attempt: attempt.history.judged.error)
