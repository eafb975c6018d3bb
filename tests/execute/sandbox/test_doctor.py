"""The doctor says what works here, and what stands in where something does not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from proctor.execute.sandbox import doctor
from proctor.execute.sandbox.bubblewrap import start, wire
from proctor.execute.sandbox.cgroup import Place
from proctor.execute.sandbox.doctor import MISSING, OK, REDUCED, control_groups, probe
from tests.execute.sandbox.workplace import as_ordinary_user


def test_this_machine_isolates() -> None:
    findings = {finding.name: finding for finding in probe()}
    assert {name: findings[name].state for name in ("bubblewrap", "helper program", "sandbox", "overlay")} == {
        "bubblewrap": OK,
        "helper program": OK,
        "sandbox": OK,
        "overlay": OK,
    }


def test_an_ordinary_user_is_told_what_stands_in() -> None:
    if os.geteuid() == 0:
        as_ordinary_user(_reduced)
    else:
        _reduced()


def _reduced() -> None:
    findings = {finding.name: finding for finding in (*probe(), *control_groups(Place()))}
    assert findings["sandbox"].state == OK
    for name in ("memory limit", "process limit", "freezing"):
        assert findings[name].state == REDUCED and findings[name].advice


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for module in (doctor, start):
        monkeypatch.setattr(module, "BWRAP", str(tmp_path / "bwrap"))
    for module in (doctor, wire):
        monkeypatch.setattr(module, "PROGRAM", tmp_path / "proctor-init")
    findings = {finding.name: finding for finding in probe()}
    for name in ("bubblewrap", "helper program", "sandbox"):
        assert findings[name].state == MISSING and findings[name].detail
