"""The panel: its order, whose time counts, and that nothing is done any more after it has ended a run."""

from __future__ import annotations

from decimal import Decimal
from string import ascii_letters
from typing import Any

import pytest

from proctor.execute.monitor.breakers.breaker_panel import BreakerPanel, replay
from proctor.execute.monitor.breakers.breaker_settings import Caps, Settings
from proctor.execute.monitor.breakers.policy_violations import MOST_REPORTED
from proctor.execute.monitor.price_table import Price, PriceTable


def test_the_order_of_breakers_is_fixed() -> None:
    caps = Caps(
        cpu_seconds=1, disk_bytes=1, inodes=1, tokens=1, tool_calls=1, failed_cycles=1, dependency_resolutions=1
    )
    assert BreakerPanel(Settings(caps=caps)).names == (
        "policy",
        "denied-writes",
        "early-tests",
        "command-ceiling",
        "run-ceiling",
        "cpu",
        "memory",
        "disk",
        "inodes",
        "processes",
        "oom",
        "cost",
        "tokens",
        "tool-calls",
        "failed-cycles",
        "dependency-resolutions",
        "records",
        "reinstalls",
        "burst",
        "identical-calls",
        "expensive-repeats",
        "oscillation",
        "no-progress",
        "dominance",
        "repeated-trips",
    )


@pytest.mark.parametrize("how", ["operator", "pause"])
def test_frozen_time_is_not_the_agents(new_story: Any, how: str) -> None:
    story = new_story(Settings(caps=Caps(wall_seconds=100))).start().write()
    story.wait(60)
    if how == "operator":
        story.add("operator.asked", code="x", question="?", deadline_seconds=600, alert=0)
        story.wait(500).sample()
        story.add("operator.decided", decision="approve", why="", code="x", by="", rollback=None)
    else:
        story.add("intervention", action="pause", alert=0, detail={})
        story.wait(500).sample()
        story.add("intervention", action="resume", alert=0, detail={})
    assert story.wait(39).sample().trips == []
    assert [trip.code for trip in story.wait(1).sample().trips] == ["wall-ceiling"]
    assert story.trips[0].signals["paused_seconds"].startswith("500")


def test_after_a_kill_nothing_trips_any_more(new_story: Any) -> None:
    story = new_story(Settings(caps=Caps(wall_seconds=10, tokens=5))).start().write()
    story.wait(11).sample()
    story.usage(100, 100)
    assert [trip.code for trip in story.trips] == ["wall-ceiling"]
    assert replay(story.events, story.panel).agree


def test_a_violation_after_the_end_is_told_once_and_nothing_is_done(new_story: Any) -> None:
    story = new_story(Settings(caps=Caps(tool_calls=1), forbid_commands=("git *",))).start()
    for program in ("true", "true", "git log", "git log", "git push"):
        story.call(*program.split())
    assert [trip.code for trip in story.trips] == ["tool-call-cap", "forbidden-command"]
    assert (story.trips[1].action, story.trips[1].grade) == ("none", "violation")
    assert story.panel.ended is story.trips[0]
    assert replay(story.events, story.panel).agree


def test_many_alerts_hide_no_violation(new_story: Any) -> None:
    story = new_story(Settings(forbid_commands=("git *",))).start()
    for first in ascii_letters:
        for second in ascii_letters[:20]:
            payload = {"code": "privilege", "path": f"/tmp/{first}{second}", "argv": ["agent"], "pid": 10}
            story.add("guard.attempt", **payload, syscall="chmod", allowed=False, errno="EPERM", count=1)
    assert len(story.trips) == MOST_REPORTED
    story.call("git", "log")
    assert story.trips[-1].code == "forbidden-command"


def test_nothing_trips_before_the_agent_starts_or_after_it_ends(new_story: Any) -> None:
    story = new_story(Settings(caps=Caps(wall_seconds=10, tokens=5, cpu_seconds=1)))
    story.usage(100, 100).wait(100)
    story.add("setup.step", index=0, command=["x"], cached=False, exit_code=0, wall_seconds="100")
    story.start().finish().wait(100).usage(1, 1)
    assert story.trips == []


def test_an_operator_is_asked_instead(new_story: Any) -> None:
    story = new_story(Settings(caps=Caps(tokens=5), ask=("token-cap",))).start().usage(10, 0)
    (trip,) = story.trips
    assert trip.action == "pause" and trip.signals["otherwise"] == "kill"
    assert story.panel.ended is None
    story.usage(10, 0)
    assert len(story.trips) == 1, "an approval lifts the breaker for good"
    assert replay(story.events, story.panel).agree


def attempt(story: Any, code: str, address: str) -> None:
    story.add(
        "guard.attempt", code=code, syscall="connect", pid=10, argv=["curl"], path="", address=address, allowed=False
    )


def test_an_operator_can_be_asked_about_what_would_only_be_told(new_story: Any) -> None:
    story = new_story(Settings(ask=("network", "canary-leak"))).start()
    attempt(story, "network", "1.1.1.1:1")
    attempt(story, "network", "1.1.1.2:1")
    attempt(story, "dns", "a.example")
    attempt(story, "canary-leak", "1.1.1.3:1")
    assert [(trip.code, trip.action) for trip in story.trips] == [
        ("network", "pause"),
        ("network", "none"),
        ("safety-canary-leak", "pause"),
    ]
    assert replay(story.events, story.panel).agree


def test_what_the_baseline_does_trips_nothing(new_story: Any) -> None:
    story = new_story(Settings(rules={"network": "violation"}, baseline=frozenset({("network", "curl", "1.1.1.1:1")})))
    attempt(story.start(), "network", "1.1.1.1:1")
    assert story.trips == []
    attempt(story, "network", "1.1.1.2:1")
    assert [trip.grade for trip in story.trips] == ["violation"]


def test_a_forbidden_class_of_system_calls_quarantines(new_story: Any) -> None:
    story = new_story(Settings(forbid_syscalls=("mount",))).start()
    attempt(story, "syscall-bpf", "")
    attempt(story, "syscall-mount", "")
    assert [(trip.code, trip.action) for trip in story.trips] == [
        ("syscall-bpf", "none"),
        ("safety-forbidden-syscall", "quarantine"),
    ]


def test_acceptance_is_watched_and_left_alone(new_story: Any) -> None:
    story = new_story(Settings(caps=Caps(memory_bytes=100, cpu_seconds=1))).start().finish()
    story.sample(memory_bytes=101, cpu_seconds="99", oom_kills=9, phase="acceptance")
    assert [(trip.code, trip.action, trip.grade) for trip in story.trips] == [
        ("memory-cap", "none", "notice"),
        ("out-of-memory", "none", "notice"),
    ]


def test_without_a_look_at_the_tree_nothing_is_decided_by_it(new_story: Any) -> None:
    story = new_story(Settings(sees_tree=False)).start()
    for _ in range(200):
        story.wait(8).call("ls")
    assert story.trips == []


def test_an_agent_that_looks_around_for_long_is_let_be(new_story: Any) -> None:
    story = new_story(Settings()).start()
    for number in range(60):
        story.wait(5).call("cat", f"file{number}").call("git", "status")
    assert [trip.action for trip in story.trips if trip.action != "none"] == []


def test_a_loop_that_changes_the_tree_is_no_repetition(new_story: Any) -> None:
    story = new_story(Settings()).start()
    for number in range(60):
        story.wait(5).call("python3", "fix.py").write(after=str(number % 9), before="0")
    assert story.trips == []


def test_every_default_is_called_a_policy_choice(new_story: Any) -> None:
    story = new_story(Settings()).start().write().wait(1800).sample()
    assert "a policy choice" in story.trips[-1].rationale and story.trips[-1].code == "wall-ceiling"


def test_delays_grow_and_start_anew_after_a_calm_time(new_story: Any) -> None:
    story = new_story(Settings()).start()
    for round_number in range(9):
        story.write(after=str(round_number))
        for number in range(41):
            story.call("cat", f"{round_number} {number}")
    story.wait(100).write(after="x")
    for number in range(41):
        story.call("cat", f"again {number}")
    delays = [trip.signals["delay_seconds"] for trip in story.trips if trip.breaker == "burst"]
    assert delays == ["0.5", "1.0", "2.0", "4.0", "8.0", "16.0", "30", "30", "30", "0.5"]


def test_programs_that_may_start_before_a_cap_needs_a_decision(new_story: Any) -> None:
    story = new_story(Settings(caps=Caps(tool_calls=5, dependency_resolutions=3, usd=None))).start()
    assert story.panel.programs_left == 3, "the nearest cap counts"
    for expected in (3, 3, 2, 1):
        story.exec(["ls"])
        assert story.panel.programs_left == expected
    story.exec(["pip", "install", "a"])
    assert story.panel.programs_left == 0
    story.exec(["ls"])
    assert [trip.code for trip in story.trips] == ["tool-call-cap"]


def test_prices_of_programs_bound_how_many_may_start(new_story: Any) -> None:
    table = PriceTable("t", "usd", (Price("tool_call", "call", Decimal("0.01")),))
    story = new_story(Settings(caps=Caps(usd="0.10"), prices=table)).start()
    assert story.panel.programs_left == 8, "the ninth reaches the limit of 0.09"
    story.exec(["ls"])
    assert story.panel.programs_left == 7
    nothing = PriceTable("t", "usd", (Price("execution", "hour", Decimal("0.01")),))
    assert BreakerPanel(Settings(caps=Caps(usd="0.10"), prices=nothing)).programs_left is None


def test_records_that_were_lost_quarantine_the_run(new_story: Any) -> None:
    story = new_story(Settings()).start()
    story.add("guard.lost", count=3)
    (trip,) = story.trips
    assert (trip.code, trip.action, trip.grade) == ("safety-records-lost", "quarantine", "violation")


def test_a_flood_counts_by_its_code(new_story: Any) -> None:
    story = new_story(Settings(forbid_syscalls=("keys",))).start()
    story.add("guard.more", code="network", count=1000)
    story.add("guard.more", code="read", count=1000)
    assert story.trips == []
    story.add("guard.more", code="write-outside", count=49)
    assert story.trips == []
    attempt(story, "write-outside", "/etc/one")
    story.add("guard.more", code="syscall-bpf", count=9)
    story.add("guard.more", code="syscall-keys", count=9)
    assert [trip.code for trip in story.trips] == ["denied-writes", "syscall-bpf", "safety-forbidden-syscall"]


def test_one_look_up_is_one_violation_however_often_it_is_told(new_story: Any) -> None:
    def asked(name: str, program: str) -> dict[str, Any]:
        return {"code": "dns", "argv": [program] if program else [], "detail": name, "path": "", "address": ""}

    story = new_story(Settings(rules={"dns": "violation"})).start()
    for program in ("python3", "", "python3", ""):
        story.add("guard.attempt", **asked("one.example", program))
    assert [trip.action for trip in story.trips] == ["none"]
    for name in ("two.example", "three.example"):
        story.add("guard.attempt", **asked(name, ""))
    assert [trip.action for trip in story.trips] == ["none", "none", "quarantine"]
