"""Every breaker: a trace that trips it, one that just does not, and the same decisions when the trace is replayed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from proctor.base.dataclass_fields import field_names
from proctor.execute.monitor.breakers.breaker_panel import BreakerPanel, replay
from proctor.execute.monitor.breakers.breaker_settings import Caps, Settings, Thresholds
from proctor.execute.monitor.breakers.interface import ACTIONS, GRADES

OPEN = Caps(**dict.fromkeys(field_names(Caps)))
"""No cap at all."""


@dataclass(frozen=True)
class Case:
    """One breaker; ``tell(story, step)`` tells the story that trips it at ``far`` and does not at ``near``."""

    breaker: str
    code: str
    action: str
    near: Any
    far: Any
    tell: Callable[[Any, Any], Any]
    caps: dict[str, Any]
    name: str = ""
    thresholds: Thresholds = field(default_factory=Thresholds)


def command_ceiling(story: Any, seconds: float) -> None:
    story.write().exec(["sleep", "9"])
    story.wait(seconds).sample()


def recorded(story: Any, characters: int) -> None:
    story.write().call("python3", "-c", "#" * characters)


def run_ceiling(story: Any, seconds: float) -> None:
    story.write().wait(seconds).sample()


def sampled(field: str) -> Callable[[Any, Any], None]:
    def tell(story: Any, value: Any) -> None:
        story.sample(**{field: value})

    return tell


def full(story: Any, samples: int) -> None:
    for _ in range(samples):
        story.sample(processes=8)
    story.sample(processes=7)


def tokens(story: Any, count: int) -> None:
    story.write().usage(60, 0).usage(0, count - 60)


def billed(story: Any, usd: str) -> None:
    story.write().usage(1, 1, usd)


def calls(story: Any, count: int) -> None:
    story.write()
    for number in range(count):
        story.wait(1).call("cat", f"file{number}")


def failed(story: Any, count: int) -> None:
    for number in range(count):
        story.write(after=str(number)).call("pytest", "-q", code=1)
        story.call("pytest", "-q", "other", code=0)


def resolved(story: Any, count: int) -> None:
    for number in range(count):
        story.call("pip", "install", f"package{number}")


def reinstalled(story: Any, count: int) -> None:
    for number in range(count):
        story.write(after=str(number)).call("bash", "-c", "x").call("pip", "install", "-q", "a", "b")


def burst(story: Any, count: int) -> None:
    for number in range(count):
        story.wait(0.1).call("cat", f"file{number}")


def stale(story: Any, count: int) -> None:
    story.call("ls").call("cat", "a")
    for number in range(count):
        story.wait(1).call(*(("ls",), ("cat", "a"))[number % 2])


def expensive(story: Any, count: int) -> None:
    for _ in range(count):
        story.wait(20).call("./check-it-all", seconds="30")


def suite(story: Any, count: int) -> None:
    for _ in range(count):
        story.wait(20).call("npm", "test", seconds="0.1", code=1)


def oscillating(story: Any, states: str) -> None:
    last = "0"
    for state in states:
        story.write(before=last, after=state).call("pytest", code=1)
        last = state


def oscillating_unknown(story: Any, states: str) -> None:
    last = "0"
    for state in states:
        story.write(before=last, after=state).call("pytest", code=None)
        last = state


def idle(story: Any, seconds: float) -> None:
    story.write().wait(seconds).sample()


def idle_calls(story: Any, count: int) -> None:
    for number in range(count):
        story.wait(0.5).call("cat", f"file{number}")


def dominated(story: Any, seconds: float) -> None:
    story.wait(seconds).sample()


def dominated_failing(story: Any, seconds: float) -> None:
    story.write().call("pytest", code=1).wait(seconds).sample()


def forbidden(story: Any, count: int) -> None:
    for number in range(count):
        story.call("nmap", f"host{number}")


def leaked(story: Any, code: str) -> None:
    story.add(
        "guard.attempt", code=code, syscall="connect", pid=10, argv=["curl"], detail="", path="", address="1.2.3.4"
    )


def alerted(story: Any, code: str) -> None:
    leaked(story, code)


def denied(story: Any, count: int) -> None:
    for number in range(count):
        for _ in range(2):
            path = f"/etc/conf{'x' * number}"
            story.add(
                "guard.attempt", code="write-outside", syscall="openat", pid=10, argv=["sh"], path=path, allowed=False
            )
    for number in range(100):
        path = f"/usr/lib/__pycache__/m{number}.pyc"
        story.add(
            "guard.attempt", code="write-outside", syscall="openat", pid=10, argv=["sh"], path=path, allowed=False
        )


def early(story: Any, stage: str) -> None:
    story.add("stage.changed", **{"from": "", "to": stage, "reason": "start"})
    story.call("pytest")


def tripping(story: Any, bursts: int) -> None:
    """Each burst makes one alert; alerts of others and notices do not count."""
    for number in range(3 * bursts):
        story.add("monitor.alert", code="seen", grade="alert", signals={}, stage="", message="", evidence=[])
        story.wait(0.1).call("cat", f"file{number}")


CASES = (
    Case("command-ceiling", "command-ceiling", "kill-call", 9.9, 10, command_ceiling, {"command_seconds": 10}),
    Case("run-ceiling", "wall-ceiling", "kill", 9.9, 10, run_ceiling, {"wall_seconds": 10}),
    Case("cpu", "cpu-cap", "kill", "9.999", "10.000", sampled("cpu_seconds"), {"cpu_seconds": 10}),
    Case("memory", "memory-cap", "kill", 100, 101, sampled("memory_bytes"), {"memory_bytes": 100}),
    Case("disk", "disk-cap", "kill", 100, 101, sampled("disk_bytes"), {"disk_bytes": 100}),
    Case("inodes", "inodes-cap", "kill", 100, 101, sampled("inodes"), {"inodes": 100}),
    Case("processes", "process-cap", "kill", 2, 3, full, {"processes": 8}),
    Case("oom", "out-of-memory", "none", 0, 1, sampled("oom_kills"), {}, "first"),
    Case("oom", "out-of-memory", "kill", 4, 5, sampled("oom_kills"), {}, "many"),
    Case("cost", "cost-cap", "throttle", "3.59", "3.60", billed, {"usd": "5.00"}, "near the cap"),
    Case("cost", "cost-cap", "kill", "4.49", "4.50", billed, {"usd": "5.00"}, "at the cap"),
    Case("tokens", "token-cap", "kill", 100, 101, tokens, {"tokens": 100}),
    Case("tool-calls", "tool-call-cap", "kill", 10, 11, calls, {"tool_calls": 10}),
    Case("failed-cycles", "failed-cycle-cap", "kill", 3, 4, failed, {"failed_cycles": 3}),
    Case("records", "record-cap", "kill", 29_000, 30_000, recorded, {}, thresholds=Thresholds(record_bytes=33_000)),
    Case("dependency-resolutions", "dependency-resolution-cap", "kill", 3, 4, resolved, {"dependency_resolutions": 3}),
    Case("reinstalls", "dependency-reinstalls", "throttle", 2, 3, reinstalled, {}, "slow down"),
    Case("reinstalls", "dependency-reinstalls", "kill", 5, 6, reinstalled, {}, "end"),
    Case("burst", "burst", "throttle", 40, 41, burst, {}),
    Case("identical-calls", "identical-calls", "throttle", 11, 12, stale, {}, "slow down"),
    Case("identical-calls", "identical-calls", "kill", 29, 30, stale, {}, "end"),
    Case("expensive-repeats", "expensive-repeats", "throttle", 2, 3, expensive, {}, "long"),
    Case("expensive-repeats", "expensive-repeats", "throttle", 2, 3, suite, {}, "tests"),
    Case("oscillation", "patch-oscillation", "none", "ABB", "ABA", oscillating, {}, "first"),
    Case("oscillation", "patch-oscillation", "kill", "ABA", "ABAB", oscillating, {}, "end"),
    Case("oscillation", "patch-oscillation", "none", "ABAB", "ABABA", oscillating_unknown, {}, "unknown"),
    Case("oscillation", "patch-oscillation", "kill", "ABABABA", "ABABABAB", oscillating_unknown, {}, "unknown end"),
    Case("no-progress", "no-progress", "none", 599.9, 600, idle, {}, "tell"),
    Case("no-progress", "no-progress", "kill", 1199.9, 1200, idle, {}, "end"),
    Case("no-progress", "no-progress", "none", 99, 100, idle_calls, {}, "calls"),
    Case("no-progress", "no-progress", "kill", 299, 300, idle_calls, {}, "calls end"),
    Case("dominance", "dominance", "kill", 89.9, 90, dominated, {"wall_seconds": 100}),
    Case("dominance", "dominance", "kill", 89.9, 90, dominated_failing, {"wall_seconds": 100}, "failing tests"),
    Case("policy", "forbidden-command", "none", 0, 1, forbidden, {}, "told"),
    Case("policy", "safety-forbidden-command", "quarantine", 2, 3, forbidden, {}, "repeated"),
    Case("policy", "safety-canary-leak", "quarantine", "read-canary", "canary-leak", leaked, {}, "at once"),
    Case("policy", "signal", "none", "network", "signal", alerted, {}, "alert"),
    Case("denied-writes", "denied-writes", "suspend-write", 49, 50, denied, {}),
    Case("early-tests", "early-tests", "none", "test", "write", early, {}),
    Case(
        "repeated-trips", "repeated-trips", "kill", 4, 5, tripping, {}, "", Thresholds(burst_calls=2, repeated_trips=5)
    ),
)


def settings_of(case: Case) -> Settings:
    caps = Caps(**{**dict.fromkeys(field_names(Caps)), **case.caps})
    return Settings(caps=caps, thresholds=case.thresholds, forbid_commands=("nmap *",))


def found(story: Any, case: Case) -> list[Any]:
    return [
        trip for trip in story.trips if (trip.breaker, trip.code, trip.action) == (case.breaker, case.code, case.action)
    ]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.breaker} {case.action} {case.name}".strip())
def test_it_trips_there_and_not_just_before(new_story: Any, case: Case) -> None:
    near = new_story(settings_of(case)).start()
    case.tell(near, case.near)
    assert found(near, case) == []
    far = new_story(settings_of(case)).start()
    case.tell(far, case.far)
    (trip,) = found(far, case)
    assert trip.grade in GRADES and trip.action in ACTIONS and trip.rationale
    assert list(trip.evidence) == sorted(set(trip.evidence))
    assert far.events[trip.evidence[-1]].type not in ("intervention",)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.breaker} {case.action} {case.name}".strip())
@pytest.mark.parametrize("step", ["near", "far"])
def test_replaying_the_trace_gives_the_same_decisions(new_story: Any, case: Case, step: str) -> None:
    story = new_story(settings_of(case)).start()
    case.tell(story, getattr(case, step))
    story.finish()
    again = replay(story.events, story.panel)
    assert again.agree, again.differences
    assert list(again.derived) == story.trips


def test_every_breaker_has_a_case() -> None:
    capped: dict[str, Any] = {name: "1" if name == "usd" else 1 for name in field_names(Caps)}
    everything = Caps(**capped)
    assert {case.breaker for case in CASES} == set(BreakerPanel(Settings(caps=everything)).names)
