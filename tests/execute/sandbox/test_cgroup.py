"""Control groups of both versions: what is detected, what is written; and one real group."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from proctor.base.errors import InfrastructureFault
from proctor.execute.sandbox import cgroup
from proctor.execute.sandbox.cgroup import Group, Place, detect, remove_group
from proctor.execute.sandbox.interface import Limits

MIB = 1 << 20


def hierarchy(path: Path, *, controllers: str = "", enabled: str = "") -> Path:
    """A directory that looks like a group."""
    path.mkdir(parents=True, exist_ok=True)
    (path / "cgroup.procs").write_text("")
    (path / "cgroup.controllers").write_text(controllers)
    (path / "cgroup.subtree_control").write_text(enabled)
    return path


def mount_line(target: Path, kind: str, options: str, root: str = "/") -> str:
    return f"30 20 0:30 {root} {target} rw,relatime shared:1 - {kind} {kind} rw,{options}\n"


def test_a_delegated_parent_of_version_2_is_found(tmp_path: Path) -> None:
    top = hierarchy(tmp_path / "sys")
    slice_ = hierarchy(top / "app.slice", enabled="cpu memory pids")
    hierarchy(slice_ / "run.scope", controllers="cpu memory pids")
    place = detect(mount_line(top, "cgroup2", "nsdelegate"), "0::/app.slice/run.scope\n")
    assert place == Place({}, slice_, frozenset({"cpu", "memory", "pids"}))
    assert place.limits_memory and place.limits_processes and place.freezes


def test_an_own_group_without_controllers_still_freezes(tmp_path: Path) -> None:
    top = hierarchy(tmp_path / "sys")
    own = hierarchy(top / "mine")
    place = detect(mount_line(top, "cgroup2", "nsdelegate"), "0::/mine\n")
    assert place == Place({}, own, frozenset())
    assert not place.limits_memory and place.freezes


def test_a_hybrid_machine_uses_both(tmp_path: Path) -> None:
    lines, membership = mount_line(hierarchy(tmp_path / "unified"), "cgroup2", ""), "0::/\n"
    for number, name in enumerate(("memory", "pids", "freezer", "cpu,cpuacct"), 1):
        hierarchy(tmp_path / name / "inner")
        lines += mount_line(tmp_path / name, "cgroup", name)
        membership += f"{number}:{name}:/inner\n"
    place = detect(lines, membership)
    assert place.v1["memory"] == tmp_path / "memory/inner" and place.v1["cpu"] == place.v1["cpuacct"]
    group = Group(place, "box")
    assert set(group.v1) == {"memory", "pids", "cpu"} and group.v2 == tmp_path / "unified/box"


def test_a_mount_of_a_part_of_the_hierarchy_is_resolved(tmp_path: Path) -> None:
    hierarchy(tmp_path / "memory" / "inner")
    line = mount_line(tmp_path / "memory", "cgroup", "memory", root="/docker/abc")
    assert detect(line, "4:memory:/docker/abc/inner\n").v1 == {"memory": tmp_path / "memory/inner"}


def test_nothing_mounted_is_nothing() -> None:
    assert detect("", "0::/\n") == Place()
    assert Group(Place(), "x").directories == () and Group(Place(), "x").thawing() is None
    assert Group(Place(), "x").processes() == ()


def test_groups_that_are_not_ours_are_not_used(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    assert detect(mount_line(tmp_path / "memory", "cgroup", "memory"), "4:memory:/\n") == Place()


def test_limits_are_written_for_version_2(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    group = Group(Place({}, tmp_path, frozenset({"memory", "pids", "cpu"})), "box")
    monkeypatch.setattr(cgroup, "_write_if_there", lambda path, value: path.write_text(str(value)))
    group.create(Limits(memory_bytes=64 * MIB, processes=10, cpu_cores=2))
    written = {path.name: path.read_text() for path in (tmp_path / "box").iterdir()}
    assert written == {
        "memory.max": str(64 * MIB),
        "memory.swap.max": "0",
        "pids.max": "12",
        "cpu.max": "200000 100000",
    }


def test_usage_is_read_from_version_2(tmp_path: Path) -> None:
    group = Group(Place({}, tmp_path, frozenset({"memory", "pids"})), "box")
    hierarchy(tmp_path / "box")
    for name, text in (
        ("cpu.stat", "usage_usec 1500\nuser_usec 1000\n"),
        ("memory.peak", "4096\n"),
        ("memory.events", "low 0\noom 3\noom_kill 2\n"),
        ("pids.current", "7\n"),
        ("memory.current", "10000\n"),
        ("memory.stat", "anon 6000\ninactive_file 3000\n"),
    ):
        (tmp_path / "box" / name).write_text(text)
    usage = group.usage()
    assert (usage.cpu_ns, usage.memory_peak_bytes, usage.oom_kills, usage.processes) == (1_500_000, 4096, 2, 5)
    assert usage.memory_bytes == 7000


def test_version_1_freezes_by_its_own_controller(tmp_path: Path) -> None:
    group = Group(Place({"freezer": tmp_path}), "box")
    group.create(Limits())
    (tmp_path / "box/freezer.state").write_text("THAWED")
    group.freeze(True)
    assert (tmp_path / "box/freezer.state").read_text() == "FROZEN"
    group.freeze(False)
    assert group.thawing() == (tmp_path / "box/freezer.state", "THAWED")


def test_a_group_that_never_freezes_is_a_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cgroup, "FREEZE_SECONDS", 0)
    group = Group(Place({}, tmp_path), "box")
    hierarchy(tmp_path / "box")
    (tmp_path / "box/cgroup.freeze").write_text("0")
    (tmp_path / "box/cgroup.events").write_text("populated 1\nfrozen 0\n")
    with pytest.raises(InfrastructureFault, match="did not freeze"):
        group.freeze(True)


def test_a_process_of_another_namespace_is_never_killed_as_number_0(tmp_path: Path) -> None:
    group = Group(Place({}, tmp_path), "box")
    hierarchy(tmp_path / "box")
    (tmp_path / "box/cgroup.procs").write_text("0\n")
    group.kill()


def test_removing_what_is_gone_is_fine(tmp_path: Path) -> None:
    assert remove_group(tmp_path / "absent") is False


def test_a_real_group_holds_freezes_and_kills() -> None:
    place = detect()
    assert place.freezes, "these tests want a machine where root may make control groups"
    group = Group(place, f"proctor-test-{os.getpid()}")
    group.create(Limits(memory_bytes=64 * MIB, processes=10, cpu_cores=1))
    try:
        child = subprocess.Popen(["/bin/sleep", "1000"])
        for directory in group.directories:
            (directory / "cgroup.procs").write_text(str(child.pid))
        assert group.processes() == (child.pid,)
        group.freeze(True)
        group.kill(but=(child.pid,))
        assert child.poll() is None
        group.kill()
        group.freeze(False)
        assert child.wait(60) == -signal.SIGKILL
        assert group.usage().cpu_ns is not None
    finally:
        group.remove()
    assert not any(directory.exists() for directory in group.directories)


@pytest.mark.parametrize(
    ("files", "hits", "own", "machine"),
    [
        ({"memory.events": "oom 0\noom_kill 2\n"}, 0, 0, 2),
        ({"memory.events": "oom 3\noom_kill 2\n"}, 3, 2, 0),
        ({"memory.events": "oom_kill 2\n"}, None, 2, 0),
        ({"memory.events": "oom 1\noom_kill 0\n"}, 1, 0, 0),
        ({}, None, 0, 0),
    ],
)
def test_j4_kills_for_the_own_limit_are_told_apart_in_version_2(
    tmp_path: Path, files: dict[str, str], hits: int | None, own: int, machine: int
) -> None:
    group = Group(Place(v2=tmp_path, v2_controllers=frozenset({"memory", "pids"})), "box")
    (tmp_path / "box").mkdir()
    for name, text in files.items():
        (tmp_path / "box" / name).write_text(text)
    usage = group.usage()
    assert (usage.limit_hits, usage.own_oom_kills, usage.machine_oom_kills) == (hits, own, machine)


@pytest.mark.parametrize(
    ("failcnt", "swap_failcnt", "peak", "hits", "own", "machine"),
    [
        (0, 0, 10 << 20, 0, 0, 1),
        (5, 0, 10 << 20, 5, 1, 0),
        (0, 2, 10 << 20, 2, 1, 0),
        (0, 0, 64 << 20, 1, 1, 0),
        (0, 0, (60 << 20) + 1, 1, 1, 0),
        (0, 0, 60 << 20, 0, 0, 1),
        (0, 0, None, None, 1, 0),
    ],
)
def test_j4_kills_for_the_own_limit_are_told_apart_in_version_1(
    tmp_path: Path, failcnt: int, swap_failcnt: int, peak: int | None, hits: int | None, own: int, machine: int
) -> None:
    group = Group(Place(v1={"memory": tmp_path}), "box")
    (tmp_path / "box").mkdir()
    values = {
        "memory.failcnt": failcnt,
        "memory.memsw.failcnt": swap_failcnt,
        "memory.max_usage_in_bytes": peak,
        "memory.limit_in_bytes": 64 << 20,
    }
    for name, value in values.items():
        if value is not None:
            (tmp_path / "box" / name).write_text(f"{value}\n")
    (tmp_path / "box" / "memory.oom_control").write_text("under_oom 0\noom_kill 1\n")
    usage = group.usage()
    assert (usage.limit_hits, usage.own_oom_kills, usage.machine_oom_kills) == (hits, own, machine)
