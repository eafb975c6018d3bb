"""A trace that is watched while it is written: every event goes to the breakers, and their decisions are written next.

Writers use it as any other trace. Events reach the panel in the order of their numbers, from all threads, so that a
replay of the finished trace decides the same. Actions are carried out in order, on a thread of their own: writers never
wait for them. If an action fails, no agent continues unwatched: ``give_up`` ends the agent, and the run has a fault.
"""

from __future__ import annotations

import queue
import threading
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from proctor.base.clock import Clock, Entropy
from proctor.base.errors import InfrastructureFault, ProctorError
from proctor.execute.monitor.breakers.breaker_panel import BreakerPanel, alert_payload, intervention_payload
from proctor.execute.monitor.breakers.interface import NONE, ROLLBACK, SUSPEND_WRITE, VIOLATION, Trip
from proctor.record.trace.event import Event
from proctor.record.trace.writer import TraceWriter

BREATH_SECONDS = 0.05


@dataclass(frozen=True)
class Decision:
    """A trip that calls for an action, and the number of its alert."""

    trip: Trip
    alert: int


class MonitoredTrace(TraceWriter):
    """Writes events, shows them to a panel, and writes what it decides."""

    def __init__(self, path: Path, handle: int, clock: Clock, entropy: Entropy) -> None:
        super().__init__(path, handle, clock, entropy)
        self._turn = threading.RLock()
        self._panel: BreakerPanel | None = None
        self._make: Callable[[], BreakerPanel] | None = None
        self._unseen: list[Event] = []
        self._act: Callable[[Decision], None] | None = None
        self._give_up: Callable[[], None] = lambda: None
        self._waiting: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._worker: threading.Thread | None = None
        self._fault: ProctorError | OSError | None = None
        self.ended: Decision | None = None
        """The decision that ended the agent, if one did."""
        self.suspended = False
        """Whether it was decided that the agent changes its workspace no more."""
        self.violations: list[Event] = []
        """The alerts on violations."""

    def watch_later(self, make: Callable[[], BreakerPanel]) -> Self:
        """Keep events for a panel that is made at the end: for runs in which nothing can be done about a decision."""
        self._make = make
        return self

    def catch_up(self) -> BreakerPanel:
        """The panel, after it has seen every event up to now."""
        with self._turn:
            if self._panel is None:
                assert self._make is not None
                self._panel = self._make()
                for event in self._unseen:
                    self._look(event, self._panel)
                self._unseen.clear()
            return self._panel

    def watch(
        self, panel: BreakerPanel, act: Callable[[Decision], None], give_up: Callable[[], None] = lambda: None
    ) -> Self:
        """From the next event on, ask ``panel`` and let ``act`` do what it decides; ``give_up`` when that fails."""
        self._panel, self._act, self._give_up = panel, act, give_up
        self._worker = threading.Thread(target=self._work, name="interventions")
        self._worker.start()
        return self

    def later(self, act: Callable[[], None]) -> None:
        """Run an action after the present ones, on another thread."""
        self._waiting.put(act)

    def append(self, type: str, payload: Mapping[str, Any], actor: str | None = None) -> Event:  # noqa: A002
        with self._turn:
            event = super().append(type, payload, actor)
            if self._panel is not None:
                self._look(event, self._panel)
            elif self._make is not None:
                self._unseen.append(event)
            return event

    @property
    def stage(self) -> str:
        """The stage that the run is in, as the breakers know it."""
        return self._panel.facts.stage if self._panel is not None else ""

    @property
    def state(self) -> str:
        """A name for the state of the tree, as far as it was recorded."""
        return self._panel.facts.tree.digest if self._panel is not None else ""

    @property
    def calls(self) -> int:
        """How many tool calls were seen."""
        return self._panel.facts.calls.count if self._panel is not None else 0

    @property
    def idle_ns(self) -> int:
        """How long the agent was paused or waited for a silent provider, up to the last event: not its time."""
        with self._turn:
            clock = self._panel.facts.clock if self._panel is not None else None
            return clock.paused_ns + clock.waited_ns if clock is not None else 0

    def processes_of(self, call: int) -> tuple[int, ...]:
        """The processes of a tool call that were seen to start a program and not to end."""
        with self._turn:
            return self._panel.facts.calls.processes_of(call) if self._panel is not None else ()

    @property
    def programs_left(self) -> int | None:
        """How many programs may start before a cap needs a decision; ``None`` while no cap counts them."""
        with self._turn:
            return self._panel.programs_left if self._panel is not None else None

    def checkpoint_before(self, seq: int) -> str:
        """The checkpoint of a rollback from the event ``seq``; empty if there is none."""
        return self._panel.facts.checkpoints.before(seq) if self._panel is not None else ""

    def catch_breath(self) -> None:
        """Return when everything is done that was decided before."""
        done = threading.Event()
        self._waiting.put(done.set)
        while self._worker is not None and self._worker.is_alive() and not done.wait(BREATH_SECONDS):
            pass

    def rest(self) -> None:
        """Wait for all actions, and stop acting; decisions are still made. Raises an error of an action."""
        if self._worker is not None:
            self._waiting.put(None)
            self._worker.join()
            self._worker = None
        if self._fault is not None:
            fault, self._fault = self._fault, None
            raise fault

    def close(self) -> None:
        try:
            self.rest()
        finally:
            super().close()

    def _look(self, event: Event, panel: BreakerPanel) -> None:
        waiting = deque([event])
        while waiting:
            for trip in panel.see(waiting.popleft()):
                alert = super().append("monitor.alert", alert_payload(trip, panel.facts.stage))
                waiting.append(alert)
                if trip.grade == VIOLATION:
                    self.violations.append(alert)
                done = intervention_payload(trip, alert.seq)
                if done is None:
                    continue
                waiting.append(super().append("intervention", done))
                decision = Decision(trip, alert.seq)
                self.suspended = self.suspended or SUSPEND_WRITE in (trip.action, _after_rollback(trip))
                if panel.ended is trip:
                    self.ended = decision
                self._do(decision)
            for fault in panel.new_faults():
                waiting.append(super().append("run.fault", {"message": fault, "phase": "agent"}))
                self.later(self._give_up)

    def _do(self, decision: Decision) -> None:
        act = self._act
        if act is not None and decision.trip.action != NONE:
            self._waiting.put(lambda: act(decision))

    def _work(self) -> None:
        self._fault = InfrastructureFault("a decision about the agent could not be carried out")
        try:
            while (act := self._waiting.get()) is not None:
                act()
            self._fault = None
        except (ProctorError, OSError) as error:
            self._fault = error
        finally:
            if self._fault is not None:
                self._give_up()


def _after_rollback(trip: Trip) -> str:
    """The action that follows when the workspace went back."""
    return str(trip.signals["otherwise"]) if trip.action == ROLLBACK else NONE
