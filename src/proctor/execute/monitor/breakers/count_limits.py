"""Counted caps: tokens, tool calls, failed cycles of tests and builds, resolutions of dependencies, the record itself.

A cap is the most that is allowed: the run ends at the first event that makes it one more, so a cap is passed by one
step and never by two. ``left`` is how many programs may start before that needs a decision.
"""

from __future__ import annotations

from collections import deque

from proctor.execute.monitor.breakers.breaker_settings import POLICY_CHOICE
from proctor.execute.monitor.breakers.interface import ALERT, KILL, MOST_EVIDENCE, Trip, evidence_of
from proctor.execute.monitor.payload_values import text_list
from proctor.execute.monitor.program_kinds import BUILD, RESOLVE, TEST
from proctor.execute.monitor.run_state import RunState
from proctor.execute.monitor.tool_calls_from_processes import FAILED
from proctor.record.trace.event import Event

EVENT_BYTES = 600
"""The approximate bytes of an event, without the arguments of a program."""


class CountedCap:
    """What the counted caps share: the count, the last events that raised it, and the trip."""

    name = ""
    code = ""
    unit = ""

    def __init__(self, facts: RunState, cap: int) -> None:
        self._facts = facts
        self._cap = cap
        self._done = False
        self._raised: deque[int] = deque(maxlen=MOST_EVIDENCE - 1)

    def see(self, event: Event) -> tuple[Trip, ...]:
        if self._done or not self._facts.running:
            return ()
        value = self._count(event)
        if value is None:
            return ()
        self._raised.append(event.seq)
        if value <= self._cap:
            return ()
        self._done = True
        rationale = f"{value} {self.unit}; {self._cap} are allowed, {POLICY_CHOICE}"
        evidence = evidence_of(tuple(self._raised), event.seq)
        return (Trip(self.name, self.code, KILL, ALERT, rationale, evidence, {"count": value, "cap": self._cap}),)

    @property
    def left(self) -> int | None:
        used = None if self._done else self._used()
        return None if used is None else max(self._cap - used, 0)

    def _count(self, event: Event) -> int | None:
        """The count after ``event``, or ``None`` when the event does not raise it."""
        raise NotImplementedError

    def _used(self) -> int | None:
        """What is used up or may be used up by what runs already; ``None`` where programs do not count."""
        return None


class Tokens(CountedCap):
    """The tokens of all model calls, in both directions."""

    name, code, unit = "tokens", "token-cap", "tokens used"

    def _count(self, event: Event) -> int | None:
        return self._facts.ledger.tokens if event.type == "model.usage" else None


class ToolCalls(CountedCap):
    """The tool calls that were begun."""

    name, code, unit = "tool-calls", "tool-call-cap", "tool calls begun"

    def _count(self, event: Event) -> int | None:
        return self._facts.calls.count if self._facts.calls.started else None

    def _used(self) -> int:
        return self._facts.calls.count


class FailedCycles(CountedCap):
    """Runs of tests and builds that are known to have failed."""

    name, code, unit = "failed-cycles", "failed-cycle-cap", "runs of tests or builds failed"

    def __init__(self, facts: RunState, cap: int) -> None:
        super().__init__(facts, cap)
        self._failed = 0

    def _count(self, event: Event) -> int | None:
        failed = sum(1 for work in self._facts.calls.finished if work.outcome == FAILED and {TEST, BUILD} & work.kinds)
        self._failed += failed
        return self._failed if failed else None

    def _used(self) -> int:
        return self._failed + self._facts.calls.live


class DependencyResolutions(CountedCap):
    """Programs that resolved dependencies."""

    name, code, unit = "dependency-resolutions", "dependency-resolution-cap", "resolutions of dependencies"

    def _count(self, event: Event) -> int | None:
        resolved = any(RESOLVE in work.kinds for work in self._facts.calls.began)
        return self._facts.calls.resolutions if resolved else None

    def _used(self) -> int:
        return self._facts.calls.resolutions


class Records(CountedCap):
    """The records of the agent: endless programs with long arguments would fill the disk with records."""

    name, code, unit = "records", "record-cap", "bytes of records, about"

    def __init__(self, facts: RunState, cap: int) -> None:
        super().__init__(facts, cap)
        self._record_bytes = 0

    def _count(self, event: Event) -> int:
        self._record_bytes += EVENT_BYTES
        if event.type == "guard.exec":
            self._record_bytes += sum(map(len, text_list(event.payload, "argv")))
        return self._record_bytes
