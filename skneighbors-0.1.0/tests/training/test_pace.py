"""Phases, rates, when to validate, and an end in time, by a clock that counts epochs."""

import itertools
import math
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from skneighbors._settings import Phase, Schedule, plan_phases
from skneighbors._training import pace as module
from skneighbors._training.pace import Pace, learning_rate_factor

AFTER = 1.0  # epochs that are kept for what follows


class Seconds:
    """Clock that a trained epoch moves on by as many seconds as it takes."""

    def __init__(self, limit, seconds=1.0):
        self.limit, self.now, self.seconds = limit, 0.0, seconds

    def left(self):
        return self.limit - self.now

    def monotonic(self):
        return self.now


def schedule_of(n_epochs, n_cycles=6, kind="cycles", n_run=None):
    phases = plan_phases(n_epochs, n_cycles, first_check=2)
    if n_run is not None:
        phases = *(phase for phase in phases if phase.end < n_run), Phase(n_run)
    return Schedule(phases, n_epochs, n_cycles, kind, 1.0)


def run(schedule, clock, n_batches=4, slower=None):
    """Rates of all steps until the pace says that it is over."""
    with mock.patch.object(module, "time", clock):
        pace = Pace(schedule, clock)
        rates = []
        for epoch in (epoch - 1 for _ in pace.phases() for epoch in pace.epochs()):
            for step in range(n_batches):
                rates.append(pace.learning_rate(epoch + (step + 0.5) / n_batches))
                clock.now += clock.seconds / n_batches
                if slower is not None and len(rates) == slower:
                    clock.seconds *= 3
                if pace.ends(epoch + (step + 1) / n_batches):
                    break
            pace.advance()
    return rates, pace


schedules = st.builds(schedule_of, st.integers(1, 400), st.sampled_from([4, 6]))
some_batches = st.sampled_from([1, 2, 7, 40])
shares = st.floats(0.01, 3)


@settings(deadline=None, max_examples=20)
@given(schedules, some_batches)
def test_without_a_limit_a_schedule_is_as_planned(schedule, n_batches):
    rates, pace = run(schedule, Seconds(math.inf), n_batches)
    assert pace.positions == list(range(schedule.n_epochs + 1))
    assert pace.is_last
    middles = [
        epoch + (step + 0.5) / n_batches
        for epoch in range(schedule.n_epochs)
        for step in range(n_batches)
    ]
    assert rates == [
        learning_rate_factor("cycles", middle / schedule.n_epochs, schedule.n_cycles)
        for middle in middles
    ]


@settings(deadline=None)
@given(schedules, some_batches, shares)
def test_a_schedule_ends_in_time(schedule, n_batches, share):
    clock = Seconds(share * schedule.n_epochs + AFTER)
    _, pace = run(schedule, clock, n_batches)
    step = 1 / n_batches
    assert clock.now <= clock.limit + step + 1e-9
    if share > 0.2:  # else what follows may have less time, after part of a cycle
        assert clock.now <= max(share * schedule.n_epochs, AFTER) + step + 1e-9
    assert pace.positions == sorted(pace.positions)
    assert pace.positions[-1] <= schedule.n_epochs + 0.5
    assert pace.n_epochs == schedule.n_epochs


@settings(deadline=None)
@given(schedules, some_batches, st.floats(1.0, 3))
def test_enough_time_changes_no_step(schedule, n_batches, share):
    clock = Seconds(share * schedule.n_epochs + AFTER + 1e-6)
    free, _ = run(schedule, Seconds(math.inf), n_batches)
    assert run(schedule, clock, n_batches)[0] == free


@settings(deadline=None)
@given(schedules, st.sampled_from([4, 7, 40]), st.floats(0.01, 0.99))
def test_all_but_the_last_cycle_is_as_planned_and_that_one_ends(schedule, n_batches, share):
    limited, pace = run(schedule, Seconds(share * schedule.n_epochs + AFTER), n_batches)
    free, _ = run(schedule, Seconds(math.inf), n_batches)
    differ = [i for i, (a, b) in enumerate(zip(limited, free, strict=False)) if a != b]
    start = (differ[0] if differ else len(limited)) / n_batches
    # Cycles end to the nearest epoch.
    ends, position = [own.end for own in schedule.phases], pace.positions[-1]
    assert min(abs(position - end) for end in ends) <= 0.5
    assert position <= [*(end for end in ends if end > start + 0.5), *ends[-1:] * 2][1] + 0.5


@settings(deadline=None)
@given(st.integers(200, 400), st.sampled_from([4, 6]), st.sampled_from([8, 40]), shares)
def test_a_rate_has_fallen_when_the_time_is_over(max_iter, n_cycles, n_batches, share):
    rates, _ = run(schedule_of(max_iter, n_cycles), Seconds(share * max_iter + AFTER), n_batches)
    assert rates[-1] < 0.15


@pytest.mark.parametrize("share", [0.1, 0.3, 0.7])
@pytest.mark.parametrize("before", [0.4, 0.6, 0.9])
def test_a_rate_falls_in_time_on_a_machine_that_becomes_slow(share, before):
    n_batches = 10
    clock = Seconds(share * 100 + AFTER)
    rates, _ = run(schedule_of(100), clock, n_batches, slower=int(before * share * 1000))
    assert clock.left() >= -2 * clock.seconds / n_batches
    assert rates[-1] < 0.1


def test_slow_steps_at_first_end_nothing():
    clock = Seconds(100.0)
    with mock.patch.object(module, "time", clock):
        pace = Pace(schedule_of(63), clock)
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
        rates, _ = run(schedule_of(63), clock, n_batches=400)
        assert clock.now == pytest.approx(limit / 2, abs=0.01)
        assert rates[-1] < 0.1 < 0.9 < max(rates)


def test_a_cycle_that_there_is_hardly_time_for_is_not_begun():
    for epochs, expected in [(31, 31), (31.05 + 32 * module._LEAST, 63), (30, 31)]:
        _, pace = run(schedule_of(63), Seconds(epochs + AFTER + 0.001))
        assert pace.positions[-1] == pytest.approx(expected, abs=0.3)


def test_an_end_within_a_cycle_is_hurried_to_as_well():
    clock = Seconds(10 + AFTER)
    rates, pace = run(schedule_of(63, n_run=15), clock)
    assert clock.now == pytest.approx(10, abs=0.3)
    assert pace.positions[-1] == 15
    assert rates[-1] < 0.1


def test_six_cycles_of_growing_length():
    progress = np.linspace(0, 1, 16 * 1000 + 1)
    factor = np.array([learning_rate_factor("cycles", u, 6) for u in progress])
    assert_allclose(factor, 0.5 * (1 - np.cos(2 * np.pi * np.log2(1 + 63 * progress))), atol=1e-12)
    for cycle in range(6):  # the highest rates; phases end at the lowest
        assert learning_rate_factor("cycles", (2 ** (cycle + 0.5) - 1) / 63, 6) == pytest.approx(1)
    assert learning_rate_factor("constant", 0.3, 6) == 1


def validated_epochs(n_epochs, kind):
    pace = Pace(schedule_of(n_epochs, kind=kind), Seconds(math.inf))
    validated = []
    for epoch in (epoch for _ in pace.phases() for epoch in pace.epochs()):
        pace.advance()
        validated += [epoch] * pace.validates()
    return validated


def checked_epochs(n_epochs):
    return {max(1, round(own.end)) for own in schedule_of(n_epochs).phases if own.check}


@pytest.mark.parametrize("kind", ["constant", "cycles"])
@pytest.mark.parametrize("n_epochs", [1, 25, 32, 48, 64, 128, 750, 1500])
def test_validates_a_bounded_number_of_times(n_epochs, kind):
    everything = list(range(1, n_epochs + 1))
    validated = validated_epochs(n_epochs, kind)
    assert {1, n_epochs, *checked_epochs(n_epochs)} <= set(validated)
    assert min(n_epochs, 32 if kind == "constant" else 16) <= len(validated) <= 130
    if n_epochs < 32 or (n_epochs == 32 and kind == "constant"):
        assert validated == everything
    elif kind == "cycles":
        assert len(validated) <= n_epochs / 1.3
        others = set(validated) - checked_epochs(n_epochs) - {1}
        rates = [learning_rate_factor(kind, epoch / n_epochs, 6) for epoch in others]
        assert max(rates) <= 0.5
        assert 0.4 < len(validated) / len(validated_epochs(n_epochs, "constant")) < 0.6
    # Dense where it is done at all: all the time at a constant rate, else while it is low.
    eligible = {
        epoch for epoch in everything if learning_rate_factor(kind, epoch / n_epochs, 6) <= 0.5
    }
    eligible = set(everything) if kind == "constant" else eligible
    for previous, epoch in itertools.pairwise(validated):
        if eligible.issuperset(range(previous, epoch + 1)):
            assert epoch - previous <= max(1, min(epoch / 16, math.ceil(n_epochs / 32)))


@pytest.mark.parametrize("n_epochs", [1, 2, 15, 100, 1500])
def test_phases_end_to_the_nearest_epoch_where_the_learning_rate_is_lowest(n_epochs):
    phases = plan_phases(n_epochs, 6, first_check=2, joins=True, n_needed=4)
    every = n_epochs * np.array([1, 3, 7, 15, 31, 63]) / 63
    ends = np.array([phase.end for phase in phases])
    assert_allclose(ends, [every[np.abs(every - own).argmin()] for own in ends])
    rates = [learning_rate_factor("cycles", end / n_epochs, 6) for end in ends]
    assert_allclose(rates, 0, atol=1e-12)
    # But for the first and the last, each cycle ends with a check.
    assert checked_epochs(n_epochs) == {round(end) for end in every[1:-1]} - {0}
    assert {round(end) for end in ends} == {round(end) for end in every} - {0}
    assert [own.on_all for own in phases] == [False] * (len(phases) - 1) + [True]
    is_optional = [own.end > (every[3] if n_epochs > 1 else 0) for own in phases]
    assert [own.is_optional for own in phases] == is_optional
    again = schedule_of(n_epochs).again(n_epochs / 2, 3, 6)
    assert again.n_epochs == max(1, round(n_epochs / 2))
    assert again.phases[-1].end == max(1, round(n_epochs / 4))
    assert not any(own.check for own in again.phases)
