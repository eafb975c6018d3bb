"""The interface of all sandboxes, whatever isolates them.

A sandbox is opened from a plan and closed once. Commands run in it one after the other or at the same time, each with
bounded output. The output of a sandbox is bytes and numbers; it never selects code, paths or exceptions on the host.

The view inside: ``/workspace`` (the tree under work), ``/setup`` (the results of setup outside the tree), ``/inputs``
and other declared mounts read-only, ``/tmp`` and the home ``/home/agent`` as sized memory file systems, ``/usr`` and
its kin from the host or an image read-only, nothing else. No network but an unconnected loopback, no host processes, no
privileges.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from proctor.base.errors import InfrastructureFault, UsageFault
from proctor.execute.sandbox.guard_observations import Guard, GuardPlan

WORKSPACE = "/workspace"
SETUP = "/setup"
INPUTS = "/inputs"
HOME = "/home/agent"
SYSTEM = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
"""Directories of programs and libraries in addition to ``/usr``; on most systems they are links into it."""

UNPRIVILEGED = 64113
"""The uid and gid that sandboxed processes have on the host when the harness is root."""


def owner() -> tuple[int, int]:
    """The uid and gid that own what sandboxes may write to."""
    if os.geteuid() == 0:
        return UNPRIVILEGED, UNPRIVILEGED
    return os.geteuid(), os.getegid()


@dataclass(frozen=True)
class Limits:
    """The most that one sandbox may use."""

    memory_bytes: int = 4 << 30
    processes: int = 512
    cpu_cores: int = 2
    file_bytes: int = 2 << 30
    tmp_bytes: int = 1 << 30
    open_files: int = 4096


@dataclass(frozen=True)
class Overlay:
    """A workspace of layers: ``lowers`` from top to bottom stay untouched, every change lands in ``upper``.

    Each layer holds the directories ``workspace`` and ``setup``. ``removals`` are paths (bytes, relative to the layer,
    such as ``b"workspace/old.py"``) that are removed after mounting and before anything runs.
    """

    lowers: tuple[Path, ...]
    upper: Path
    work: Path
    removals: tuple[bytes, ...] = ()


@dataclass(frozen=True)
class Tree:
    """A workspace that is a plain directory with ``workspace`` and ``setup`` in it; the fallback without overlays."""

    path: Path


@dataclass(frozen=True)
class Sealed:
    """A directory whose content was verified, and the state that it had then; see ``inventory.whole_state``."""

    path: Path
    state: str


@dataclass(frozen=True)
class Mount:
    """A host file or directory shown inside at ``target``; ``sealed`` where its content was verified for this run."""

    source: Path
    target: str
    writable: bool = False
    sealed: Sealed | None = None


def check_target(target: str) -> None:
    """Targets are absolute and plain, and do not replace what holds the sandbox together."""
    parts = target.split("/")
    if not target.startswith("/") or "" in parts[1:] or "." in parts or ".." in parts:
        raise UsageFault(f"not a place to mount at: {target!r}", hint="use an absolute path without . and ..")
    system = ("/proc", "/dev", "/usr", "/run", *SYSTEM)
    if f"/{parts[1]}" in system or target in ("/etc", "/tmp", "/home", HOME, WORKSPACE, SETUP):
        raise UsageFault(f"{target} belongs to the sandbox itself", hint="choose another place")


@dataclass(frozen=True)
class SandboxPlan:
    """Everything that a sandbox is made from."""

    workspace: Overlay | Tree
    limits: Limits
    mounts: tuple[Mount, ...] = ()
    workspace_writable: bool = True
    setup_writable: bool = False
    hostname: str = "proctor"
    masked: tuple[Path, ...] = ()
    """Directories of the host that must be hidden, if they are inside a visible part of the host's system."""
    files: Mapping[str, bytes] = field(default_factory=dict)
    """Files that are made inside for the sandboxed user, such as canaries; no process of the host comes across them."""
    measured: bool = False
    """Whether commands in it may be stretched, which needs a close measurement of time: see ``Command.stretch``."""
    guard: GuardPlan | None = None
    """The guard that watches attempts inside; without one the filter refuses the same and nothing is reported."""


MOST_STRETCH = 10
"""How many timeouts a command of the judge or of setup may take on a loaded machine (see ``Command.stretch``)."""


@dataclass(frozen=True)
class Command:
    """One command: a program looked up in the sandbox's own PATH, its whole environment, its bounds."""

    arguments: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    directory: str = WORKSPACE
    stdin: bytes = b""
    timeout_seconds: float = 600
    output_bytes: int = 1 << 20
    stretch: int = 1
    """How many timeouts the command may take, because time in which the machine kept it from running does not count."""
    wrappers: tuple[tuple[str, ...], ...] = ()
    """Command lines that the harness wrote around the agent's own: rules on text do not apply to them."""


@dataclass(frozen=True)
class Output:
    """One stream of a command: the first bytes, how many there were, and the digest (bare hex) over all."""

    prefix: bytes
    total_bytes: int
    sha256: str


@dataclass(frozen=True)
class CommandResult:
    """How a command ended.

    ``exit_code`` is negative for a signal. ``started`` is false when the program could not be executed at all, and
    ``problem`` then says why. ``timed_out`` means that the sandbox ended it, with everything it had started.
    ``stalled_ns`` is the part of ``wall_ns`` in which the machine kept it from running, measured as ``stall_source``
    says (see ``stall``), for commands that may be stretched.
    """

    exit_code: int
    started: bool
    timed_out: bool
    problem: str
    stdout: Output
    stderr: Output
    start_ns: int
    wall_ns: int
    cpu_ns: int
    stalled_ns: int = 0
    stall_source: str = ""

    def starved(self, timeout_seconds: float) -> bool:
        """Whether the command was ended before it could run for its timeout, because the machine was too loaded."""
        ran_ns = self.wall_ns - self.stalled_ns
        return self.timed_out and self.stalled_ns > 0 and ran_ns < timeout_seconds * 1_000_000_000


class SandboxLost(InfrastructureFault):
    """The sandbox has ended although it was not closed."""


class CommandLost(SandboxLost):
    """The sandbox ended while a command ran, or before it began; ``finished`` is what is known about the command.

    Its output up to then is kept.
    """

    def __init__(self, finished: CommandResult) -> None:
        super().__init__(finished.problem)
        self.finished = finished


@dataclass(frozen=True)
class Usage:
    """The use of a sandbox so far; a field is ``None`` if this machine cannot measure it.

    ``memory_bytes`` is what it holds now, without the cached files that the kernel would drop first. ``oom_kills``
    counts the processes that the kernel killed for lack of memory, ``limit_hits`` how often the sandbox reached its own
    limit: if it never did, the machine had no memory left.
    """

    cpu_ns: int | None
    memory_peak_bytes: int | None
    oom_kills: int | None
    processes: int | None
    memory_bytes: int | None = None
    limit_hits: int | None = None

    @property
    def own_oom_kills(self) -> int:
        """The kills that the sandbox's own limit caused; all kills if this machine cannot tell."""
        return 0 if self.limit_hits == 0 else self.oom_kills or 0

    @property
    def machine_oom_kills(self) -> int:
        """The kills that the machine's lack of memory caused."""
        return (self.oom_kills or 0) - self.own_oom_kills


class Sandbox(Protocol):
    """A live sandbox. ``CommandSandbox`` has everything of it that a backend without a guard need not write."""

    @property
    def guard(self) -> Guard | None:
        """The guard that the plan asked for."""
        ...

    @property
    def init_pid(self) -> int:
        """The pid on the host of pid 1 inside, whose namespaces are those of the sandbox; 0 if it is not watched."""
        ...

    @property
    def init_start(self) -> str:
        """When that process started, as ``sandbox_records.start_time`` gives it; empty if it is not watched."""
        ...

    @property
    def alive(self) -> bool:
        """Whether processes may still run inside."""
        ...

    @property
    def freezes(self) -> bool:
        """Whether a freeze is complete when it returns; otherwise processes are only asked to stop."""
        ...

    def run(self, command: Command, ends: tuple[int, int] | None = None) -> CommandResult:
        """Run a command to its end or its timeout. Processes that it leaves behind continue: see ``end_all``.

        With ``ends``, these descriptors are its standard input and output, instead of ``stdin`` and a capture.
        """
        ...

    def end_all(self) -> None:
        """Kill every process inside; the sandbox itself stays usable."""
        ...

    def freeze(self) -> None:
        """Stop every process inside until ``thaw``."""
        ...

    def thaw(self) -> None: ...

    def usage(self) -> Usage: ...

    def set_workspace_writable(self, writable: bool) -> bool:
        """Make the workspace writable or read-only; false when a file in it is open for writing."""
        ...

    def active_ns(self) -> int:
        """A steady clock that stops while the sandbox is frozen, or while its time is not the agent's."""
        ...

    def stop_clock(self, stopped: bool) -> None:
        """Let ``active_ns`` stop or continue while the processes of the sandbox run."""
        ...

    def paused_outside(self) -> bool:
        """Whether a process outside Proctor keeps the sandbox frozen at this moment; asked many times a second."""
        ...

    def close(self) -> None:
        """End everything and remove what the sandbox had set up; safe to call twice."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class SandboxBackend(Protocol):
    """A way to isolate, such as bubblewrap."""

    name: str

    @property
    def watched(self) -> bool:
        """Whether its sandboxes have the guard that a plan asks for, and a pid 1 whose namespaces can be entered.

        Without, nothing that an agent tries is seen: contracts that need it are refused, and reports say so.
        """
        ...

    def identity(self) -> Mapping[str, str]:
        """What identifies the root that sandboxes see: kind, operating system, digest of packages, tool versions."""
        ...

    def isolation(self) -> Mapping[str, str]:
        """How strictly sandboxes are bounded here: what enforces the limits, what the workspace is, which engine."""
        ...

    def overlays(self) -> bool:
        """Whether workspaces can be overlays here, or have to be plain trees."""
        ...

    def missing(self, require: tuple[str, ...]) -> tuple[str, ...]:
        """One line for each requirement of ``require`` (``cgroup``, ``overlay``) that this machine does not meet."""
        ...

    def open(self, plan: SandboxPlan) -> Sandbox:
        """A new sandbox, or ``MissingIsolation`` when this machine cannot make one."""
        ...
