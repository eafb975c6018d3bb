"""Operators stop, pause and resume running runs, and sign what they decide; all of it is in the trace."""

from __future__ import annotations

import json
import re
import subprocess
import time
from pathlib import Path
from typing import Any

from proctor.execute.monitor.event_folds import AgentClock
from proctor.record.run_directory import RunDirectory
from proctor.record.trace.reader import read_finished_events
from tests.conduct.live import (
    PATIENCE_SECONDS,
    UNTIL_RELEASED,
    WAITS,
    Proctor,
    Seen,
    asked,
    assert_own_time,
    check,
    ended,
    release,
    sandbox_processes,
    start,
    wait_for_agents,
)
from tests.conduct.resealing import Forger
from tests.conduct.test_operator_live import SCRIPT, policy

TICKING = f"{UNTIL_RELEASED}; sed -i s/-/+/ calc.py"
BUDGET = {"wall_seconds": 600, "memory_bytes": 1 << 30}


def has_grown(path: Path, size: int) -> None:
    """Wait until a file is larger than ``size``."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while path.stat().st_size <= size:
        assert time.monotonic() < deadline
        time.sleep(0.02)


def acting(home: Path, child: subprocess.Popen[str], runs: int = 1) -> list[Path]:
    """The directories of runs whose agents have started a program and wait for their release."""
    wait_for_agents(child, runs)
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        found = sorted(
            path.parent for path in (home / "runs").glob("*/events.jsonl") if b'"guard.exec"' in path.read_bytes()
        )
        if len(found) == runs:
            return found
        assert time.monotonic() < deadline and child.poll() is None
        time.sleep(0.02)


def test_a_paused_agent_stands_still_and_its_clock_too(proctor: Proctor, make_contract: Any, tmp_path: Path) -> None:
    child = start(make_contract(budget=BUDGET), tmp_path / "home", TICKING)
    (directory,) = acting(tmp_path / "home", child)
    (ticks,) = wait_for_agents(child)
    has_grown(ticks, 0)
    paused = proctor("decide", directory.name, "pause", "--why", "look at it first")
    assert paused.returncode == 0, paused.stderr
    again = proctor("decide", directory.name, "pause", "--why", "me too")
    assert again.returncode == 2 and "nothing was done: the run is paused already" in again.stderr
    assert proctor("runs", "--status", "paused").stdout.splitlines()[-1].split()[0] == directory.name
    assert "is paused by an operator" in proctor("show", directory.name).stderr
    assert proctor("verify", directory.name).returncode == 3
    before = ticks.stat().st_size
    time.sleep(1.5)
    assert ticks.stat().st_size == before
    assert proctor("decide", directory.name, "resume", "--why", "it is harmless", "--code", "seen").returncode == 0
    more = proctor("decide", directory.name, "resume", "--why", "again")
    assert more.returncode == 2 and "the run is not paused" in more.stderr
    has_grown(ticks, before)
    release(child)
    seen = ended(child, directory)
    acts = [(payload["action"], payload["done"], payload["why"]) for payload in seen.of("operator.acted")]
    assert acts == [
        ("pause", True, "look at it first"),
        ("pause", False, "me too"),
        ("resume", True, "it is harmless"),
        ("resume", False, "again"),
    ]
    numbers = [event["seq"] for event in seen.events if event["type"] == "operator.acted"]
    assert [(one["action"], one["alert"]) for one in seen.of("intervention")] == [
        ("pause", numbers[0]),
        ("resume", numbers[2]),
    ]
    assert seen.report["status"] == "success"
    check(proctor, seen.run)
    clock = AgentClock()
    for event in read_finished_events(directory / "events.jsonl")[0]:
        clock.see(event)
    assert clock.paused_ns >= 1_500_000_000
    assert_own_time(seen, 1.5)


def test_one_run_of_a_batch_is_stopped_and_the_other_goes_on(
    proctor: Proctor, make_contract: Any, tmp_path: Path
) -> None:
    child = start(make_contract(budget=BUDGET), tmp_path / "home", TICKING, "-n", "2", "--jobs", "2")
    first, second = acting(tmp_path / "home", child, 2)
    stopped = proctor("decide", first.name, "stop", "--why", "it is not needed any more")
    assert stopped.returncode == 0, stopped.stderr
    release(child)
    one, other = ended(child, first), Seen(second)
    assert one.report["termination"]["code"] == "operator"
    assert "(it is not needed any more)" in one.report["termination"]["rationale"]
    (act,) = [event for event in one.events if event["type"] == "operator.acted"]
    assert one.of("run.terminated")[0]["evidence"] == f"events.jsonl#{act['seq']}"
    assert one.report["status"] == "invalid"
    assert other.report["status"] == "success"
    check(proctor, one.run)
    over = proctor("decide", first.name, "stop", "--why", "again")
    assert over.returncode == 2 and "the run has ended" in over.stderr


def test_a_paused_run_can_be_stopped(proctor: Proctor, make_contract: Any, tmp_path: Path) -> None:
    child = start(make_contract(budget=BUDGET), tmp_path / "home", TICKING)
    (directory,) = acting(tmp_path / "home", child)
    assert proctor("decide", directory.name, "pause", "--why", "wait").returncode == 0
    assert proctor("decide", directory.name, "stop", "--why", "no").returncode == 0
    seen = ended(child, directory)
    assert seen.report["termination"]["code"] == "operator"
    check(proctor, seen.run)


def acts(seen: Seen) -> list[str]:
    """What operators did and what was done about it, in order."""
    kinds = {"operator.acted": "action", "operator.asked": "code", "operator.decided": "decision"}
    kinds |= {"intervention": "action", "run.terminated": "code"}
    return [f"{one['type']} {one['payload'][kinds[one['type']]]}" for one in seen.events if one["type"] in kinds]


def ticks(child: subprocess.Popen[str]) -> list[int]:
    """How far the agent of ``child`` has come while it waits for its release."""
    waits = (Path(f"/proc/{pid}/root/{WAITS}") for pid in sandbox_processes(child))
    return [path.stat().st_size for path in waits if path.exists()]


def test_a_run_that_waits_for_an_answer_is_paused_at_once_and_stays_so(
    proctor: Proctor, make_contract: Any, tmp_path: Path
) -> None:
    child, directory = asked(make_contract(policy=policy()), tmp_path / "home", f"id; {TICKING}")
    paused = proctor("decide", directory.name, "pause", "--why", "look at it first")
    assert paused.returncode == 0, paused.stderr
    assert proctor("decide", directory.name, "approve", "--why", "harmless").returncode == 0
    late = proctor("decide", directory.name, "deny", "--why", "no")
    assert late.returncode == 2 and re.search("was decided before: approve, by .+: harmless", late.stderr)
    before = ticks(child)
    time.sleep(1)
    assert ticks(child) == before, "the agent does not go on"
    assert proctor("decide", directory.name, "resume", "--why", "seen").returncode == 0
    wait_for_agents(child)
    release(child)
    seen = ended(child, directory)
    assert acts(seen) == [
        "intervention pause",
        "operator.asked forbidden-command",
        "operator.acted pause",
        "intervention pause",
        "operator.decided approve",
        "operator.acted resume",
        "intervention resume",
    ]
    assert seen.report["status"] == "success"
    assert_own_time(seen, 1)
    check(proctor, seen.run)


def test_a_pause_that_ends_before_the_answer_leaves_the_run_waiting(
    proctor: Proctor, make_contract: Any, tmp_path: Path
) -> None:
    child, directory = asked(make_contract(policy=policy(deadline_seconds=15)), tmp_path / "home", "id; sleep 60")
    for action in ("pause", "resume", "pause"):
        done = proctor("decide", directory.name, action, "--why", "look at it first")
        assert done.returncode == 0, done.stderr
    seen = ended(child, directory)
    assert acts(seen) == [
        "intervention pause",
        "operator.asked forbidden-command",
        "operator.acted pause",
        "intervention pause",
        "operator.acted resume",
        "operator.acted pause",
        "intervention pause",
        "operator.decided deny",
        "intervention kill",
        "run.terminated operator-denied",
    ]
    check(proctor, seen.run)


def test_a_run_that_waits_for_an_answer_is_stopped_at_once(
    proctor: Proctor, make_contract: Any, tmp_path: Path
) -> None:
    child, directory = asked(make_contract(policy=policy()), tmp_path / "home", "id; sleep 60")
    assert proctor("decide", directory.name, "stop", "--why", "not needed").returncode == 0
    seen = ended(child, directory)
    assert acts(seen) == [
        "intervention pause",
        "operator.asked forbidden-command",
        "operator.acted stop",
        "operator.decided withdrawn",
        "run.terminated operator",
    ]
    (decided,) = seen.of("operator.decided")
    assert (decided["by"], decided["why"]) == ("nobody", "the run was stopped")
    assert seen.report["status"] == "invalid" and seen.report["termination"]["code"] == "operator"
    check(proctor, seen.run)


def assert_known_keys(proctor: Proctor, run: str, place: Path) -> None:
    """The name of an operator proves nothing: only a key that the reader gives is known."""
    key = (place / "alice.pub").read_text().split()[2]
    said = proctor("verify", run)
    assert said.returncode == 0 and f"operator alice: signed by an unknown key, {key}; give --operator" in said.stdout
    known = proctor("verify", run, "--operator", place / "alice.pub")
    assert known.returncode == 0 and "unknown" not in known.stdout
    assert proctor("vault", "identity", "alice", place / "other").returncode == 0
    other = proctor("verify", run, "--operator", place / "other.pub")
    assert other.returncode == 4 and f"alice: signed by an unknown key, {key}" in other.stdout
    both = proctor("verify", run, "--operator", place / "other.pub", "--operator", place / "alice.pub", "--json")
    assert both.returncode == 0
    (row,) = json.loads(both.stdout)["operators"]
    assert (row["name"], row["key"], row["known"]) == ("alice", key, True)


def test_a_signed_decision_is_verified_and_a_changed_one_is_found(
    proctor: Proctor, make_contract: Any, tmp_path: Path
) -> None:
    assert proctor("vault", "identity", "alice", tmp_path / "alice").returncode == 0
    child, directory = asked(make_contract(policy=policy()), tmp_path / "home", SCRIPT)
    arguments = ("decide", directory.name, "approve", "--why", "looked at it", "--identity", tmp_path / "alice")
    answer = proctor(*arguments)
    assert answer.returncode == 0, answer.stderr
    seen = ended(child, directory)
    (decided,) = [event for event in seen.events if event["type"] == "operator.decided"]
    assert decided["payload"]["by"] == "alice" and decided["payload"]["signer"].startswith("alice age1")
    check(proctor, seen.run)
    assert_known_keys(proctor, seen.run, tmp_path)
    forger = Forger(RunDirectory(directory))
    for name, value in (("why", "did not look"), ("by", "bob"), ("decision", "deny"), ("signer", "nobody")):
        forger.forge(f"operator.decided#{decided['seq']}", ("payload", name), value, scored=True)
        found = proctor("verify", directory)
        assert found.returncode == 4 and f"events.jsonl#{decided['seq']}" in found.stdout, (name, found.stdout)
