"""What a run cost, item by item: folded from its trace, or as it was projected where payloads of the trace are gone.

The projection is an event of its own (``cost.projected``), which every retention tier keeps. It was made before the
last events of the run, itself included; what those cost as events is added, so that both ways give the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from proctor.base.errors import BrokenSeal
from proctor.conduct.replay import read_again, settings_of_run
from proctor.execute.watch.ledger import Item
from proctor.execute.watch.money import total_of
from proctor.execute.watch.panel import Panel
from proctor.record.retain import Retained, gone, retention_of
from proctor.record.rundir import RunDirectory
from proctor.record.trace.read import iterate_events


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
    retained: Retained | None = None
    waited_ns: int = 0


def spending_of(run: RunDirectory) -> Spending:
    """What ``run`` cost, finished or not."""
    act = retention_of(run)
    if act is not None:
        return _projected(run, act)
    panel = read_again(run)
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


def _projected(run: RunDirectory, act: Retained) -> Spending:
    panel = Panel(settings_of_run(run))
    events = list(iterate_events(run.events, removed=True))
    last = next((event for event in reversed(events) if event.type == "cost.projected"), None)
    if last is None:
        raise gone(run, act, "what it cost cannot be told: it ended before anything was projected")
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
    except (KeyError, TypeError, ValueError, ArithmeticError):
        raise BrokenSeal("the projection of its cost is not as Proctor writes it", where=run.path.name) from None


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
