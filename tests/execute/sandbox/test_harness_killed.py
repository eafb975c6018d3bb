"""A harness that is killed leaves nothing behind: no process, no control group, and after a sweep no record."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from proctor.base.canonical import canonical, parse
from proctor.execute.sandbox.bubblewrap.backend import BubblewrapBackend
from proctor.execute.sandbox.interface import Limits, SandboxPlan
from proctor.execute.sandbox.sandbox_records import Session, boot_id, start_time, sweep, write
from tests.execute.sandbox.conformance import wait_until
from tests.execute.sandbox.workplace import ORDINARY, layer, open_directory, overlay, shell

USERS = ("root", "ordinary") if os.geteuid() == 0 else ("ordinary",)


@pytest.fixture
def top() -> Iterator[Path]:
    with open_directory() as path:
        yield path


def harness(top: Path, user: str, then: Callable[[Any], None]) -> tuple[int, int]:
    """A child that opens a sandbox, starts something in it, does ``then`` and waits to be killed; its pid, pid 1's."""
    if user == "ordinary" and os.geteuid() == 0:
        os.chown(top, ORDINARY, ORDINARY)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            if user == "ordinary" and os.geteuid() == 0:
                os.setgroups([])
                os.setresgid(ORDINARY, ORDINARY, ORDINARY)
                os.setresuid(ORDINARY, ORDINARY, ORDINARY)
            plan = SandboxPlan(overlay(top / "box", layer(top / "base")), Limits())
            box = BubblewrapBackend(top / "sessions").open(plan)
            shell(box, "for i in 1 2 3; do setsid sleep 1000 >/dev/null 2>&1 & done")
            then(box)
            os.write(writing, b"%d\n" % box.init_pid)
            signal.pause()
        finally:
            os._exit(1)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        return child, int(pipe.readline())


def record_of(top: Path) -> Any:
    return parse(next((top / "sessions").glob("*.json")).read_bytes())


@pytest.mark.parametrize("state", ["running", "frozen"])
@pytest.mark.parametrize("user", USERS)
def test_a_harness_killed(top: Path, user: str, state: str) -> None:
    child, init = harness(top, user, lambda box: box.freeze() if state == "frozen" else None)
    record = record_of(top)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    wait_until(lambda: start_time(init) == "" and start_time(record["guardian"]["pid"]) == "")
    wait_until(lambda: not any(Path(group).exists() for group in record["groups"]))
    assert len(sweep(top / "sessions")) == 1
    assert list((top / "sessions").iterdir()) == [] and sweep(top / "sessions") == []


@pytest.mark.parametrize("state", ["running", "frozen"])
@pytest.mark.parametrize("user", USERS)
def test_a_harness_and_its_guardian_killed(top: Path, user: str, state: str) -> None:
    child, init = harness(top, user, lambda box: box.freeze() if state == "frozen" else None)
    record = record_of(top)
    os.kill(record["guardian"]["pid"], signal.SIGKILL)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    assert len(sweep(top / "sessions")) == 1
    assert not any(Path(group).exists() for group in record["groups"])
    wait_until(lambda: start_time(init) == "")


def test_the_living_are_left_alone(top: Path) -> None:
    child, init = harness(top, USERS[0], lambda box: None)
    try:
        assert sweep(top / "sessions") == [] and start_time(init)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    wait_until(lambda: start_time(init) == "")


def test_a_number_given_to_another_process_is_not_mistaken(tmp_path: Path) -> None:
    pid = os.getpid()
    write(tmp_path, Session("proctor-1-a", pid, "1", boot_id(), (), pid, "1"))
    assert len(sweep(tmp_path)) == 1


def test_records_of_an_earlier_boot_are_removed_unread(tmp_path: Path) -> None:
    pid = os.getpid()
    write(tmp_path, Session("proctor-1-a", pid, start_time(pid), "another", ("/nonexistent/proctor-1-a",)))
    assert len(sweep(tmp_path)) == 1 and list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"owner": 3}', canonical({"owner": {"pid": "x"}})])
def test_a_record_that_cannot_be_read_is_removed(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "proctor-1-a.json").write_bytes(content)
    assert sweep(tmp_path) == [] and list(tmp_path.iterdir()) == []


def test_only_groups_that_carry_the_name_of_the_sandbox_are_touched(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "cgroup.procs").write_text(f"{os.getpid()}\n")
    write(tmp_path, Session("proctor-1-a", 1, "0", boot_id(), (str(other),)))
    assert len(sweep(tmp_path)) == 1 and other.exists()


def test_a_sweep_without_a_directory_finds_nothing(tmp_path: Path) -> None:
    assert sweep(tmp_path / "absent") == []
