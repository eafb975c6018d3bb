"""Every breaker by its name: the built-in ones in the order in which they are asked, and those of installed packages.

A built-in breaker is made where the settings want it. A breaker of a package is made where the contract lists it under
``policy.breakers``; it is asked after the built-in ones, except for the last, which counts the alerts of all. What it
decides is checked. If its code fails, it is not asked again and the run becomes invalid.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from proctor.base.canonical import NotCanonical, canonical
from proctor.base.dataclass_fields import EMPTY
from proctor.base.entry_points import BREAKERS, PlugIns, SlowCalls, lacks_methods, not_callable
from proctor.base.errors import InfrastructureFault
from proctor.contract.policy import is_own_code
from proctor.execute.monitor.breakers.breaker_settings import Settings
from proctor.execute.monitor.breakers.call_bursts import Burst
from proctor.execute.monitor.breakers.cost_limit import CostCap
from proctor.execute.monitor.breakers.count_limits import (
    CountedCap,
    DependencyResolutions,
    FailedCycles,
    Records,
    Tokens,
    ToolCalls,
)
from proctor.execute.monitor.breakers.interface import (
    GRADES,
    KILL,
    MOST_EVIDENCE,
    NONE,
    QUARANTINE,
    SUSPEND_WRITE,
    THROTTLE,
    Breaker,
    Trip,
)
from proctor.execute.monitor.breakers.no_progress import Dominance, NoProgress, RepeatedTrips
from proctor.execute.monitor.breakers.oscillation import Oscillation
from proctor.execute.monitor.breakers.policy_violations import DeniedWrites, EarlyTests, PolicyBreaker
from proctor.execute.monitor.breakers.repeated_calls import ExpensiveRepeats, Reinstalls, StaleCalls
from proctor.execute.monitor.breakers.resource_limits import Cpu, Gauge, OutOfMemory, Processes
from proctor.execute.monitor.breakers.time_limits import CommandCeiling, RunCeiling
from proctor.execute.monitor.budget import Envelope
from proctor.execute.monitor.run_state import RunState
from proctor.record.trace.event import Event

OPEN_ACTIONS = (NONE, THROTTLE, SUSPEND_WRITE, KILL, QUARANTINE)
"""What a breaker of a package may ask for. The panel makes questions and rollbacks of it where the contract says so."""

MOST_DELAY_SECONDS = 60
TEXT_CHARACTERS = 2000
SIGNAL_BYTES = 1 << 16

Envelopes = tuple[tuple[Envelope, ...], tuple[Envelope, ...]]
"""The envelopes in the ledger's currency, and those in dollars."""

BuiltIn = Callable[[RunState, Settings, Envelopes], Breaker | None]
"""Makes a built-in breaker; nothing where the settings have no use for it."""

Maker = Callable[[RunState, Settings], Breaker]
"""What the entry point of a breaker names: it is given the shared facts and the settings of the run."""


def _counted(kind: type[CountedCap], cap: Callable[[Settings], int | None]) -> BuiltIn:
    def make(facts: RunState, settings: Settings, _: Envelopes) -> Breaker | None:
        limit = cap(settings)
        return None if limit is None else kind(facts, limit)

    return make


def _gauge(name: str, field: str) -> BuiltIn:
    def make(facts: RunState, settings: Settings, _: Envelopes) -> Breaker | None:
        cap = getattr(settings.caps, field)
        return None if cap is None else Gauge(facts, name, field, cap)

    return make


def _command_ceiling(facts: RunState, settings: Settings, _: Envelopes) -> Breaker | None:
    seconds = settings.caps.command_seconds
    return None if seconds is None else CommandCeiling(facts, seconds)


def _run_ceiling(facts: RunState, settings: Settings, _: Envelopes) -> Breaker | None:
    seconds = settings.caps.wall_seconds
    return None if seconds is None else RunCeiling(facts, seconds)


def _cpu(facts: RunState, settings: Settings, _: Envelopes) -> Breaker | None:
    seconds = settings.caps.cpu_seconds
    return None if seconds is None else Cpu(facts, seconds)


def _processes(facts: RunState, settings: Settings, _: Envelopes) -> Breaker | None:
    cap = settings.caps.processes
    return None if cap is None else Processes(facts, cap, settings.thresholds.full_samples)


def _cost(facts: RunState, settings: Settings, envelopes: Envelopes) -> Breaker | None:
    return CostCap(facts, *envelopes, settings.thresholds) if envelopes[0] else None


def _of_tree(make: Callable[[RunState, Settings, Envelopes], Breaker]) -> BuiltIn:
    """A breaker that decides by the state of the tree, where that is seen."""
    return lambda facts, settings, envelopes: make(facts, settings, envelopes) if settings.sees_tree else None


BUILT_IN: dict[str, BuiltIn] = {
    "policy": lambda facts, settings, _: PolicyBreaker(facts, settings),
    "denied-writes": lambda facts, settings, _: DeniedWrites(
        facts, settings.thresholds.denied_writes, settings.baseline
    ),
    "early-tests": lambda facts, settings, _: EarlyTests(facts),
    "command-ceiling": _command_ceiling,
    "run-ceiling": _run_ceiling,
    "cpu": _cpu,
    "memory": _gauge("memory", "memory_bytes"),
    "disk": _gauge("disk", "disk_bytes"),
    "inodes": _gauge("inodes", "inodes"),
    "processes": _processes,
    "oom": lambda facts, settings, _: OutOfMemory(facts, settings.thresholds.oom_kills),
    "cost": _cost,
    "tokens": _counted(Tokens, lambda settings: settings.caps.tokens),
    "tool-calls": _counted(ToolCalls, lambda settings: settings.caps.tool_calls),
    "failed-cycles": _counted(FailedCycles, lambda settings: settings.caps.failed_cycles),
    "dependency-resolutions": _counted(DependencyResolutions, lambda settings: settings.caps.dependency_resolutions),
    "records": _counted(Records, lambda settings: settings.thresholds.record_bytes),
    "reinstalls": lambda facts, settings, _: Reinstalls(facts, settings.thresholds),
    "burst": lambda facts, settings, _: Burst(facts, settings.thresholds),
    "identical-calls": _of_tree(lambda facts, settings, _: StaleCalls(facts, settings.thresholds)),
    "expensive-repeats": _of_tree(lambda facts, settings, _: ExpensiveRepeats(facts, settings.thresholds)),
    "oscillation": _of_tree(lambda facts, settings, _: Oscillation(facts, settings.thresholds)),
    "no-progress": _of_tree(lambda facts, settings, _: NoProgress(facts, settings.thresholds)),
    "dominance": _of_tree(
        lambda facts, settings, envelopes: Dominance(facts, settings.caps, envelopes[0], settings.thresholds)
    ),
}
"""The order: safety first, then what bounds a run from outside, then its behaviour."""

LAST = "repeated-trips"
"""The name of the breaker that counts the alerts of all."""

PLUG_INS: PlugIns[Maker] = PlugIns(BREAKERS, "breaker", (*BUILT_IN, LAST), not_callable)


Decisions = Mapping[str, Mapping[int, tuple[Trip, ...]]]
"""What breakers decided in a recorded run: by the name of the breaker and the number of the event."""


def make_breakers(
    facts: RunState, settings: Settings, envelopes: Envelopes, recorded: Decisions = EMPTY
) -> tuple[Breaker, ...]:
    """The breakers that the settings want, in order. The ``recorded`` ones of packages decide as they did."""
    made = (make(facts, settings, envelopes) for make in BUILT_IN.values())
    built_in = [breaker for breaker in made if breaker is not None]
    others = [
        RecordedBreaker(name, recorded[name]) if name in recorded else load_breaker(name, facts, settings)
        for name in settings.breakers
    ]
    return (*built_in, *others, RepeatedTrips(facts, settings.thresholds.repeated_trips))


@dataclass(frozen=True)
class RecordedBreaker:
    """Replaces a breaker of a package that is not installed: it repeats what the trace records of it."""

    name: str
    decisions: Mapping[int, tuple[Trip, ...]]

    def see(self, event: Event) -> tuple[Trip, ...]:
        return self.decisions.get(event.seq, ())


def load_breaker(name: str, facts: RunState, settings: Settings) -> CheckedBreaker:
    """The breaker ``name`` of an installed package."""
    make = PLUG_INS.require(name)
    with PLUG_INS.blamed(name):
        breaker = make(facts, settings)
        problem = next(lacks_methods(breaker, "see"), "")
        if not problem and breaker.name != name:
            problem = f"its name is {breaker.name!r}, that of its entry point is {name!r}"
    if problem:
        raise PLUG_INS.at_fault(name, problem)
    return CheckedBreaker(name, breaker)


@dataclass
class CheckedBreaker:
    """A breaker of a package. ``fault`` is set once its code has failed; it trips no more then."""

    name: str
    breaker: Breaker
    fault: str = ""
    slow: SlowCalls = field(default_factory=SlowCalls)

    def see(self, event: Event) -> tuple[Trip, ...]:
        if self.fault:
            return ()
        try:
            with PLUG_INS.at_work(self.name, slow=self.slow):
                trips = self.breaker.see(event)
                problem = next(trips_problems(trips, self.name, event.seq), "")
            if not problem:
                return trips
            self.fault = PLUG_INS.failed(self.name, problem).message
        except (InfrastructureFault, OSError) as error:
            self.fault = str(error)
        return ()


def trips_problems(trips: Any, name: str, seq: int) -> Iterator[str]:
    """What keeps the decisions of the breaker ``name`` about the event ``seq`` from being used."""
    if not isinstance(trips, tuple) or not all(isinstance(trip, Trip) for trip in trips):
        yield "see() does not return a tuple of Trip"
        return
    for trip in trips:
        values: dict[str, Any] = {field: getattr(trip, field) for field in ("code", "rationale", "evidence", "signals")}
        if trip.breaker != name:
            yield f"the breaker of a trip is {trip.breaker!r}, not {name!r}"
        if not isinstance(values["code"], str) or not is_own_code(values["code"], name):
            yield f"the code {values['code']!r} of a trip is neither {name!r} nor does it begin with '{name}-'"
        if trip.action not in OPEN_ACTIONS or trip.grade not in GRADES:
            yield f"the action or the grade of a trip is not one of {', '.join((*OPEN_ACTIONS, *GRADES))}"
        text = values["rationale"]
        if not isinstance(text, str) or not text.strip() or len(text) > TEXT_CHARACTERS:
            yield f"the rationale of a trip is not text of at most {TEXT_CHARACTERS} characters"
        evidence = values["evidence"]
        numbers = isinstance(evidence, tuple) and all(type(one) is int and 0 <= one <= seq for one in evidence)
        if not numbers or not 0 < len(evidence) <= MOST_EVIDENCE or evidence[-1] != seq:
            yield "the evidence of a trip is not a tuple of event numbers that ends with the present event"
        try:
            size = len(canonical([text, dict(values["signals"])]))
        except (NotCanonical, TypeError, ValueError):
            yield "the signals of a trip cannot be recorded"
            return
        if size > SIGNAL_BYTES:
            yield f"the signals of a trip are larger than {SIGNAL_BYTES} bytes"
        if trip.action == THROTTLE and not _is_delay(values["signals"].get("delay_seconds")):
            yield f"a throttle has no delay_seconds in its signals, a decimal text of at most {MOST_DELAY_SECONDS}"


def _is_delay(value: Any) -> bool:
    whole, _, fraction = value.partition(".") if isinstance(value, str) else ("", "", "")
    digits = f"{whole}{fraction}"
    return 0 < len(digits) < 10 and digits.isascii() and digits.isdigit() and float(value) <= MOST_DELAY_SECONDS
