"""How many programs may start before the breakers have looked at them, so that no counted cap is passed by two.

Far from every cap the guard lets programs start and tells of them later, many at once. It may be ahead by half of what
is left of the nearest cap, and never by more: the next program is told and waits. So the nearer a cap, the shorter the
lead, and at the cap every program waits until the breakers have decided about it; the one that is too many never
starts. What was decided before is done before a program that waits goes on.
"""

from __future__ import annotations

from proctor.conduct.interventions import Interventions
from proctor.conduct.watched import WatchedTrace
from proctor.execute.sandbox.bubblewrap.box import Box


class Allowance:
    """What the guard of one sandbox was allowed so far."""

    def __init__(self, trace: WatchedTrace, interventions: Interventions) -> None:
        self._trace = trace
        self._interventions = interventions
        self._told = 0
        self._granted: int | None = None

    def first(self) -> int | None:
        """What a new guard may let start at once; ``None`` is no bound."""
        self._told = 0
        self._granted = lead(self._trace.programs_left)
        return self._granted

    def told(self) -> None:
        """One more program was told, and the breakers have seen it: allow more where it is due."""
        self._told += 1
        if self._granted is None or self._trace.ended is not None:
            return
        left = self._trace.programs_left
        ahead = self._granted - self._told
        if left is not None and left // 4 < ahead <= left:
            return
        more = lead(left)
        self._granted = total = None if more is None else self._told + more
        self._trace.later(lambda: self._interventions.on_sandbox(lambda sandbox: _allow(sandbox, total)))


def lead(left: int | None) -> int | None:
    """How far ahead of the breakers programs may be with so many ``left``."""
    return None if left is None else (left + 1) // 2


def _allow(sandbox: Box, total: int | None) -> None:
    if sandbox.guard is not None:
        sandbox.guard.allow_programs(total)
