"""The guard.

What the processes of a sandbox attempt, observed from outside; the observations, and the decoding of the records of
``proctor-init guard`` (``native/guard_records.c``). Pure.
"""

from __future__ import annotations

import errno
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from proctor.base.reversible_escapes import name_text

WRITABLE = ("/workspace", "/tmp", "/home/agent", "/dev/shm")
"""Where the processes of a sandbox usually may write."""


@dataclass(frozen=True)
class Observation:
    """One observation; ``kind`` says which fields count.

    ``exec``: a program is about to start; ``origin`` is the nearest ancestor that has itself started one, 0 where its
    ancestors had ended before the guard saw it; with ``cut`` it has more arguments than are reported, or longer ones,
    and the last ends in three dots. ``exit``: a process that had started one has ended; ``exit_code`` is negative for a
    signal and ``None`` if the kernel does not report it. ``attempt``: something that is reported whether it succeeded
    or not; ``errno`` names the answer, empty when the kernel gave its own. ``read``: a file was opened for reading.
    ``signal``: a fatal signal was sent, or was arranged to be sent, to the process ``target``, or to any process if
    that is 0. ``script``: the program that starts next runs a script below a writable place, or is given it as an
    argument; ``text`` is its start without NULs, ``size`` its bytes in all, and ``detail`` is ``whole``, ``cut`` or
    ``old`` (cut, and older than the sandbox), or ``unread``. ``held``: a write waits for ``release_writes``. ``more``:
    ``count`` attempts with ``code`` that were too many to be reported one by one. ``lost``: ``count`` records that the
    harness did not read in time. Equal attempts are counted, not repeated.
    """

    kind: str
    time_ns: int
    pid: int = 0
    count: int = 1
    parent: int = 0
    origin: int = 0
    path: str = ""
    argv: tuple[str, ...] = ()
    cwd: str = ""
    code: str = ""
    syscall: str = ""
    detail: str = ""
    address: str = ""
    allowed: bool = True
    errno: str = ""
    exit_code: int | None = None
    wall_ns: int = 0
    target: int = 0
    signal: int = 0
    text: bytes = b""
    size: int = 0
    cut: bool = False

    def payload(self) -> dict[str, Any]:
        """The payload of the event ``guard.KIND``."""
        names = _PAYLOADS[self.kind]
        found = {name: getattr(self, name) for name in names}
        if "argv" in found:
            found["argv"] = list(self.argv)
        if self.kind == "exec":
            found["at"] = str(self.time_ns)
        if self.kind == "exit":
            found["wall_seconds"] = f"{self.wall_ns // 10**9}.{self.wall_ns % 10**9:09d}"
        return found


_PAYLOADS = {
    "exec": ("pid", "parent", "origin", "path", "argv", "cwd", "allowed"),
    "exit": ("pid", "exit_code"),
    "attempt": (*("code", "syscall", "pid", "argv", "detail", "path", "address", "allowed", "errno", "count"),),
    "signal": ("pid", "syscall", "target", "signal", "count"),
    "read": ("pid", "path", "count"),
    "held": ("pid", "syscall", "path", "count"),
    "more": ("code", "count"),
    "lost": ("count",),
}


def _ignore(observation: Observation) -> None:
    pass


@dataclass(frozen=True)
class GuardPlan:
    """What a guard watches for.

    Writes anywhere but below ``writable`` (and the plan's own writable mounts) are reported. With ``reads`` every file
    of the workspace that is opened is reported, and with ``everywhere`` every file and directory, system files
    included; both also report looks into other processes by ``/proc``. Each opening of one of the files ``secrets`` is
    an attempt ``read-canary``, also by another name that the file got inside. With any of these three the guard is
    asked about every open, not only those for writing, which about doubles its cost (``python -m bench guard`` measures
    it). With ``hold_writes`` the first change of the workspace waits until it is released. ``programs`` is how many
    programs may start before ``allow_programs``: the next one is reported and waits. ``notify`` is called for each
    observation, in order, on a thread of the guard's own; what it raises ends the guard.
    """

    writable: tuple[str, ...] = WRITABLE
    reads: bool = False
    everywhere: bool = False
    secrets: tuple[str, ...] = ()
    hold_writes: bool = False
    programs: int | None = None
    notify: Callable[[Observation], None] = _ignore

    @property
    def asks_about_reads(self) -> bool:
        return self.reads or self.everywhere or bool(self.secrets)


class Guard(Protocol):
    """A live guard, as the attribute ``guard`` of a live sandbox."""

    @property
    def alive(self) -> bool: ...

    def hold_writes(self) -> None:
        """From now on, changes of the workspace wait."""
        ...

    def release_writes(self) -> None:
        """Let every waiting change continue, and hold no further ones."""
        ...

    def allow_writes(self, places: tuple[str, ...]) -> None:
        """From now on, writes below ``places`` are not reported."""
        ...

    def allow_programs(self, total: int | None) -> None:
        """Let programs start up to the ``total``-th that was reported since the sandbox came up; ``None``: no limit."""
        ...

    def settle(self) -> None:
        """Return when everything that happened before this call has been reported."""
        ...


def errno_name(number: int) -> str:
    """``EPERM`` for 1; empty for 0."""
    return errno.errorcode.get(number, str(number)) if number else ""


_SIZE = struct.Struct("I")


class Records:
    """Cuts a stream of bytes into records."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> Iterator[tuple[bytes, ...]]:
        """The fields of each record that ``data`` completes."""
        self._rest += data
        at = 0
        while len(self._rest) - at >= _SIZE.size:
            (size,) = _SIZE.unpack_from(self._rest, at)
            if len(self._rest) - at - _SIZE.size < size:
                break
            at += _SIZE.size
            yield tuple(self._rest[at : at + size - 1].split(b"\0"))
            at += size
        self._rest = self._rest[at:]


def observation(record: tuple[bytes, ...]) -> Observation:
    """The observation in a record."""
    head, kind, *fields = record
    time_ns, count = (int(number) for number in head.split())
    return _READERS[kind](time_ns, count, fields)


def _text(arguments: list[bytes]) -> tuple[str, ...]:
    """Arguments as text; bytes that are not text become ``\\xNN``."""
    return tuple(word.decode("utf-8", "backslashreplace") for word in arguments)


def _exec(time_ns: int, count: int, fields: list[bytes]) -> Observation:
    pid, parent, origin, path, cwd, allowed, cut, *argv = fields
    return Observation(
        "exec",
        time_ns,
        pid=int(pid),
        parent=int(parent),
        origin=int(origin),
        path=name_text(path),
        cwd=name_text(cwd),
        allowed=allowed == b"1",
        cut=cut == b"1",
        argv=_text(argv),
    )


def _exit(time_ns: int, count: int, fields: list[bytes]) -> Observation:
    pid, code, wall_ns = fields
    return Observation("exit", time_ns, pid=int(pid), exit_code=int(code) if code else None, wall_ns=int(wall_ns))


def _attempt(time_ns: int, count: int, fields: list[bytes]) -> Observation:
    code, syscall, pid, detail, path, address, allowed, error, *argv = fields
    return Observation(
        "attempt",
        time_ns,
        pid=int(pid),
        count=count,
        code=code.decode(),
        syscall=syscall.decode(),
        detail=name_text(detail),
        path=name_text(path),
        address=name_text(address),
        allowed=allowed == b"1",
        errno=errno_name(int(error)),
        argv=_text(argv),
    )


def _signal(time_ns: int, count: int, fields: list[bytes]) -> Observation:
    pid, syscall, target, number = fields
    return Observation(
        "signal",
        time_ns,
        pid=int(pid),
        count=count,
        syscall=syscall.decode(),
        target=int(target),
        signal=int(number),
    )


def _read(time_ns: int, count: int, fields: list[bytes]) -> Observation:
    pid, path = fields
    return Observation("read", time_ns, pid=int(pid), count=count, path=name_text(path))


def _script(time_ns: int, count: int, fields: list[bytes]) -> Observation:
    pid, path, state, size, script = fields
    return Observation(
        "script", time_ns, pid=int(pid), path=name_text(path), detail=state.decode(), size=int(size), text=script
    )


def _held(time_ns: int, count: int, fields: list[bytes]) -> Observation:
    pid, syscall, path = fields
    return Observation(
        "held", time_ns, pid=int(pid), count=count, syscall=syscall.decode(), path=name_text(path), allowed=False
    )


def _more(time_ns: int, count: int, fields: list[bytes]) -> Observation:
    return Observation("more", time_ns, count=count, code=fields[0].decode())


def _lost(time_ns: int, count: int, fields: list[bytes]) -> Observation:
    return Observation("lost", time_ns, count=count)


_READERS = {
    b"exec": _exec,
    b"exit": _exit,
    b"attempt": _attempt,
    b"signal": _signal,
    b"read": _read,
    b"script": _script,
    b"held": _held,
    b"more": _more,
    b"lost": _lost,
}
