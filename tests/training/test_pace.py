"""A schedule fitted to the time that is left, driven by a clock that counts epochs."""

import math
from types import SimpleNamespace
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skneighbors import Recipe
from skneighbors._training import schedule
from skneighbors._training.schedule import Pace, cycle_ends, learning_rate_factor

CYCLES = Recipe(learning_rate_schedule="cycles", n_iter_no_change=None)
AFTER = 1.0  # epochs that are kept for what follows


class Seconds:
    """Clock that a trained epoch moves on by as many seconds as it takes."""

    def __init__(self, limit, seconds=1.0):
        self.limit, self.now, self.seconds = limit, 0.0, seconds

    def left(self):
        return self.limit - self.now

    def monotonic(self):
        return self.now


def plan_of(max_iter, n_cycles=6):
    return SimpleNamespace(
        recipe=CYCLES, max_iter=max_iter, n_cycles=n_cycles, learning_rate_init=1.0
    )


def run(plan, clock, n_batches=4, slower=None, n_epochs=None):
    """Rates of all steps until the pace says that it is over."""
    with mock.patch.object(schedule, "time", clock):
        pace = Pace(plan, clock, n_epochs)
        rates, epoch = [], 0
        while not pace.is_over:
            for step in range(n_batches):
                rates.append(pace.learning_rate(epoch + (step + 0.5) / n_batches))
                clock.now += clock.seconds / n_batches
                if slower is not None and len(rates) == slower:
                    clock.seconds *= 3
                if pace.ends(epoch + (step + 1) / n_batches):
                    break
            epoch += 1
            pace.advance()
    return rates, pace


plans = st.builds(plan_of, st.integers(1, 400), st.sampled_from([4, 6]))
some_batches = st.sampled_from([1, 2, 7, 40])
shares = st.floats(0.01, 3)


@settings(deadline=None, max_examples=20)
@given(plans, some_batches)
def test_without_a_limit_a_schedule_is_the_plans(plan, n_batches):
    rates, pace = run(plan, Seconds(math.inf), n_batches)
    assert pace.positions == list(range(plan.max_iter + 1))
    assert pace.is_last
    middles = [
        epoch + (step + 0.5) / n_batches
        for epoch in range(plan.max_iter)
        for step in range(n_batches)
    ]
    assert rates == [
        learning_rate_factor("cycles", middle / plan.max_iter, plan.n_cycles) for middle in middles
    ]


@settings(deadline=None)
@given(plans, some_batches, shares)
def test_a_schedule_ends_in_time(plan, n_batches, share):
    clock = Seconds(share * plan.max_iter + AFTER)
    _, pace = run(plan, clock, n_batches)
    step = 1 / n_batches
    assert clock.now <= clock.limit + step + 1e-9
    if share > 0.2:  # else what follows may have less time, after part of a cycle
        assert clock.now <= max(share * plan.max_iter, AFTER) + step + 1e-9
    assert pace.positions == sorted(pace.positions)
    assert pace.positions[-1] <= plan.max_iter + 0.5
    assert pace.n_epochs == plan.max_iter


@settings(deadline=None)
@given(plans, some_batches, st.floats(1.0, 3))
def test_enough_time_changes_no_step(plan, n_batches, share):
    clock = Seconds(share * plan.max_iter + AFTER + 1e-6)
    free, _ = run(plan, Seconds(math.inf), n_batches)
    assert run(plan, clock, n_batches)[0] == free


@settings(deadline=None)
@given(plans, st.sampled_from([4, 7, 40]), st.floats(0.01, 0.99))
def test_all_but_the_last_cycle_is_as_planned_and_that_one_ends(plan, n_batches, share):
    limited, pace = run(plan, Seconds(share * plan.max_iter + AFTER), n_batches)
    free, _ = run(plan, Seconds(math.inf), n_batches)
    differ = [i for i, (a, b) in enumerate(zip(limited, free, strict=False)) if a != b]
    start = (differ[0] if differ else len(limited)) / n_batches
    # Cycles end to the nearest epoch.
    ends, position = cycle_ends(plan), pace.positions[-1]
    assert min(abs(position - end) for end in ends) <= 0.5
    assert position <= [*(end for end in ends if end > start + 0.5), *ends[-1:] * 2][1] + 0.5


@settings(deadline=None)
@given(st.integers(200, 400), st.sampled_from([4, 6]), st.sampled_from([8, 40]), shares)
def test_a_rate_has_fallen_when_the_time_is_over(max_iter, n_cycles, n_batches, share):
    rates, _ = run(plan_of(max_iter, n_cycles), Seconds(share * max_iter + AFTER), n_batches)
    assert rates[-1] < 0.15


@pytest.mark.parametrize("share", [0.1, 0.3, 0.7])
@pytest.mark.parametrize("before", [0.4, 0.6, 0.9])
def test_a_rate_falls_in_time_on_a_machine_that_becomes_slow(share, before):
    n_batches = 10
    clock = Seconds(share * 100 + AFTER)
    rates, _ = run(plan_of(100), clock, n_batches, slower=int(before * share * 1000))
    assert clock.left() >= -2 * clock.seconds / n_batches
    assert rates[-1] < 0.1


def test_slow_steps_at_first_end_nothing():
    clock = Seconds(100.0)
    with mock.patch.object(schedule, "time", clock):
        pace = Pace(plan_of(63), clock)
        for step, seconds in enumerate([4.0, 4.0, *[0.1] * 38]):
            clock.now += seconds
            assert not pace.ends((step + 1) / 40)
        pace.advance()
    assert pace.positions[-1] == 1.0
    assert not pace.is_over
    assert not pace.is_last


def test_an_epoch_longer_than_the_time_ends_at_half_of_it():
    for limit in (0.1, 0.5, 1.0):
        clock = Seconds(limit)
        rates, _ = run(plan_of(63), clock, n_batches=400)
        assert clock.now == pytest.approx(limit / 2, abs=0.01)
        assert rates[-1] < 0.1 < 0.9 < max(rates)


def test_a_cycle_that_there_is_hardly_time_for_is_not_begun():
    for epochs, expected in [(31, 31), (31.05 + 32 * schedule._LEAST, 63), (30, 31)]:
        _, pace = run(plan_of(63), Seconds(epochs + AFTER + 0.001))
        assert pace.positions[-1] == pytest.approx(expected, abs=0.3)


def test_an_end_within_a_cycle_is_hurried_to_as_well():
    clock = Seconds(10 + AFTER)
    rates, pace = run(plan_of(63), clock, n_epochs=15)
    assert clock.now == pytest.approx(10, abs=0.3)
    assert pace.positions[-1] == 15
    assert rates[-1] < 0.1
