"""The guard: what a sandbox's processes try is seen from outside, reported, and if necessary refused or held.

It observes; mounts, namespaces and the filter enforce. What it reads through a pointer of a process (a path, an
argument, an address) can change before the kernel uses it, so it is what the process *claimed*. A program is compared
with the claim once it has begun; one that differs is reported too, with the attempt ``program-changed``. Numbers of
processes are those of the sandbox's own namespace; 1 is the sandbox itself. When the guard dies, the kernel refuses
everything that it would have been asked about, and the sandbox is ended.

What the guard cannot read or follow is refused and recorded as ``syscall-unreadable``: the kernel might be able to.

Not seen: reads of files unless the plan asks for them, names that are asked for over a connected socket one by one,
programs that a shell looks for and does not find. A signal whose handler does not restart calls,
and which arrives in the moment before the guard looks, makes a watched call fail with ``EINTR``.
"""

from __future__ import annotations

import errno
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

WRITABLE = ("/workspace", "/tmp", "/home/agent", "/dev/shm")
"""Where the processes of a sandbox usually may write."""


@dataclass(frozen=True)
class Observation:
    """One thing that was seen; ``kind`` says which fields count.

    ``exec``: a program is about to start; ``origin`` is the nearest ancestor that has itself started one, 0 where its
    ancestors had ended before the guard saw it; with ``cut`` it has more arguments than are reported, or longer ones,
    and the last ends in three dots. ``exit``: a process that had started one has ended; ``exit_code`` is negative for a
    signal and ``None`` if the kernel does not report it. ``attempt``: something that is reported whatever came of it;
    ``errno`` names the answer, empty when the kernel gave its own. ``read``: a file was opened for reading. ``signal``:
    a fatal signal was sent, or was arranged to be sent, to the process ``target``, or to any process if that is 0.
    ``script``: the program that starts next runs a script below a writable place, or is given it as an argument;
    ``text`` is its start without NULs, ``size`` its bytes in all, and ``detail`` is ``whole``, ``cut`` or ``old`` (cut,
    and older than the sandbox), or ``unread``. ``held``: a write waits for ``release_writes``. ``more``: ``count``
    attempts with ``code`` that were too many to be reported one by one. ``lost``: ``count`` records that the harness
    did not take in time. Equal attempts are counted, not repeated.
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
    included. The guard is then asked about every open, not only those for writing; that also reports looks into other
    processes by ``/proc`` and about doubles its cost (``python -m bench guard`` measures both). With ``hold_writes``
    the first change of the workspace waits until it is released. ``programs`` is how many programs may start before
    ``allow_programs``: the next one is reported and waits. ``tell`` is called for each observation, in order, on a
    thread of the guard's own; what it raises ends the guard.
    """

    writable: tuple[str, ...] = WRITABLE
    reads: bool = False
    everywhere: bool = False
    hold_writes: bool = False
    programs: int | None = None
    tell: Callable[[Observation], None] = _ignore

    @property
    def asks_about_reads(self) -> bool:
        return self.reads or self.everywhere


class Guard(Protocol):
    """A live guard, as the attribute ``guard`` of a live sandbox."""

    @property
    def alive(self) -> bool: ...

    def hold_writes(self) -> None:
        """From now on, changes of the workspace wait."""
        ...

    def release_writes(self) -> None:
        """Let every change go on that waits, and hold none any more."""
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
