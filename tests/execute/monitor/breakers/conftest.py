"""One breaker by itself, over a story whose times are told to the second: what it says is compared word by word."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from proctor.execute.monitor.breakers.interface import Breaker, Trip
from proctor.execute.monitor.price_table import FALLBACK, PriceTable
from proctor.execute.monitor.run_state import RunState
from proctor.record.trace.event import Event
from tests.execute.monitor.conftest import SECOND, Story


class OneBreaker:
    """A panel with a single breaker in it."""

    def __init__(self, make: Callable[[RunState], Breaker], facts: RunState) -> None:
        self.facts = facts
        self.breaker = make(self.facts)

    def see(self, event: Event) -> tuple[Trip, ...]:
        self.facts.see(event)
        return self.breaker.see(event)


class Alone(Story):
    """A story that one breaker watches; :meth:`at` says when the next event happens, in the agent's seconds."""

    def __init__(self, watch: Any) -> None:
        super().__init__(watch)
        self.breaker = watch.breaker

    def at(self, seconds: float) -> Alone:
        self.now = 1_000 * SECOND + round(seconds * SECOND)
        return self

    def new(self) -> list[Trip]:
        """The trips since this was asked last."""
        found, self.trips = self.trips, []
        return found


@pytest.fixture
def alone() -> Callable[..., Alone]:
    """Makes stories of an agent that has started, for the breaker that the given function makes of the facts."""

    def story(
        make: Callable[[RunState], Breaker],
        table: PriceTable = FALLBACK.table,
        *,
        start: bool = True,
        depth: int = 1,
        tests: tuple[str, ...] = (),
    ) -> Alone:
        made = Alone(OneBreaker(make, RunState(table, depth, tests)))
        if start:
            made.start()
        return made

    return story
