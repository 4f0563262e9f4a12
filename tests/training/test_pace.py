"""A schedule fitted to the time that is left, driven by a clock that counts epochs."""

import math
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skneighbors import Recipe
from skneighbors._training import schedule
from skneighbors._training.schedule import Pace, cycle_ends

CYCLES = Recipe(learning_rate_schedule="cycles", n_iter_no_change=None)


class Seconds:
    """Clock that a trained epoch moves on by as many seconds as it takes."""

    def __init__(self, limit, seconds=1.0):
        self.limit, self.now, self.seconds = limit, 0.0, seconds

    def left(self):
        return self.limit - self.now


def plan_of(max_iter, n_cycles=6, always_refits=False):
    return SimpleNamespace(
        recipe=CYCLES,
        max_iter=max_iter,
        n_cycles=n_cycles,
        always_refits=always_refits,
        learning_rate_init=1.0,
    )


def run(plan, clock, n_batches=4, slower=None, ends=None):
    """Positions and rates of all steps until the pace says that it is over."""
    pace = Pace(plan, clock, ends or cycle_ends(plan))
    positions, rates, epoch = [], [], 0
    while not pace.is_over:
        for step in range(n_batches):
            rates.append(pace.learning_rate(epoch, step, n_batches))
            clock.now += clock.seconds / n_batches
            pace.advance(epoch, step, n_batches)
            positions.append(pace.position)
            if slower is not None and len(positions) == slower:
                clock.seconds *= 3
            if pace.is_over:
                break
        epoch += 1
    return positions, rates, pace


plans = st.builds(plan_of, st.integers(1, 400), st.sampled_from([4, 6]))
some_batches = st.sampled_from([1, 2, 7, 40])
shares = st.floats(0.01, 3)


@settings(deadline=None, max_examples=20)
@given(plans, some_batches)
def test_without_a_limit_a_schedule_is_the_plans(plan, n_batches):
    positions, _, pace = run(plan, Seconds(math.inf), n_batches)
    assert positions == [
        epoch + (step + 1) / n_batches
        for epoch in range(plan.max_iter)
        for step in range(n_batches)
    ]
    assert pace.is_last


@settings(deadline=None)
@given(plans, some_batches, shares)
def test_a_schedule_ends_in_time(plan, n_batches, share):
    clock = Seconds(share * plan.max_iter + schedule._AFTER)
    positions, _, _ = run(plan, clock, n_batches)
    step = 1 / n_batches
    assert clock.now <= max(share * plan.max_iter, step) + step + 1e-9
    assert positions == sorted(positions)
    assert positions[-1] < plan.max_iter + step


@settings(deadline=None)
@given(plans, some_batches, st.floats(1.0, 3))
def test_enough_time_changes_no_step(plan, n_batches, share):
    clock = Seconds(share * plan.max_iter + schedule._AFTER + 1e-6)
    free = run(plan, Seconds(math.inf), n_batches)
    assert run(plan, clock, n_batches)[:2] == free[:2]


@settings(deadline=None)
@given(plans, st.sampled_from([4, 7, 40]), st.floats(0.01, 0.99))
def test_all_but_the_last_cycle_is_as_planned_and_that_one_ends(plan, n_batches, share):
    limited = run(plan, Seconds(share * plan.max_iter + schedule._AFTER), n_batches)[0]
    free = run(plan, Seconds(math.inf), n_batches)[0]
    differ = [i for i, (a, b) in enumerate(zip(limited, free, strict=False)) if a - b > 1e-6]
    start = ([0, *free])[differ[0]] if differ else limited[-1]
    # Cycles end to the nearest epoch.
    ends = [end for end in cycle_ends(plan) if end > start - 0.5][:2]
    assert min(abs(limited[-1] - end) for end in ends) <= 0.5 + 1 / n_batches


@settings(deadline=None)
@given(st.integers(200, 400), st.sampled_from([4, 6]), st.sampled_from([8, 40]), shares)
def test_a_rate_has_fallen_when_the_time_is_over(max_iter, n_cycles, n_batches, share):
    plan = plan_of(max_iter, n_cycles)
    _, rates, _ = run(plan, Seconds(share * max_iter + schedule._AFTER), n_batches)
    assert rates[-1] < 0.15


@pytest.mark.parametrize("share", [0.1, 0.3, 0.7])
def test_a_rate_falls_in_time_on_a_machine_that_becomes_slow(share):
    plan, n_batches = plan_of(100), 10
    clock = Seconds(share * 100 + schedule._AFTER)
    _, rates, _ = run(plan, clock, n_batches, slower=int(share * 600))
    assert clock.left() >= -2 * clock.seconds / n_batches
    assert rates[-1] < 0.1


def test_a_slow_step_at_first_ends_nothing():
    clock, plan = Seconds(100.0), plan_of(63)
    pace = Pace(plan, clock, cycle_ends(plan))
    for step, seconds in enumerate([4.0, 4.0, *[0.1] * 38]):
        clock.now += seconds
        pace.advance(0, step, 40)
        assert not pace.is_over
    assert pace.position == 1.0


def test_half_of_the_time_is_kept_for_a_training_that_follows_in_any_case():
    clock = Seconds(50 + schedule._AFTER)
    run(plan_of(100, always_refits=True), clock)
    assert 23 < clock.now <= 25.5


def test_a_cycle_that_there_is_hardly_time_for_is_not_begun():
    plan = plan_of(63)
    for epochs, expected in [(31, 31), (31.05 + 32 * schedule._LEAST, 63), (30, 31)]:
        positions, _, _ = run(plan, Seconds(epochs + schedule._AFTER + 0.001))
        assert positions[-1] == pytest.approx(expected, abs=0.3)


def test_a_single_end_is_hurried_to_as_well():
    clock = Seconds(10 + schedule._AFTER)
    positions, rates, _ = run(plan_of(63), clock, ends=(15,))
    assert clock.now == pytest.approx(10, abs=0.3)
    assert positions[-1] == pytest.approx(15, abs=0.3)
    assert rates[-1] < 0.1
