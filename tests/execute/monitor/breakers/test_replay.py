"""Replaying: any trace agrees with itself, and every change to what it records is found."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proctor.base.canonical import canonical
from proctor.execute.monitor.breakers.breaker_panel import (
    BreakerPanel,
    alert_payload,
    intervention_payload,
    recorded_decisions,
    replay,
)
from proctor.execute.monitor.breakers.breaker_settings import Caps, Settings, Thresholds
from proctor.record.trace.event import Event

TIGHT = Settings(
    caps=Caps(
        command_seconds=20,
        wall_seconds=200,
        cpu_seconds=50,
        memory_bytes=100,
        disk_bytes=100,
        inodes=100,
        processes=4,
        usd="0.20",
        tokens=5000,
        tool_calls=40,
        failed_cycles=4,
        dependency_resolutions=5,
    ),
    thresholds=Thresholds(
        stale_calls=(3, 6),
        stale_seconds=0,
        reinstalls=(2, 3),
        no_progress_seconds=(30, 60),
        no_progress_calls=(5, 10),
        burst_calls=3,
        denied_writes=2,
        repeated_trips=12,
    ),
    forbid_commands=("nmap",),
    forbid_syscalls=("mount",),
    ask=("burst",),
)
"""Settings under which nearly everything trips soon."""

SMALL = st.integers(0, 6)
PAYLOADS = {
    "agent.started": st.fixed_dictionaries({}),
    "agent.finished": st.fixed_dictionaries({}),
    "guard.exec": st.fixed_dictionaries(
        {
            "pid": SMALL,
            "parent": SMALL,
            "argv": st.sampled_from([["pytest"], ["pip", "install", "x"], ["ls"], ["sh", "-c", "x"], ["nmap"], []]),
            "cwd": st.sampled_from(["/workspace", "/tmp"]),
        }
    ),
    "guard.exit": st.fixed_dictionaries({"pid": SMALL, "exit_code": st.sampled_from([0, 1, None, -9])}),
    "guard.attempt": st.fixed_dictionaries(
        {
            "code": st.sampled_from(["network", "signal", "write-outside", "canary-leak", "syscall-mount", "dns"]),
            "path": st.sampled_from(["", "/etc/a", "/etc/b", "/x/__pycache__/y"]),
            "argv": st.just(["sh"]),
            "allowed": st.booleans(),
        }
    ),
    "monitor.sample": st.fixed_dictionaries(
        {
            "cpu_seconds": st.sampled_from(["1", "49.9", "50", "x"]),
            "memory_bytes": st.integers(0, 120),
            "processes": SMALL,
            "oom_kills": SMALL,
            "phase": st.sampled_from(["agent", "acceptance", ""]),
        }
    ),
    "model.usage": st.fixed_dictionaries(
        {"model": st.just("m"), "input_tokens": st.integers(0, 900), "usd": st.sampled_from([None, "0.05"])}
    ),
    "workspace.mutation": st.fixed_dictionaries(
        {
            "path": st.sampled_from(["a", "b"]),
            "before": st.none(),
            "after": st.sampled_from([None, {"sha256": "1", "bytes": 1, "mode": "100644"}, {"sha256": "2"}]),
        }
    ),
    "tool.invocation": st.fixed_dictionaries({"command": st.just(["pytest"]), "exit_code": st.integers(0, 1)}),
    "words.hit": st.fixed_dictionaries({"rule": st.just("x"), "grade": st.sampled_from(["notice", "violation", ""])}),
    "stage.changed": st.fixed_dictionaries({"to": st.sampled_from(["inspect", "write", "test"])}),
    "operator.asked": st.fixed_dictionaries({}),
    "operator.decided": st.fixed_dictionaries({}),
    "intervention": st.fixed_dictionaries({"action": st.sampled_from(["pause", "resume", "rollback"])}),
    "something.else": st.dictionaries(st.text(max_size=5), st.integers() | st.text(max_size=5), max_size=3),
}
STEPS = st.lists(
    st.sampled_from(sorted(PAYLOADS)).flatmap(
        lambda name: st.tuples(st.just(name), PAYLOADS[name], st.integers(0, 15))
    ),
    max_size=60,
)


def told(steps: list[tuple[str, dict[str, Any], int]], panel: BreakerPanel, *, late: int = 0) -> list[Event]:
    """A trace of ``steps`` with the panel's decisions in it; alerts may be written some events later."""
    events: list[Event] = []
    now = 0
    waiting: list[Any] = []

    def add(kind: str, payload: dict[str, Any]) -> int:
        event = Event(len(events), str(now), kind, "harness", payload, "", "")
        events.append(event)
        waiting.extend(panel.see(event))
        return event.seq

    def write() -> None:
        while waiting:
            trip = waiting.pop(0)
            alert = add("monitor.alert", alert_payload(trip, panel.facts.stage))
            act = intervention_payload(trip, alert)
            if act is not None:
                add("intervention", act)

    add("agent.started", {})
    for place, (kind, payload, seconds) in enumerate(steps):
        now += seconds * 10**9
        add(kind, payload)
        if not late or place % late == 0:
            write()
    write()
    return events


@given(STEPS, st.sampled_from([0, 3, 7]))
def test_any_trace_agrees_with_itself(steps: list[tuple[str, dict[str, Any], int]], late: int) -> None:
    panel = BreakerPanel(TIGHT)
    again = replay(told(steps, panel, late=late), panel)
    assert again.agree, again.differences
    assert len(again.derived) == len(again.recorded)
    for trip in again.derived:
        assert canonical(dict(trip.signals)) and trip.evidence == tuple(sorted(set(trip.evidence)))


@settings(max_examples=40)
@given(STEPS)
def test_what_a_panel_says_depends_on_nothing_that_comes_after(steps: list[tuple[str, dict[str, Any], int]]) -> None:
    events = told(steps, BreakerPanel(TIGHT))
    whole = replay(events, BreakerPanel(TIGHT)).derived
    half = replay(events[: len(events) // 2], BreakerPanel(TIGHT)).derived
    assert whole[: len(half)] == half


@settings(max_examples=40)
@given(STEPS)
def test_after_an_end_nothing_follows_but_violations_about_which_nothing_is_done(
    steps: list[tuple[str, dict[str, Any], int]],
) -> None:
    panel = BreakerPanel(TIGHT)
    told(steps, panel)
    derived = replay(told(steps, BreakerPanel(TIGHT)), panel).derived
    ends = [place for place, trip in enumerate(derived) if trip.action in ("kill", "quarantine")]
    assert len(ends) <= 1
    for trip in derived[ends[0] + 1 :] if ends else ():
        assert (trip.action, trip.grade) == ("none", "violation")


@pytest.fixture
def trace(new_story: Any) -> Any:
    """A trace with a throttle and a kill."""
    story = new_story(Settings(caps=Caps(wall_seconds=100), thresholds=Thresholds(burst_calls=2))).start().write()
    for name in "abc":
        story.call("cat", name)
    story.wait(100).sample()
    assert [trip.action for trip in story.trips] == ["throttle", "kill"]
    return story


def changed(trace: Any, seq: int, **payload: Any) -> list[Event]:
    events = list(trace.events)
    events[seq] = replace(events[seq], payload={**events[seq].payload, **payload})
    return events


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("breaker", "no-such", "breaker is"),
        ("code", "other", "code is"),
        ("grade", "notice", "grade is"),
        ("message", "other", "rationale is"),
        ("evidence", [0], "evidence is"),
        ("signals", {}, "signals"),
        ("action", "none", "action is"),
    ],
)
def test_a_changed_alert_is_found(trace: Any, key: str, value: Any, words: str) -> None:
    first = recorded_decisions(trace.events)[0]
    again = replay(changed(trace, first.seq, **{key: value}), trace.panel)
    assert not again.agree and words in again.differences[0] and f"event {first.seq}" in again.differences[0]


def test_an_alert_that_nobody_derives_is_found(trace: Any) -> None:
    alert = recorded_decisions(trace.events)[0]
    events = [
        *trace.events,
        Event(len(trace.events), "9" * 18, "monitor.alert", "monitor", trace.events[alert.seq].payload, "", ""),
    ]
    assert "not derived" in " ".join(replay(events, trace.panel).differences)


def test_a_missing_alert_is_found(trace: Any) -> None:
    last = recorded_decisions(trace.events)[-1]
    events = [event for event in trace.events if event.seq != last.seq]
    assert "no alert records it" in " ".join(replay(events, trace.panel).differences)


def test_a_missing_intervention_is_found(trace: Any) -> None:
    last = recorded_decisions(trace.events)[-1]
    events = [event for event in trace.events if event.seq != last.intervention]
    assert replay(events, trace.panel).differences == (
        f"event {last.seq}: the alert calls for 'kill' and the trace shows 'none'",
    )


def test_another_intervention_is_found(trace: Any) -> None:
    last = recorded_decisions(trace.events)[-1]
    assert last.intervention is not None
    again = replay(changed(trace, last.intervention, action="throttle"), trace.panel)
    assert "shows 'throttle'" in again.differences[0]


def test_other_thresholds_give_other_decisions(trace: Any) -> None:
    again = replay(trace.events, BreakerPanel(Settings(caps=Caps(wall_seconds=101))))
    assert not again.agree


def test_alerts_of_others_are_none_of_the_breakers(trace: Any) -> None:
    payload = {"code": "guard-lost", "grade": "alert", "signals": {}, "stage": "", "message": "", "evidence": []}
    events = [*trace.events, Event(len(trace.events), "9" * 18, "monitor.alert", "monitor", payload, "", "")]
    assert replay(events, trace.panel).agree


def test_after_a_question_the_operator_acts(new_story: Any) -> None:
    story = new_story(Settings(caps=Caps(tokens=5), ask=("token-cap",))).start().usage(10, 0)
    alert = recorded_decisions(story.events)[0].seq
    story.add("operator.asked", code="token-cap", question="?", deadline_seconds=60, alert=alert)
    story.wait(30).add("operator.decided", decision="deny", why="enough", code="budget", by="me", rollback=None)
    story.add("intervention", action="kill", alert=alert, detail={})
    again = replay(story.finish().events, story.panel)
    assert again.agree and [record.done for record in again.recorded] == ["pause"]


def test_replaying_does_not_touch_the_panel(trace: Any) -> None:
    before = trace.panel.facts.clock.active_ns
    replay(trace.events, trace.panel)
    assert trace.panel.facts.clock.active_ns == before
