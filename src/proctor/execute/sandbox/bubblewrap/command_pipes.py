"""The pipes of one command: feed its input, capture its bounded output, wait for its answer."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import select
import signal
import struct
import termios
from dataclasses import replace
from types import TracebackType
from typing import Self

from proctor.execute.sandbox.bubblewrap import init_protocol
from proctor.execute.sandbox.interface import Command, CommandResult, Output, owner

BUFFER_BYTES = 1 << 18
PIPE_BYTES = 1 << 20


class Capture:
    """Collects one stream from the read end of a pipe, which it owns."""

    def __init__(self, handle: int, prefix_bytes: int) -> None:
        self.handle = handle
        self.open = True
        self._room = prefix_bytes
        self._prefix = bytearray()
        self._total = 0
        self._digest = hashlib.sha256()
        self._buffer = memoryview(bytearray(BUFFER_BYTES))
        os.set_blocking(handle, False)

    def take(self) -> int:
        """Read once; how many bytes there were. At the end of the stream ``open`` becomes false."""
        try:
            size = os.readv(self.handle, [self._buffer])
        except BlockingIOError:
            return 0
        if not size:
            self.open = False
            return 0
        data = self._buffer[:size]
        self._digest.update(data)
        if self._room > 0:
            kept = data[: self._room]
            self._prefix += kept
            self._room -= len(kept)
        self._total += size
        return size

    def take_waiting(self) -> None:
        """Read only what is in the pipe at this moment, however fast a left-over process continues to write."""
        waiting = struct.unpack("i", fcntl.ioctl(self.handle, termios.FIONREAD, b"\0" * 4))[0]
        while waiting > 0 and self.open:
            size = self.take()
            if not size:
                return
            waiting -= size

    def output(self) -> Output:
        return Output(bytes(self._prefix), self._total, self._digest.hexdigest())

    def close(self) -> None:
        os.close(self.handle)


def wide_pipe() -> tuple[int, int]:
    """A pipe with a large buffer where the system allows it."""
    reading, writing = os.pipe2(os.O_CLOEXEC)
    try:
        fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    except PermissionError:
        pass
    return reading, writing


TURN_READS = 64
"""How often a stream is read before the other one and the clock get their turn."""


class CommandPipes:
    """Owns every descriptor of one command on this side.

    ``theirs`` are the ends that travel to pid 1 (body, stdin, stdout, stderr, answer); ``started`` closes our copies.
    With ``ends``, standard input and output are those descriptors, which stay the caller's and are not captured.
    """

    def __init__(self, command: Command, ends: tuple[int, int] | None = None) -> None:
        self._command = command
        self._open: set[int] = set()
        self._rest = memoryview(command.stdin)
        self.stalled = (0, "")
        """How long the machine kept the command from running, and how this was measured."""
        try:
            body = self._own(init_protocol.body(command))
            stdin, self._feed = self._pair(os.pipe2(os.O_CLOEXEC))
            stdout, stdout_theirs = self._pair(wide_pipe())
            stderr, stderr_theirs = self._pair(wide_pipe())
            self._answer, answer_theirs = self._pair(os.pipe2(os.O_CLOEXEC))
            if ends is not None:
                self._close(stdin)
                self._close(stdout_theirs)
                stdin, stdout_theirs = ends
            self.theirs = (body, stdin, stdout_theirs, stderr_theirs, answer_theirs)
            self._streams = {handle: Capture(handle, command.output_bytes) for handle in (stdout, stderr)}
            self._stdout, self._stderr = self._streams[stdout], self._streams[stderr]
            os.set_blocking(self._feed, False)
            for handle in (stdin, stdout_theirs, stderr_theirs):
                os.fchown(handle, *owner())
            self._poll = select.poll()
            for handle in (stdout, stderr, self._answer):
                self._poll.register(handle, select.POLLIN)
        except BaseException:
            self._close_all()
            raise

    def started(self) -> None:
        """The request is on its way: close what belongs to the other side."""
        for handle in self.theirs:
            self._close(handle)
        if self._rest:
            self._poll.register(self._feed, select.POLLOUT)
        else:
            self._close(self._feed)

    def step(self, wait_ms: int) -> bool:
        """Wait for something to happen and handle it; true once the answer is there."""
        done = False
        for handle, _ in self._poll.poll(wait_ms):
            if handle == self._answer:
                done = True
            elif handle == self._feed:
                self._write()
            else:
                self._read(handle, TURN_READS)
        return done

    def answer(self) -> init_protocol.Answer | None:
        """The answer of pid 1, after all output of the command was read; ``None`` if pid 1 has ended."""
        data = os.read(self._answer, init_protocol.ANSWER_BYTES)
        for stream in self._streams.values():
            stream.take_waiting()
        return init_protocol.read_answer(data) if len(data) == init_protocol.ANSWER_BYTES else None

    def finished(self, answer: init_protocol.Answer, timed_out: bool, start_ns: int, wall_ns: int) -> CommandResult:
        started = answer.stage == init_protocol.STAGE_NONE
        return CommandResult(
            exit_code=os.waitstatus_to_exitcode(answer.status) if started else 127,
            started=started,
            timed_out=timed_out,
            problem="" if started else _problem(self._command, answer),
            stdout=self._stdout.output(),
            stderr=self._stderr.output(),
            start_ns=start_ns,
            wall_ns=wall_ns,
            cpu_ns=answer.cpu_ns,
            stalled_ns=self.stalled[0],
            stall_source=self.stalled[1],
        )

    def lost(self, problem: str, timed_out: bool, start_ns: int, wall_ns: int) -> CommandResult:
        """How the command ended when the whole sandbox did."""
        killed = init_protocol.Answer(init_protocol.STAGE_NONE, 0, signal.SIGKILL, 0, 0, 0)
        return replace(self.finished(killed, timed_out, start_ns, wall_ns), problem=problem)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close_all()

    def _write(self) -> None:
        try:
            self._rest = self._rest[os.write(self._feed, self._rest[: 1 << 16]) :]
        except BlockingIOError:
            return
        except BrokenPipeError:
            self._rest = self._rest[:0]
        if not self._rest:
            self._poll.unregister(self._feed)
            self._close(self._feed)

    def _read(self, handle: int, reads: int) -> None:
        stream = self._streams[handle]
        while reads and stream.take():
            reads -= 1
        if not stream.open:
            self._poll.unregister(handle)

    def _own(self, handle: int) -> int:
        self._open.add(handle)
        return handle

    def _pair(self, ends: tuple[int, int]) -> tuple[int, int]:
        self._open.update(ends)
        return ends

    def _close(self, handle: int) -> None:
        if handle in self._open:
            self._open.remove(handle)
            os.close(handle)

    def _close_all(self) -> None:
        for handle in tuple(self._open):
            self._close(handle)


def _problem(command: Command, answer: init_protocol.Answer) -> str:
    reason = os.strerror(answer.error)
    if answer.stage == init_protocol.STAGE_DIRECTORY:
        return f"cannot enter {command.directory}: {reason}"
    if answer.stage == init_protocol.STAGE_FORK and answer.error == errno.EAGAIN:
        return "the sandbox has no room for another process"
    return f"cannot run {command.arguments[0]}: {reason}"
