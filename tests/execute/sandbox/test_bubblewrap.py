"""The bubblewrap backend keeps every promise of the interface, as root and as an ordinary user."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import pytest

from proctor.base.canonical import parse
from proctor.base.errors import InfrastructureFault, MissingIsolation
from proctor.execute.sandbox.bubblewrap import init_protocol
from proctor.execute.sandbox.bubblewrap.backend import BubblewrapBackend
from proctor.execute.sandbox.cgroup import Place
from proctor.execute.sandbox.interface import Limits, SandboxPlan
from proctor.execute.sandbox.sandbox_records import start_time
from tests.execute.sandbox.conformance import CHECKS, Check, wait_until
from tests.execute.sandbox.workplace import ORDINARY, as_ordinary_user, layer, open_directory, opened, overlay, shell

ROOT = os.geteuid() == 0


def attempt(check: Check, top: Path, place: Place | None = None) -> None:
    check(BubblewrapBackend(top / "sessions", place=place), top)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_keeps_its_promise(check: Check) -> None:
    with open_directory() as top:
        attempt(check, top)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_keeps_its_promise_to_an_ordinary_user_without_control_groups(check: Check) -> None:
    with open_directory() as top:
        if ROOT:
            os.chown(top, ORDINARY, ORDINARY)
            as_ordinary_user(lambda: attempt(check, top))
        else:
            attempt(check, top, Place())


def test_requirements_that_are_not_met_are_explained(tmp_path: Path) -> None:
    backend = BubblewrapBackend(tmp_path / "sessions", place=Place())
    assert backend.missing(()) == ()
    assert [line.partition(":")[0] for line in backend.missing(("cgroup", "overlay"))] == ["cgroup"]


def test_a_missing_bubblewrap_is_missing_isolation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(MissingIsolation, match="bubblewrap is not installed"):
        BubblewrapBackend(tmp_path / "sessions").open(SandboxPlan(overlay(tmp_path, layer(tmp_path / "b")), Limits()))


def test_a_helper_that_was_not_built_is_a_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(init_protocol, "PROGRAM", tmp_path / "absent")
    with pytest.raises(InfrastructureFault, match="has not been built"):
        BubblewrapBackend(tmp_path / "sessions").open(SandboxPlan(overlay(tmp_path, layer(tmp_path / "b")), Limits()))
    assert list((tmp_path / "sessions").iterdir()) == []


def test_a_workspace_that_cannot_be_mounted_says_why(tmp_path: Path) -> None:
    plan = SandboxPlan(overlay(tmp_path, tmp_path / "absent"), Limits())
    with pytest.raises(MissingIsolation, match="absent: No such file"):
        BubblewrapBackend(tmp_path / "sessions").open(plan)
    assert list((tmp_path / "sessions").iterdir()) == []


def test_time_spent_frozen_does_not_count(tmp_path: Path) -> None:
    backend = BubblewrapBackend(tmp_path / "sessions")
    with backend.open(SandboxPlan(overlay(tmp_path / "box", layer(tmp_path / "base")), Limits())) as box:
        box.freeze()
        first = box.active_ns()
        threading.Event().wait(0.05)
        assert box.active_ns() == first
        box.thaw()
        assert box.active_ns() >= first


def test_a_killed_guardian_takes_the_sandbox_with_it(tmp_path: Path) -> None:
    backend = BubblewrapBackend(tmp_path / "sessions")
    with backend.open(SandboxPlan(overlay(tmp_path / "box", layer(tmp_path / "base")), Limits())) as box:
        record = parse(next((tmp_path / "sessions").iterdir()).read_bytes())
        init = box.init_pid
        os.kill(record["guardian"]["pid"], signal.SIGKILL)
        wait_until(lambda: start_time(init) == "")
        with pytest.raises(InfrastructureFault):
            shell(box, "true")
    assert not any(Path(group).exists() for group in record["groups"])


def test_everything_inside_is_in_every_group_of_the_sandbox(tmp_path: Path) -> None:
    backend = BubblewrapBackend(tmp_path / "sessions")
    with backend.open(SandboxPlan(overlay(tmp_path / "box", layer(tmp_path / "base")), Limits())) as box:
        groups = parse(next((tmp_path / "sessions").iterdir()).read_bytes())["groups"]
        members = [set((Path(group) / "cgroup.procs").read_text().split()) for group in groups]
        assert groups or not ROOT
        assert all(str(box.init_pid) in inside and inside == members[0] for inside in members)
        assert not any(str(os.getpid()) in inside for inside in members)


def test_fewer_cores_than_the_machine_has_are_enforced(tmp_path: Path) -> None:
    with opened(BubblewrapBackend(tmp_path / "sessions"), tmp_path, Limits(cpu_cores=1)) as sandbox:
        assert shell(sandbox, "true").exit_code == 0
