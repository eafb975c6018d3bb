"""The table of event types: it is well-formed, and the writer holds to it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from proctor.record.trace.event import ACTORS
from proctor.record.trace.event_types import EVENT_TYPES, BadEvent, check_event

NAMED = {
    "run.started",
    "run.identity",
    "setup.step",
    "briefing",
    "agent.started",
    "agent.rested",
    "agent.finished",
    "tool.invocation",
    "workspace.mutation",
    "patch.extracted",
    "patch.applied",
    "check.blocked",
    "check.finished",
    "check.decided",
    "safety.finding",
    "safety.checked",
    "run.terminated",
    "run.fault",
    "run.finished",
}


def test_every_type_that_the_design_names_is_there() -> None:
    assert set(EVENT_TYPES) >= NAMED


@pytest.mark.parametrize("name", sorted(EVENT_TYPES))
def test_the_table_is_well_formed(name: str) -> None:
    kind = EVENT_TYPES[name]
    assert kind.name == name
    assert re.fullmatch(r"[a-z][a-z_.]{0,63}", name)
    assert kind.actor in ACTORS
    assert kind.fields
    assert len(set(kind.fields)) == len(kind.fields)
    assert all(re.fullmatch(r"[a-z0-9_]+", field) for field in kind.fields)
    assert kind.description.endswith(".")


@pytest.mark.parametrize("name", sorted(EVENT_TYPES))
def test_each_required_key_is_required(name: str) -> None:
    kind = EVENT_TYPES[name]
    whole: dict[str, Any] = dict.fromkeys(kind.fields)
    assert check_event(name, whole, None) == kind.actor
    assert check_event(name, {**whole, "more": 1}, "operator") == "operator"
    for key in kind.fields:
        with pytest.raises(BadEvent, match=key):
            check_event(name, {other: None for other in whole if other != key}, None)


def test_unknown_types_and_actors_are_refused() -> None:
    with pytest.raises(BadEvent, match="unknown event type"):
        check_event("run.begun", {}, None)
    with pytest.raises(BadEvent, match="unknown actor"):
        check_event("run.finished", {"status": "success"}, "nobody")


def test_what_is_refused_leaves_no_trace(make_run: Any, tmp_path: Path) -> None:
    with make_run.writer(tmp_path / "events.jsonl") as trace:
        for name, payload in (("run.begun", {}), ("run.finished", {}), ("run.finished", {"status": 1.5})):
            with pytest.raises((BadEvent, TypeError)):
                trace.append(name, payload)
        assert (trace.count, trace.size, trace.path.read_bytes()) == (0, 0, b"")
