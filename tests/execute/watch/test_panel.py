"""The panel: its order, whose time counts, and that it speaks no more after it has ended a run."""

from __future__ import annotations

from typing import Any

import pytest

from proctor.execute.watch.panel import Panel
from proctor.execute.watch.replay import replay
from proctor.execute.watch.settings import Settings
from proctor.execute.watch.thresholds import Caps


def test_the_order_of_breakers_is_fixed() -> None:
    caps = Caps(
        cpu_seconds=1, disk_bytes=1, inodes=1, tokens=1, tool_calls=1, failed_cycles=1, dependency_resolutions=1
    )
    assert Panel(Settings(caps=caps)).names == (
        "policy",
        "denied-writes",
        "early-tests",
        "command-ceiling",
        "run-ceiling",
        "cpu",
        "memory",
        "disk",
        "inodes",
        "processes",
        "oom",
        "cost",
        "tokens",
        "tool-calls",
        "failed-cycles",
        "dependency-resolutions",
        "reinstalls",
        "burst",
        "identical-calls",
        "expensive-repeats",
        "oscillation",
        "no-progress",
        "dominance",
        "repeated-trips",
    )


@pytest.mark.parametrize("how", ["operator", "pause"])
def test_frozen_time_is_not_the_agents(new_story: Any, how: str) -> None:
    story = new_story(Settings(caps=Caps(wall_seconds=100))).start().write()
    story.wait(60)
    if how == "operator":
        story.add("operator.asked", code="x", question="?", deadline_seconds=600, alert=0)
        story.wait(500).sample()
        story.add("operator.decided", decision="approve", why="", code="x", by="", rollback=None)
    else:
        story.add("intervention", action="pause", alert=0, detail={})
        story.wait(500).sample()
        story.add("intervention", action="resume", alert=0, detail={})
    assert story.wait(39).sample().trips == []
    assert [trip.code for trip in story.wait(1).sample().trips] == ["wall-ceiling"]
    assert story.trips[0].signals["paused_seconds"].startswith("500")


def test_after_a_kill_nothing_trips_any_more(new_story: Any) -> None:
    story = new_story(Settings(caps=Caps(wall_seconds=10, tokens=5))).start().write()
    story.wait(11).sample()
    story.usage(100, 100)
    assert [trip.code for trip in story.trips] == ["wall-ceiling"]
    assert replay(story.events, story.panel).agree


def test_nothing_trips_before_the_agent_starts_or_after_it_ends(new_story: Any) -> None:
    story = new_story(Settings(caps=Caps(wall_seconds=10, tokens=5, cpu_seconds=1)))
    story.usage(100, 100).wait(100)
    story.add("setup.step", index=0, command=["x"], cached=False, exit_code=0, wall_seconds="100")
    story.start().finish().wait(100).usage(1, 1)
    assert story.trips == []


def test_an_operator_is_asked_instead(new_story: Any) -> None:
    story = new_story(Settings(caps=Caps(tokens=5), ask=("token-cap",))).start().usage(10, 0)
    (trip,) = story.trips
    assert trip.action == "pause" and trip.signals["otherwise"] == "kill"
    assert story.panel.ended is None
    story.usage(10, 0)
    assert len(story.trips) == 1, "an approval lifts the breaker for good"
    assert replay(story.events, story.panel).agree
