"""Going back and forth between patches that fail: state A fails its tests, B fails, and the tree is A again.

States are those of the tree when a run of tests ends; a run that passes clears the memory. A return is a run of tests
that does not pass on a state in which they did not pass before, with another such state between. Where it is not known
how tests ended, more returns are needed.
"""

from __future__ import annotations

from collections import deque

from proctor.execute.monitor.breakers.breaker_settings import Thresholds
from proctor.execute.monitor.breakers.escalation_and_backoff import EscalationSteps
from proctor.execute.monitor.breakers.interface import ALERT, NONE, Trip, evidence_of
from proctor.execute.monitor.program_kinds import TEST
from proctor.execute.monitor.run_state import RunState
from proctor.execute.monitor.tool_calls_from_processes import FAILED, PASSED
from proctor.record.trace.event import Event

MOST_STATES = 256


class Oscillation:
    """Reports the first returns and ends a run that continues with them."""

    name = "oscillation"

    def __init__(self, facts: RunState, thresholds: Thresholds) -> None:
        self._facts = facts
        self._known = EscalationSteps(thresholds.oscillations, NONE)
        self._unknown = EscalationSteps(thresholds.unknown_oscillations, NONE)
        self._clear()
        self._done = False

    def _clear(self) -> None:
        self._states: deque[tuple[str, int, bool]] = deque(maxlen=MOST_STATES)
        self._returns: list[int] = []
        self._known_returns = self._all_returns = 0
        self._known.rearm()
        self._unknown.rearm()

    def see(self, event: Event) -> tuple[Trip, ...]:
        if self._done or not self._facts.running:
            return ()
        if event.type == "workspace.restored":
            self._clear()  # a rollback by the harness is not a return of the agent
        for work in self._facts.calls.finished:
            if TEST not in work.kinds:
                continue
            if work.outcome == PASSED:
                self._clear()
                continue
            trip = self._failed(event, self._facts.tree.digest, work.outcome == FAILED)
            if trip is not None:
                return (trip,)
        return ()

    def _failed(self, event: Event, state: str, known: bool) -> Trip | None:
        states = self._states
        if states and states[-1][0] == state:
            states[-1] = (state, event.seq, known or states[-1][2])
            return None
        earlier = next((place for place in range(len(states) - 1, -1, -1) if states[place][0] == state), None)
        states.append((state, event.seq, known))
        if earlier is None:
            return None
        between = list(states)[earlier:]
        self._returns += [seq for _, seq, _ in between]
        self._known_returns += all(certain for _, _, certain in between)
        self._all_returns += 1
        reached = self._known.reach(self._known_returns) or self._unknown.reach(self._all_returns)
        if reached is None:
            return None
        action, at = reached
        self._done = action != NONE
        signals = {
            "returns": self._all_returns,
            "returns_known_to_fail": self._known_returns,
            "threshold": at,
            "state": state,
        }
        rationale = f"the tree came back {self._all_returns} times to a state in which its tests did not pass"
        evidence = evidence_of(self._returns, event.seq)
        return Trip(self.name, "patch-oscillation", action, ALERT, rationale, evidence, signals)
