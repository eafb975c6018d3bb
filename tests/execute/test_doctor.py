"""The doctor says what works here, what is weaker, and what is missing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from proctor.execute.proctor_home import Home
from proctor.execute.requirements import MISSING, OK, REDUCED, Finding, container_engine, control_groups, probe, works
from proctor.execute.sandbox.cgroup import Place
from tests.execute.sandbox.workplace import ORDINARY, as_ordinary_user, open_directory


def found(home: Path) -> dict[str, Finding]:
    return {finding.name: finding for finding in probe(Home(home))}


def test_this_machine_isolates(tmp_path: Path) -> None:
    findings = found(tmp_path)
    wanted = ("home", "git", "helper program", "bubblewrap", "sandbox", "tool chain", "overlay")
    assert {name: findings[name].state for name in wanted} == dict.fromkeys(wanted, OK)
    assert works(tuple(findings.values()))


def test_an_ordinary_user_learns_what_is_weaker() -> None:
    with open_directory() as top:
        if os.geteuid() == 0:
            os.chown(top, ORDINARY, ORDINARY)
            as_ordinary_user(lambda: _reduced(top))
        else:
            _reduced(top)


def _reduced(top: Path) -> None:
    findings = {finding.name: finding for finding in (*probe(Home(top)), *control_groups(Place()))}
    assert findings["sandbox"].state == OK, findings["sandbox"]
    for name in ("memory limit", "process limit", "freezing"):
        assert findings[name].state == REDUCED and findings[name].advice


def test_i2_programs_that_only_some_contracts_need_are_remarks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    empty = tmp_path / "bin"
    empty.mkdir()
    monkeypatch.setenv("PATH", str(empty))
    findings = found(tmp_path / "home")
    for name in ("pip", "npm", "node"):
        assert findings[name].state == REDUCED and findings[name].advice
    assert findings["git"].state == findings["bubblewrap"].state == MISSING
    assert not works(tuple(findings.values()))


def test_an_engine_that_is_not_there_is_a_remark() -> None:
    finding = container_engine({"DOCKER_HOST": "unix:///nonexistent/engine.sock"})
    assert finding.state == REDUCED and finding.advice


def test_w6_a_home_that_others_can_write_to_is_named(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    home.create()
    assert home.shared() == "" and home.path.stat().st_mode & 0o777 == 0o700
    home.path.chmod(0o777)
    assert "other users can write" in home.shared()
    home.path.chmod(0o755)
    if os.geteuid() == 0:
        os.chown(home.path, 64200, 64200)
        assert "belongs to another user (uid 64200)" in home.shared()
    assert Home(tmp_path / "absent").shared() == ""


def test_w6_a_home_in_a_directory_of_everyone_is_reported(tmp_path: Path) -> None:
    home = Home(tmp_path / "open" / "home")
    home.create()
    (tmp_path / "open").chmod(0o777)
    assert f"other users can write to {tmp_path / 'open'} and replace" in home.shared()
    (tmp_path / "open").chmod(0o1777)
    assert home.shared() == ""


def test_w6_a_home_behind_a_link_is_used_where_it_is(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "link").symlink_to("disk")
    assert Home.from_environment({"PROCTOR_HOME": str(tmp_path / "link")}).path == tmp_path / "disk"
    (tmp_path / "proctor").symlink_to("disk/later")
    home = Home.from_environment({"XDG_DATA_HOME": str(tmp_path)})
    home.create()
    assert home.scratch == tmp_path / "disk/later/scratch" and home.scratch.is_dir()
