"""A live sandbox: commands go to pid 1 over a socket, their output comes back through pipes.

Each command has its own answer pipe, so any number of threads may call ``run``, ``freeze`` and ``end_all`` at the same
time, and a lost pid 1 is seen at once as the end of that pipe. The harness's clock decides about timeouts; frozen time
does not count, neither for them nor for a command's wall time, even if another process froze the sandbox. The timeout
of a command that may be stretched does not count time in which the machine kept the sandbox from running. When one
command times out, *all* processes of the sandbox are ended: the processes of one command cannot be distinguished from
those of another one.
"""

from __future__ import annotations

import os
import select
import subprocess
import threading
import time
from contextlib import suppress
from dataclasses import replace
from types import TracebackType
from typing import Self

from proctor.base.errors import InfrastructureFault
from proctor.execute.sandbox.bubblewrap import init_protocol
from proctor.execute.sandbox.bubblewrap.command_pipes import CommandPipes
from proctor.execute.sandbox.bubblewrap.start import StartedSandbox
from proctor.execute.sandbox.cgroup import LOOK_MS, StallClock
from proctor.execute.sandbox.guard_observations import Guard
from proctor.execute.sandbox.interface import WORKSPACE, Command, CommandLost, CommandResult, SandboxLost, Usage
from proctor.execute.sandbox.sandbox_records import start_time

BUSY = 2
REMOUNT_SECONDS = 60


def remount_workspace(init_pid: int, init_start: str, *, writable: bool) -> bool:
    """Change the workspace's mount in the sandbox of pid 1 ``init_pid``; false while a file is open for writing."""
    try:
        mounts = os.open(f"/proc/{init_pid}/ns/mnt", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        raise InfrastructureFault("the sandbox has ended") from None
    try:
        if start_time(init_pid) != init_start:
            raise InfrastructureFault("the sandbox has ended")
        done = subprocess.run(
            [init_protocol.PROGRAM, "remount", str(mounts), WORKSPACE, "rw" if writable else "ro"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env={},
            cwd="/",
            pass_fds=(mounts,),
            timeout=REMOUNT_SECONDS,
        )
    except subprocess.TimeoutExpired:
        raise InfrastructureFault("the workspace could not be remounted in time") from None
    finally:
        os.close(mounts)
    if done.returncode not in (0, BUSY):
        reason = done.stderr.decode("utf-8", "replace").strip() or f"status {done.returncode}"
        raise InfrastructureFault(f"the workspace cannot be remounted: {reason}")
    return done.returncode == 0


ANSWER_SECONDS = 60


class LiveSandbox:
    """Implements ``Sandbox`` on a started guardian."""

    def __init__(self, guarded: StartedSandbox) -> None:
        self._guarded = guarded
        self._turn = threading.RLock()
        """Held while the state of the sandbox changes: ended, frozen, thawed or closed."""
        self._closed = False
        self._frozen_since: int | None = None
        self._frozen_ns = 0
        self._outside_since: int | None = None
        """Since when a process outside Proctor keeps the sandbox frozen."""
        self._waiting_at: int | None = None
        """The reading of the clock at which it stopped for a silent provider."""
        self._waited_ns = 0
        self._command_cpu_ns = 0
        self._reaped_cpu_ns = 0
        """The CPU time of all processes that had ended at the last ``end_all``, including orphans."""
        self.init_start = start_time(guarded.init_pid)
        """The start time of pid 1, which with its pid identifies it."""

    def run(self, command: Command, ends: tuple[int, int] | None = None) -> CommandResult:
        start_ns = time.time_ns()
        begin = self.active_ns()
        limit = int(command.timeout_seconds * 1_000_000_000)
        deadline = begin + limit
        stall = StallClock(self._guarded.group) if command.stretch > 1 else None
        stalled_ns = 0
        timed_out = False
        with CommandPipes(command, ends) as exchange:
            try:
                self._send(init_protocol.RUN, exchange.theirs)
            except SandboxLost as error:
                raise CommandLost(exchange.lost(error.message, False, start_ns, 0)) from None
            exchange.started()
            longest_ms = LOOK_MS if stall is not None else 1000
            while not exchange.step(self._wait_ms(deadline, longest_ms)):
                if stall is not None:
                    stall.look()
                if timed_out or self._frozen() or self.active_ns() < deadline:
                    continue
                if stall is not None:
                    stalled_ns = stall.read_ns()
                    deadline = begin + min(limit + stalled_ns, limit * command.stretch)
                if self.active_ns() >= deadline:
                    timed_out = True
                    self._end_command()
            answer = exchange.answer()
            wall_ns = self.active_ns() - begin
            if stall is not None:
                exchange.stalled = (stalled_ns if timed_out else stall.read_ns(), stall.source)
            if answer is None:
                problem, own = self._why_lost()
                lost = exchange.lost(problem, timed_out, start_ns, wall_ns)
                if own:
                    return lost
                raise CommandLost(lost)
            with self._turn:
                self._command_cpu_ns += answer.cpu_ns
            return exchange.finished(answer, timed_out, start_ns, wall_ns)

    def end_all(self) -> None:
        with self._turn:
            self._check_open()
            frozen = self._frozen()
            if frozen:
                self._kill_frozen()
            try:
                self._reaped_cpu_ns = self._ask(init_protocol.END).cpu_ns
            finally:
                if frozen:
                    self.freeze()

    def freeze(self) -> None:
        with self._turn:
            self._check_open()
            if self._frozen():
                return
            self._end_outside()
            self._set_frozen(True)
            self._frozen_since = time.monotonic_ns()

    def thaw(self) -> None:
        with self._turn:
            self._check_open()
            if self._frozen_since is None:
                return
            self._set_frozen(False)
            self._frozen_ns += time.monotonic_ns() - self._frozen_since
            self._frozen_since = None

    def usage(self) -> Usage:
        with self._turn:
            self._check_open()
            used = self._guarded.group.usage()
            if used.cpu_ns is not None:
                return used
            return replace(used, cpu_ns=max(self._command_cpu_ns, self._reaped_cpu_ns))

    def close(self) -> None:
        with self._turn:
            if not self._closed:
                self._closed = True
                if self._frozen() and self._guarded.group.place.freezes:
                    # Pid 1 is frozen as well: its death would end the others only after all of them run again.
                    self._guarded.group.kill()
                self._guarded.end()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def guard(self) -> Guard | None:
        """The guard that the plan asked for."""
        return self._guarded.guard

    @property
    def init_pid(self) -> int:
        """The pid, out here, of pid 1 inside; its namespaces are the sandbox's."""
        return self._guarded.init_pid

    @property
    def alive(self) -> bool:
        """Whether pid 1 is still there, and with it what it started."""
        return start_time(self.init_pid) == self.init_start

    @property
    def freezes(self) -> bool:
        """Whether a freeze is complete when it returns; without a freezer, processes only get the signal to stop."""
        return self._guarded.group.place.freezes

    def set_workspace_writable(self, writable: bool) -> bool:
        """Make the workspace writable or read-only; false when a file in it is open for writing."""
        with self._turn:
            self._check_open()
            return remount_workspace(self._guarded.init_pid, self.init_start, writable=writable)

    def active_ns(self) -> int:
        """A steady clock that stops while the sandbox is frozen, or while its time is not the agent's."""
        with self._turn:
            now = self._unfrozen_ns() if self._waiting_at is None else self._waiting_at
            return now - self._waited_ns

    def stop_clock(self, stopped: bool) -> None:
        """Stop ``active_ns``, or let it continue, while the processes of the sandbox run."""
        with self._turn:
            if stopped and self._waiting_at is None:
                self._waiting_at = self._unfrozen_ns()
            elif not stopped and self._waiting_at is not None:
                self._waited_ns += self._unfrozen_ns() - self._waiting_at
                self._waiting_at = None

    def _unfrozen_ns(self) -> int:
        since = self._frozen_since if self._frozen_since is not None else self._outside_since
        return (time.monotonic_ns() if since is None else since) - self._frozen_ns

    def paused_outside(self) -> bool:
        """Whether a process outside Proctor keeps the sandbox frozen at this moment; ``active_ns`` then stops.

        The clock stops and continues only when this is called, so call it often.
        """
        with self._turn:
            frozen = not self._closed and not self._frozen() and self._guarded.group.is_frozen()
            if not frozen:
                self._end_outside()
            elif self._outside_since is None:
                self._outside_since = time.monotonic_ns()
            return frozen

    def _end_command(self) -> None:
        """End what a command started; if the sandbox was closed or lost meanwhile, the command ends by that."""
        with self._turn, suppress(SandboxLost):
            if not self._closed:
                self.end_all()

    def _end_outside(self) -> None:
        if self._outside_since is not None:
            self._frozen_ns += time.monotonic_ns() - self._outside_since
            self._outside_since = None

    def _frozen(self) -> bool:
        return self._frozen_since is not None

    def _wait_ms(self, deadline: int, longest_ms: int) -> int:
        """How long a step may wait; short enough to notice that the sandbox was frozen or thawed meanwhile."""
        if self._frozen() or self._waiting_at is not None:
            return 50
        return max(1, min(longest_ms, (deadline - self.active_ns()) // 1_000_000 + 1))

    def _set_frozen(self, frozen: bool) -> None:
        guard = self._guarded.guard
        if self._guarded.group.place.freezes and guard is not None:
            if not frozen:
                guard.park(False)
            self._guarded.group.freeze(frozen, meanwhile=lambda: guard.park(frozen))
        elif self._guarded.group.place.freezes:
            self._guarded.group.freeze(frozen)
        else:
            self._ask(init_protocol.STOP if frozen else init_protocol.CONTINUE)

    def _kill_frozen(self) -> None:
        """Give every frozen process its SIGKILL before the thaw, so that none of them runs again."""
        if self._guarded.group.place.freezes:
            group = self._guarded.group
            group.kill(but=(self._guarded.init_pid, *self._outer()))
            self.thaw()
        else:
            self._frozen_ns += time.monotonic_ns() - (self._frozen_since or 0)
            self._frozen_since = None

    def _outer(self) -> tuple[int, ...]:
        """The pid of bwrap, the guardian's child, which shares the group."""
        assert self._guarded.guardian is not None
        children = f"/proc/{self._guarded.guardian.pid}/task/{self._guarded.guardian.pid}/children"
        with open(children) as file:
            return tuple(int(pid) for pid in file.read().split())

    def _why_lost(self) -> tuple[str, bool]:
        """Why pid 1 has ended, and whether the processes inside caused it by using too much memory."""
        if self._guarded.guard is not None and not self._guarded.guard.alive:
            return "the guard of the sandbox ended, and the sandbox with it", False
        with self._turn:
            if not self._closed and self._guarded.group.usage().oom_kills:
                return "the sandbox ran out of memory and ended", True
        return "the sandbox ended while a command was running", False

    def _send(self, operation: int, handles: tuple[int, ...]) -> None:
        self._check_open()
        assert self._guarded.control is not None
        try:
            init_protocol.send(self._guarded.control, operation, handles)
        except OSError:
            raise SandboxLost("the sandbox has ended") from None

    def _ask(self, operation: int) -> init_protocol.Answer:
        """Send a request that has no output, and return its answer."""
        reading, writing = os.pipe2(os.O_CLOEXEC)
        try:
            try:
                self._send(operation, (writing,))
            finally:
                os.close(writing)
            poll = select.poll()
            poll.register(reading, select.POLLIN)
            if not poll.poll(ANSWER_SECONDS * 1000):
                raise InfrastructureFault("the sandbox does not answer")
            data = os.read(reading, init_protocol.ANSWER_BYTES)
            if len(data) < init_protocol.ANSWER_BYTES:
                raise SandboxLost("the sandbox has ended")
            return init_protocol.read_answer(data)
        finally:
            os.close(reading)

    def _check_open(self) -> None:
        if self._closed:
            raise InfrastructureFault("the sandbox is closed")
