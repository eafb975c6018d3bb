"""What every sandbox backend must do."""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from proctor.base.canonical import canonical
from proctor.base.errors import InfrastructureFault
from proctor.base.untrusted_directories import erase
from proctor.execute.sandbox.bubblewrap.backend import BubblewrapBackend
from proctor.execute.sandbox.interface import (
    Command,
    CommandResult,
    Limits,
    Mount,
    Overlay,
    Sandbox,
    SandboxBackend,
    SandboxPlan,
    Tree,
    owner,
)
from proctor.execute.sandbox.sandbox_registry import backend_problems, load_backend

VARIABLES = {"PATH": "/usr/bin:/bin", "HOME": "/home/agent", "LANG": "C.UTF-8"}
WAIT_SECONDS = 60


class SandboxSuite:
    """Subclass with the ``name`` of a backend, as ``environment.sandbox`` of a contract has it."""

    name: str

    @pytest.fixture
    def place(self) -> Iterator[Path]:
        """A temporary directory that the sandboxed user may enter."""
        path = Path(os.path.realpath(f"/tmp/proctor-suite-{os.urandom(6).hex()}"))
        path.mkdir(mode=0o755)
        try:
            yield path
        finally:
            erase(path)

    def backend(self, place: Path) -> SandboxBackend:
        """The backend, checked as before a run."""
        if self.name == "host":
            return BubblewrapBackend(place / "sessions")
        return load_backend(self.name, place / "sessions")

    @contextmanager
    def opened(self, place: Path, files: dict[str, bytes] | None = None, **plan: Any) -> Iterator[Sandbox]:
        """A sandbox on a workspace with ``files``."""
        backend = self.backend(place)
        base, upper, work = (place / name for name in ("base", "upper", "work"))
        for directory in (base, base / "workspace", base / "setup", upper, work):
            directory.mkdir()
            os.chown(directory, *owner())
        for name, data in (files or {}).items():
            (base / "workspace" / name).write_bytes(data)
            os.chown(base / "workspace" / name, *owner())
        view = Overlay((base,), upper, work) if backend.overlays() else Tree(base)
        with backend.open(replace(SandboxPlan(view, Limits()), **plan)) as sandbox:
            yield sandbox

    def shell(self, sandbox: Sandbox, text: str, timeout_seconds: float = 60, **fields: Any) -> CommandResult:
        """Run shell text inside."""
        command = Command(("/bin/sh", "-c", text), VARIABLES, timeout_seconds=timeout_seconds, **fields)
        return sandbox.run(command)

    def written(self, place: Path, name: str) -> Path:
        """Where a file that was written to the workspace is on the host."""
        return place / ("upper" if self.backend(place).overlays() else "base") / "workspace" / name

    def test_it_describes_itself_and_always_in_the_same_way(self, place: Path) -> None:
        one, other = self.backend(place), self.backend(place)
        if self.name != "host":
            problems = list(backend_problems(one, self.name))
            assert not problems, problems
        for method in ("identity", "isolation"):
            assert canonical(dict(getattr(one, method)())) == canonical(dict(getattr(other, method)()))
        assert isinstance(one.missing(("cgroup", "overlay")), tuple) and one.missing(()) == ()

    def test_a_command_runs_and_tells_how_it_ended(self, place: Path) -> None:
        with self.opened(place) as sandbox:
            finished = self.shell(sandbox, "echo out; echo err >&2; exit 3")
            assert (finished.exit_code, finished.started, finished.timed_out) == (3, True, False), finished
            assert finished.stdout.prefix == b"out\n" and finished.stderr.prefix == b"err\n", finished
            assert finished.start_ns > 0 and finished.wall_ns > 0 and finished.cpu_ns >= 0, finished

    def test_a_program_that_does_not_exist_is_no_success(self, place: Path) -> None:
        with self.opened(place) as sandbox:
            finished = sandbox.run(Command(("no-such-program",), VARIABLES))
            assert not finished.started or finished.exit_code != 0, finished

    def test_the_environment_is_what_was_given(self, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PROCTOR_SUITE_SECRET", "hunter2")
        with self.opened(place) as sandbox:
            finished = sandbox.run(Command(("/usr/bin/env", "-0"), {**VARIABLES, "ODD": "a\nb=c"}))
            found = finished.stdout.prefix.split(b"\0")
            assert b"ODD=a\nb=c" in found and b"hunter2" not in finished.stdout.prefix, finished

    def test_standard_input_is_fed_and_then_ends(self, place: Path) -> None:
        data = os.urandom(1 << 20)
        with self.opened(place) as sandbox:
            finished = self.shell(sandbox, "sha256sum | cut -c1-64", stdin=data)
            assert finished.stdout.prefix.decode().strip() == hashlib.sha256(data).hexdigest(), finished
            assert self.shell(sandbox, "wc -c").stdout.prefix.strip() == b"0"

    def test_output_is_counted_and_hashed_whole_and_kept_in_part(self, place: Path) -> None:
        with self.opened(place) as sandbox:
            finished = self.shell(sandbox, "head -c 5000000 /dev/zero", output_bytes=1000)
            assert finished.stdout.prefix == bytes(1000) and finished.stdout.total_bytes == 5_000_000, finished
            assert finished.stdout.sha256 == hashlib.sha256(bytes(5_000_000)).hexdigest(), finished

    def test_a_timeout_ends_the_command_and_what_it_started(self, place: Path) -> None:
        with self.opened(place) as sandbox:
            begin = time.monotonic()
            text = "while :; do echo on >> n; sleep 0.02; done & wait"
            finished = self.shell(sandbox, text, timeout_seconds=3)
            assert finished.timed_out and finished.started and time.monotonic() - begin < WAIT_SECONDS, finished
            self.stands_still(self.written(place, "n"))
            assert self.shell(sandbox, "echo still here").stdout.prefix == b"still here\n"

    def test_changes_of_the_workspace_arrive_on_the_host(self, place: Path) -> None:
        with self.opened(place, {"kept": b"old"}) as sandbox:
            finished = self.shell(sandbox, "cat kept; pwd; echo new > made")
            assert finished.stdout.prefix == b"old/workspace\n", finished
        assert self.written(place, "made").read_bytes() == b"new\n"

    def test_mounts_are_read_only(self, place: Path) -> None:
        (place / "shown").write_bytes(b"content")
        with self.opened(place, mounts=(Mount(place / "shown", "/inputs/shown"),)) as sandbox:
            finished = self.shell(sandbox, "cat /inputs/shown; echo x > /inputs/shown")
            assert finished.stdout.prefix == b"content" and finished.exit_code != 0, finished
        assert (place / "shown").read_bytes() == b"content"

    def test_mounts_are_shown_at_every_place(self, place: Path) -> None:
        (place / "file").write_bytes(b"content")
        (place / "tree").mkdir()
        (place / "tree" / "file").write_bytes(b"content")
        mounts = (Mount(place / "file", "/etc/resolv.conf"), Mount(place / "tree", "/opt/one/two"))
        with self.opened(place, mounts=mounts) as sandbox:
            finished = self.shell(sandbox, "cat /etc/resolv.conf /opt/one/two/file")
            assert finished.stdout.prefix == b"contentcontent", finished

    def test_a_read_only_workspace_cannot_be_written(self, place: Path) -> None:
        with self.opened(place, workspace_writable=False) as sandbox:
            assert self.shell(sandbox, "touch /workspace/x").exit_code != 0

    def test_the_directory_of_the_host_is_not_shown(self, place: Path) -> None:
        (place / "secret").write_bytes(b"hidden")
        with self.opened(place, masked=(place,)) as sandbox:
            assert self.shell(sandbox, f"cat {place}/secret").exit_code != 0

    def test_there_is_no_network(self, place: Path) -> None:
        with self.opened(place) as sandbox:
            finished = self.shell(sandbox, "cut -d: -f1 /proc/net/dev | tail -n +3; wc -l < /proc/net/route")
            assert finished.stdout.prefix.split() in ([b"lo", b"1"], [b"lo", b"0"]), finished

    def test_a_frozen_sandbox_stands_still(self, place: Path) -> None:
        with self.opened(place) as sandbox:
            results: list[CommandResult] = []
            text = "while [ ! -e stop ]; do echo on >> n; sleep 0.02; done"
            worker = threading.Thread(target=lambda: results.append(self.shell(sandbox, text)))
            worker.start()
            try:
                self.wait_for(self.written(place, "n").exists)
                sandbox.freeze()
                clock = sandbox.active_ns()
                self.stands_still(self.written(place, "n"))
                assert sandbox.active_ns() == clock
                sandbox.thaw()
                self.shell(sandbox, "touch stop")
            finally:
                worker.join(WAIT_SECONDS)
            assert results[0].exit_code == 0 and not results[0].timed_out, results[0]

    def test_the_clock_can_be_stopped(self, place: Path) -> None:
        with self.opened(place) as sandbox:
            sandbox.stop_clock(True)
            before = sandbox.active_ns()
            time.sleep(0.05)
            assert sandbox.active_ns() == before
            sandbox.stop_clock(False)
            assert before <= sandbox.active_ns() < before + 1_000_000_000
            assert not sandbox.paused_outside()

    def test_closing_ends_what_runs_and_may_be_done_twice(self, place: Path) -> None:
        with self.opened(place) as sandbox:
            failed: list[BaseException] = []

            def act() -> None:
                try:
                    self.shell(sandbox, "while :; do echo on >> n; sleep 0.02; done")
                except InfrastructureFault as fault:
                    failed.append(fault)

            worker = threading.Thread(target=act)
            worker.start()
            self.wait_for(self.written(place, "n").exists)
            living: list[bool] = [sandbox.alive]
            sandbox.close()
            sandbox.close()
            worker.join(WAIT_SECONDS)
            living.append(sandbox.alive)
            assert failed and not worker.is_alive() and living == [True, False]
            self.stands_still(self.written(place, "n"))
            with pytest.raises(InfrastructureFault):
                self.shell(sandbox, "true")
            with pytest.raises(InfrastructureFault):
                sandbox.usage()

    def test_a_watched_sandbox_shows_its_first_process(self, place: Path) -> None:
        watched = self.backend(place).watched
        with self.opened(place) as sandbox:
            assert bool(sandbox.init_pid) == bool(sandbox.init_start) == watched

    def stands_still(self, path: Path) -> None:
        """Require that nothing writes to ``path`` any more."""
        before = path.stat().st_size
        time.sleep(0.3)
        assert path.stat().st_size == before

    def wait_for(self, condition: Callable[[], bool]) -> None:
        """Wait until ``condition`` holds."""
        deadline = time.monotonic() + WAIT_SECONDS
        while not condition():
            assert time.monotonic() < deadline, "it did not happen"
            time.sleep(0.01)
