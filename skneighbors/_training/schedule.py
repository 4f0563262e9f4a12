"""When a training validates and takes which learning rate."""

import math

# From so many epochs on, those above this share of the peak learning rate aren't validated,
# and, of more, not all others either.
_N_VALIDATIONS = 32
_HIGH_RATE = 0.5
# Early epochs are validated more often: after each such part of the epochs so far.
_RESOLUTION = 16


def learning_rate_factor(kind, progress, n_cycles):
    """Learning rate relative to its peak, after a share `progress` of the steps.

    ``"cycles"`` are cosine cycles of growing length, ``(1 - cos(2 pi log2(1 + (2^n - 1)
    progress))) / 2``; Holzmueller et al. (2024) have n = 4 of them.
    """
    if kind == "constant":
        return 1.0
    return 0.5 * (1 - math.cos(2 * math.pi * math.log2(1 + (2**n_cycles - 1) * progress)))


def cycle_ends(max_iter, n_cycles):
    """Epochs, counted from 1, that end the cycles of the learning rate but the first and last."""
    shares = ((2**n - 1) / (2**n_cycles - 1) for n in range(2, n_cycles))
    return tuple(max(1, round(share * max_iter)) for share in shares)


def validates(epoch, plan):
    """Whether to validate after an epoch, counted from 1.

    Not after each of many, nor, then, where the learning rate is high: what
    matters are the first epoch, the last and those that are reviewed.
    """
    if plan.recipe.n_iter_no_change is not None:
        return True
    if epoch in (1, plan.max_iter):
        return True
    if plan.review and epoch in cycle_ends(plan.max_iter, plan.n_cycles):
        return True
    if plan.max_iter >= _N_VALIDATIONS and plan.recipe.learning_rate == "cycles":
        rate = learning_rate_factor("cycles", epoch / plan.max_iter, plan.n_cycles)
        if rate > _HIGH_RATE:
            return False
    stride = min(math.ceil(plan.max_iter / _N_VALIDATIONS), epoch // _RESOLUTION)
    return epoch % max(1, stride) == 0
