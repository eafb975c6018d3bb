"""Counted caps: each is passed by one step, told to the letter, and says how many programs it leaves."""

from __future__ import annotations

from typing import Any

import pytest

from proctor.execute.monitor.breakers.count_limits import (
    EVENT_BYTES,
    DependencyResolutions,
    FailedCycles,
    Records,
    Tokens,
    ToolCalls,
)
from proctor.execute.monitor.breakers.interface import MOST_EVIDENCE, Trip


def cap_trip(name: str, words: str, count: int, cap: int, evidence: tuple[int, ...], code: str = "") -> Trip:
    rationale = f"{count} {words}; {cap} are allowed, a policy choice"
    return Trip(name, code or f"{name}-cap", "kill", "alert", rationale, evidence, {"count": count, "cap": cap})


def test_tokens_of_both_directions_count(alone: Any) -> None:
    story = alone(lambda facts: Tokens(facts, 100))
    assert story.usage(60, 20).sample().usage(0, 20).new() == []
    assert story.usage(1, 0).new() == [cap_trip("tokens", "tokens used", 101, 100, (2, 4, 5), "token-cap")]
    assert story.usage(9, 9).new() == []
    assert story.breaker.left is None


def test_tool_calls_count_when_they_begin(alone: Any) -> None:
    story = alone(lambda facts: ToolCalls(facts, 2))
    assert story.breaker.left == 2
    story.call("ls").exec(["cat"])
    assert story.new() == []
    assert story.breaker.left == 0
    story.exec(["cat", "more"])
    assert story.new() == [cap_trip("tool-calls", "tool calls begun", 3, 2, (2, 4, 5), "tool-call-cap")]
    assert story.breaker.left is None
    story.exec(["cat", "still more"])
    assert story.new() == []


def test_what_programs_start_in_turn_is_no_call(alone: Any) -> None:
    story = alone(lambda facts: ToolCalls(facts, 1))
    pid = story.exec(["make"])
    for _ in range(5):
        story.exec(["cc"], parent=pid)
    assert story.new() == []


def test_failed_runs_of_tests_and_builds_count_and_nothing_else(alone: Any) -> None:
    story = alone(lambda facts: FailedCycles(facts, 2))
    assert story.breaker.left == 1, "what runs may fail"
    story.call("pytest").call("pytest", code=None).call("pip", "install", "x", code=1).call("false", code=1)
    assert story.breaker.left == 1
    story.call("pytest", code=1).call("make", code=2)
    assert story.new() == []
    assert story.breaker.left == 0
    story.call("pytest", "-q", code=1)
    words = "runs of tests or builds failed"
    assert story.new() == [cap_trip("failed-cycles", words, 3, 2, (11, 13, 15), "failed-cycle-cap")]


def test_two_failures_in_one_command_are_two(alone: Any) -> None:
    story = alone(lambda facts: FailedCycles(facts, 1))
    shell = story.exec(["sh", "-c", "make; pytest"])
    built, tested = story.exec(["make"], parent=shell), story.exec(["pytest"], parent=shell)
    assert story.exit(built, 1).new() == []
    words = "runs of tests or builds failed"
    assert story.exit(tested, 1).new() == [cap_trip("failed-cycles", words, 2, 1, (5, 6), "failed-cycle-cap")]


def test_resolutions_of_dependencies_count(alone: Any) -> None:
    story = alone(lambda facts: DependencyResolutions(facts, 1))
    assert story.breaker.left == 1
    story.call("pip", "install", "a").call("pytest")
    assert story.new() == []
    assert story.breaker.left == 0
    story.exec(["npm", "install", "b"])
    words = "resolutions of dependencies"
    name = "dependency-resolutions"
    assert story.new() == [cap_trip(name, words, 2, 1, (2, 6), "dependency-resolution-cap")]


def test_records_are_events_and_the_words_of_programs(alone: Any) -> None:
    story = alone(lambda facts: Records(facts, 3 * EVENT_BYTES + 10 + 1), start=False)
    story.start(root=False)
    story.exec(["0123", "456789"])
    story.add("tool.invocation", purpose="agent", argv=["never counted"], command=["x"])
    assert story.new() == []
    story.sample()
    count = 4 * EVENT_BYTES + 10
    assert story.new() == [cap_trip("records", "bytes of records, about", count, 1811, (0, 1, 2, 3), "record-cap")]
    assert story.breaker.left is None


@pytest.mark.parametrize("events", [5, 40])
def test_the_evidence_is_the_last_events_that_counted(alone: Any, events: int) -> None:
    story = alone(lambda facts: Tokens(facts, events - 1))
    for _ in range(events):
        story.usage(1)
    (trip,) = story.new()
    first = max(2, 2 + events - (MOST_EVIDENCE - 1))
    assert trip.evidence == tuple(range(first, 2 + events))


def test_nothing_counts_before_or_after_the_agent(alone: Any) -> None:
    story = alone(lambda facts: Tokens(facts, 1), start=False)
    story.usage(5, 5).start().finish().usage(5, 5)
    assert story.new() == []
