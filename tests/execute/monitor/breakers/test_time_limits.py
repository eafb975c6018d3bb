"""Ceilings of time: one call's and the run's, in the agent's own seconds."""

from __future__ import annotations

from typing import Any

from proctor.execute.monitor.breakers.interface import Trip
from proctor.execute.monitor.breakers.time_limits import CommandCeiling, RunCeiling


def call_trip(call: int, pid: int, seconds: str, evidence: tuple[int, ...], ceiling: int = 10) -> Trip:
    return Trip(
        "command-ceiling",
        "command-ceiling",
        "kill-call",
        "alert",
        f"a tool call has run for {seconds} s; {ceiling} s are allowed, a policy choice",
        evidence,
        {"call": call, "pid": pid, "seconds": seconds, "ceiling_seconds": ceiling},
    )


def test_a_call_that_is_too_long_is_told_once_and_the_next_one_too(alone: Any) -> None:
    story = alone(lambda facts: CommandCeiling(facts, 10))
    story.at(1).exec(["sleep", "1"])
    story.at(2).exec(["sleep", "2"])
    assert story.at(10.5).sample().new() == []
    assert story.at(11).sample().new() == [call_trip(0, 101, "10", (2, 5))]
    assert story.at(11.5).sample().new() == []
    assert story.at(12.5).sample().new() == [call_trip(1, 102, "10.5", (3, story.events[-3].seq))]


def test_two_calls_may_be_too_long_at_once(alone: Any) -> None:
    story = alone(lambda facts: CommandCeiling(facts, 10))
    story.at(1).exec(["sleep", "1"])
    story.at(2).exec(["sleep", "2"])
    assert story.at(20).sample().new() == [call_trip(0, 101, "19", (2, 4)), call_trip(1, 102, "18", (3, 4))]


def test_a_call_that_may_not_run_at_all_is_shown_by_its_own_start(alone: Any) -> None:
    story = alone(lambda facts: CommandCeiling(facts, 0))
    story.at(1).exec(["sleep", "1"])
    assert story.new() == [call_trip(0, 101, "0", (2,), 0)]


def test_calls_that_ended_in_time_or_outlive_the_agent_are_let_be(alone: Any) -> None:
    story = alone(lambda facts: CommandCeiling(facts, 10))
    story.at(1).call("true")
    story.at(2).exec(["sleep", "2"])
    story.at(3).finish()
    assert story.at(100).sample().new() == []


def test_the_run_ends_when_its_own_time_is_used_and_pauses_do_not_count(alone: Any) -> None:
    story = alone(lambda facts: RunCeiling(facts, 10))
    story.at(5).add("operator.asked", code="x", question="?", deadline_seconds=600, alert=0)
    story.at(8).add("operator.decided", decision="approve", why="", code="x", by="", rollback=None)
    assert story.at(12.9).sample().new() == []
    assert story.at(13).sample().new() == [
        Trip(
            "run-ceiling",
            "wall-ceiling",
            "kill",
            "alert",
            "the agent has used its 10 s of wall-clock time, a policy choice",
            (5,),
            {"seconds": "10", "paused_seconds": "3", "ceiling_seconds": 10},
        )
    ]
    assert story.at(14).sample().new() == []


def test_time_after_the_agents_end_is_not_its_own(alone: Any) -> None:
    story = alone(lambda facts: RunCeiling(facts, 10))
    assert story.at(10).finish().new() == []
    assert story.at(50).sample().new() == []
