"""What every breaker must do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from random import Random
from typing import Any

from proctor.execute.monitor.breakers.breaker_panel import envelopes_of
from proctor.execute.monitor.breakers.breaker_registry import BUILT_IN, load_breaker, trips_problems
from proctor.execute.monitor.breakers.breaker_settings import Settings
from proctor.execute.monitor.breakers.interface import Breaker, Trip
from proctor.execute.monitor.price_table import FALLBACK
from proctor.execute.monitor.run_state import RunState
from proctor.record.trace.event import Event
from proctor.record.trace.event_types import EVENT_TYPES

Story = tuple[tuple[str, Mapping[str, Any]], ...]
"""Events by type and payload, one second apart."""

SECOND = 1_000_000_000
ROUNDS = 20
JUNK: tuple[Any, ...] = (None, 0, -1, 1 << 60, "", "text", [], [None], {}, {"a": []}, True)


class BreakerSuite:
    """Subclass with the ``name`` of a breaker, a story that it ``trips_at`` and one during which it stays ``quiet``."""

    name: str
    trips_at: Story = ()
    quiet: Story = ()
    settings: Settings = Settings()

    def make(self, facts: RunState) -> Breaker:
        """A new breaker over ``facts``."""
        if self.name in BUILT_IN:
            made = BUILT_IN[self.name](facts, self.settings, envelopes_of(self.settings))
            assert made is not None
            return made
        return load_breaker(self.name, facts, self.settings).breaker

    def told(self, story: Iterable[tuple[str, Mapping[str, Any]]]) -> list[Trip]:
        """The checked decisions of a new breaker about a story."""
        settings = self.settings
        facts = RunState(settings.prices or FALLBACK.table, settings.call_depth, settings.test_commands)
        breaker, found = self.make(facts), list[Trip]()
        for seq, (kind, payload) in enumerate(story):
            event = Event(seq, str((1000 + seq) * SECOND), kind, "harness", payload, "00" * 16, "0" * 64)
            facts.see(event)
            trips = breaker.see(event)
            if self.name not in BUILT_IN:
                problems = list(trips_problems(trips, self.name, seq))
                assert not problems, f"{kind}: {problems}"
            found += trips
        return found

    def test_it_has_the_name_of_its_entry_point(self) -> None:
        name = self.make(RunState(FALLBACK.table)).name
        assert name == self.name, name

    def test_it_trips(self) -> None:
        assert self.told(self.trips_at) or self.name in BUILT_IN, f"no event of {self.trips_at} trips it"

    def test_it_stays_quiet(self) -> None:
        trips = self.told(self.quiet)
        assert not trips, trips

    def test_its_decisions_follow_from_the_events_alone(self) -> None:
        one, other = self.told(self.trips_at), self.told(self.trips_at)
        assert one == other, (one, other)

    def test_no_payload_makes_it_raise(self) -> None:
        random = Random(20260307)
        kinds = sorted(EVENT_TYPES)
        for _ in range(ROUNDS):
            breaker = self.make(RunState(FALLBACK.table))
            for seq, kind in enumerate(random.sample(kinds, len(kinds))):
                payload = {name: random.choice(JUNK) for name in EVENT_TYPES[kind].fields}
                event = Event(seq, str((1000 + seq) * SECOND), kind, "harness", payload, "00" * 16, "0" * 64)
                trips = breaker.see(event)
                if self.name not in BUILT_IN:
                    problems = list(trips_problems(trips, self.name, seq))
                    assert not problems, f"{kind} {payload}: {problems}"
