"""What things cost: a price table from CSV, or the fallback schedule in abstract units.

A table has the columns ``action_type``, ``unit`` and ``unit_price`` (a plain decimal, 0 or more), ``notes`` if wanted,
and any others; a column ``model`` narrows a row to one model. Prices are exact decimals and are never rounded here. The
digest of the file's bytes names the table in every report. Without a table the schedule below prices what the trace
shows in abstract units, so that the same behaviour meets the same cap on every machine. Both are models of a cost, not
a bill.

    action_type        unit
    llm_request        request, call, token
    llm_input          token
    llm_output         token
    tool_call          call, second, minute, hour
    execution          second, minute, hour
    human_review       second, minute, hour
    artifact_storage   byte, gigabyte, gigabyte-day
    trace_event        event
    run                run

Other actions may stand in a table; nothing here meters them, and the ledger names them as unused.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from proctor.base.canonical import digest, sha256
from proctor.base.errors import UsageFault
from proctor.base.frozen import frozen
from proctor.base.pattern import pattern

COLUMNS = ("action_type", "unit", "unit_price")
TABLE_BYTES = 1 << 20
MOST_ROWS = 10_000
_PRICE = pattern(r"[0-9]{1,12}(?:\.[0-9]{1,18})?")
_NAME = pattern(r"[A-Za-z0-9][A-Za-z0-9_.:/-]{0,99}")


class BadPrices(UsageFault):
    """A price table that cannot be used: one message, with the line."""


@frozen
class Price:
    """What one unit of an action costs; ``model`` is empty when it holds for every model."""

    action: str
    unit: str
    price: Decimal
    model: str = ""
    notes: str = ""


@frozen
class PriceTable:
    """All prices of one method of projection; ``id`` names it and ``currency`` says what amounts are in."""

    id: str
    currency: str
    prices: tuple[Price, ...]

    def of(self, action: str, model: str = "") -> tuple[Price, ...]:
        """The prices of ``action``: those for ``model`` where there are any, else those for every model."""
        listed = [price for price in self.prices if price.action == action]
        narrow = tuple(price for price in listed if price.model and price.model == model)
        return narrow or tuple(price for price in listed if not price.model)


def load_prices(data: bytes, file: str = "prices.csv") -> PriceTable:
    """The table that CSV ``data`` holds; :class:`BadPrices` names the first line that is wrong."""
    if len(data) > TABLE_BYTES:
        raise BadPrices(f"larger than {TABLE_BYTES} bytes", where=file)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise BadPrices("not UTF-8 text", where=f"{file}:{line}") from None
    if "\0" in text:
        line = text[: text.index("\0")].count("\n") + 1
        raise BadPrices("a null character", where=f"{file}:{line}")
    return PriceTable(sha256(data), "usd", tuple(_rows(text, file)))


def _rows(text: str, file: str) -> Iterator[Price]:
    import csv
    import io

    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    header: list[str] | None = None
    seen: dict[tuple[str, str, str], int] = {}
    while True:
        start = reader.line_num + 1
        where = f"{file}:{start}"
        try:
            cells = next(reader, None)
        except csv.Error as error:
            raise BadPrices(f"not CSV: {error}", where=f"{file}:{reader.line_num}") from None
        if cells is None:
            break
        if not any(cell.strip() for cell in cells):
            continue
        if header is None:
            header = _header(cells, where)
            continue
        price = _row(header, cells, where)
        key = (price.action, price.unit, price.model)
        if key in seen:
            raise BadPrices(f"{price.action} per {price.unit} has a price in line {seen[key]} already", where=where)
        seen[key] = start
        if len(seen) > MOST_ROWS:
            raise BadPrices(f"more than {MOST_ROWS} prices", where=where)
        yield price
    if header is None:
        raise BadPrices("empty", where=f"{file}:1", hint=f"the first line names the columns: {','.join(COLUMNS)}")


def _header(cells: list[str], where: str) -> list[str]:
    names = [cell.strip() for cell in cells]
    for name in COLUMNS:
        if name not in names:
            raise BadPrices(f"no column {name!r}", where=where, hint=f"needed: {', '.join(COLUMNS)}")
    for name in names:
        if names.count(name) > 1:
            raise BadPrices(f"two columns {name!r}", where=where)
    return names


def _row(header: list[str], cells: list[str], where: str) -> Price:
    if len(cells) != len(header):
        raise BadPrices(f"{len(cells)} cells under {len(header)} columns", where=where)
    row = {name: cell.strip() for name, cell in zip(header, cells, strict=True)}
    for name in ("action_type", "unit"):
        if not _NAME.fullmatch(row[name]):
            raise BadPrices(f"{name} is not a name: {row[name][:40]!r}", where=where)
    amount = row["unit_price"]
    if not _PRICE.fullmatch(amount):
        hint = "a plain decimal, 0 or more, such as 0.000003"
        raise BadPrices(f"unit_price is not a price: {amount[:40]!r}", where=where, hint=hint)
    return Price(row["action_type"], row["unit"], Decimal(amount), row.get("model", ""), row.get("notes", ""))


@frozen
class Schedule:
    """The fallback: conservative costs in abstract units. Its coefficients are policy choices of this version.

    ``units_per_usd`` turns a cost cap in dollars into one in units, so that a contract states one number.
    """

    version: str
    units_per_usd: Decimal
    table: PriceTable


_FALLBACK = (
    Price("llm_request", "request", Decimal("1")),
    Price("llm_input", "token", Decimal("0.003")),
    Price("llm_output", "token", Decimal("0.015")),
    Price("tool_call", "call", Decimal("0.01")),
    Price("execution", "second", Decimal("0.05")),
    Price("human_review", "second", Decimal("0")),
    Price("artifact_storage", "byte", Decimal("0.0000001")),
    Price("trace_event", "event", Decimal("0.0001")),
    Price("run", "run", Decimal("1")),
)

FALLBACK = Schedule("fallback-1", Decimal("1000"), PriceTable("fallback-1", "unit", _FALLBACK))
"""The schedule of this version; within a study it stays the same."""


def schedule_digest(schedule: Schedule) -> str:
    """The digest of a schedule's coefficients, to show that two runs used the same ones."""
    rows = [[price.action, price.unit, format(price.price, "f")] for price in schedule.table.prices]
    return digest({"version": schedule.version, "units_per_usd": format(schedule.units_per_usd, "f"), "prices": rows})
