"""W7: a loop of the same short commands gets the same decisions at every depth of the process tree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from proctor.execute.monitor.breakers.breaker_panel import BreakerPanel, replay
from proctor.execute.monitor.breakers.breaker_settings import Settings, Thresholds, record_of_settings, settings_from
from proctor.execute.monitor.breakers.interface import NONE
from proctor.execute.monitor.run_state import CALLS, MOST_ROWS, Rows
from proctor.execute.monitor.tool_calls_from_processes import Calls
from tests.execute.monitor.conftest import Story

DEPTHS = (1, 2, 3)
COMMANDS = 200
Decision = tuple[str, str, Any, Any]


def nested(story: Story, depth: int, wrapper: tuple[str, ...] = ("sh", "-c", "agent; exit")) -> int:
    """The process that starts programs at ``depth``: the agent's own, or one below so many shells."""
    pid = 10
    for level in range(1, depth):
        pid = story.exec([*wrapper, str(level)], parent=pid, origin=pid)
    return pid


def loop(story: Story, parent: int, seconds: float, count: int = COMMANDS, commands: int = 1) -> None:
    """``count`` short programs, over and over the same few; a delay that a breaker decides on is observed."""
    for number in range(count):
        before = len(story.trips)
        if story.panel is not None and story.panel.ended is not None:
            return
        story.wait(seconds)
        story.exit(story.exec(["true", str(number % commands)], parent=parent, origin=parent))
        story.wait(sum(float(trip.signals.get("delay_seconds", 0)) for trip in story.trips[before:]))


def decisions(story: Story) -> list[Decision]:
    """What was done and on how many starts, without the numbers of events, which depend on the depth."""
    return [
        (trip.breaker, trip.action, trip.signals["calls"], trip.signals["threshold"])
        for trip in story.trips
        if trip.action != NONE
    ]


@pytest.mark.parametrize(("seconds", "commands"), [(0.001, 1), (0.01, 2), (0.05, 1), (0.2, 3), (1.0, 1)])
def test_w7_two_hundred_short_commands_get_the_same_decisions_at_every_depth(
    new_story: Callable[..., Story], seconds: float, commands: int
) -> None:
    found: dict[int, list[Decision]] = {}
    for depth in DEPTHS:
        story = new_story(Settings())
        story.start()
        loop(story, nested(story, depth), seconds, commands=commands)
        found[depth] = decisions(story)
        assert replay(story.events, BreakerPanel(Settings())).agree
    assert found[1] and found[1] == found[2] == found[3]
    assert found[1][-1][:2] == ("identical-calls", "kill")


def test_w7_a_loop_in_each_call_is_found_with_its_own_programs_as_evidence(new_story: Callable[..., Story]) -> None:
    story = new_story(Settings())
    story.start()
    loop(story, nested(story, 3), 0.2, count=40)
    last = story.trips[-1]
    assert (
        last.rationale == "30 programs in a row inside a tool call were made before, and the tree has not changed since"
    )
    assert {story.events[seq].payload["argv"][0] for seq in last.evidence} == {"true"}


def test_w7_programs_of_several_processes_are_no_row(new_story: Callable[..., Story]) -> None:
    """Many calls that each start the same program once are judged as calls: these differ."""
    story = new_story(Settings())
    story.start()
    for number in range(40):
        shell = story.exec(["sh", "-c", f"true; exit {number}"])
        story.wait(0.3).exit(story.exec(["true"], parent=shell, origin=shell)).exit(shell)
    assert story.trips == []


@pytest.mark.parametrize(
    "tool",
    [("pytest",), ("make",), ("pip", "install", "x"), ("npm", "test"), ("./configure",), ("sh", "configure"), ("git",)],
)
def test_w7_what_a_tool_repeats_by_itself_is_no_loop(new_story: Callable[..., Story], tool: tuple[str, ...]) -> None:
    for depth in (2, 3):
        story = new_story(Settings())
        story.start()
        loop(story, nested(story, depth, tool), 0.2)
        assert story.trips == []


def test_w7_a_program_that_replaces_itself_is_no_further_start(new_story: Callable[..., Story]) -> None:
    story = new_story(Settings())
    story.start()
    parent = nested(story, 2)
    pid = story.exec(["true"], parent=parent, origin=parent)
    for _ in range(40):
        story.wait(0.3).exec(["true"], pid=pid, parent=parent, origin=parent)
    assert story.trips == []


def test_w7_a_change_of_the_tree_makes_programs_new_at_every_depth(new_story: Callable[..., Story]) -> None:
    for depth in DEPTHS:
        story = new_story(Settings())
        story.start()
        parent = nested(story, depth)
        for number in range(20):
            loop(story, parent, 0.3, count=10)
            story.write(after=str(number), before=str(number - 1))
        assert story.trips == []


def test_w7_forks_without_a_program_of_their_own_share_the_row_of_their_origin(
    new_story: Callable[..., Story],
) -> None:
    story = new_story(Settings())
    story.start()
    origin = nested(story, 2)
    for number in range(40):
        story.wait(0.2).exit(story.exec(["true"], parent=5000 + number, origin=origin))
    assert [one[:2] for one in decisions(story)] == [("identical-calls", "throttle"), ("identical-calls", "kill")]


def test_w7_recorded_runs_of_earlier_rules_replay_to_their_recorded_decisions(
    new_story: Callable[..., Story],
) -> None:
    record = record_of_settings(Settings())
    del record["thresholds"]["repeats_below_calls"]
    record["thresholds"]["version"] = "thresholds-3"
    earlier = settings_from(record)
    assert earlier.thresholds == replace(Thresholds(), version="thresholds-3", repeats_below_calls=False)
    found = []
    for depth in DEPTHS:
        story = new_story(earlier)
        story.start()
        loop(story, nested(story, depth), 0.2)
        found.append([one[:3] for one in decisions(story)])
        assert replay(story.events, BreakerPanel(earlier)).agree
        assert replay(story.events, BreakerPanel(Settings())).agree == (depth == 1)
    assert found == [[("identical-calls", "throttle", 16), ("identical-calls", "kill", 30)], [], []]


def test_w7_where_the_tree_is_not_watched_nothing_is_decided_by_repetitions(new_story: Callable[..., Story]) -> None:
    story = new_story(Settings(sees_tree=False))
    story.start()
    loop(story, nested(story, 2), 0.01)
    assert story.trips == []


def test_w7_rows_without_a_start_for_the_longest_time_are_forgotten_first(new_story: Callable[..., Story]) -> None:
    story = new_story()
    story.start()
    calls, rows = Calls(), Rows(deep=True)
    parents = [story.exec(["sh", str(number)]) for number in range(MOST_ROWS + 1)]
    for parent in (*parents[:2], parents[0], *parents[2:], parents[0], parents[1]):
        story.exec(["true"], parent=parent, origin=parent)
    lengths = []
    for event in story.events:
        calls.see(event, 0)
        rows.see(calls, False, event.seq, 0)
        lengths += [row.length for row in rows.latest if row.starter != CALLS]
    assert lengths[-2:] == [2, 1], "the second row was forgotten, not what it had started"
