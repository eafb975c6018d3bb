"""Rollbacks as decisions: where they lead follows from the trace alone, and a replay decides the same."""

from __future__ import annotations

from typing import Any

from proctor.execute.monitor.breakers.breaker_panel import replay
from proctor.execute.monitor.breakers.breaker_settings import Caps, Settings, record_of_settings, settings_from


def checkpoint(story: Any, name: str, *dropped: str) -> None:
    story.add(
        "workspace.checkpoint",
        id=name,
        entries_digest="",
        files=0,
        bytes=0,
        reason="",
        dropped=dropped,
        problem="",
    )


def attempt(story: Any, code: str, address: str) -> None:
    story.add(
        "guard.attempt", code=code, syscall="connect", pid=10, argv=["curl"], path="", address=address, allowed=False
    )


def test_a_rollback_leads_to_the_last_checkpoint_before_the_deed(new_story: Any) -> None:
    story = new_story(Settings(rollback={"network": "continue"})).start()
    checkpoint(story, "1")
    checkpoint(story, "2")
    checkpoint(story, "")
    attempt(story, "network", "1.1.1.1:1")
    attempt(story, "dns", "a.example")
    checkpoint(story, "3", "2")
    attempt(story, "network", "1.1.1.2:1")
    assert [(trip.action, trip.signals["to"], trip.signals["then"]) for trip in story.trips] == [
        ("rollback", "2", "continue"),
        ("rollback", "3", "continue"),
    ]
    assert story.panel.ended is None
    assert replay(story.events, story.panel).agree


def test_without_a_checkpoint_the_breaker_does_what_it_does(new_story: Any) -> None:
    story = new_story(Settings(caps=Caps(tokens=5), rollback={"token-cap": "continue"})).start().usage(10, 0)
    assert [trip.action for trip in story.trips] == ["kill"]


def test_what_ends_a_run_ends_it_after_the_rollback_too(new_story: Any) -> None:
    story = new_story(Settings(caps=Caps(tokens=5), rollback={"token-cap": "continue"})).start()
    checkpoint(story, "1")
    story.usage(10, 0)
    (trip,) = story.trips
    assert (trip.action, trip.signals["otherwise"], trip.signals["then"]) == ("rollback", "kill", "end")
    assert story.panel.ended is trip
    assert replay(story.events, story.panel).agree


def test_a_policy_may_end_a_run_that_goes_on_otherwise(new_story: Any) -> None:
    story = new_story(Settings(rollback={"network": "end"})).start()
    checkpoint(story, "1")
    attempt(story, "network", "1.1.1.1:1")
    attempt(story, "network", "1.1.1.2:1")
    assert [(trip.action, trip.code) for trip in story.trips] == [("rollback", "network")]
    assert story.panel.ended is story.trips[0]


def test_a_question_comes_before_a_rollback(new_story: Any) -> None:
    story = new_story(Settings(ask=("network",), rollback={"network": "end"})).start()
    checkpoint(story, "1")
    attempt(story, "network", "1.1.1.1:1")
    assert [trip.action for trip in story.trips] == ["pause"]


def test_the_settings_keep_it() -> None:
    settings = Settings(rollback={"network": "end", "dns": "continue"})
    record = record_of_settings(settings)
    assert settings_from(record).rollback == settings.rollback
    del record["rollback"]
    assert settings_from(record).rollback == {}


def test_what_the_harness_brings_back_is_no_return_of_the_agents(new_story: Any) -> None:
    for restored in (False, True):
        story = new_story(Settings()).start()
        for before, after in ("0A", "AB", "BA"):
            if restored and before == "B":
                story.add("workspace.restored", checkpoint="1", alert=1, names=1, ended=False, problem="")
            story.write(before=before, after=after).call("pytest", code=1)
        assert [trip.code for trip in story.trips] == ([] if restored else ["patch-oscillation"])
