"""Time limits of one tool call and of the run.

Both are the agent's own time, without pauses. A call that is too long is ended alone; the run continues.
"""

from __future__ import annotations

from proctor.execute.monitor.breakers.breaker_settings import POLICY_CHOICE
from proctor.execute.monitor.breakers.interface import ALERT, KILL, KILL_CALL, Trip
from proctor.execute.monitor.payload_values import NANOSECONDS, seconds_of
from proctor.execute.monitor.run_state import RunState
from proctor.record.trace.event import Event


class CommandCeiling:
    """Ends a tool call that has run for ``seconds``."""

    name = "command-ceiling"

    def __init__(self, facts: RunState, seconds: int) -> None:
        self._facts = facts
        self._seconds = seconds
        self._reported: set[int] = set()

    def see(self, event: Event) -> tuple[Trip, ...]:
        if not self._facts.running:
            return ()
        now = self._facts.clock.active_ns
        trips = []
        for call in self._facts.calls.running_since(now - self._seconds * NANOSECONDS):
            if call.number in self._reported:
                continue
            self._reported.add(call.number)
            ran = seconds_of(now - call.started_ns)
            trips.append(
                Trip(
                    self.name,
                    "command-ceiling",
                    KILL_CALL,
                    ALERT,
                    f"a tool call has run for {ran} s; {self._seconds} s are allowed, {POLICY_CHOICE}",
                    (call.started, event.seq) if call.started < event.seq else (event.seq,),
                    {"call": call.number, "pid": call.pid, "seconds": ran, "ceiling_seconds": self._seconds},
                )
            )
        return tuple(trips)


class RunCeiling:
    """Ends a run whose agent has acted for ``seconds``."""

    name = "run-ceiling"

    def __init__(self, facts: RunState, seconds: int) -> None:
        self._facts = facts
        self._seconds = seconds
        self._done = False

    def see(self, event: Event) -> tuple[Trip, ...]:
        clock = self._facts.clock
        if self._done or not clock.running or clock.active_ns < self._seconds * NANOSECONDS:
            return ()
        self._done = True
        return (
            Trip(
                self.name,
                "wall-ceiling",
                KILL,
                ALERT,
                f"the agent has used its {self._seconds} s of wall-clock time, {POLICY_CHOICE}",
                (event.seq,),
                {
                    "seconds": seconds_of(clock.active_ns),
                    "paused_seconds": seconds_of(clock.paused_ns),
                    **({"waited_for_provider_seconds": seconds_of(clock.waited_ns)} if clock.waited_ns else {}),
                    "ceiling_seconds": self._seconds,
                },
            ),
        )
