"""``proctor prices``: price tables from the list that the package ``genai-prices`` maintains.

The list is a part of the package, so nothing is fetched. The package is optional, since only this command needs it.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, time
from decimal import Decimal
from importlib import import_module
from typing import Any

import click

from proctor.base.clock import SystemClock
from proctor.base.dataclass_fields import field_items
from proctor.base.errors import UsageFault
from proctor.cli.output import Group, as_json, print_json
from proctor.execute.monitor.price_table import COLUMNS, load_prices, tier_of

PER_MILLION = {
    "input_mtok": "llm_input",
    "cache_read_mtok": "llm_cached_input",
    "cache_write_mtok": "llm_cache_write",
    "cache_write_1h_mtok": "llm_cache_write_1h",
    "output_mtok": "llm_output",
    "output_reasoning_mtok": "llm_reasoning",
}
"""The package's prices of a million tokens, and their actions."""


@click.group(cls=Group, epilog="Example: proctor prices import --model openai/gpt-5 > prices.csv")
def command() -> None:
    """Make price tables.

    `proctor run --prices` reads them.
    """


@command.command("import", epilog="Example: proctor prices import --model openai/gpt-5 > prices.csv")
@click.option(
    "--model",
    "models",
    multiple=True,
    required=True,
    help="PROVIDER/NAME, as for proctor run; can be given several times.",
)
@click.option(
    "--date", "day", type=click.DateTime(["%Y-%m-%d"]), default=None, help="The day of the prices.  [default: today]"
)
@as_json
def import_(models: tuple[str, ...], day: datetime | None, json_: bool) -> None:
    """Print a price table for models from the package genai-prices.

    Each row names the version of the package, the model that it found, and the day. Rows with a tier apply to calls
    that the provider answers in that tier. Check the table: list prices change, and the package may be out of date.
    Prices for long contexts are mentioned in notes but not part of the table.
    """
    today = datetime.fromtimestamp(SystemClock().wall_ns() // 10**9, UTC).date()
    at = datetime.combine(day.date() if day else today, time(12), UTC)
    text = price_table(tuple(dict.fromkeys(models)), at)
    if json_:
        table = load_prices(text.encode())
        rows = [dict(field_items(one), price=format(one.price, "f")) for one in table.prices]
        print_json({"id": table.id, "currency": table.currency, "prices": rows})
    else:
        click.echo(text, nl=False)


def price_table(models: Sequence[str], at: datetime) -> str:
    """The CSV of a table with the prices of ``models`` at a moment."""
    version, snapshot = import_module("genai_prices").__version__, import_module("genai_prices.data_snapshot")
    listed, text = snapshot.get_snapshot(), io.StringIO()
    first = min(_start_dates(listed), default=at.date())
    if at.date() < first:
        raise UsageFault(
            f"genai-prices {version} knows no prices of {at.date()}", where="--date", hint=f"{first} or a later day"
        )
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow((*COLUMNS, "model", "tier", "notes"))
    for model in models:
        provider, slash, name = model.partition("/")
        if not slash or not provider or not name:
            raise UsageFault(f"not a model: {model[:100]!r}", hint="--model PROVIDER/NAME, such as openai/NAME")
        try:
            company, found = listed.find_provider_model(name, None, provider, None)
        except LookupError:
            raise UsageFault(f"genai-prices {version} does not list {model[:100]!r}") from None
        note = f"genai-prices {version}: {company.id}/{found.id} on {at.date()}"
        ordinary = list(_rows(found.get_prices(at), note))
        if not {"llm_input", "llm_output"} <= {row[0] for row in ordinary}:
            raise UsageFault(f"genai-prices {version} has no token prices for {model[:100]!r}")
        tiers = {tier: list(_rows(found.get_prices(at, context), note)) for tier, context in _tiers(found)}
        for tier, rows in {"": ordinary, **{one: rows for one, rows in tiers.items() if rows != ordinary}}.items():
            writer.writerows((action, unit, price, name, tier, notes) for action, unit, price, notes in rows)
    load_prices(text.getvalue().encode(), "the table")
    return text.getvalue()


def _start_dates(listed: Any) -> Iterator[date]:
    """Every day from which on a price of the list holds."""
    for model in (model for provider in listed.providers for model in provider.models):
        prices = model.prices if isinstance(model.prices, list) else []
        for one in (*prices, *(model.price_variants or ())):
            start = getattr(one.constraint, "start_date", None)
            if start is not None:
                yield start


def _tiers(model: Any) -> Iterator[tuple[str, dict[str, str]]]:
    """The service tiers that a model has prices for, batches among them, each with what the list calls it."""
    for variant in model.price_variants or ():
        for key, value in variant.when.items() if len(variant.when) == 1 else ():
            if key in ("service_tier", "processing") and tier_of(value):
                yield tier_of(value), {key: value}


def _rows(prices: Any, note: str) -> Iterator[tuple[str, str, str, str]]:
    """The rows of one model: action, unit, price and note."""
    for field, action in PER_MILLION.items():
        price = getattr(prices, field, None)
        if price is None:
            continue
        tiers = getattr(price, "tiers", ())
        more = f"; other prices above {tiers[0].start} input tokens" if tiers else ""
        yield action, "token", _price(getattr(price, "base", price), -6), note + more
    request = getattr(prices, "requests_kcount", None)
    if request is not None:
        yield "llm_request", "request", _price(request, -3), note


def _price(price: Decimal, places: int) -> str:
    return format(price.scaleb(places).normalize(), "f")
