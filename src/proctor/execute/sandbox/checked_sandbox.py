"""The backend of an installed package, whose errors are faults of the package and never those of what runs inside.

What a backend gets wrong would otherwise look like a command that failed. So the first thing that runs in each of its
sandboxes is a command of Proctor: if that does not see the workspace and every mount, the sandbox is not used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Self, TypeVar

from proctor.base.entry_points import PlugIns
from proctor.base.errors import ProctorError
from proctor.execute.sandbox.guard_observations import Guard
from proctor.execute.sandbox.interface import (
    SETUP,
    WORKSPACE,
    Command,
    CommandResult,
    Sandbox,
    SandboxBackend,
    SandboxPlan,
    Usage,
)

PARTS = ("run", "end_all", "freeze", "thaw", "usage", "active_ns", "stop_clock", "paused_outside", "close")
FIRST_SECONDS = 60
VARIABLES = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
READY = b"ready"
FIRST = """
for path in "$@"; do [ -e "$path" ] || { echo "it does not show $path" >&2; exit 1; }; done
[ -z "$WRITABLE" ] || [ -w "$PWD" ] || { echo "$PWD is not writable" >&2; exit 1; }
printf ready
"""
LINE_CHARACTERS = 300

Value = TypeVar("Value")


class CheckedBackend:
    """Implements ``SandboxBackend``."""

    def __init__(self, backend: SandboxBackend, table: PlugIns[Any]) -> None:
        self.name = backend.name
        self.watched = backend.watched
        self._backend = backend
        self._table = table

    def identity(self) -> Mapping[str, str]:
        with self._table.blamed(self.name, "identity() raises "):
            return self._backend.identity()

    def isolation(self) -> Mapping[str, str]:
        with self._table.blamed(self.name, "isolation() raises "):
            return self._backend.isolation()

    def overlays(self) -> bool:
        with self._table.blamed(self.name, "overlays() raises "):
            return self._backend.overlays()

    def missing(self, require: tuple[str, ...]) -> tuple[str, ...]:
        with self._table.blamed(self.name, "missing() raises "):
            found = self._backend.missing(require)
        if not isinstance(found, tuple) or not all(isinstance(one, str) for one in found):
            raise self._table.at_fault(self.name, "missing() does not return a tuple of texts")
        return found

    def open(self, plan: SandboxPlan) -> Sandbox:
        """A sandbox in which a first command has run."""
        with self._table.at_work(self.name, ProctorError):
            sandbox = self._backend.open(plan)
        lacking = next((part for part in PARTS if not callable(getattr(sandbox, part, None))), "")
        if lacking:
            problem = f"open() returns a {type(sandbox).__name__}, which has no method {lacking}()"
            raise self._table.failed(self.name, problem)
        checked = CheckedSandbox(sandbox, self.name, self._table)
        # A guard would record the command as one of the agent.
        problem = _first_problem(checked, plan) if plan.guard is None else ""
        if problem:
            checked.close()
            raise self._table.failed(self.name, problem)
        return checked


class CheckedSandbox:
    """Implements ``Sandbox``."""

    def __init__(self, sandbox: Sandbox, name: str, table: PlugIns[Any]) -> None:
        self._sandbox = sandbox
        self._name = name
        self._table = table

    @property
    def guard(self) -> Guard | None:
        return self._checked(lambda: self._sandbox.guard)

    @property
    def init_pid(self) -> int:
        return self._checked(lambda: self._sandbox.init_pid)

    @property
    def init_start(self) -> str:
        return self._checked(lambda: self._sandbox.init_start)

    @property
    def alive(self) -> bool:
        return self._checked(lambda: self._sandbox.alive)

    @property
    def freezes(self) -> bool:
        return self._checked(lambda: self._sandbox.freezes)

    def run(self, command: Command, ends: tuple[int, int] | None = None) -> CommandResult:
        return self._typed(CommandResult, "run", self._checked(lambda: self._sandbox.run(command, ends)))

    def end_all(self) -> None:
        self._checked(self._sandbox.end_all)

    def freeze(self) -> None:
        self._checked(self._sandbox.freeze)

    def thaw(self) -> None:
        self._checked(self._sandbox.thaw)

    def usage(self) -> Usage:
        return self._typed(Usage, "usage", self._checked(self._sandbox.usage))

    def set_workspace_writable(self, writable: bool) -> bool:
        return self._checked(lambda: self._sandbox.set_workspace_writable(writable))

    def active_ns(self) -> int:
        return self._typed(int, "active_ns", self._checked(self._sandbox.active_ns))

    def stop_clock(self, stopped: bool) -> None:
        self._checked(lambda: self._sandbox.stop_clock(stopped))

    def paused_outside(self) -> bool:
        return self._checked(self._sandbox.paused_outside)

    def close(self) -> None:
        self._checked(self._sandbox.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _checked(self, call: Callable[[], Value]) -> Value:
        with self._table.at_work(self._name, ProctorError):
            return call()

    def _typed(self, kind: type[Value], method: str, value: Value) -> Value:
        if not isinstance(value, kind):
            problem = f"{method}() of a sandbox returns a {type(value).__name__}, not {kind.__name__}"
            raise self._table.failed(self._name, problem)
        return value


def _first_problem(sandbox: Sandbox, plan: SandboxPlan) -> str:
    """What keeps a command in a new ``sandbox`` from finding what ``plan`` asks for."""
    shown = (WORKSPACE, SETUP, *(mount.target for mount in plan.mounts))
    variables = {**VARIABLES, "WRITABLE": "yes" if plan.workspace_writable else ""}
    command = Command(("/bin/sh", "-c", FIRST, "sh", *shown), variables, timeout_seconds=FIRST_SECONDS)
    done = sandbox.run(command)
    if done.stdout.prefix == READY and done.exit_code == 0:
        return ""
    if not done.started:
        return f"no command can be started in it: {done.problem}"
    if done.timed_out:
        return f"a first command in it did not end within {FIRST_SECONDS} seconds"
    said = done.stderr.prefix.decode("utf-8", "replace").strip().splitlines()
    last = said[-1][:LINE_CHARACTERS] if said else "without a message"
    return f"a first command in it ended with exit code {done.exit_code}: {last}"
