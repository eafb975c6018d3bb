"""Doing the same again: what is stale, what is expensive, what is installed twice, and what makes it new."""

from __future__ import annotations

from typing import Any

import pytest

from proctor.execute.monitor.breakers.breaker_settings import Thresholds
from proctor.execute.monitor.breakers.interface import MOST_EVIDENCE, Trip
from proctor.execute.monitor.breakers.repeated_calls import ExpensiveRepeats, Reinstalls, StaleCalls
from proctor.execute.monitor.run_state import MOST_KEYS, Tally

BASE = "0" * 64
"""The state of a tree in which nothing has changed."""


def test_a_tally_forgets_the_oldest_keys_only() -> None:
    tally = Tally()
    for number in range(MOST_KEYS):
        assert tally.add(str(number), number) == [number]
    assert tally.add("0", 9) == [0, 9]
    tally.add("one more", 10)
    assert tally.add("1", 11) == [1, 11]
    assert tally.add("0", 12) == [12]
    tally.clear()
    assert tally.add("1", 13) == [13]


def stale_trip(
    action: str, calls: int, threshold: int, seconds: str, evidence: tuple[int, ...], delay: str = "", state: str = BASE
) -> Trip:
    signals: dict[str, Any] = {"calls": calls, "threshold": threshold, "seconds": seconds, "state": state}
    return Trip(
        "identical-calls",
        "identical-calls",
        action,
        "alert",
        f"{calls} tool calls in a row were made before, and the tree has not changed since",
        evidence,
        signals | ({"delay_seconds": delay} if delay else {}),
    )


@pytest.fixture
def stale(alone: Any) -> Any:
    return alone(lambda facts: StaleCalls(facts, Thresholds(stale_calls=(2, 4), stale_seconds=3)))


def test_a_row_of_the_same_calls_is_slowed_down_and_then_ended(stale: Any) -> None:
    for moment in (1, 2, 4):
        stale.at(moment).call("ls")
    assert stale.new() == [], "the row has lasted two seconds"
    stale.at(5).call("ls")
    assert stale.new() == [stale_trip("throttle", 3, 2, "3", (4, 6, 8), "0.5")]
    stale.at(6).call("ls")
    assert stale.new() == [stale_trip("kill", 4, 4, "4", (4, 6, 8, 12))]


def test_another_call_begins_a_new_row(stale: Any) -> None:
    for moment in (1, 2, 5, 6):
        stale.at(moment).call("ls")
    assert [trip.signals["calls"] for trip in stale.new()] == [2]
    stale.at(7).call("cat", "a")
    stale.at(8).call("ls")
    assert stale.at(11.5).call("cat", "a").new() == [
        stale_trip("throttle", 2, 2, "3.5", tuple(stale.events[place].seq for place in (-6, -4)), "1.0")
    ]


def test_a_change_of_the_tree_makes_every_call_new(stale: Any) -> None:
    for moment in (1, 2, 3):
        stale.at(moment).call("ls")
    stale.at(4).write()
    stale.at(5).call("ls")
    stale.at(6).call("ls")
    stale.at(8).call("ls")
    assert stale.new() == []
    stale.at(9).call("ls")
    ((trip),) = stale.new()
    assert (trip.signals["calls"], trip.signals["seconds"]) == (3, "3")
    assert trip.signals["state"] == stale.panel.facts.tree.digest != BASE


def test_a_change_in_the_middle_of_a_row_ends_the_row(alone: Any) -> None:
    story = alone(lambda facts: StaleCalls(facts, Thresholds(stale_calls=(2, 9), stale_seconds=0)))
    for _ in range(4):
        story.call("ls").call("ls").write(after="1").write(before="1", after="0")
    assert story.new() == []


def test_the_same_words_elsewhere_are_another_call(stale: Any) -> None:
    for moment in range(1, 9):
        stale.at(moment).exit(stale.exec(["ls"], cwd=f"/workspace/{moment}"))
    assert stale.new() == []


def test_the_evidence_is_the_end_of_the_row(alone: Any) -> None:
    story = alone(lambda facts: StaleCalls(facts, Thresholds(stale_calls=(40, 50), stale_seconds=0)))
    for _ in range(41):
        story.call("ls")
    (trip,) = story.new()
    starts = [event.seq for event in story.events if event.type == "guard.exec"]
    assert trip.evidence == tuple(starts[-(MOST_EVIDENCE - 1) :])


def test_delays_of_rows_far_apart_start_anew(stale: Any) -> None:
    for start in (0, 20, 100):
        stale.at(start + 1).call("cat", str(start))
        stale.at(start + 2).call("cat", str(start))
        stale.at(start + 5).call("cat", str(start))
    assert [trip.signals["delay_seconds"] for trip in stale.new()] == ["0.5", "1.0", "0.5"]


def expensive_trip(repeats: int, wall: str, evidence: tuple[int, ...], delay: str, state: str = BASE) -> Trip:
    return Trip(
        "expensive-repeats",
        "expensive-repeats",
        "throttle",
        "alert",
        f"an expensive tool call was made {repeats} times on an unchanged tree",
        evidence,
        {"repeats": repeats, "threshold": 2, "wall_seconds": wall, "state": state, "delay_seconds": delay},
    )


@pytest.fixture
def expensive(alone: Any) -> Any:
    return alone(lambda facts: ExpensiveRepeats(facts, Thresholds(expensive_seconds=30, expensive_repeats=2)))


def test_each_repetition_of_an_expensive_call_is_slowed_down(expensive: Any) -> None:
    assert expensive.call("./all", seconds="30").call("./other", seconds="31").new() == []
    assert expensive.call("./all", seconds="30.5").new() == [expensive_trip(2, "30.5", (3, 7), "0.5")]
    assert expensive.call("./all", seconds="30").new() == [expensive_trip(3, "30", (3, 7, 11), "1.0")]


def test_a_call_that_is_not_expensive_may_be_repeated(expensive: Any) -> None:
    for _ in range(5):
        expensive.call("./all", seconds="29.9")
    assert expensive.new() == []


def test_tests_are_always_expensive(expensive: Any) -> None:
    assert expensive.call("pytest", seconds="0.1", code=1).call("pytest", seconds="0").new() == [
        expensive_trip(2, "0", (3, 5), "0.5")
    ]


def test_on_a_changed_tree_an_expensive_call_is_new(expensive: Any) -> None:
    assert expensive.call("./all", seconds="30").write().call("./all", seconds="30").new() == []
    state = expensive.panel.facts.tree.digest
    assert expensive.call("./all", seconds="30").new() == [expensive_trip(2, "30", (6, 8), "0.5", state)]


def test_delays_of_expensive_calls_far_apart_start_anew(expensive: Any) -> None:
    for moment in (1, 2, 3, 100):
        expensive.at(moment).call("./all", seconds="30")
    assert [trip.signals["delay_seconds"] for trip in expensive.new()] == ["0.5", "1.0", "0.5"]


def install_trip(
    action: str, installs: int, threshold: int, what: str, evidence: tuple[int, ...], delay: str = ""
) -> Trip:
    signals: dict[str, Any] = {"installs": installs, "threshold": threshold, "what": what}
    return Trip(
        "reinstalls",
        "dependency-reinstalls",
        action,
        "alert",
        f"the same dependencies were installed {installs} times",
        evidence,
        signals | ({"delay_seconds": delay} if delay else {}),
    )


@pytest.fixture
def reinstalls(alone: Any) -> Any:
    return alone(lambda facts: Reinstalls(facts, Thresholds(reinstalls=(2, 4))))


def test_the_same_dependencies_are_slowed_down_and_then_ended(reinstalls: Any) -> None:
    reinstalls.call("pip", "install", "a").call("pip", "install", "b").call("pytest").call("pytest")
    assert reinstalls.new() == []
    reinstalls.call("pip", "install", "-q", "a")
    assert reinstalls.new() == [install_trip("throttle", 2, 2, "pip a install", (2, 10), "0.5")]
    reinstalls.call("pip", "install", "a")
    assert reinstalls.new() == []
    reinstalls.call("pip", "install", "a")
    assert reinstalls.new() == [install_trip("kill", 4, 4, "pip a install", (2, 10, 14, 16))]
    reinstalls.call("pip", "install", "b")
    assert reinstalls.new() == []


def test_a_long_list_of_dependencies_is_cut(reinstalls: Any) -> None:
    names = [f"package{number:03}" for number in range(100)]
    reinstalls.call("pip", "install", *names).call("pip", "install", *names)
    (trip,) = reinstalls.new()
    assert trip.signals["what"] == " ".join(["pip", "install", *names])[:200]


def test_after_an_end_in_one_command_the_rest_of_it_is_not_looked_at(alone: Any) -> None:
    story = alone(lambda facts: Reinstalls(facts, Thresholds(reinstalls=(1, 2))), start=False)
    story.start(root=False)
    story.invoke("sh", "-c", "pip install a; ls; pip install a; pip install b")
    assert [(trip.action, trip.signals["what"]) for trip in story.new()] == [
        ("throttle", "pip a install"),
        ("kill", "pip a install"),
    ]


def test_delays_of_installations_far_apart_start_anew(reinstalls: Any) -> None:
    for moment, name in ((1, "a"), (2, "a"), (3, "b"), (4, "b"), (100, "c"), (101, "c")):
        reinstalls.at(moment).call("pip", "install", name)
    assert [trip.signals["delay_seconds"] for trip in reinstalls.new()] == ["0.5", "1.0", "0.5"]


def test_what_others_do_is_no_repetition_of_the_agent(alone: Any) -> None:
    for make in (
        lambda facts: StaleCalls(facts, Thresholds(stale_calls=(1, 2), stale_seconds=0)),
        lambda facts: ExpensiveRepeats(facts, Thresholds(expensive_repeats=1)),
        lambda facts: Reinstalls(facts, Thresholds(reinstalls=(1, 2))),
    ):
        story = alone(make, start=False)
        for _ in range(3):
            story.call("pip", "install", "a", seconds="60").call("pytest")
        story.start().finish()
        for _ in range(3):
            story.call("pip", "install", "a", seconds="60").call("pytest")
        assert story.new() == []
