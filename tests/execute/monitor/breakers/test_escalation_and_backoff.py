"""Ladders and delays: every step once, and growth up to a bound."""

from __future__ import annotations

from proctor.execute.monitor.breakers.breaker_settings import Thresholds
from proctor.execute.monitor.breakers.escalation_and_backoff import Backoff, EscalationSteps

SECOND = 1_000_000_000


def test_each_step_is_taken_once() -> None:
    ladder = EscalationSteps((3, 5), "throttle")
    reached = [ladder.reach(value) for value in (2, 3, 4, 3, 5, 6)]
    assert reached == [None, ("throttle", 3), None, None, ("kill", 5), None]


def test_a_value_beyond_both_steps_takes_the_higher_one() -> None:
    ladder = EscalationSteps((3, 5), "none", "quarantine")
    assert ladder.reach(9) == ("quarantine", 5)
    assert ladder.reach(9) is None


def test_a_ladder_can_be_climbed_again() -> None:
    ladder = EscalationSteps((3, 5), "throttle")
    assert ladder.reach(4) == ("throttle", 3)
    ladder.rearm()
    assert [ladder.reach(value) for value in (2, 3, 5)] == [None, ("throttle", 3), ("kill", 5)]


def test_delays_grow_to_the_most_and_stay_there() -> None:
    backoff = Backoff(Thresholds(delay_seconds="0.5", delay_growth=3, delay_most_seconds=10))
    assert [backoff.next(0) for _ in range(6)] == ["0.5", "1.5", "4.5", "10", "10", "10"]


def test_the_first_delay_is_bounded_too_and_written_without_an_exponent() -> None:
    assert Backoff(Thresholds(delay_seconds="40", delay_most_seconds=30)).next(0) == "30"
    assert Backoff(Thresholds(delay_seconds="1e1", delay_most_seconds=30)).next(0) == "10"


def test_a_calm_time_is_counted_from_the_last_delay() -> None:
    backoff = Backoff(Thresholds(delay_seconds="1", delay_growth=2, calm_seconds=60))
    moments = (100, 159, 218, 278, 337)
    assert [backoff.next(moment * SECOND) for moment in moments] == ["1", "2", "4", "1", "2"]
