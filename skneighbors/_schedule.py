"""How to train: when a training ends, validates and takes which learning rate."""

import math
from dataclasses import dataclass

# From so many epochs on, those above this share of the peak learning rate aren't validated,
# and, of more, not all others either.
_N_VALIDATIONS = 32
_HIGH_RATE = 0.5
# Early epochs are validated more often: after each such part of the epochs so far.
_RESOLUTION = 16

# Shares of the steps before the third and the fourth, last, cycle of the learning rate.
_CYCLE_ENDS = 3 / 15, 7 / 15

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
    sharpnesses: tuple[float, ...] = ()  # among which validation chooses, if there are any
    sharpen_in_the_end: bool = False  # whether it does so once, and with caution
    separable: bool = False  # whether no two members draw from one generator
    stop_if_harmful: bool = False  # whether to stop after a cycle that has harmed
    join_validation: bool = False  # whether rows held out may join the last cycle
    repeat_on_all: bool = False  # whether to train again if the last cycle gained nothing


def resolve_max_iter(max_iter, n_rows, batch_size, least, n_predictions=1.0):
    """Count the epochs.

    For ``"auto"``, the first of `least`, but no fewer than make as many steps as the
    second, however few the rows; fewer in proportion where an epoch predicts each row
    `n_predictions` times.
    """
    if max_iter != "auto":
        return max_iter
    least_epochs, least_steps = least
    n_epochs = max(least_epochs, math.ceil(least_steps / math.ceil(n_rows / batch_size)))
    return math.ceil(n_epochs / n_predictions)


def learning_rate_factor(kind, progress):
    """Learning rate relative to its peak, after a share `progress` of the steps.

    ``"cycles"`` are the four cosine cycles of growing length of Holzmueller et
    al. (2024), ``(1 - cos(2 pi log2(1 + 15 progress))) / 2``.
    """
    if kind == "constant":
        return 1.0
    return 0.5 * (1 - math.cos(2 * math.pi * math.log2(1 + 15 * progress)))


def cycle_ends(max_iter):
    """Epochs, counted from 1, that end the second and the third cycle of the learning rate."""
    return tuple(max(1, round(share * max_iter)) for share in _CYCLE_ENDS)


def validates(epoch, settings):
    """Whether to validate after an epoch, counted from 1.

    Not after each of many, nor, then, where the learning rate is high: what
    matters are the first epoch, the last and those that end a cycle.
    """
    if settings.n_iter_no_change is not None:
        return True
    if epoch in (1, settings.max_iter):
        return True
    if settings.stop_if_harmful and epoch in cycle_ends(settings.max_iter):
        return True
    if settings.max_iter >= _N_VALIDATIONS and settings.learning_rate == "cycles":
        rate = learning_rate_factor("cycles", epoch / settings.max_iter)
        if rate > _HIGH_RATE:
            return False
    stride = min(math.ceil(settings.max_iter / _N_VALIDATIONS), epoch // _RESOLUTION)
    return epoch % max(1, stride) == 0
