"""The messages between the harness and ``proctor-init``: the launch plan, the requests to pid 1, its answers.

The other side of it is ``native/launch.c``, ``native/serve.c`` and ``native/command.c``.
"""

from __future__ import annotations

import array
import os
import socket
import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from proctor.base.errors import UsageFault
from proctor.execute.sandbox.guard_observations import GuardPlan
from proctor.execute.sandbox.interface import Command, Overlay, Tree

PROGRAM = Path(__file__).resolve().parent.parent / "bin" / "proctor-init"

RUN, END, STOP, CONTINUE = 1, 2, 3, 4

STAGE_NONE, STAGE_DIRECTORY, STAGE_EXEC, STAGE_FORK, STAGE_REQUEST = range(5)

_REQUEST = struct.Struct("I")
_ANSWER = struct.Struct("iiiiqqq")
ANSWER_BYTES = _ANSWER.size


@dataclass(frozen=True)
class Answer:
    """What pid 1 says about a request; ``stage`` is where a command failed to start, ``status`` as from ``wait``."""

    stage: int
    error: int
    status: int
    wall_ns: int
    cpu_ns: int
    resident_bytes: int


def read_answer(data: bytes) -> Answer:
    """The answer in ``data``."""
    stage, error, status, _, wall_ns, cpu_ns, resident_bytes = _ANSWER.unpack(data)
    return Answer(stage, error, status, wall_ns, cpu_ns, resident_bytes)


def pack_words(name: str, content: Iterable[str | bytes | os.PathLike[str]]) -> int:
    """A descriptor that holds ``content``, each word ended by a NUL, positioned at its start."""
    encoded = [os.fsencode(word) for word in content]
    if any(b"\0" in word for word in encoded):
        raise UsageFault("a path, argument or variable holds a NUL byte")
    return data(name, b"".join(word + b"\0" for word in encoded))


def workspace_words(workspace: Overlay | Tree) -> Iterator[str | bytes | os.PathLike[str]]:
    """The part of a plan that describes the workspace."""
    if isinstance(workspace, Tree):
        yield from ("tree", workspace.path)
        return
    for lower in workspace.lowers:
        yield from ("lower", lower)
    yield from ("upper", workspace.upper, "work", workspace.work)
    for removal in workspace.removals:
        yield from ("removal", removal)


def data(name: str, content: bytes) -> int:
    """A descriptor that holds ``content``, positioned at its start."""
    handle = os.memfd_create(name, os.MFD_CLOEXEC)
    try:
        rest, position = memoryview(content), 0
        while rest:
            size = os.pwrite(handle, rest, position)
            rest, position = rest[size:], position + size
    except BaseException:
        os.close(handle)
        raise
    return handle


def body(command: Command) -> int:
    """The body of a request to run ``command``."""
    if not command.arguments:
        raise UsageFault("a command needs at least a program")
    variables = (f"{name}={value}" for name, value in command.environment.items())
    return pack_words("command", (command.directory, str(len(command.arguments)), *command.arguments, *variables))


def guard_words(plan: GuardPlan | None) -> Iterator[str]:
    """What the filter stops for the guard: changes (1) or every open as well (2)."""
    if plan is not None:
        yield f"guard={2 if plan.asks_about_reads else 1}"


def send(control: socket.socket, operation: int, handles: Sequence[int]) -> None:
    """Send one request with its descriptors; ``OSError`` if pid 1 has ended."""
    rights = array.array("i", handles)
    control.sendmsg([_REQUEST.pack(operation)], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)], socket.MSG_NOSIGNAL)


def receive_hello(control: socket.socket) -> tuple[int, int, int]:
    """The report of pid 1 after its start: an error number (0: none), its pid on the host, and the listener of its
    filter.

    The listener is -1 if the filter has none. ``EOFError`` if pid 1 has ended.
    """
    credentials = struct.Struct("iII")
    space = socket.CMSG_SPACE(credentials.size) + socket.CMSG_SPACE(4)
    message, extra, _, _ = control.recvmsg(4, space, socket.MSG_CMSG_CLOEXEC)
    pid, listener = 0, -1
    for level, kind, content in extra:
        if level == socket.SOL_SOCKET and kind == socket.SCM_CREDENTIALS:
            pid = credentials.unpack(content)[0]
        elif level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            (listener,) = struct.unpack("i", content)
    if len(message) != 4 or not pid:
        if listener >= 0:
            os.close(listener)
        raise EOFError
    return struct.unpack("i", message)[0], pid, listener
