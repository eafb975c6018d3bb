"""The interface of breakers and the data of their decisions.

A breaker gets the shared facts once and then sees every event after the facts have. It holds no clock and no handle:
its decisions follow from the events alone. It trips once for each condition that it watches for, or once for each step
of an escalation; a breaker that has tripped stays tripped.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from proctor.record.trace.event import Event

NOTICE, ALERT, VIOLATION = "notice", "alert", "violation"
GRADES = (NOTICE, ALERT, VIOLATION)

NONE = "none"
THROTTLE, SUSPEND_WRITE, PAUSE = "throttle", "suspend-write", "pause"
KILL_CALL, KILL, ROLLBACK, QUARANTINE = "kill-call", "kill", "rollback", "quarantine"
ACTIONS = (NONE, THROTTLE, SUSPEND_WRITE, PAUSE, KILL_CALL, KILL, ROLLBACK, QUARANTINE)
ENDING = frozenset({KILL, QUARANTINE})
"""The actions after which the agent does not continue."""

END = "end"
"""The value of ``then`` in the signals of a rollback after which the agent does not continue."""

SAFETY = "safety-"
"""What the codes of terminations begin with that are about safety and not about resources or the task."""

MOST_EVIDENCE = 32


@dataclass(frozen=True)
class Trip:
    """One decision. ``evidence`` are event numbers, the last one that of the event at which the breaker tripped."""

    breaker: str
    code: str
    action: str
    grade: str
    rationale: str
    evidence: tuple[int, ...]
    signals: Mapping[str, Any] = field(default_factory=dict)


class Breaker(Protocol):
    """The one method that the panel calls."""

    @property
    def name(self) -> str:
        """The breaker's name in alerts and reports."""
        ...

    def see(self, event: Event) -> tuple[Trip, ...]:
        """Take in one event, which the facts have seen, and say what it trips."""
        ...


def evidence_of(seqs: list[int] | tuple[int, ...], last: int) -> tuple[int, ...]:
    """Event numbers in order, each once and not too many, ending with ``last``."""
    before = sorted({seq for seq in seqs if seq < last})
    if len(before) >= MOST_EVIDENCE:
        half = MOST_EVIDENCE // 2
        before = before[:half] + before[-(MOST_EVIDENCE - 1 - half) :]
    return (*before, last)
