"""Time, the state of the tree, and reading payloads of any shape."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.execute.monitor.event_folds import AgentClock, TreeState, is_litter
from proctor.execute.monitor.payload_values import decimal, integer, moment_ns, nanoseconds, seconds_of, text, text_list


def clock_of(story: Any) -> AgentClock:
    clock = AgentClock()
    for event in story.events:
        clock.see(event)
    return clock


def test_time_runs_from_the_start_to_the_end_of_the_agent(new_story: Any) -> None:
    story = new_story()
    story.add("run.started")
    story.wait(5).start(root=False).wait(7).finish().wait(100).sample()
    clock = clock_of(story)
    assert clock.active_ns // 10**9 == 7 and not clock.running


def test_pauses_that_overlap_are_counted_once(new_story: Any) -> None:
    story = new_story().start(root=False).wait(1)
    story.add("intervention", action="pause", alert=0, detail={})
    story.wait(10).add("operator.asked", code="x", question="", deadline_seconds=1, alert=0)
    story.wait(10).add("intervention", action="resume", alert=0, detail={})
    story.wait(10).add("operator.decided", decision="approve", why="", code="", by="", rollback=None)
    story.wait(2).sample()
    clock = clock_of(story)
    assert (clock.active_ns // 10**9, clock.paused_ns // 10**9) == (3, 30)
    assert not clock.paused


def test_a_silence_of_the_provider_is_counted_apart(new_story: Any) -> None:
    story = new_story().start(root=False)
    story.wait(2).add("model.silent", calls=1, grace_seconds="1.000")
    story.wait(40).add("intervention", action="pause", alert=0, detail={})
    story.wait(100).add("intervention", action="resume", alert=0, detail={})
    story.wait(10).add("model.heard", seconds="150.000")
    story.wait(3).add("agent.rested", wall_seconds="5")
    clock = clock_of(story)
    times = (clock.active_ns, clock.waited_ns, clock.paused_ns)
    assert [one // 10**9 for one in times] == [5, 50, 100]


def test_a_pause_from_outside_is_not_the_agents_time(new_story: Any) -> None:
    story = new_story().start(root=False)
    story.wait(2).add("sandbox.paused", reason="frozen from outside")
    story.wait(50).add("sandbox.resumed", seconds="50")
    story.wait(3).add("agent.rested", wall_seconds="55")
    clock = clock_of(story)
    assert (clock.active_ns // 10**9, clock.paused_ns // 10**9) == (5, 50) and not clock.paused


def test_a_throttle_is_the_agents_own_time(new_story: Any) -> None:
    story = new_story().start(root=False)
    story.add("intervention", action="throttle", alert=0, detail={"delay_seconds": "4"})
    assert clock_of(story.wait(4).sample()).active_ns // 10**9 == 4


def test_time_that_goes_back_does_not_count(new_story: Any) -> None:
    story = new_story().start(root=False).wait(5).sample().wait(-4).sample()
    assert clock_of(story).active_ns // 10**9 == 5


def tree_of(story: Any) -> TreeState:
    tree = TreeState()
    for event in story.events:
        tree.see(event)
    return tree


def test_a_tree_that_is_back_at_its_base_is_pristine(new_story: Any) -> None:
    story = new_story().write("a", "1", "0").write("b", "1", None)
    assert not tree_of(story).pristine
    story.write("b", None, "1").write("a", "0", "1")
    tree = tree_of(story)
    assert tree.pristine and tree.digest == "0" * 64 and tree.changes == 4


def test_the_state_does_not_depend_on_the_way(new_story: Any) -> None:
    one = tree_of(new_story().write("a", "1", "0").write("b", "2", "0"))
    other = tree_of(new_story().write("b", "9", "0").write("a", "1", "0").write("b", "2", "9"))
    assert one.digest == other.digest
    assert one.digest != tree_of(new_story().write("a", "2", "0").write("b", "1", "0")).digest


def test_a_changed_mode_is_another_state(new_story: Any) -> None:
    story = new_story()
    entry = {"sha256": "x", "bytes": 1, "mode": "100644"}
    story.add("workspace.mutation", path="a", change="modified", before=entry, after={**entry, "mode": "100755"})
    assert not tree_of(story).pristine


@pytest.mark.parametrize(
    "path", ["pkg/__pycache__/a.pyc", ".pytest_cache/x", "node_modules/a/b.js", "a.egg-info/PKG-INFO", ".git/index"]
)
def test_what_tools_leave_behind_is_no_state(new_story: Any, path: str) -> None:
    assert is_litter(path)
    tree = tree_of(new_story().write(path, "1", None))
    assert tree.pristine and tree.changes == 0


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from([None, "1", "2", "3"])), max_size=30))
def test_the_digest_is_a_function_of_the_contents(steps: list[tuple[str, str | None]]) -> None:
    from proctor.record.trace.event import Event

    def entry(content: str | None) -> dict[str, Any] | None:
        return None if content is None else {"sha256": content, "bytes": 1, "mode": "100644"}

    def told(pairs: list[tuple[str, str | None]]) -> TreeState:
        tree, now = TreeState(), dict.fromkeys("abc")
        for seq, (path, content) in enumerate(pairs):
            payload = {"path": path, "change": "modified", "before": entry(now[path]), "after": entry(content)}
            tree.see(Event(seq, "0", "workspace.mutation", "agent", payload, "", ""))
            now[path] = content
        return tree

    last = dict(steps)
    assert told(steps).digest == told(sorted(last.items(), reverse=True)).digest
    assert told(steps).pristine == all(content is None for content in last.values())


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20) | st.floats(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@given(ANYTHING)
def test_a_payload_of_any_shape_is_read(value: Any) -> None:
    payload = {"key": value}
    number = integer(payload, "key")
    assert number is None or 0 <= number < 2**63
    amount = decimal(payload, "key")
    assert amount is None or (amount.is_finite() and amount >= 0)
    assert (nanoseconds(payload, "key") or 0) >= 0
    assert isinstance(text(payload, "key"), str) and isinstance(text_list(payload, "key"), tuple)


@given(st.text(max_size=25))
def test_a_moment_of_any_text_is_a_number(value: str) -> None:
    assert moment_ns(value) >= 0


@given(st.integers(min_value=0, max_value=10**18))
def test_seconds_lose_nothing(duration: int) -> None:
    assert nanoseconds({"s": seconds_of(duration)}, "s") == duration
