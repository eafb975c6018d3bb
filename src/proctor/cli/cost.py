"""``proctor cost``: what a run cost, item by item."""

from __future__ import annotations

from typing import Any

import click

from proctor.cli.output import as_json, print_json, print_table, printable


@click.command(epilog="Example: proctor cost 20260307T120000")
@click.argument("run")
@as_json
def command(run: str, json_: bool) -> None:
    """Itemise the projected cost of RUN per phase, apart from what a provider billed.

    Without a price table the amounts are abstract units of a versioned schedule. Caps are policy choices.
    """
    from proctor.cli.wiring import shelf
    from proctor.conduct.replay import read_again

    found = shelf().find(run)
    panel = read_again(found)
    ledger = panel.facts.ledger
    rows: list[dict[str, Any]] = [
        {
            "phase": item.phase,
            "part": item.part,
            "item": " ".join(filter(None, (item.action, item.model))),
            "quantity": f"{item.quantity.normalize():f} {item.unit}",
            "price": f"{item.price.normalize():f}",
            "amount": f"{item.amount.normalize():f}",
        }
        for item in ledger.items()
    ]
    total, currency = f"{ledger.projected.normalize():f}", ledger.table.currency
    billed = f"{ledger.observed_usd.normalize():f}" if ledger.billed_requests else None
    cap = panel.settings.caps.usd
    if json_:
        whole = {"run": found.path.name, "items": rows, "projected": total, "currency": currency, "cap_usd": cap}
        print_json({**whole, "schedule": ledger.table.id, "billed_usd": billed})
        return
    head = ["PHASE", "PART", "ITEM", "QUANTITY", "PRICE", "AMOUNT"]
    print_table(head, [[printable(str(row[name.lower()])) for name in head] for row in rows])
    click.echo(f"projected    {total} {currency} by {ledger.table.id}")
    click.echo(f"billed       {billed + ' USD' if billed else 'nothing was billed'}")
    click.echo(f"cap          {cap or 'none'} USD (a policy choice)")
