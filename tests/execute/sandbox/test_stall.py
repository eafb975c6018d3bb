"""Time in which the machine keeps a sandbox from running: measured on real sandboxes, with real load beside them."""

from __future__ import annotations

from pathlib import Path

import pytest

from proctor.execute.sandbox import cgroup
from proctor.execute.sandbox.bubblewrap.backend import BubblewrapBackend
from proctor.execute.sandbox.cgroup import Group
from proctor.execute.sandbox.interface import Command, CommandResult, Limits, SandboxPlan, Tree
from tests.hostload import LOOP, load

SPIN = "import time\nwhile time.process_time() < 0.3: pass"


@pytest.fixture(params=["cgroup", "machine"])
def source(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both ways to measure; the second is what a kernel without pressure files has."""
    if request.param == "machine":
        monkeypatch.setattr(cgroup, "_pressure_ns", lambda path: None)
    return str(request.param)


def run(top: Path, script: str, timeout_seconds: float, stretch: int = 10) -> CommandResult:
    top.chmod(0o755)
    (top / "sessions").mkdir()
    for name in ("workspace", "setup"):
        (top / "tree" / name).mkdir(parents=True)
    plan = SandboxPlan(Tree(top / "tree"), Limits())
    with BubblewrapBackend(top / "sessions").open(plan) as sandbox:
        command = Command(
            ("/usr/bin/python3", "-c", script),
            {"PATH": "/usr/bin:/bin"},
            timeout_seconds=timeout_seconds,
            stretch=stretch,
        )
        return sandbox.run(command)


def test_j5_a_starved_command_gets_its_time_all_the_same(tmp_path: Path, source: str) -> None:
    with load():
        made = run(tmp_path, SPIN, 0.5)
    assert made.stall_source == source
    assert (made.exit_code, made.timed_out) == (0, False), made


def test_j5_a_command_that_gets_too_little_for_too_long_is_starved(tmp_path: Path, source: str) -> None:
    with load():
        made = run(tmp_path, LOOP, 0.5, stretch=2)
    assert made.starved(0.5), made
    assert made.wall_ns >= 1_000_000_000


def test_j5_a_command_that_sleeps_under_load_is_not_stalled(tmp_path: Path, source: str) -> None:
    with load():
        made = run(tmp_path, "import time; time.sleep(30)", 0.75)
    assert made.timed_out
    assert not made.starved(0.75)
    assert made.wall_ns < 3_000_000_000


def test_j5_a_command_that_computes_for_ever_times_out(tmp_path: Path, source: str) -> None:
    made = run(tmp_path, LOOP, 1.0)
    assert made.timed_out
    assert not made.starved(1.0)


def test_j5_commands_that_may_not_be_stretched_are_not_measured(tmp_path: Path) -> None:
    made = run(tmp_path, LOOP, 0.5, stretch=1)
    assert (made.timed_out, made.stalled_ns, made.stall_source) == (True, 0, "")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("some avg10=0.00 total=5\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=7\n", 7000),
        ("some avg10=0.00 avg60=0.00 avg300=0.00 total=5\n", None),
        ("full avg10=0.00 total=x\n", None),
        ("", None),
        (None, None),
    ],
)
def test_j5_pressure_files_are_read_or_called_unknown(tmp_path: Path, text: str | None, expected: int | None) -> None:
    path = tmp_path / "cpu.pressure"
    if text is not None:
        path.write_text(text)
    assert cgroup._pressure_ns(path) == expected


def test_j5_time_beyond_the_groups_own_quota_is_taken_off(tmp_path: Path) -> None:
    group = Group(cgroup.Place(v1={"cpu": tmp_path / "v1"}, v2=tmp_path / "v2"), "box")
    for directory in group.directories:
        directory.mkdir(parents=True)
    (tmp_path / "v2/box/cpu.pressure").write_text("some total=0\nfull avg10=0.00 total=900\n")
    assert group.stalled_ns() == 900_000
    (tmp_path / "v2/box/cpu.stat").write_text("usage_usec 1\nthrottled_usec 300\n")
    assert group.stalled_ns() == 600_000
    (tmp_path / "v1/box/cpu.stat").write_text("throttled_time 500000\n")
    assert group.stalled_ns() == 100_000
    (tmp_path / "v1/box/cpu.stat").write_text("throttled_time 900000\n")
    assert group.stalled_ns() == 0
    assert Group(cgroup.Place(), "box").stalled_ns() is None
