"""A Docker engine of a test's own that may be stopped, killed, frozen and started again, and its daemon's process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from proctor.execute.sandbox.container.engine import Engine
from proctor.execute.sandbox.sandbox_records import start_time
from tests.execute.sandbox.container.engines import PROJECT, START_SECONDS

ENGINE = PROJECT / "tools/engine"
DAEMON = "2-docker"
PATIENCE_SECONDS = 120


class OwnEngine:
    """Docker in a directory of its own. Only processes that ``tools/engine`` noted there are ever signalled."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.path = str(directory / "engine.sock")
        pid = self.pid
        self._arguments = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[:-1]
        variables = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")[:-1]
        self._environment = dict(os.fsdecode(one).split("=", 1) for one in variables)

    @property
    def pid(self) -> int:
        """The daemon's process."""
        return int((self.directory / f"{DAEMON}.process").read_text().split()[0])

    def signal(self, number: int) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def ended(self) -> bool:
        """Whether the daemon has ended; it is our child once it was started again."""
        with suppress(ChildProcessError):
            os.waitpid(self.pid, os.WNOHANG)
        return start_time(self.pid) == ""

    def end(self, number: int) -> None:
        """End the daemon by a signal, and wait for that."""
        self.signal(number)
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not self.ended():
            assert time.monotonic() < deadline, "the engine does not end"
            time.sleep(0.02)

    def start(self) -> None:
        """Start the daemon again as it was started before; it may take a while to answer."""
        (self.directory / "docker.pid").unlink(missing_ok=True)
        with (self.directory / f"{DAEMON}.log").open("ab") as log:
            child = subprocess.Popen(
                self._arguments,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd="/",
                env=self._environment,
                start_new_session=True,
            )
        (self.directory / f"{DAEMON}.process").write_text(f"{child.pid} {start_time(child.pid)}")
        child.returncode = 0  # waited for by ``ended``, or by the process after us

    def wait(self) -> None:
        """Wait until the engine answers, starting the daemon where it has ended."""
        self.signal(signal.SIGCONT)
        deadline = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < deadline:
            if self.ended():
                self.start()
            with suppress(Exception):
                Engine(self.path).call("GET", "/info", seconds=10)
                return
            time.sleep(0.1)
        raise AssertionError("the engine does not come back")


@contextmanager
def own_engine() -> Iterator[OwnEngine]:
    """A Docker engine for one test."""
    directory = Path(tempfile.mkdtemp(prefix="pt-o-"))
    arguments: list[str | Path] = [sys.executable, ENGINE, "start", "docker", directory, "--owner", str(os.getpid())]
    started = subprocess.run(arguments, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=START_SECONDS)
    assert started.returncode == 0, started.stderr
    engine = OwnEngine(directory)
    try:
        yield engine
    finally:
        engine.signal(signal.SIGCONT)
        subprocess.run([sys.executable, ENGINE, "stop", directory], stdin=subprocess.DEVNULL, check=False)
