"""What things cost: exact amounts of money, and a price table from CSV or the fallback schedule in abstract units."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal

from proctor.base.canonical import digest, sha256
from proctor.base.errors import UsageFault

EXACT = Context(prec=80, rounding=ROUND_CEILING)
"""Keeps every digit of what can be priced here."""


def total_of(amounts: Iterable[Decimal]) -> Decimal:
    """The sum, with every digit kept."""
    total = Decimal(0)
    for amount in amounts:
        total = EXACT.add(total, amount)
    return total


def plain(amount: Decimal) -> str:
    """An amount as a decimal string without an exponent and without needless zeros, but always with cents."""
    whole, _, rest = format(amount, "f").partition(".")
    return f"{whole}.{rest.rstrip('0').ljust(2, '0')}"


_VERSION = re.compile(r"([-@:](latest|\d{3,8}|\d{4}-\d{2}-\d{2}))+$")
"""How providers mark the version of a model at the end of its name."""


def is_same_model(asked: str, answered: str) -> bool:
    """Whether the name in an answer is the one that was asked for, or a dated version of it."""
    return undated(asked) == undated(answered)


def undated(name: str) -> str:
    """The name of a model without its provider and its version."""
    return _VERSION.sub("", name.lower().rpartition("/")[2])


COLUMNS = ("action_type", "unit", "unit_price")
TIMES = ("second", "minute", "hour")
UNITS = {
    "llm_request": ("request", "call", "token"),
    "llm_input": ("token",),
    "llm_cached_input": ("token",),
    "llm_cache_write": ("token",),
    "llm_cache_write_1h": ("token",),
    "llm_output": ("token",),
    "llm_reasoning": ("token",),
    "tool_call": ("call", *TIMES),
    "execution": TIMES,
    "human_review": TIMES,
    "artifact_storage": ("byte", "gigabyte", "gigabyte-day"),
    "trace_event": ("event",),
    "run": ("run",),
}
"""Every action that is metered, and by which units it can be priced."""
PART_OF = {
    "llm_cached_input": "llm_input",
    "llm_cache_write": "llm_input",
    "llm_cache_write_1h": "llm_cache_write",
    "llm_reasoning": "llm_output",
}
"""Classes of tokens, and whose price each has where the table gives it none."""
INPUT = ("llm_input", "llm_cached_input", "llm_cache_write", "llm_cache_write_1h")
OUTPUT = ("llm_output", "llm_reasoning")
ORDINARY_TIERS = frozenset(("", "auto", "default", "standard"))
"""What providers call the tier whose prices have no name."""
METERS = {
    "llm_input": "input_tokens",
    "llm_cached_input": "cached_tokens",
    "llm_cache_write": "cache_write_tokens",
    "llm_cache_write_1h": "cache_write_1h_tokens",
    "llm_output": "output_tokens",
    "llm_reasoning": "reasoning_tokens",
}
"""For every class of tokens its meter."""
TABLE_BYTES = 1 << 20
MOST_REPORTED = 20
MOST_ROWS = 10_000
MOST_TIER = 40
_PRICE = re.compile(r"[0-9]{1,12}(?:\.[0-9]{1,18})?")


class BadPrices(UsageFault):
    """A price table that cannot be used."""


@dataclass(frozen=True)
class _Wrong:
    """One mistake: where, what, and what to do."""

    where: str
    message: str
    hint: str = ""

    def __str__(self) -> str:
        return f"{self.where}: {self.message}" + (f" ({self.hint})" if self.hint else "")


@dataclass(frozen=True)
class Price:
    """What one unit of an action costs; an empty ``model`` means every model, an empty ``tier`` the ordinary one."""

    action: str
    unit: str
    price: Decimal
    model: str = ""
    notes: str = ""
    tier: str = ""


@dataclass(frozen=True)
class PriceTable:
    """All prices of one method of projection; ``id`` names it and ``currency`` says what amounts are in.

    ``by_exact_name`` is how earlier versions read a table: a model that no row names cost nothing.
    """

    id: str
    currency: str
    prices: tuple[Price, ...]
    by_exact_name: bool = False

    def of(self, action: str, model: str = "", tier: str = "") -> tuple[Price, ...]:
        """The prices of ``action``: those for ``model``, else for a version of it, else for every model.

        Of a model that the table does not cover, or a tier that it does not name, the dearest for each unit.
        """
        listed = [price for price in self.prices if price.action == action]
        named = [price for price in listed if price.model and price.model == model]
        if not named and model and not self.by_exact_name:
            named = [price for price in listed if price.model and is_same_model(model, price.model)]
        found = named or [price for price in listed if not price.model]
        if not found and model and not self.by_exact_name and not self.covers(model):
            return _dearest(listed)
        return _dearest([price for price in found if price.tier == tier] or found)

    def covers(self, model: str) -> bool:
        """Whether rows for ``model`` or for every model price its requests, or its input and its output."""
        priced = {one.action for one in self.prices if not one.model or is_same_model(model, one.model)}
        return "llm_request" in priced or {"llm_input", "llm_output"} <= priced

    def knows(self, model: str, tier: str = "") -> bool:
        """Whether the table itself gives the prices of ``model`` in ``tier``."""
        tiers = {one.tier for one in self.prices if not one.model or is_same_model(model, one.model)}
        return self.covers(model) and tier in (tiers | {""})

    def priced_as(self, action: str, model: str, tier: str = "") -> str:
        """The action by whose price ``action`` is paid: itself, or the nearest one that it is a part of.

        A price for this model goes before one for every model: a cheap general rate for cached input does not hold for
        a model with an input price of its own. The same holds for a tier. Where prices are not known, the dearest one
        counts.
        """
        chain = [action]
        while chain[-1] in PART_OF:
            chain.append(PART_OF[chain[-1]])
        found = [(one, prices[0]) for one in chain if (prices := self.of(one, model, tier))]
        if not found:
            return chain[-1]
        if not self.by_exact_name and not self.covers(model):
            return max(found, key=lambda one: one[1].price)[0]
        return max(found, key=lambda one: (bool(one[1].model), one[1].tier == tier))[0]


def _dearest(prices: Iterable[Price]) -> tuple[Price, ...]:
    """For each unit the dearest of ``prices``."""
    found: dict[str, Price] = {}
    for one in prices:
        if one.unit not in found or one.price > found[one.unit].price:
            found[one.unit] = one
    return tuple(found.values())


@dataclass(frozen=True)
class TokenCounts:
    """What one call used.

    Cached and written tokens are a part of the input, those written for an hour of all that were written, and
    reasoning is a part of the output.
    """

    input_tokens: int
    output_tokens: int
    cached_tokens: int = 0
    reasoning_tokens: int = 0
    cache_write_tokens: int = 0
    cache_write_1h_tokens: int = 0


def meters_of(table: PriceTable, model: str, tier: str = "") -> dict[str, str]:
    """For every class the meter that counts it, which is that of another class where the table does not price it."""
    return {action: METERS[table.priced_as(action, model, tier)] for action in METERS}


def by_meter(counts: TokenCounts, meters: Mapping[str, str]) -> dict[str, int]:
    """What one call adds to each meter; a part that is larger than its whole counts as the whole."""
    cached = min(counts.cached_tokens, counts.input_tokens)
    written = min(counts.cache_write_tokens, counts.input_tokens - cached)
    written_1h = min(counts.cache_write_1h_tokens, written)
    reasoning = min(counts.reasoning_tokens, counts.output_tokens)
    classes = {
        "llm_input": counts.input_tokens - cached - written,
        "llm_cached_input": cached,
        "llm_cache_write": written - written_1h,
        "llm_cache_write_1h": written_1h,
        "llm_output": counts.output_tokens - reasoning,
        "llm_reasoning": reasoning,
    }
    found = {"requests": 1, "tokens": counts.input_tokens + counts.output_tokens}
    for action, tokens in classes.items():
        found[meters[action]] = found.get(meters[action], 0) + tokens
    return found


def unit_prices(table: PriceTable, model: str, tier: str = "") -> dict[str, Decimal]:
    """What one unit of each meter of a model costs."""
    requests = [(one.unit == "token", one.price) for one in table.of("llm_request", model, tier)]
    return {
        "requests": total_of(price for of_tokens, price in requests if not of_tokens),
        "tokens": total_of(price for of_tokens, price in requests if of_tokens),
        **{meter: total_of(one.price for one in table.of(action, model, tier)) for action, meter in METERS.items()},
    }


def tier_of(name: str) -> str:
    """The tier that a provider or a table names; empty for the ordinary one."""
    lower = name.strip().lower()[:MOST_TIER]
    return "" if lower in ORDINARY_TIERS else lower


def load_prices(data: bytes, file: str = "prices.csv") -> PriceTable:
    """The table that CSV ``data`` holds; :class:`BadPrices` names every line that is wrong."""
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


def _rows(text: str, file: str) -> list[Price]:
    """The prices in ``text``."""
    lines = _lines(text, file)
    found: list[Price] = []
    wrong: list[_Wrong] = []
    seen: dict[tuple[str, str, str, str], int] = {}
    number, names = next(lines, (1, []))
    header = [name.strip() for name in names]
    _raise(_in_header(header, f"{file}:{number}"))
    for number, cells in lines:
        where = f"{file}:{number}"
        problems = list(_in_row(header, cells, where))
        wrong += problems
        if problems:
            continue
        row = {name: cell.strip() for name, cell in zip(header, cells, strict=True)}
        amount, model, notes = Decimal(row["unit_price"]), row.get("model", ""), row.get("notes", "")
        price = Price(row["action_type"], row["unit"], amount, model, notes, tier_of(row.get("tier", "")))
        key = (price.action, price.unit, price.model, price.tier)
        if key in seen:
            wrong.append(_Wrong(where, f"{price.action} per {price.unit} has a price in line {seen[key]} already"))
        seen.setdefault(key, number)
        if len(seen) > MOST_ROWS:
            raise BadPrices(f"more than {MOST_ROWS} prices", where=where)
        found.append(price)
    _raise(wrong)
    return found


def _raise(mistakes: Iterable[_Wrong]) -> None:
    """Raise all of ``mistakes`` as one fault, if there are any."""
    wrong = list(mistakes)
    if not wrong:
        return
    first, *others = wrong
    more = [str(one) for one in others[: MOST_REPORTED - 1]]
    if len(wrong) > MOST_REPORTED:
        more.append(f"and {len(wrong) - MOST_REPORTED} more")
    hint = f" ({first.hint})" if first.hint else ""
    raise BadPrices("\n".join([first.message + hint, *more]), where=first.where)


def _lines(text: str, file: str) -> Iterator[tuple[int, list[str]]]:
    """The lines of a CSV text that hold anything, each with its number."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    while True:
        start = reader.line_num + 1
        try:
            cells = next(reader, None)
        except csv.Error as error:
            raise BadPrices(f"not CSV: {error}", where=f"{file}:{reader.line_num}") from None
        if cells is None:
            return
        if any(cell.strip() for cell in cells):
            yield start, cells


def _in_header(names: list[str], where: str) -> Iterator[_Wrong]:
    needed = ", ".join(COLUMNS)
    if not names:
        yield _Wrong(where, "empty", f"the first line names the columns: {needed}")
        return
    yield from (_Wrong(where, f"no column {name!r}", f"needed: {needed}") for name in COLUMNS if name not in names)
    yield from (_Wrong(where, f"two columns {name!r}") for name in dict.fromkeys(names) if names.count(name) > 1)


def _in_row(header: list[str], cells: list[str], where: str) -> Iterator[_Wrong]:
    if len(cells) != len(header):
        yield _Wrong(where, f"{len(cells)} cells under {len(header)} columns")
        return
    row = {name: cell.strip() for name, cell in zip(header, cells, strict=True)}
    action, unit, amount = (row[name] for name in COLUMNS)
    if action not in UNITS:
        yield _Wrong(where, f"nothing meters an action_type {action[:40]!r}", f"there are {', '.join(UNITS)}")
    elif unit not in UNITS[action]:
        yield _Wrong(where, f"{action} has no unit {unit[:40]!r}", f"it has {', '.join(UNITS[action])}")
    if not _PRICE.fullmatch(amount):
        hint = "a plain decimal, 0 or more, such as 0.000003"
        yield _Wrong(where, f"unit_price is not a price: {amount[:40]!r}", hint)
    if row.get("tier") and not action.startswith("llm_"):
        yield _Wrong(where, f"{action} has no tiers", "only the prices of a model have them")


@dataclass(frozen=True)
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
