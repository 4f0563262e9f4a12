"""Trainings of one fit: another, with more dropout, where the first has harmed."""

from functools import reduce
from typing import NamedTuple

from ._bank import NeighborBank
from ._network import NeighborNetwork
from ._training import TrainingHistory
from ._validation import weigh_kinds

_N_CHECKED_ROWS = 256  # training rows whose predictions must be finite


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
    attempts : list of Attempt
        The last one's history tells of an interrupt from the keyboard.
    """
    first = Attempt(dropout, *train(dropout))
    if more_dropout is None or not first.history.harmed or first.history.interrupted:
        return [first]
    try:
        return [first, Attempt(more_dropout, *train(more_dropout))]
    except FloatingPointError:
        return [first]
    except KeyboardInterrupt:
        first.history.interrupted = True
        return [first]


def make_bank(attempts, data, n_kinds):
    """Neighbours for the networks of all attempts, weighted by their validation errors.

    Parameters
    ----------
    attempts : list of Attempt
        Each of as many members.
    data : LabelledRows
        The neighbours, in float64.
    n_kinds : int
        Kinds of members in each attempt, one kind after the other.

    Returns
    -------
    bank : NeighborBank

    Raises
    ------
    FloatingPointError
        If predictions are not finite.
    """
    _, histories, networks = zip(*attempts, strict=True)
    network = reduce(NeighborNetwork.beside, networks)
    shares = weigh_kinds([history.judged for history in histories], n_kinds)
    n_alike = len(next(network.embedder.parameters())) // len(shares)
    shares = shares.repeat_interleave(n_alike) / n_alike
    bank = NeighborBank(network, *data, shares.to(data.X.device))
    if not bank.predict(data.X[:_N_CHECKED_ROWS]).isfinite().all():
        raise FloatingPointError(
            f"Predictions with the weights of epoch {histories[0].best_epoch}, which are kept, are "
            "not finite. Lower learning_rate_init or check the scale of sample_weight."
        )
    return bank
