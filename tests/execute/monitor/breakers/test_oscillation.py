"""Going back and forth: what is a return, which ones are sure, and what makes them forgotten."""

from __future__ import annotations

from typing import Any

import pytest

from proctor.execute.monitor.breakers.breaker_settings import Thresholds
from proctor.execute.monitor.breakers.interface import Trip
from proctor.execute.monitor.breakers.oscillation import MOST_STATES, Oscillation

THRESHOLDS = Thresholds(oscillations=(1, 2), unknown_oscillations=(2, 3))


class Patches:
    """A story in which a file is given contents by name and the tests are run on each."""

    def __init__(self, story: Any) -> None:
        self.story = story
        self.content = "0"

    def tried(self, content: str, code: int | None = 1, *program: str) -> int:
        """The number of the event at which the tests ended."""
        if content != self.content:
            self.story.write(before=self.content, after=content)
        self.content = content
        pid = self.story.exec(list(program or ("pytest",)))
        self.story.add("guard.exit", pid=pid, exit_code=code, wall_seconds="0.1")
        return int(next(event.seq for event in reversed(self.story.events) if event.type == "guard.exit"))

    def trip(self, action: str, returns: int, known: int, threshold: int, evidence: tuple[int, ...]) -> Trip:
        return Trip(
            "oscillation",
            "patch-oscillation",
            action,
            "alert",
            f"the tree came back {returns} times to a state in which its tests did not pass",
            evidence,
            {
                "returns": returns,
                "returns_known_to_fail": known,
                "threshold": threshold,
                "state": self.story.panel.facts.tree.digest,
            },
        )


@pytest.fixture
def patches(alone: Any) -> Patches:
    return Patches(alone(lambda facts: Oscillation(facts, THRESHOLDS)))


def test_the_first_return_is_told_and_the_second_ends_the_run(patches: Patches) -> None:
    first, second = patches.tried("A"), patches.tried("B")
    assert patches.story.new() == []
    third = patches.tried("A")
    assert patches.story.new() == [patches.trip("none", 1, 1, 1, (first, second, third))]
    fourth = patches.tried("B")
    assert patches.story.new() == [patches.trip("kill", 2, 2, 2, (first, second, third, fourth))]
    patches.tried("A")
    patches.tried("B")
    assert patches.story.new() == []


def test_trying_again_without_a_change_is_no_return(patches: Patches) -> None:
    patches.tried("A")
    again, other = patches.tried("A"), patches.tried("B")
    patches.tried("B")
    assert patches.story.new() == []
    last = patches.tried("A")
    ((trip),) = patches.story.new()
    assert trip.evidence[0] == again and trip.evidence[-1] == last
    assert other not in trip.evidence, "the later of two tries stands for the state"


@pytest.mark.parametrize("codes", [(None, 1), (1, None)])
def test_one_known_failure_makes_a_state_known_to_fail(patches: Patches, codes: tuple[int | None, ...]) -> None:
    for code in codes:
        patches.tried("A", code)
    patches.tried("B")
    assert patches.story.new() == []
    patches.tried("A")
    assert [trip.signals["returns_known_to_fail"] for trip in patches.story.new()] == [1]


def test_returns_that_may_have_passed_need_more_of_them(patches: Patches) -> None:
    seqs = [patches.tried(content, None) for content in "ABA"]
    assert patches.story.new() == []
    seqs.append(patches.tried("B", None))
    assert patches.story.new() == [patches.trip("none", 2, 0, 2, tuple(seqs))]
    seqs.append(patches.tried("A", None))
    assert patches.story.new() == [patches.trip("kill", 3, 0, 3, tuple(seqs))]


def test_a_return_is_from_the_last_time_that_the_state_was_there(patches: Patches) -> None:
    seqs = [patches.tried("A"), patches.tried("B", None), patches.tried("A")]
    assert patches.story.new() == [], "how B ended is not known"
    seqs += [patches.tried("C"), patches.tried("A")]
    assert patches.story.new() == [patches.trip("none", 2, 1, 1, tuple(seqs))]


def test_a_passing_run_clears_the_memory(patches: Patches) -> None:
    patches.tried("A")
    patches.tried("B")
    patches.tried("B", 0)
    patches.tried("A")
    assert patches.story.new() == []
    patches.tried("B")
    assert patches.story.new() == []
    patches.tried("A")
    assert [trip.signals["returns"] for trip in patches.story.new()] == [1]


@pytest.mark.parametrize("code", [1, None])
def test_a_passing_run_makes_the_steps_climbable_again(patches: Patches, code: int | None) -> None:
    for content in "ABAB" if code is None else "ABA":
        patches.tried(content, code)
    assert [trip.action for trip in patches.story.new()] == ["none"]
    patches.tried("C", 0)
    for content in "ABAB" if code is None else "ABA":
        patches.tried(content, code)
    (trip,) = patches.story.new()
    assert trip.action == "none" and trip.signals["returns"] == (2 if code is None else 1)
    assert len(trip.evidence) == (4 if code is None else 3)


def test_a_state_that_the_harness_came_back_to_is_no_return(patches: Patches) -> None:
    patches.tried("A")
    patches.tried("B")
    patches.story.add("workspace.restored", checkpoint="c")
    patches.tried("A")
    assert patches.story.new() == []


def test_programs_that_are_no_tests_say_nothing(patches: Patches) -> None:
    for content in "ABABAB":
        patches.tried(content, 1, "make")
    assert patches.story.new() == []


def test_tests_behind_another_program_in_one_command_count(alone: Any) -> None:
    story = alone(lambda facts: Oscillation(facts, THRESHOLDS), start=False)
    story.start(root=False)
    last = "0"
    for content in "ABA":
        story.write(before=last, after=content).invoke("sh", "-c", "make; pytest", code=1)
        last = content
    assert [trip.signals["returns_known_to_fail"] for trip in story.new()] == [1]


def test_what_is_not_known_beside_a_passing_run_is_remembered(alone: Any) -> None:
    """Where the harness runs each command, one run of tests may still go on when another has passed."""
    thresholds = Thresholds(unknown_oscillations=(1, 9))
    story = alone(lambda facts: Oscillation(facts, thresholds), start=False, depth=0)
    story.start(root=False)
    line, last = ["sh", "-c", "pytest a & pytest b"], "0"
    for content in "ABA":
        story.write(before=last, after=content)
        shell = story.exec(line, parent=1)
        second, _ = story.exec(["pytest", "b"], parent=shell), story.exec(["pytest", "a"], parent=shell)
        story.exit(second, None).invoke(*line, code=0 if last == "0" else 1)
        last = content
    assert [trip.signals["returns"] for trip in story.new()] == [1]


@pytest.mark.parametrize(("others", "trips"), [(MOST_STATES - 1, 1), (MOST_STATES, 0)])
def test_only_so_many_states_are_remembered(patches: Patches, others: int, trips: int) -> None:
    patches.tried("A")
    for number in range(others):
        patches.tried(f"other {number}")
    patches.tried("A")
    assert len(patches.story.new()) == trips


def test_what_happens_before_or_after_the_agent_is_no_return(alone: Any) -> None:
    story = alone(lambda facts: Oscillation(facts, Thresholds(oscillations=(0, 1))), start=False)
    story.start()
    patches = Patches(story)
    patches.tried("A")
    patches.tried("B")
    story.write(before="B", after="A")
    pid = story.exec(["pytest"])
    story.finish().exit(pid, 1)
    assert story.new() == []
