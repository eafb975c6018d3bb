"""Bursts: where the window begins and ends, what is told, and that a delay follows each one."""

from __future__ import annotations

from typing import Any

import pytest

from proctor.execute.monitor.breakers.breaker_settings import Thresholds
from proctor.execute.monitor.breakers.call_bursts import Burst
from proctor.execute.monitor.breakers.interface import Trip
from proctor.execute.monitor.run_state import MOST_ROWS

THRESHOLDS = Thresholds(burst_calls=2, burst_seconds=10, calm_seconds=60)


@pytest.fixture
def story(alone: Any) -> Any:
    return alone(lambda facts: Burst(facts, THRESHOLDS))


def test_one_call_too_many_is_told_with_all_of_them(story: Any) -> None:
    story.at(1).call("cat", "a")
    story.at(2).call("cat", "b")
    assert story.trips == []
    story.at(4).exec(["cat", "c"])
    signals = {"calls": 3, "threshold": 2, "seconds": "3", "delay_seconds": "0.5"}
    assert story.trips == [
        Trip("burst", "burst", "throttle", "alert", "3 tool calls within 3 s", (2, 4, 6), signals),
    ]


@pytest.mark.parametrize(("last", "trips"), [(10.999, 1), (11, 0)])
def test_a_call_as_old_as_the_window_has_left_it(story: Any, last: float, trips: int) -> None:
    for moment in (1, 2, last):
        story.at(moment).call("cat", str(moment))
    assert len(story.trips) == trips


def test_after_a_burst_the_count_starts_anew_and_the_delay_grows(story: Any) -> None:
    delays = []
    for number in range(9):
        story.at(1 + number).call("cat", str(number))
        delays += [(number, trip.signals["delay_seconds"]) for trip in story.new()]
    assert delays == [(2, "0.5"), (5, "1.0"), (8, "2.0")]


def test_the_delay_starts_anew_after_a_calm_time(story: Any) -> None:
    for moment in (1, 2, 3, 63, 64, 65):
        story.at(moment).call("cat", str(moment))
    assert [trip.signals["delay_seconds"] for trip in story.trips] == ["0.5", "0.5"]


def test_programs_before_and_after_the_agent_are_no_burst(alone: Any) -> None:
    story = alone(lambda facts: Burst(facts, THRESHOLDS), start=False)
    for number in range(5):
        story.call("cat", str(number))
    story.start().finish()
    for number in range(5):
        story.call("cat", str(number))
    assert story.trips == []


def below(story: Any, parent: int, count: int, word: str = "same") -> None:
    """Programs that one process inside a tool call starts."""
    for _ in range(count):
        story.exit(story.exec(["true", word], parent=parent, origin=parent))


@pytest.mark.parametrize(("stale", "starts", "trips"), [(4, 4, 0), (4, 5, 1), (9, 9, 0)])
def test_programs_inside_a_call_are_a_burst_once_they_repeat_often_enough(
    alone: Any, stale: int, starts: int, trips: int
) -> None:
    thresholds = Thresholds(burst_calls=2, burst_seconds=10, stale_calls=(stale, 99))
    story = alone(lambda facts: Burst(facts, thresholds))
    story.at(1)
    below(story, story.exec(["sh", "-c", "loop"]), starts)
    assert [trip.rationale.partition(" within ")[0] for trip in story.trips] == [
        "5 programs inside a tool call"
    ] * trips


@pytest.mark.parametrize(("between", "trips"), [(MOST_ROWS - 2, 1), (MOST_ROWS - 1, 0)])
def test_of_very_many_processes_the_one_without_a_start_for_longest_is_forgotten(
    alone: Any, between: int, trips: int
) -> None:
    """The tool calls are one row more, which is never the oldest here."""
    thresholds = Thresholds(burst_calls=3, burst_seconds=10, stale_calls=(0, 99))
    story = alone(lambda facts: Burst(facts, thresholds))
    story.at(1)
    first = story.exec(["sh", "first"])
    below(story, first, 3)
    story.new()
    for number in range(between):
        other = story.exec(["sh", f"other {number}"])
        below(story, other, 1)
        story.exit(other)
        story.new()
    below(story, first, 1)
    assert len(story.trips) == trips
