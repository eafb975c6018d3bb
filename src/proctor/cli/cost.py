"""``proctor cost``: what runs cost, item by item, or all of them together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Context, Decimal
from typing import Any

import click

from proctor.base.clock import seconds_text
from proctor.base.errors import UsageFault
from proctor.cli.exit_codes import require_evidence
from proctor.cli.options import complete_runs
from proctor.cli.output import as_json, counted, print_json, print_table, printable
from proctor.cli.wiring import home, run_store
from proctor.conduct.batch.batch_record import load_batch
from proctor.conduct.batch.spending_limits import runs_of
from proctor.conduct.replay.trace_replay import Spending, spending_of
from proctor.execute.monitor.budget import Item, by_phase
from proctor.execute.monitor.price_table import FALLBACK, total_of
from proctor.record.manifest_model import read_manifest
from proctor.record.run_directory import RunDirectory
from proctor.record.verify import verify

PLACES = 6
"""How many decimal places tables show."""

PRICE = Context(prec=6)
"""The significant digits of a price in tables; the price of a token or a byte has many zeros after the point."""


@click.command(epilog="Example: proctor cost 20260307T120000")
@click.argument("runs", shell_complete=complete_runs, nargs=-1)
@click.option("--batch", default="", help="All runs of the batch with this id, or the beginning of it.")
@as_json
def command(runs: tuple[str, ...], batch: str, json_: bool) -> None:
    """Itemise the cost of runs.

    The projected cost is listed by phase, separately from what a provider billed. Several runs, or a batch, are summed
    by phase and by task. Without a price table the amounts are in abstract units of a versioned schedule. For a run
    that was cut off, the cost so far is printed and the exit code is 4.
    """
    if bool(runs) == bool(batch):
        raise UsageFault("give runs, or one batch", hint="proctor cost RUN..., or proctor cost --batch BATCH")
    named = list(dict.fromkeys(run_store().find(run) for run in runs)) if runs else _of_batch(batch)
    checked = [(run, verify(run)) for run in named]
    for run, result in checked:
        if result.status == "broken":
            require_evidence(run, result)
    read = [(run, spending_of(run)) for run in named]
    if len(read) == 1 and runs:
        _one(*read[0], json_)
    else:
        _several(read, json_)
    for run, result in checked:
        require_evidence(run, result, live=True)


def _of_batch(batch: str) -> list[RunDirectory]:
    whole = load_batch(home(), batch).id
    found = [run for run, _ in runs_of(home(), whole)]
    if not found:
        raise UsageFault("no run of this batch has started", where=whole)
    return found


def _one(run: RunDirectory, spent: Spending, json_: bool) -> None:
    text = _text if json_ else _short
    rows = [_row(item, text) for item in spent.items]
    total, currency, billed = text(spent.projected), spent.currency, _billed([spent], text)
    cap = spent.cap_usd
    if json_:
        whole = {"run": run.path.name, "items": rows, "projected": total, "currency": currency, "cap_usd": cap}
        waited = seconds_text(spent.waited_ns)
        print_json({**whole, "schedule": spent.schedule, "billed_usd": billed, "waited_for_provider_seconds": waited})
        return
    _print_rows(["PHASE", "PART", "ITEM", "QUANTITY", "PRICE", "AMOUNT"], rows)
    click.echo(f"projected    {total} {_unit(currency)} by {spent.schedule}")
    click.echo(f"billed       {billed + ' USD' if billed else 'nothing was billed'}")
    click.echo(f"cap          {_cap(cap, currency)} (a policy choice)")
    if spent.waited_ns:
        click.echo(f"not charged  {seconds_text(spent.waited_ns)} s in which the provider was silent")


def _cap(usd: str | None, currency: str) -> str:
    """A cap, which is set in dollars, in what the amounts above it are in."""
    if usd is None:
        return "none"
    if currency != FALLBACK.table.currency:
        return f"{usd} USD"
    return f"{_short(Decimal(usd) * FALLBACK.units_per_usd)} {_unit(currency)}, set as {usd} USD"


def _unit(currency: str) -> str:
    """What amounts are in, for the eye."""
    return "USD" if currency == "usd" else f"{currency}s"


def _several(read: Sequence[tuple[RunDirectory, Spending]], json_: bool) -> None:
    all_spent = [spent for _, spent in read]
    currencies = sorted({spent.currency for spent in all_spent})
    if len(currencies) > 1:
        several = " and in ".join(map(_unit, currencies))
        raise UsageFault(f"the costs of the runs are in {several}", hint="name only runs that use the same price table")
    text = _text if json_ else _short
    phases = [
        {"phase": phase, "part": part, "amount": text(amount)}
        for phase, parts in by_phase(item for spent in all_spent for item in spent.items).items()
        for part, amount in parts.items()
    ]
    tasks = _by_task(read, text)
    total, billed = text(total_of(spent.projected for spent in all_spent)), _billed(all_spent, text)
    methods = sorted({spent.schedule for spent in all_spent})
    if json_:
        each = [{"run": run.path.name, "projected": _text(spent.projected)} for run, spent in read]
        sums = {"runs": each, "phases": phases, "tasks": tasks, "projected": total, "currency": currencies[0]}
        print_json({**sums, "schedules": methods, "billed_usd": billed})
        return
    _print_rows(["PHASE", "PART", "AMOUNT"], phases)
    _print_rows(["TASK", "RUNS", "AMOUNT"], [{"task": name, **task} for name, task in tasks.items()])
    click.echo(f"projected    {total} {_unit(currencies[0])} in {counted(len(read), 'run')} by {', '.join(methods)}")
    click.echo(f"billed       {billed + ' USD' if billed else 'nothing was billed'}")


def _by_task(
    read: Sequence[tuple[RunDirectory, Spending]], text: Callable[[Decimal], str]
) -> dict[str, dict[str, Any]]:
    """How many runs each task had and what they cost; versions of a contract are tasks of their own."""
    costs: dict[tuple[str, str], list[Decimal]] = {}
    for run, spent in read:
        contract = read_manifest(run).contract
        costs.setdefault((contract.name, contract.id), []).append(spent.projected)
    names = [name for name, _ in costs]
    return {
        (name if names.count(name) == 1 else f"{name}@{version[:12]}"): {
            "runs": len(amounts),
            "amount": text(total_of(amounts)),
        }
        for (name, version), amounts in sorted(costs.items())
    }


def _row(item: Item, text: Callable[[Decimal], str]) -> dict[str, Any]:
    return {
        "phase": item.phase,
        "part": item.part,
        "item": " ".join(filter(None, (item.action, item.model, item.tier))),
        "quantity": f"{text(item.quantity)} {item.unit}",
        "price": _text(PRICE.create_decimal(item.price)) if text is _short else text(item.price),
        "amount": text(item.amount),
    }


def _print_rows(head: list[str], rows: Sequence[dict[str, Any]]) -> None:
    print_table(head, [[printable(str(row[name.lower()])) for name in head] for row in rows])


def _billed(all_spent: Sequence[Spending], text: Callable[[Decimal], str]) -> str | None:
    billed = [spent.billed_usd for spent in all_spent if spent.billed_usd is not None]
    return text(total_of(billed)) if billed else None


def _text(amount: Decimal) -> str:
    return f"{amount.normalize():f}"


def _short(amount: Decimal) -> str:
    """``amount`` for the eye; ``--json`` has all its places."""
    return _text(round(amount, PLACES))
