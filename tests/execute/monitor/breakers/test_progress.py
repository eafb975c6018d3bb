"""Runs that lead nowhere: what counts as progress, and how much of which budget may go without a milestone."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from proctor.base.dataclass_fields import field_names
from proctor.execute.monitor.breakers.breaker_settings import Caps, Thresholds
from proctor.execute.monitor.breakers.interface import Trip
from proctor.execute.monitor.breakers.no_progress import Dominance, NoProgress
from proctor.execute.monitor.budget import Envelope
from proctor.execute.monitor.price_table import Price, PriceTable

DOLLARS = PriceTable("table-1", "usd", (Price("llm_input", "token", Decimal("0.001")),))


def idle(action: str, seconds: str, calls: int, threshold: int, evidence: tuple[int, int]) -> Trip:
    return Trip(
        "no-progress",
        "no-progress",
        action,
        "alert",
        f"no change of the tree and no passing test for {seconds} s and {calls} tool calls",
        evidence,
        {"seconds": seconds, "calls": calls, "threshold": threshold},
    )


@pytest.fixture
def still(alone: Any) -> Any:
    """Told after 10 s or 3 calls, ended after 20 s or 6 calls."""
    return alone(lambda facts: NoProgress(facts, Thresholds(no_progress_seconds=(10, 20), no_progress_calls=(3, 6))))


def test_time_without_progress_is_told_and_then_ends_the_run(still: Any) -> None:
    assert still.at(9.9).sample().new() == []
    assert still.at(10).sample().new() == [idle("none", "10", 0, 10, (0, 3))]
    assert still.at(19.9).sample().new() == []
    assert still.at(20).sample().new() == [idle("kill", "20", 0, 20, (0, 6))]
    assert still.at(90).sample().call("a").call("b").call("c").new() == []


def test_calls_without_progress_are_told_and_then_end_the_run(still: Any) -> None:
    still.at(1).call("cat", "1").call("cat", "2")
    assert still.new() == []
    still.at(2).exec(["cat", "3"])
    assert still.new() == [idle("none", "2", 3, 3, (0, 6))]
    still.at(3).call("cat", "4").call("cat", "5")
    assert still.new() == []
    still.at(4).exec(["cat", "6"])
    assert still.new() == [idle("kill", "4", 6, 6, (0, 12))]


def test_where_time_and_calls_are_reached_at_once_the_end_counts(still: Any) -> None:
    for number in range(5):
        still.at(1).call("cat", str(number))
    still.new()
    still.at(10).exec(["cat", "6"])
    assert [(trip.action, trip.signals["threshold"]) for trip in still.new()] == [("kill", 6)]


def test_where_time_ends_the_run_calls_need_not(still: Any) -> None:
    still.at(1).call("cat", "1").call("cat", "2")
    still.at(20).exec(["cat", "3"])
    assert [(trip.action, trip.signals["threshold"]) for trip in still.new()] == [("kill", 20)]


@pytest.mark.parametrize("how", ["write", "passing test"])
def test_progress_starts_both_counts_anew(still: Any, how: str) -> None:
    still.at(1).call("cat", "1").call("cat", "2")
    still.at(10).sample()
    assert [trip.action for trip in still.new()] == ["none"]
    if how == "write":
        still.at(12).write()
    else:
        pid = still.at(11).exec(["pytest"])
        assert [trip.signals["threshold"] for trip in still.new()] == [3], "tests that run are no progress yet"
        still.at(12).exit(pid)
    seq = len(still.events) - 1
    assert still.at(21.9).sample().new() == []
    assert still.at(22).sample().new() == [idle("none", "10", 0, 10, (seq, seq + 2))]
    still.at(23).call("cat", "3").call("cat", "4")
    assert still.new() == []
    still.exec(["cat", "5"])
    assert [trip.signals["calls"] for trip in still.new()] == [3]


def test_a_failing_test_or_another_program_that_passes_is_no_progress(still: Any) -> None:
    still.at(5).call("pytest", code=1).call("make")
    assert still.at(10).sample().new() == [idle("none", "10", 2, 10, (0, 6))]


def test_nobody_is_idle_before_or_after_the_run(alone: Any) -> None:
    story = alone(lambda facts: NoProgress(facts, Thresholds(no_progress_seconds=(10, 20))), start=False)
    story.at(-50).sample().sample()
    story.start().at(1).finish()
    assert story.at(500).sample().new() == []


def spent(budget: str, used: str, cap: str, seq: int, changed: bool = False, share: str = "0.9") -> Trip:
    return Trip(
        "dominance",
        "dominance",
        "kill",
        "alert",
        f"{Decimal(share) * 100}% of the {budget} are gone and no milestone is reached",
        (seq,),
        {"budget": budget, "used": used, "cap": cap, "share": share, "changed": changed},
    )


def make(caps: dict[str, Any], *limits: str, share: str = "0.9") -> Any:
    whole = Caps(**{**dict.fromkeys(field_names(Caps)), **caps})
    envelopes = tuple(Envelope("run", Decimal(limit)) for limit in limits)
    return lambda facts: Dominance(facts, whole, envelopes, Thresholds(dominance_share=share))


def test_most_of_the_time_without_a_milestone_ends_the_run_once(alone: Any) -> None:
    story = alone(make({"wall_seconds": 100}))
    assert story.at(89.9).sample().new() == []
    assert story.at(90).sample().new() == [spent("wall seconds", "90", "100", 3)]
    assert story.at(91).sample().new() == []


def test_most_of_the_tokens_calls_or_money_without_a_milestone_ends_the_run(alone: Any) -> None:
    story = alone(make({"tokens": 100}))
    assert story.usage(80, 9).new() == []
    assert story.usage(0, 1).new() == [spent("tokens", "90", "100", 3)]
    story = alone(make({"tool_calls": 10}))
    for number in range(8):
        story.call("cat", str(number))
    assert story.new() == []
    story.exec(["cat", "last"])
    assert story.new() == [spent("tool calls", "9", "10", 18)]
    story = alone(make({}, "2", "1", "3"), DOLLARS)
    assert story.usage(899).new() == []
    assert story.usage(1).new() == [spent("cost (usd)", "0.900", "1", 3)]


def test_amounts_are_written_out_however_small(alone: Any) -> None:
    tiny = PriceTable("table-2", "usd", (Price("llm_input", "token", Decimal("1e-9")),))
    story = alone(make({}, "1e-7", share="1e-9"), tiny)
    (trip,) = story.usage(1).new()
    assert trip.rationale == "0.000000100% of the cost (usd) are gone and no milestone is reached"
    assert trip.signals == {
        "budget": "cost (usd)",
        "used": "0.000000001",
        "cap": "0.0000001",
        "share": "0.000000001",
        "changed": False,
    }


def test_a_budget_that_is_used_up_is_for_its_own_cap_to_tell(alone: Any) -> None:
    story = alone(make({"tokens": 100, "wall_seconds": 10}))
    assert story.usage(100).new() == []
    assert story.at(9).usage(1).new() == [spent("wall seconds", "9", "10", 3)]


def test_without_caps_nothing_can_be_used_up(alone: Any) -> None:
    story = alone(make({}))
    assert story.at(9000).usage(10**9).new() == []


def test_a_passing_test_on_a_changed_tree_is_a_milestone(alone: Any) -> None:
    story = alone(make({"wall_seconds": 100}))
    assert story.write().call("pytest").call("pytest", code=1).at(95).sample().new() == []


def test_a_changed_tree_is_a_milestone_while_nobody_knows_how_tests_ended(alone: Any) -> None:
    story = alone(make({"wall_seconds": 100}))
    assert story.write().call("pytest", code=None).at(95).sample().new() == []


def test_a_changed_tree_whose_tests_fail_is_none(alone: Any) -> None:
    story = alone(make({"wall_seconds": 100}))
    assert story.write().call("pytest", code=1).at(95).sample().new() == [
        spent("wall seconds", "95", "100", 5, changed=True)
    ]


def test_a_passing_test_on_the_tree_as_it_was_is_none(alone: Any) -> None:
    story = alone(make({"wall_seconds": 100}))
    assert story.call("pytest").at(95).sample().new() == [spent("wall seconds", "95", "100", 4)]


def test_it_looks_where_cost_is_looked_at_and_only_while_the_agent_acts(alone: Any) -> None:
    story = alone(make({"wall_seconds": 100}))
    story.at(95).add("stage.changed", **{"from": "", "to": "write", "reason": "r"})
    assert story.new() == []
    assert story.at(96).finish().sample().new() == []
