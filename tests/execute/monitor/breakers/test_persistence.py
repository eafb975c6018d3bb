"""The sum of all trips: which alerts count, and at which one a run ends."""

from __future__ import annotations

from typing import Any

import pytest

from proctor.execute.monitor.breakers.interface import Trip
from proctor.execute.monitor.breakers.no_progress import RepeatedTrips


def alert(story: Any, breaker: str = "burst", action: str = "throttle") -> list[Trip]:
    story.add("monitor.alert", code="c", grade="alert", breaker=breaker, action=action)
    found: list[Trip] = story.new()
    return found


@pytest.fixture
def story(alone: Any) -> Any:
    return alone(lambda facts: RepeatedTrips(facts, 3))


def test_the_run_ends_at_the_last_one_too_many_and_once(story: Any) -> None:
    assert alert(story) == alert(story, "cost", "kill-call") == []
    assert alert(story) == [
        Trip(
            "repeated-trips",
            "repeated-trips",
            "kill",
            "alert",
            "breakers have tripped 3 times",
            (2, 3, 4),
            {"alerts": 3, "threshold": 3},
        )
    ]
    assert alert(story) == []


def test_what_was_only_told_does_not_count(story: Any) -> None:
    for _ in range(5):
        assert alert(story, breaker="") == alert(story, action="none") == alert(story, action="") == []
        story.add("intervention", breaker="burst", action="throttle", alert=0)
    assert [len(alert(story)) for _ in range(3)] == [0, 0, 1]


def test_alerts_outside_the_agents_time_do_not_count(alone: Any) -> None:
    story = alone(lambda facts: RepeatedTrips(facts, 1), start=False)
    assert alert(story) == []
    story.start().finish()
    assert alert(story) == []
