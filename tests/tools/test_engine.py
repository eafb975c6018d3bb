"""``tools/engine`` starts an engine that lies in one directory, and stops it without a trace."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from proctor.execute.sandbox.container.engine import Engine
from proctor.execute.sandbox.sandbox_records import start_time
from tests.execute.sandbox.conformance import wait_until

pytestmark = pytest.mark.container


def tool(project: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, project / "tools/engine", *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.mark.parametrize("kind", ["docker", "podman"])
def test_what_it_starts_it_stops(project: Path, kind: str) -> None:
    forwarding = Path("/proc/sys/net/ipv4/ip_forward").read_bytes()
    directory = Path(tempfile.mkdtemp(prefix="pt-e-"))
    started = tool(project, "start", kind, directory)
    try:
        assert started.stdout == f"DOCKER_HOST=unix://{directory}/engine.sock\n", started.stderr
        assert Engine(f"{directory}/engine.sock").identity().startswith(kind)
        pids = [int(note.read_text().split()[0]) for note in directory.glob("*.process")]
        assert pids and all(start_time(pid) for pid in pids)
    finally:
        tool(project, "stop", directory)
    assert not directory.exists() and not any(start_time(pid) for pid in pids)
    assert f" {directory}" not in Path("/proc/self/mountinfo").read_text()
    assert Path("/proc/sys/net/ipv4/ip_forward").read_bytes() == forwarding


def test_it_stops_with_its_owner(project: Path) -> None:
    directory = Path(tempfile.mkdtemp(prefix="pt-e-"))
    owner = subprocess.Popen(["sleep", "1000"], stdin=subprocess.DEVNULL)
    try:
        started = tool(project, "start", "podman", directory, "--owner", str(owner.pid))
        assert started.returncode == 0, started.stderr
    finally:
        owner.kill()
        owner.wait()
    wait_until(lambda: not directory.exists())


def test_directories_that_will_not_do(project: Path, tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"")
    short = Path(tempfile.mkdtemp(prefix="pt-e-"))
    os.symlink("nowhere", short / "taken")
    try:
        refused = tool(project, "start", "podman", short)
        assert refused.returncode == 1 and "is not empty" in refused.stderr
    finally:
        (short / "taken").unlink()
        short.rmdir()
    refused = tool(project, "start", "podman", tmp_path / ("long" * 20))
    assert refused.returncode == 1 and "too long" in refused.stderr
