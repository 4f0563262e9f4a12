"""How long a training takes, at which rates, and when it validates."""

import itertools
import math
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skneighbors import Recipe
from skneighbors._training.schedule import (
    cycle_ends,
    has_ended_cycle,
    learning_rate_factor,
    validates,
)

N_CYCLES = 6
CYCLES = Recipe(learning_rate_schedule="cycles", n_iter_no_change=None)


def test_six_cycles_of_growing_length():
    progress = np.linspace(0, 1, 16 * 1000 + 1)
    factor = np.array([learning_rate_factor("cycles", u, N_CYCLES) for u in progress])
    assert_allclose(factor, 0.5 * (1 - np.cos(2 * np.pi * np.log2(1 + 63 * progress))), atol=1e-12)
    for cycle in range(6):
        low, high, end = ((2 ** (cycle + part) - 1) / 63 for part in (0, 0.5, 1))
        assert learning_rate_factor("cycles", low, N_CYCLES) == pytest.approx(0)
        assert learning_rate_factor("cycles", high, N_CYCLES) == pytest.approx(1)
        assert learning_rate_factor("cycles", end, N_CYCLES) == pytest.approx(0)
    assert learning_rate_factor("constant", 0.3, N_CYCLES) == 1


def validated_epochs(max_iter, learning_rate, n_iter_no_change=None):
    recipe = Recipe(learning_rate_schedule=learning_rate, n_iter_no_change=n_iter_no_change)
    plan = plan_of(max_iter, recipe=recipe)
    return [epoch for epoch in range(1, max_iter + 1) if validates(epoch, epoch - 1, epoch, plan)]


def plan_of(max_iter, recipe=CYCLES, **fields):
    fields = dict(check_overfitting=True, n_cycles=N_CYCLES) | fields
    return SimpleNamespace(recipe=recipe, max_iter=max_iter, learning_rate_init=1.0, **fields)


def checked_epochs(max_iter):
    """Epochs that end a cycle, to the nearest, but the first one."""
    return {max(1, round(end)) for end in cycle_ends(plan_of(max_iter))[1:-1]}


@pytest.mark.parametrize("learning_rate", ["constant", "cycles"])
@pytest.mark.parametrize("max_iter", [1, 25, 32, 48, 64, 128, 750, 1500])
def test_validates_a_bounded_number_of_times(max_iter, learning_rate):
    everything = list(range(1, max_iter + 1))
    validated = validated_epochs(max_iter, learning_rate)
    assert {1, max_iter, *checked_epochs(max_iter)} <= set(validated)
    assert min(max_iter, 32 if learning_rate == "constant" else 16) <= len(validated) <= 130
    if max_iter < 32 or (max_iter == 32 and learning_rate == "constant"):
        assert validated == everything
    elif learning_rate == "cycles":
        assert len(validated) <= max_iter / 1.3
    # Dense where it is done at all: all the time at a constant rate, else while it is low.
    eligible = {
        epoch
        for epoch in everything
        if learning_rate == "constant"
        or learning_rate_factor("cycles", epoch / max_iter, N_CYCLES) <= 0.5
    }
    for previous, epoch in itertools.pairwise(validated):
        if eligible.issuperset(range(previous, epoch + 1)):
            assert epoch - previous <= max(1, min(epoch / 16, math.ceil(max_iter / 32)))
    assert validated_epochs(max_iter, learning_rate, n_iter_no_change=10) == everything


def test_weights_of_a_high_learning_rate_are_not_validated():
    for max_iter in (32, 64, 640):
        first, *validated = validated_epochs(max_iter, "cycles")
        assert first == 1
        others = set(validated) - checked_epochs(max_iter)
        rates = [learning_rate_factor("cycles", epoch / max_iter, N_CYCLES) for epoch in others]
        assert max(rates) <= 0.5
        always = validated_epochs(max_iter, "constant")
        assert 0.4 < (1 + len(validated)) / len(always) < 0.6


@pytest.mark.parametrize("max_iter", [1, 2, 15, 100, 1500])
def test_cycles_end_where_the_learning_rate_is_lowest(max_iter):
    plan = plan_of(max_iter)
    ends = cycle_ends(plan)
    assert_allclose(ends, max_iter * np.array([1, 3, 7, 15, 31, 63]) / 63)
    rates = [learning_rate_factor("cycles", end / max_iter, N_CYCLES) for end in ends]
    assert_allclose(rates, 0, atol=1e-12)
    # But for the first and the last, each ends at the nearest epoch.
    epochs = range(1, max_iter + 1)
    ended = {epoch for epoch in epochs if has_ended_cycle(epoch - 1, epoch, plan)}
    assert ended == {round(end) for end in ends[1:-1]} - {0}
