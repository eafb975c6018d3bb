"""Derive again from a finished trace: the decisions of its breakers, and the cost of the run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from itertools import zip_longest
from typing import Any

from proctor.base.canonical import canonical
from proctor.base.errors import BrokenSeal, UsageFault
from proctor.base.json_records import OTHER_FORM
from proctor.execute.gateway.request_comparison import TOOL_LIST
from proctor.execute.monitor.breakers.breaker_panel import BreakerPanel, Replay, replay
from proctor.execute.monitor.breakers.breaker_settings import Settings, settings_from
from proctor.execute.monitor.budget import Item
from proctor.execute.monitor.price_table import total_of
from proctor.record.retain import RemovedEvidence, removed_evidence, require_payloads, retention_of
from proctor.record.run_directory import RunDirectory
from proctor.record.trace.reader import iterate_events, read_events, read_finished_events

TAPE_BYTES = 512 << 20


def settings_of_run(run: RunDirectory) -> Settings:
    """What the breakers of ``run`` were set to, by its manifest."""
    try:
        configuration = run.read_json(run.manifest)["configuration"]
        if "watch" not in configuration:
            why = "the run was recorded before runs had breakers and costs: there is nothing to derive"
            raise UsageFault(why, where=run.path.name)
        return settings_from(configuration["watch"])
    except FileNotFoundError:
        raise UsageFault("the run was cut off before its manifest was written", where=run.path.name) from None
    except OTHER_FORM:
        raise BrokenSeal("the manifest does not contain the settings of the breakers", where=run.path.name) from None


def replay_breakers(run: RunDirectory) -> Replay:
    """Derive every decision of the breakers from the trace alone, and hold it against what was recorded."""
    require_payloads(run, "the breakers cannot decide again")
    settings = settings_of_run(run)
    with _as_recorded(run):
        return replay(read_events(run.events), BreakerPanel(settings))


@contextmanager
def _as_recorded(run: RunDirectory) -> Iterator[None]:
    """Breakers that cannot read the settings or the events of ``run`` find evidence of another form."""
    try:
        yield
    except OTHER_FORM as error:
        what = f"{type(error).__name__}: {error}"
        raise BrokenSeal(f"the breakers cannot read its settings or events: {what}", where=run.path.name) from None


def recorded_calls(run: RunDirectory) -> bytes:
    """The cassette of the model calls of ``run``."""
    events, _ = read_finished_events(run.events)
    kept = next((str(event.payload["blob"]) for event in reversed(events) if event.type == "model.closed"), "")
    if not kept:
        raise UsageFault("the run has no recorded model calls", where=run.path.name)
    return run.read(run.blobs / kept, TAPE_BYTES)


@dataclass(frozen=True)
class Called:
    """A tool call that a model made: the tool, and what it was given."""

    name: str
    arguments: str


def tool_calls(run: RunDirectory) -> tuple[Called, ...]:
    """The tool calls of ``run`` in the order in which the model made them."""
    events, _ = read_finished_events(run.events)
    return tuple(
        Called(str(event.payload["name"]), canonical(event.payload["arguments"]).decode())
        for event in events
        if event.type == "tool.call"
    )


def first_difference(recorded: Sequence[Called], again: Sequence[Called]) -> str:
    """The first difference of two sequences of tool calls, as a message; empty if they are the same."""
    for number, (one, other) in enumerate(zip_longest(recorded, again), 1):
        if one != other:
            return f"tool call {number}: recorded {_shown(one)}, now {_shown(other)}"
    return ""


@dataclass(frozen=True)
class Divergence:
    """The first text in which a request is not as recorded; see ``differences`` of the gateway for its fields."""

    call: int
    pointer: str
    part: str
    before: str
    recorded: str
    now: str
    after: str
    places: int = 1
    others: int = 0

    @property
    def message(self) -> str:
        """A message with the place and the texts."""
        part = f", {self.part}," if self.part else ""
        place = f"model call {self.call}{part} at {self.pointer or '/'}"
        return f"{place}: recorded {self.marked(self.recorded)}, now {self.marked(self.now)}{self.more}"

    @property
    def more(self) -> str:
        """How much else differs."""
        counts = ((self.places - 1, "place of this text", "places of this text"), (self.others, "part", "parts"))
        changes = [f"{count} other {one if count == 1 else many}" for count, one, many in counts if count]
        verb = "differs" if self.places - 1 + self.others == 1 else "differ"
        return f" ({' and '.join(changes)} {verb})" if changes else ""

    def marked(self, text: str) -> str:
        """One side between marks, with the text around it."""
        return repr(f"{self.before}>>>{text}<<<{self.after}")


def first_divergence(run: RunDirectory) -> Divergence | None:
    """The first call of ``run`` that its cassette could not answer, and what differs in it; nothing when all were."""
    events, _ = read_finished_events(run.events)
    found = next((event.payload for event in events if event.type == "model.diverged"), None)
    if found is None:
        return None
    return Divergence(
        call=int(found["call"]),
        pointer=str(found["pointer"]),
        part=str(found.get("part", "")),
        before=str(found.get("before", "")),
        recorded=str(found["expected"]),
        now=str(found["got"]),
        after=str(found.get("after", "")),
        places=int(found.get("places", 1)),
        others=int(found.get("others", 0)),
    )


@dataclass(frozen=True)
class OtherOrder:
    """A part of a request that is as recorded except for the order of its lines or entries."""

    call: int
    pointer: str
    part: str
    lines: int

    @property
    def message(self) -> str:
        what = "entries" if self.part == TOOL_LIST else "lines"
        return f"model call {self.call}, {self.part}: equal except for the order of {self.lines} {what}"


def other_orders(run: RunDirectory) -> tuple[OtherOrder, ...]:
    """The parts of requests of ``run`` that are in another order on its cassette."""
    events, _ = read_finished_events(run.events)
    return tuple(
        OtherOrder(int(event.payload["call"]), str(one["pointer"]), str(one["part"]), int(one["lines"]))
        for event in events
        if event.type == "model.reordered"
        for one in event.payload["parts"]
    )


def first_unplayed_call(run: RunDirectory) -> str:
    """The first call on the cassette of ``run`` that its agent never made, as a message; empty if it made all."""
    events, _ = read_finished_events(run.events)
    found = next((event.payload for event in reversed(events) if event.type == "model.closed"), {})
    count = int(found.get("unplayed", 0))
    if not count:
        return ""
    more = f", and {count - 1} more" if count > 1 else ""
    return f"model call {found.get('first_unplayed', '')} was recorded, and the agent does not make it now{more}"


def out_of_memory(run: RunDirectory) -> bool:
    """Whether the kernel ended processes of ``run`` for lack of memory: then another run may end differently."""
    events, _ = read_finished_events(run.events)
    return any(int(event.payload.get("oom_kills") or 0) > 0 for event in events if event.type == "monitor.sample")


def _shown(call: Called | None) -> str:
    return f"{call.name} {call.arguments[:200]}" if call else "none"


def panel_of_run(run: RunDirectory) -> BreakerPanel:
    """A panel that has seen everything that ``run`` recorded, finished or not."""
    panel = BreakerPanel(settings_of_run(run))
    events, _ = read_finished_events(run.events)
    for event in events:
        panel.see(event)
    return panel


@dataclass(frozen=True)
class Spending:
    """The items and their sum; ``billed_usd`` is missing where nothing was billed, ``retained`` where all is there.

    ``waited_ns`` is how long the provider of the model was silent, which costs nothing here.
    """

    items: tuple[Item, ...]
    projected: Decimal
    currency: str
    schedule: str
    billed_usd: Decimal | None
    cap_usd: str | None
    retained: RemovedEvidence | None = None
    waited_ns: int = 0


def spending_of(run: RunDirectory) -> Spending:
    """What ``run`` cost, finished or not."""
    act = retention_of(run)
    if act is not None:
        return _projected(run, act)
    with _as_recorded(run):
        panel = panel_of_run(run)
        ledger = panel.facts.ledger
        return Spending(
            items=tuple(ledger.items()),
            projected=ledger.projected,
            currency=ledger.table.currency,
            schedule=ledger.table.id,
            billed_usd=ledger.observed_usd if ledger.billed_requests else None,
            cap_usd=panel.settings.caps.usd,
            waited_ns=panel.facts.clock.waited_ns,
        )


def _projected(run: RunDirectory, act: RemovedEvidence) -> Spending:
    panel = BreakerPanel(settings_of_run(run))
    events = list(iterate_events(run.events, removed=True))
    last = next((event for event in reversed(events) if event.type == "cost.projected"), None)
    if last is None:
        raise removed_evidence(run, act, "its cost is not known: it ended before a first projection")
    payload = last.payload
    try:
        billed = payload["observed_usd"]
        items = tuple(_item(item, len(events) - last.seq, str(payload["phase"])) for item in payload["items"])
        return Spending(
            items=items,
            projected=total_of(item.amount for item in items),
            currency=panel.facts.ledger.table.currency,
            schedule=str(payload["method"]),
            billed_usd=None if billed is None else Decimal(billed),
            cap_usd=panel.settings.caps.usd,
            retained=act,
        )
    except OTHER_FORM:
        raise BrokenSeal(
            "the projection of its cost does not have the form that Proctor writes", where=run.path.name
        ) from None


def _item(item: Mapping[str, Any], later: int, phase: str) -> Item:
    """One line of the projection, with the events that came ``later`` in its last phase."""
    quantity, price, amount = (Decimal(item[name]) for name in ("quantity", "price", "amount"))
    if (item["action"], item["phase"]) == ("trace_event", phase):
        quantity, amount = quantity + later, amount + price * later
    return Item(
        *(item["phase"], item["part"], item["action"], item["unit"], item["model"]),
        *(quantity, price, amount),
        item.get("tier", ""),
    )
