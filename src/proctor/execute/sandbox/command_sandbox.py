"""A sandbox in which each command is a process of its own on the host, for backends that bring no guard.

A backend subclasses :class:`CommandSandbox` and says which command line on the host runs a command inside. Output,
timeouts, freezing and the end are dealt with here. Time in which the machine kept a command from running is not
measured, so no command is stretched.
"""

from __future__ import annotations

import hashlib
import os
import selectors
import signal
import subprocess
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from types import TracebackType
from typing import Self

from proctor.base.errors import InfrastructureFault
from proctor.execute.sandbox.guard_observations import Guard
from proctor.execute.sandbox.interface import Command, CommandLost, CommandResult, Output, SandboxPlan, Usage

CHUNK_BYTES = 1 << 16
LOOK_SECONDS = 0.05
HOST_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
VARIABLE = "PROCTOR_VARIABLE_"
"""What the names begin with under which the variables of a command reach the inside."""

AFTER_SECONDS = 1.0
"""How long output is read after a command has ended, while a process that it left behind holds a pipe."""


class CommandSandbox:
    """Implements ``Sandbox``. ``plan.workspace`` is a ``Tree``: backends of such sandboxes have no overlays."""

    guard: Guard | None = None
    init_pid = 0
    init_start = ""
    freezes = False

    def __init__(self, plan: SandboxPlan) -> None:
        self.plan = plan
        self._turn = threading.RLock()
        self._running: dict[int, subprocess.Popen[bytes]] = {}
        self._closed = False
        self._frozen_since: int | None = None
        self._waiting_since: int | None = None
        self._still_ns = 0
        self._cpu_ns = 0

    def command_line(self, command: Command) -> Sequence[str]:
        """The command line that runs ``command`` inside. All that it starts ends when its first process is killed.

        It must hand its variables on to the command: they become the command's environment inside.
        """
        raise NotImplementedError

    def host_environment(self, command: Command) -> dict[str, str]:
        """The variables of that command line on the host.

        An agent may choose those of a command, and the programs that open the sandbox run outside of it: they get them
        under names that mean nothing to a loader or a shell.
        """
        pairs = enumerate(command.environment.items())
        return {"PATH": HOST_PATH, **{f"{VARIABLE}{number}": f"{name}={value}" for number, (name, value) in pairs}}

    @property
    def alive(self) -> bool:
        """Whether the sandbox was not closed."""
        return not self._closed

    def run(self, command: Command, ends: tuple[int, int] | None = None) -> CommandResult:
        start_ns, begin = time.time_ns(), self.active_ns()
        streams = _Stream(command.output_bytes), _Stream(command.output_bytes)
        with self._turn:
            self._check_open()
            line = list(self.command_line(_with_variables(command)))
            try:
                process = subprocess.Popen(
                    line,
                    stdin=subprocess.PIPE if ends is None else ends[0],
                    stdout=subprocess.PIPE if ends is None else ends[1],
                    stderr=subprocess.PIPE,
                    env=self.host_environment(command),
                    start_new_session=True,
                )
            except OSError as error:
                outputs = (streams[0].output(), streams[1].output())
                return CommandResult(-1, False, False, str(error.strerror), *outputs, start_ns, 0, 0)
            self._running[process.pid] = process
        try:
            timed_out = self._follow(process, command, streams, begin)
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        finally:
            with self._turn:
                del self._running[process.pid]
            for pipe in (process.stdin, process.stdout, process.stderr):
                if pipe is not None:
                    pipe.close()
        cpu_ns = int((used.ru_utime + used.ru_stime) * 1_000_000_000)
        self._cpu_ns += cpu_ns
        finished = CommandResult(
            *(process.returncode, True, timed_out, "", streams[0].output(), streams[1].output()),
            *(start_ns, self.active_ns() - begin, cpu_ns),
        )
        if self._closed and not timed_out:
            raise CommandLost(finished)
        return finished

    def _follow(
        self, process: subprocess.Popen[bytes], command: Command, streams: tuple[_Stream, _Stream], begin: int
    ) -> bool:
        """Feed and read ``process`` until it has ended; whether it was ended for its timeout."""
        limit_ns = int(command.timeout_seconds * 1_000_000_000)
        timed_out, left = False, command.stdin
        ended_at = 0.0
        handle = os.pidfd_open(process.pid)
        with selectors.DefaultSelector() as pipes:
            pipes.register(handle, selectors.EVENT_READ)
            for pipe, stream in ((process.stdout, streams[0]), (process.stderr, streams[1])):
                if pipe is not None:
                    os.set_blocking(pipe.fileno(), False)
                    pipes.register(pipe.fileno(), selectors.EVENT_READ, stream)
            if process.stdin is not None:
                os.set_blocking(process.stdin.fileno(), False)
                pipes.register(process.stdin.fileno(), selectors.EVENT_WRITE)
            try:
                while pipes.get_map() and (not ended_at or time.monotonic() < ended_at + AFTER_SECONDS):
                    for key, _ in pipes.select(LOOK_SECONDS):
                        if key.fd == handle:
                            ended_at = time.monotonic()
                            pipes.unregister(handle)
                        elif key.data is None and process.stdin is not None:
                            left = _fed(key.fd, left)
                            if not left:
                                pipes.unregister(key.fd)
                                process.stdin.close()
                        elif not key.data.read(key.fd):
                            pipes.unregister(key.fd)
                    if ended_at and process.stdin is not None and not process.stdin.closed:
                        pipes.unregister(process.stdin.fileno())
                        process.stdin.close()
                    if not timed_out and not ended_at and self.active_ns() - begin >= limit_ns:
                        timed_out = True
                        self.end_all()
            finally:
                os.close(handle)
        return timed_out

    def end_all(self) -> None:
        with self._turn:
            self._signal(signal.SIGKILL)

    def freeze(self) -> None:
        with self._turn:
            self._check_open()
            if self._frozen_since is None:
                self._signal(signal.SIGSTOP)
                self._frozen_since = time.monotonic_ns()

    def thaw(self) -> None:
        with self._turn:
            self._check_open()
            if self._frozen_since is not None:
                self._signal(signal.SIGCONT)
                self._still_ns += time.monotonic_ns() - self._frozen_since
                self._frozen_since = None

    def usage(self) -> Usage:
        self._check_open()
        return Usage(cpu_ns=self._cpu_ns, memory_peak_bytes=None, oom_kills=None, processes=None)

    def set_workspace_writable(self, writable: bool) -> bool:
        raise InfrastructureFault("the workspace of this sandbox cannot be made writable or read-only while it runs")

    def active_ns(self) -> int:
        with self._turn:
            since = self._frozen_since if self._frozen_since is not None else self._waiting_since
            return (time.monotonic_ns() if since is None else since) - self._still_ns

    def stop_clock(self, stopped: bool) -> None:
        with self._turn:
            if stopped and self._waiting_since is None:
                self._waiting_since = time.monotonic_ns()
            elif not stopped and self._waiting_since is not None:
                self._still_ns += time.monotonic_ns() - self._waiting_since
                self._waiting_since = None

    def paused_outside(self) -> bool:
        return False

    def close(self) -> None:
        with self._turn:
            self._closed = True
            self._signal(signal.SIGKILL)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _signal(self, number: signal.Signals) -> None:
        """Send a signal to every process of the running commands, as far as they descend from their first process."""
        for pid in [found for first in self._running for found in _tree(first)]:
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass

    def _check_open(self) -> None:
        if self._closed:
            raise InfrastructureFault("the sandbox is closed")


def _with_variables(command: Command) -> Command:
    """``command``, begun inside by a shell that gives it its own variables and no others."""
    variables = " ".join(f'"${VARIABLE}{number}"' for number in range(len(command.environment)))
    # To env, a program with an equals sign in its name would be one more variable.
    program = """/bin/sh -c 'exec "$@"' sh "$@\"""" if "=" in command.arguments[0] else '"$@"'
    script = f"exec /usr/bin/env -i -- {variables} {program}"
    return replace(command, arguments=("/bin/sh", "-c", script, "sh", *command.arguments))


class _Stream:
    """One stream of output: its first bytes, how many there were, and their digest."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._prefix = bytearray()
        self._total = 0
        self._sum = hashlib.sha256()

    def read(self, handle: int) -> bool:
        """Take in what is there; false at the end."""
        try:
            data = os.read(handle, CHUNK_BYTES)
        except BlockingIOError:
            return True
        self._prefix += data[: self._most - len(self._prefix)]
        self._total += len(data)
        self._sum.update(data)
        return bool(data)

    def output(self) -> Output:
        return Output(bytes(self._prefix), self._total, self._sum.hexdigest())


def _fed(handle: int, data: bytes) -> bytes:
    """What is left of ``data`` after as much as possible was written; nothing when no process reads it."""
    try:
        return data[os.write(handle, data[:CHUNK_BYTES]) :] if data else b""
    except BlockingIOError:
        return data
    except BrokenPipeError:
        return b""


def _tree(first: int) -> list[int]:
    """A process and all that descend from it, the first one last, so that it cannot adopt new ones meanwhile."""
    found, waiting = [], [first]
    while waiting:
        pid = waiting.pop()
        found.append(pid)
        try:
            with open(f"/proc/{pid}/task/{pid}/children") as file:
                waiting += map(int, file.read().split())
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found[::-1]
