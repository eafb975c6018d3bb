"""Whether an agent that a signal ended was killed from outside its sandbox.

No kernel interface reports who sent a SIGKILL, so this works by elimination. The guard records every call inside that
sends a fatal signal or arranges for one (``guard.signal``). If such a signal ended a program and no record names the
program as a target, it was killed from outside: by the machine or by another user. An agent cannot present its own end
as such a death, because the guard records what the agent does to itself. Where the record may have gaps, because there
was too much to record, the end counts as the agent's own. So it does where a program had arranged for a signal to
itself by a call that reads the number from memory (``timer_create``, ``mq_notify``): that may have been another number.

Crashes (SIGSEGV, SIGABRT and their like) and signals that the kernel sends for what a program does (SIGPIPE, SIGALRM,
SIGXFSZ) are always the agent's own.
"""

from __future__ import annotations

from proctor.execute.sandbox.guard_observations import Observation
from proctor.execute.sandbox.interface import Usage

_LINUX = {
    "SIGHUP": 1,
    "SIGINT": 2,
    "SIGQUIT": 3,
    "SIGKILL": 9,
    "SIGUSR1": 10,
    "SIGUSR2": 12,
    "SIGTERM": 15,
    "SIGSTKFLT": 16,
    "SIGPWR": 30,
}
"""Records hold the numbers of Linux. The module ``signal`` has those of the system that reads the record."""

SENT = frozenset(_LINUX.values())
"""Signals that end a program only when a process sends them."""

FROM_MEMORY = frozenset({"timer_create", "mq_notify"})
"""Calls that arrange for a signal to their own process, whose number another thread may change meanwhile."""

INIT = 1


class OutsideKills:
    """The signals and deaths that the guard of one sandbox saw."""

    def __init__(self) -> None:
        self._commands: set[int] = set()
        """Processes that the harness started."""
        self._ended_by: dict[int, int] = {}
        """Programs that a signal ended, and the signal."""
        self._sent: set[tuple[int, int]] = set()
        """Target and signal of everything that was sent inside."""
        self._any: set[int] = set()
        """Processes that may have been sent any signal."""
        self._gaps = False

    def see(self, observation: Observation) -> None:
        """Record one observation; they come in order."""
        if observation.kind == "exec" and observation.parent == INIT:
            self._commands.add(observation.pid)
        elif observation.kind == "exit" and (observation.exit_code or 0) < 0:
            self._ended_by[observation.pid] = -(observation.exit_code or 0)
        elif observation.kind == "signal":
            self._sent.add((observation.target, observation.signal))
            if observation.syscall in FROM_MEMORY:
                self._any.add(observation.target)
        elif observation.kind == "lost" or (observation.kind == "more" and observation.code == "signal"):
            self._gaps = True

    def from_outside(self, exit_code: int | None, usage: Usage) -> int:
        """The signal from outside that ended an agent with ``exit_code``; 0 when its end is its own.

        A shell that reports the death of its program counts like the program, if a program did die of that signal.
        """
        if exit_code is None or self._gaps or usage.own_oom_kills:
            return 0
        if exit_code < 0:
            number, victims = -exit_code, self._commands
            killed = not any(self._was_sent(pid, number) for pid in victims)
        else:
            number = exit_code - 128
            victims = {pid for pid, by in self._ended_by.items() if by == number}
            killed = any(not self._was_sent(pid, number) for pid in victims)
        return number if number in SENT and killed else 0

    def _was_sent(self, pid: int, number: int) -> bool:
        return pid in self._any or bool({(pid, number), (0, number)} & self._sent)
