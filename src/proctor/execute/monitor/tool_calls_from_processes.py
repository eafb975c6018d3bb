"""Tool calls of an arbitrary agent, folded from what was seen to start and to end.

What one tool call is
    An agent is a tree of processes. Its own process (the command that the harness started, depth 0) may be a shell, an
    interpreter, anything. A program ``call_depth`` steps below it is one tool call; with the default 1
    that is every program that the agent's own process starts. Where that process only starts another (``timeout``,
    ``uv run``; by the file, not by its name), the first program that it starts is the agent's own. What a call starts
    in turn (helpers, compilers, the stages of a pipeline) belongs to the call. A process that replaces its program
    stays the same call. For agents whose commands the harness itself runs one by one, ``call_depth`` is 0: each such
    command is a call.
    A process that was forked without a program (a sub-shell) belongs where its ``origin`` does, the nearest ancestor
    that has started one, also after that one's end. Without an origin (its ancestors had ended before it was seen)
    each program is a call of its own: it may come from the agent. Traces without origins have the older rule: such a
    process belongs to the youngest call that is still running. Without a guard, each ``tool.invocation`` is a call.

The names of the programs in a call show what it does. :class:`Work` is the topmost program of a kind: the
``pip`` that another ``pip`` starts is not a second installation.

Programs inside a call are reported as :class:`Start`, grouped by the process that starts them, so that a loop looks
the same at every depth. The programs of a build, a test run, an installation or another such tool are left out: their
repetitions are the tool's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from proctor.contract.policy import matches_command
from proctor.execute.monitor.payload_values import integer, nanoseconds, text, text_list
from proctor.execute.monitor.program_kinds import (
    BUILD,
    INSTALL,
    RESOLVE,
    TEST,
    commands_of,
    forms_of,
    is_tool,
    kinds_of,
    unwrapped,
)
from proctor.record.trace.event import Event

MOST_LIVE = 65_536
"""How many live processes are remembered; the oldest are forgotten first."""

MOST_GONE = 8_192
"""How many ended processes are remembered."""

PASSED, FAILED, UNKNOWN = "passed", "failed", "unknown"

_TOOLS = frozenset({INSTALL, RESOLVE, TEST, BUILD})


@dataclass(frozen=True)
class Call:
    """One tool call: ``key`` is the same for calls with the same arguments in the same directory."""

    number: int
    pid: int
    argv: tuple[str, ...]
    directory: str
    key: str
    started: int
    started_ns: int
    ended: int | None = None
    wall_ns: int | None = None
    kinds: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Work:
    """One program that installs, resolves, tests or builds, and how it ended."""

    call: int
    pid: int
    argv: tuple[str, ...]
    kinds: frozenset[str]
    key: str
    started: int
    ended: int | None = None
    outcome: str = UNKNOWN


@dataclass(frozen=True)
class Start:
    """A program that a process inside a tool call has started: ``starter`` numbers that process, ``key`` is as in
    :class:`Call`."""

    starter: int
    key: str


class _Process:
    """A live process: its call, and what was already reported about it."""

    __slots__ = ("above", "call", "depth", "launches", "number", "starter", "tool", "work")

    def __init__(self, number: int, depth: int, call: _Open | None, above: frozenset[str]) -> None:
        self.number = number
        self.depth = depth
        self.call = call
        self.above = above
        self.launches = False
        self.starter: int | None = None
        """The number of the process that started it; ``None`` where that is not known."""
        self.tool = False
        """Whether it is a tool, or belongs to one, that repeats programs by itself."""
        self.work: Work | None = None


class _Open:
    """A call that is still running."""

    __slots__ = ("argv", "directory", "kinds", "number", "pid", "started", "started_ns")

    def __init__(self, number: int, pid: int, argv: tuple[str, ...], directory: str, seq: int, now_ns: int) -> None:
        self.number = number
        self.pid = pid
        self.argv = argv
        self.directory = directory
        self.started = seq
        self.started_ns = now_ns
        self.kinds: set[str] = set()

    def call(self, ended: int | None = None, wall_ns: int | None = None) -> Call:
        key = call_key(self.argv, self.directory)
        return Call(
            number=self.number,
            pid=self.pid,
            argv=self.argv,
            directory=self.directory,
            key=key,
            started=self.started,
            started_ns=self.started_ns,
            ended=ended,
            wall_ns=wall_ns,
            kinds=frozenset(self.kinds),
        )


class Calls:
    """The fold. After each event, ``started``, ``ended``, ``below``, ``began`` and ``finished`` say what it did."""

    def __init__(self, call_depth: int = 1, test_commands: tuple[str, ...] = ()) -> None:
        self.count = 0
        self.resolutions = 0
        self.started: tuple[Call, ...] = ()
        self.ended: tuple[Call, ...] = ()
        self.below: tuple[Start, ...] = ()
        self.began: tuple[Work, ...] = ()
        self.finished: tuple[Work, ...] = ()
        self._depth = call_depth
        self._tests = test_commands
        self._live: dict[int, _Process] = {}
        self._gone: dict[int, _Process] = {}
        """Processes that have ended; forks of theirs may live on."""
        self._open: dict[int, _Open] = {}
        self._placed = 0
        self._guessed: dict[int, int] = {}
        self._late: list[Work] = []
        self._guarded = False

    @property
    def open(self) -> tuple[Call, ...]:
        """The calls that are running, oldest first."""
        return tuple(call.call() for call in self._open.values())

    @property
    def live(self) -> int:
        """How many processes are known to run."""
        return len(self._live)

    def processes_of(self, number: int) -> tuple[int, ...]:
        """The live processes that were seen to start a program as a part of one call, whatever their parent is now."""
        return tuple(pid for pid, one in self._live.items() if one.call is not None and one.call.number == number)

    def running_since(self, moment_ns: int) -> tuple[Call, ...]:
        """The running calls that were begun at or before ``moment_ns`` of the agent's time."""
        return tuple(call.call() for call in self._open.values() if call.started_ns <= moment_ns)

    def see(self, event: Event, now_ns: int) -> None:
        """Take in one event; ``now_ns`` is the agent's own time."""
        if self.started or self.ended or self.below or self.began or self.finished:
            self.started = self.ended = ()
            self.below = ()
            self.began = self.finished = ()
        if event.type == "guard.exec":
            self._exec(event, now_ns)
        elif event.type == "guard.exit":
            self._exit(event, now_ns)
        elif event.type == "tool.invocation":
            self._invocation(event, now_ns)

    def _exec(self, event: Event, now_ns: int) -> None:
        pid, parent = integer(event.payload, "pid"), integer(event.payload, "parent")
        if pid is None or event.payload.get("allowed") is False:
            return
        forms = forms_of(text_list(event.payload, "argv"), text(event.payload, "path"))
        argv = next((form for form in forms if self._kinds(form)), forms[0])
        self._guarded = True
        origin = integer(event.payload, "origin")
        known, directory = self._live.get(pid), text(event.payload, "cwd")
        process = known or self._place(pid, parent, origin)
        self._guessed.pop(pid, None)
        if process.call is None and process.depth >= self._depth:
            process.call = self._start(event, pid, argv, directory, now_ns)
        elif known is None and process.call is not None and process.starter is not None and not process.tool:
            self.below += (Start(process.starter, call_key(argv, directory)),)
        process.launches = process.depth == 0 and unwrapped(forms[-1]) != forms[-1]
        if process.depth >= self._depth:
            process.tool = process.tool or any(is_tool(form) or self._kinds(form) & _TOOLS for form in forms)
        self._work(event, process, pid, argv)

    def _place(self, pid: int, parent: int | None, origin: int | None) -> _Process:
        """Where a process that was not known before belongs."""
        self._gone.pop(pid, None)
        near = parent if origin is None else origin
        above = None if near is None else self._live.get(near) or self._gone.get(near)
        if above is not None:
            inherited = above.above | (above.work.kinds if above.work else frozenset())
            process = self._new(above.depth + (not above.launches), above.call, inherited)
            process.starter, process.tool = above.number, above.tool
            above.launches = False
        elif not self._live:
            process = self._new(0, None, frozenset())
        elif origin is not None:
            process = self._new(max(self._depth, 1), None, frozenset())
        else:
            youngest = next(reversed(self._open.values())) if self._open else None
            process = self._new(max(self._depth, 1), youngest, frozenset(youngest.kinds) if youngest else frozenset())
            if parent is not None and parent > 1 and youngest is not None:
                self._live[parent] = self._new(process.depth, youngest, process.above)
                self._guessed[parent] = youngest.number
        self._live[pid] = process
        while len(self._live) > MOST_LIVE:
            del self._live[next(iter(self._live))]
        return process

    def _new(self, depth: int, call: _Open | None, above: frozenset[str]) -> _Process:
        self._placed += 1
        return _Process(self._placed, depth, call, above)

    def _start(self, event: Event, pid: int, argv: tuple[str, ...], directory: str, now_ns: int) -> _Open:
        opened = _Open(self.count, pid, argv, directory, event.seq, now_ns)
        self.count += 1
        self._open[opened.number] = opened
        self.started += (opened.call(),)
        return opened

    def _work(self, event: Event, process: _Process, pid: int, argv: tuple[str, ...]) -> None:
        call = process.call
        if call is None:
            return
        kinds = self._kinds(argv)
        call.kinds |= kinds
        new = kinds - process.above - (process.work.kinds if process.work else frozenset())
        if new:
            work = Work(call.number, pid, argv, new, call_key(argv, call.directory), event.seq)
            process.work = work
            self._begin(work)

    def _kinds(self, argv: tuple[str, ...]) -> frozenset[str]:
        kinds = kinds_of(argv)
        if any(matches_command(pattern, argv) for pattern in self._tests):
            return kinds - {BUILD} | {TEST}
        return kinds

    def _begin(self, work: Work) -> None:
        self.began += (work,)
        if RESOLVE in work.kinds:
            self.resolutions += 1

    def _exit(self, event: Event, now_ns: int) -> None:
        pid = integer(event.payload, "pid")
        process = self._live.pop(pid, None) if pid is not None else None
        if pid is None or process is None:
            return
        self._gone[pid] = process
        if len(self._gone) > MOST_GONE:
            del self._gone[next(iter(self._gone))]
        if process.work is not None:
            code = event.payload.get("exit_code")
            if type(code) is not int and self._depth == 0:
                self._late.append(process.work)
            else:
                self._finish(process.work, event.seq, code)
        if process.call is not None and process.call.pid == pid:
            self._end(process.call, event.seq, nanoseconds(event.payload, "wall_seconds"), now_ns)

    def _finish(self, work: Work, seq: int, code: object) -> None:
        outcome = UNKNOWN if type(code) is not int else PASSED if code == 0 else FAILED
        self.finished += (Work(work.call, work.pid, work.argv, work.kinds, work.key, work.started, seq, outcome),)

    def _end(self, opened: _Open, seq: int, wall_ns: int | None, now_ns: int) -> None:
        if self._open.pop(opened.number, None) is not None:
            for pid in [pid for pid, number in self._guessed.items() if number == opened.number]:
                del self._guessed[pid]
                self._live.pop(pid, None)
            self.ended += (opened.call(seq, now_ns - opened.started_ns if wall_ns is None else wall_ns),)

    def _invocation(self, event: Event, now_ns: int) -> None:
        """A command of the harness has ended: with it everything that was seen to run in it, or a call of its own."""
        if text(event.payload, "purpose") not in ("", "agent"):
            return
        argv, code = text_list(event.payload, "command"), event.payload.get("exit_code")
        wall_ns = nanoseconds(event.payload, "wall_seconds")
        if self._guarded:
            self._close_all(event, argv, code, wall_ns, now_ns)
            return
        opened = self._start(event, 0, argv, text(event.payload, "directory"), now_ns - min(wall_ns or 0, now_ns))
        for command, decisive in commands_of(argv):
            kinds = self._kinds(command)
            opened.kinds |= kinds
            if kinds:
                work = Work(opened.number, 0, command, kinds, call_key(command, opened.directory), event.seq)
                self._begin(work)
                self._finish(work, event.seq, code if decisive else None)
        self._end(opened, event.seq, wall_ns, now_ns)

    def _close_all(self, event: Event, argv: tuple[str, ...], code: object, wall_ns: int | None, now_ns: int) -> None:
        rest = [process.work for process in self._live.values() if process.work is not None]
        decisive = {command for command, whole in commands_of(argv) if whole}
        for work in [*self._late, *rest]:
            self._finish(work, event.seq, code if self._depth == 0 and unwrapped(work.argv) in decisive else None)
        for opened in tuple(self._open.values()):
            self._end(opened, event.seq, wall_ns if self._depth == 0 else None, now_ns)
        self._live.clear()
        self._gone.clear()
        self._guessed.clear()
        self._late.clear()
        self._guarded = False


def call_key(argv: tuple[str, ...], directory: str) -> str:
    """The same for the same arguments in the same directory."""
    return sha256("\0".join((directory, *argv)).encode("utf-8", "surrogatepass")).hexdigest()


def count_calls(events: Iterable[Event], watch: Mapping[str, Any]) -> tuple[int, int]:
    """How many tool calls an agent began while it acted, and how many of its programs were runs of tests.

    ``watch`` is what the breakers were set to. Calls are counted as the caps count them.
    """
    calls = Calls(int(watch.get("call_depth", 1)), tuple(map(str, watch.get("test_commands", ()))))
    cycles, acting = 0, False
    for event in events:
        acting = acting or event.type == "agent.started"
        if acting:
            calls.see(event, 0)
            cycles += sum(TEST in work.kinds for work in calls.began)
            acting = event.type != "agent.finished"
    return calls.count, cycles
