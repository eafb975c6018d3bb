"""Resources of the sandbox, from ``monitor.sample``: CPU time, memory, disk, inodes, processes and OOM kills.

While the agent acts, passing a cap ends the run, as a resource termination. While acceptance runs, the same signals
are only reported: checks have limits of their own and the judge decides what they mean.
"""

from __future__ import annotations

from proctor.execute.monitor.breakers.breaker_settings import POLICY_CHOICE
from proctor.execute.monitor.breakers.escalation_and_backoff import EscalationSteps
from proctor.execute.monitor.breakers.interface import ALERT, KILL, NONE, NOTICE, Trip
from proctor.execute.monitor.payload_values import NANOSECONDS, integer, nanoseconds, seconds_of, text
from proctor.execute.monitor.run_state import RunState
from proctor.record.trace.event import Event

ACCEPTANCE = "acceptance"


def in_acceptance(event: Event, facts: RunState) -> bool:
    """Whether a sample was taken while checks ran."""
    phase = text(event.payload, "phase")
    return phase == ACCEPTANCE if phase else not facts.running


class Gauge:
    """Ends a run in which one measured number passes its cap: memory, disk or inodes."""

    def __init__(self, facts: RunState, name: str, field: str, cap: int) -> None:
        self.name = name
        self._facts = facts
        self._field = field
        self._cap = cap
        self._reported: set[bool] = set()

    def see(self, event: Event) -> tuple[Trip, ...]:
        if event.type != "monitor.sample":
            return ()
        value = integer(event.payload, self._field)
        if value is None or value <= self._cap:
            return ()
        judging = in_acceptance(event, self._facts)
        if judging in self._reported:
            return ()
        self._reported.add(judging)
        rationale = f"{self._field} is {value}; {self._cap} are allowed, {POLICY_CHOICE}"
        signals = {self._field: value, "cap": self._cap, "phase": text(event.payload, "phase")}
        if judging:
            return (Trip(self.name, f"{self.name}-cap", NONE, NOTICE, rationale, (event.seq,), signals),)
        return (Trip(self.name, f"{self.name}-cap", KILL, ALERT, rationale, (event.seq,), signals),)


class Cpu:
    """Ends a run whose agent has used its CPU time; acceptance's CPU time is not the agent's."""

    name = "cpu"

    def __init__(self, facts: RunState, seconds: int) -> None:
        self._facts = facts
        self._seconds = seconds
        self._done = False

    def see(self, event: Event) -> tuple[Trip, ...]:
        if self._done or event.type != "monitor.sample" or in_acceptance(event, self._facts):
            return ()
        used = nanoseconds(event.payload, "cpu_seconds")
        if used is None or used < self._seconds * NANOSECONDS:
            return ()
        self._done = True
        rationale = (
            f"the agent has used {seconds_of(used)} s of CPU time; {self._seconds} s are allowed, {POLICY_CHOICE}"
        )
        signals = {"cpu_seconds": seconds_of(used), "cap": self._seconds}
        return (Trip(self.name, "cpu-cap", KILL, ALERT, rationale, (event.seq,), signals),)


class Processes:
    """Ends a run that stays at its cap of processes for some samples in a row: the kernel lets no more than that."""

    name = "processes"

    def __init__(self, facts: RunState, cap: int, samples: int) -> None:
        self._facts = facts
        self._cap = cap
        self._samples = samples
        self._row: list[int] = []
        self._done = False

    def see(self, event: Event) -> tuple[Trip, ...]:
        if self._done or event.type != "monitor.sample" or in_acceptance(event, self._facts):
            return ()
        value = integer(event.payload, "processes")
        if value is None or value < self._cap:
            self._row.clear()
            return ()
        self._row.append(event.seq)
        if len(self._row) < self._samples and value <= self._cap:
            return ()
        self._done = True
        rationale = f"{value} processes in {len(self._row)} samples in a row; {self._cap} are allowed, {POLICY_CHOICE}"
        signals = {"processes": value, "cap": self._cap, "samples": len(self._row)}
        return (Trip(self.name, "process-cap", KILL, ALERT, rationale, tuple(self._row), signals),)


class OutOfMemory:
    """Reports the first process that the kernel ended for lack of memory, and ends a run with too many of them."""

    name = "oom"

    def __init__(self, facts: RunState, steps: tuple[int, int]) -> None:
        self._facts = facts
        self._escalations = {False: EscalationSteps(steps, NONE), True: EscalationSteps((steps[0], 1 << 62), NONE)}

    def see(self, event: Event) -> tuple[Trip, ...]:
        if event.type != "monitor.sample":
            return ()
        kills = integer(event.payload, "oom_kills")
        reached = self._escalations[in_acceptance(event, self._facts)].reach(kills) if kills else None
        if reached is None:
            return ()
        action, at = reached
        rationale = f"the kernel has ended {kills} processes for want of memory"
        signals = {"oom_kills": kills, "threshold": at, "phase": text(event.payload, "phase")}
        grade = NOTICE if action == NONE else ALERT
        return (Trip(self.name, "out-of-memory", action, grade, rationale, (event.seq,), signals),)
