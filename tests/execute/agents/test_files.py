"""W3: an agent's files are a verified copy, which later changes of the user's directory do not reach."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from proctor.base.errors import UsageFault
from proctor.execute.agents.command_agent import copied_files
from proctor.execute.agents.interface import AgentFiles, AgentRequest
from proctor.execute.workspace.layer_store import DamagedLayer, whole_state
from tests.execute.sandbox.workplace import ORDINARY, as_ordinary_user, open_directory


@pytest.fixture
def files(tmp_path: Path) -> Path:
    path = tmp_path / "mine"
    (path / "inner").mkdir(parents=True)
    (path / ".git").mkdir()
    (path / ".git" / "config").write_text("hooks\n")
    (path / "agent.py").write_text("print(1)\n")
    (path / "inner" / "tool").write_text("#!/bin/sh\n")
    (path / "inner" / "tool").chmod(0o755)
    os.symlink("agent.py", path / "link")
    return path


def copied(files: Path) -> AgentFiles:
    found = copied_files(AgentRequest("command", "true", files, copied_to=files.parent / "agents"))
    assert found is not None
    return found


def shown(found: AgentFiles) -> Path:
    (mount,) = found.mounts()
    assert mount.target == "/agent" and not mount.writable
    return mount.source


def test_the_copy_holds_the_files_and_no_repository(files: Path) -> None:
    place = shown(copied(files))
    assert sorted(path.relative_to(place).as_posix() for path in place.rglob("*")) == [
        "agent.py",
        "inner",
        "inner/tool",
        "link",
    ]
    assert os.access(place / "inner/tool", os.X_OK) and os.readlink(place / "link") == "agent.py"


def test_a_copy_that_is_swapped_before_it_is_sealed_is_not_used(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def swap(content: Path, owner: tuple[int, int]) -> None:
        (content / "agent/agent.py").write_text("print('evil')\n")

    monkeypatch.setattr("proctor.execute.workspace.layer_store.hand_over", swap)
    with pytest.raises(DamagedLayer, match="the copy of the agent's files was changed"):
        copied(files)
    with pytest.raises(DamagedLayer, match="the copy of the agent's files was changed"):
        copied(files)


def test_later_changes_do_not_reach_the_copy(files: Path) -> None:
    first = copied(files)
    (files / "agent.py").write_text("print(2)\n")
    assert (shown(first) / "agent.py").read_text() == "print(1)\n"
    second = copied(files)
    assert second.digest != first.digest and (shown(second) / "agent.py").read_text() == "print(2)\n"
    (files / "agent.py").write_text("print(1)\n")
    assert copied(files).layer.path == first.layer.path, "the same content is copied once"


def test_all_runs_of_one_command_use_the_files_as_they_were_first(files: Path) -> None:
    request = AgentRequest("command", "true", files, copied_to=files.parent / "agents", copies={})
    first = copied_files(request)
    (files / "agent.py").write_text("print(2)\n")
    assert copied_files(request) == first != copied(files)


def test_a_copy_that_was_changed_is_refused_whatever_its_times_say(files: Path) -> None:
    target = shown(copied(files)) / "agent.py"
    before = target.stat()
    target.chmod(0o644)
    target.write_text("print(3)\n")
    os.utime(target, ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(DamagedLayer):
        copied(files)


def test_a_copy_that_was_only_touched_is_used_again(files: Path) -> None:
    first = copied(files)
    os.utime(shown(first) / "agent.py")
    again = copied(files)
    assert again.digest == first.digest and again.layer.state != first.layer.state


def test_what_is_no_file_cannot_be_copied(files: Path) -> None:
    os.mkfifo(files / "pipe")
    with pytest.raises(UsageFault, match="not a file: pipe"):
        copied(files)


@pytest.mark.parametrize("name", ["agent.py", "inner/tool", "link", "inner"])
def test_every_change_shows_in_the_state_also_one_that_was_undone(files: Path, name: str) -> None:
    before = whole_state(files)
    path, aside = files / name, files / "aside"
    path.rename(aside)
    assert whole_state(files) != before
    aside.rename(path)
    assert whole_state(files) != before


def test_w3_reading_the_files_changes_no_permissions() -> None:
    def attempt() -> None:
        (top / "mine/inner").mkdir(parents=True)
        (top / "mine/inner/tool").write_text("#!/bin/sh\n")
        (top / "mine/inner").chmod(0o555)
        copied(top / "mine")
        assert stat.S_IMODE((top / "mine/inner").stat().st_mode) == 0o555
        for closed, mode in (("inner/tool", 0o200), ("inner", 0o000)):
            (top / "mine" / closed).chmod(mode)
            with pytest.raises(UsageFault, match=f"cannot be read: {Path(closed).name}: Permission denied"):
                copied(top / "mine")
            assert stat.S_IMODE((top / "mine" / closed).stat().st_mode) == mode

    with open_directory() as top:
        os.chown(top, ORDINARY, ORDINARY)
        as_ordinary_user(attempt)


def test_w3_a_tree_that_is_too_deep_is_named_in_short(files: Path) -> None:
    deep = files
    for _ in range(300):
        deep = deep / "dddddddd"
    deep.mkdir(parents=True)
    (deep / "file").write_text("x")
    with pytest.raises(UsageFault, match="a path that is too long: dddddddd/") as caught:
        copied(files)
    assert len(caught.value.message) < 300
