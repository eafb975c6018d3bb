"""Spend that is reserved before a call and settled after it, so that a cap holds with calls in flight.

A reservation is what the call can cost at most: as many input tokens as its body has bytes, and as many output tokens
as it may ask for, each at the price of the dearest class: nothing shows beforehand what a provider will write to its
cache. Spend, reservations and a new reservation together never exceed a cap, unless a provider counts more than was
reserved; ``over`` then says by how much. All methods are thread-safe.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from decimal import Decimal

from proctor.execute.gateway.dialects.interface import Message, ModelRequest, Usage
from proctor.execute.gateway.gateway_settings import Caps
from proctor.execute.monitor.price_table import (
    EXACT,
    INPUT,
    OUTPUT,
    PriceTable,
    TokenCounts,
    by_meter,
    is_same_model,
    meters_of,
    total_of,
    unit_prices,
)

_TEMPLATE_TOKENS = 64
_MESSAGE_TOKENS = 16
_TOOLS_TOKENS = 1024
_MEDIA_TOKENS = 5000
"""What providers add around a conversation, each of its messages, and where tools are offered, and for an image."""

_UNLISTED = "?"
"""A tier that no table names, whose prices are the dearest of all tiers."""


@dataclass(frozen=True)
class Reservation:
    """What one call may use at most."""

    model: str
    input_tokens: int
    output_tokens: int
    amount: Decimal

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens


@dataclass(frozen=True)
class TooMuch:
    """Why a call cannot be afforded; ``later`` when it could be once calls in flight have cost less than they might."""

    message: str
    later: bool


def most_input(body_bytes: int, asked: ModelRequest) -> int:
    """The most input tokens that a request can be counted as: one for each byte, and what is put around it.

    Images are not counted by their bytes. A document of many pages may be counted as more, which shows when it is.
    """
    around = _TEMPLATE_TOKENS + _MESSAGE_TOKENS * len(asked.messages) + _TOOLS_TOKENS * bool(asked.tools)
    return body_bytes + around + _MEDIA_TOKENS * asked.media


class Meter:
    """The spend under one set of caps."""

    def __init__(self, table: PriceTable, caps: Caps = Caps()) -> None:  # noqa: B008 - frozen
        self.table = table
        self.caps = caps
        self._lock = threading.Lock()
        self._open: dict[int, Reservation] = {}
        self._next = 0
        self._rates: dict[tuple[str, str], tuple[dict[str, str], dict[str, Decimal]]] = {}
        tiers = sorted({one.tier for one in table.prices} - {""})
        self._tiers = ("", *tiers, _UNLISTED) if tiers else ("",)
        self.amount = Decimal(0)
        self.tokens = 0
        self.requests = 0

    def price(self, model: str, counts: TokenCounts, tier: str = "") -> Decimal:
        """What one call costs by the table."""
        meters, prices = self._rates_of(model, tier)
        return total_of(_times(prices[meter], quantity) for meter, quantity in by_meter(counts, meters).items())

    def most(self, model: str, input_tokens: int, output_tokens: int) -> Decimal:
        """What one call costs at most, whatever the classes of its tokens and the tier that answers."""
        return max(self._most(model, tier, input_tokens, output_tokens) for tier in self._tiers)

    def _most(self, model: str, tier: str, input_tokens: int, output_tokens: int) -> Decimal:
        meters, prices = self._rates_of(model, tier)
        came, went = (max(prices[meters[one]] for one in classes) for classes in (INPUT, OUTPUT))
        tokens = _times(prices["tokens"], input_tokens + output_tokens)
        return total_of((prices["requests"], tokens, _times(came, input_tokens), _times(went, output_tokens)))

    def _rates_of(self, model: str, tier: str) -> tuple[dict[str, str], dict[str, Decimal]]:
        if (model, tier) not in self._rates:
            self._rates[model, tier] = meters_of(self.table, model, tier), unit_prices(self.table, model, tier)
        return self._rates[model, tier]

    def charged_as(self, asked: str, answered: str, counts: TokenCounts, tier: str) -> str:
        """The model by whose prices a call is paid: the one that was asked for, or a dearer one that answered."""
        if not answered or is_same_model(asked, answered) or not self.table.covers(answered):
            return asked
        return max((asked, answered), key=lambda model: self.price(model, counts, tier))

    def reserve(self, model: str, input_tokens: int, output_tokens: int) -> int | TooMuch:
        """Reserve what a call may cost; its number for :meth:`settle`, or why there is not enough."""
        wanted = Reservation(model, input_tokens, output_tokens, self.most(model, input_tokens, output_tokens))
        with self._lock:
            short = self._short(wanted)
            if short is not None:
                return short
            self._next += 1
            self._open[self._next] = wanted
            return self._next

    def affordable(self, model: str, input_tokens: int) -> int | None:
        """How many output tokens a call could have once all calls in flight have cost nothing; None without end."""
        found = []
        with self._lock:
            if self.caps.tokens is not None:
                found.append(self.caps.tokens - self.tokens - input_tokens)
            if self.caps.amount is not None:
                free = self.most(model, input_tokens, 0)
                each = self.most(model, input_tokens, 1) - free
                left = self.caps.amount - self.amount - free
                found += [int(left // each)] if each else [-1] if left < 0 else []
        return max(0, min(found)) if found else None

    def reserved(self, number: int) -> Reservation:
        """The reservation ``number``."""
        return self._open[number]

    def settle(self, number: int, counts: TokenCounts, model: str = "", tier: str = "") -> None:
        """Replace the reservation of a call by its usage; ``model`` and ``tier`` if others answered."""
        with self._lock:
            held = self._open.pop(number)
            self.amount = total_of((self.amount, self.price(model or held.model, counts, tier)))
            self.tokens += counts.input_tokens + counts.output_tokens
            self.requests += 1

    def cancel(self, number: int) -> None:
        """Release the reservation of a call that cost nothing."""
        with self._lock:
            self._open.pop(number, None)

    @property
    def over(self) -> Decimal:
        """By how much the amount has passed its cap."""
        return max(Decimal(0), self.amount - self.caps.amount) if self.caps.amount is not None else Decimal(0)

    def _short(self, wanted: Reservation) -> TooMuch | None:
        """The first cap that is too small; one that was passed already before one that is only taken for now."""
        open_amount = total_of(one.amount for one in self._open.values())
        open_tokens = sum(one.tokens for one in self._open.values())
        quantities: tuple[tuple[str, Decimal | int | None, Decimal | int, Decimal | int, Decimal | int], ...] = (
            (self.table.currency, self.caps.amount, self.amount, open_amount, wanted.amount),
            ("tokens", self.caps.tokens, self.tokens, open_tokens, wanted.tokens),
            ("requests", self.caps.requests, self.requests, len(self._open), 1),
        )
        taken = None
        for name, cap, spent, held, more in quantities:
            if cap is None or spent + held + more <= cap:
                continue
            message = f"the call may cost {more} {name}; {spent} of {cap} are spent and {held} are set aside"
            if spent + more > cap:
                return TooMuch(message, later=False)
            taken = taken or TooMuch(message, later=True)
        return taken


def _times(price: Decimal, quantity: int) -> Decimal:
    return EXACT.multiply(price, Decimal(quantity))


BYTES_PER_TOKEN = 3
"""For estimates, on the high side for prose and code."""
MOST_MEDIA_TOKENS = 1_000_000
"""What a small document of many pages can be counted as."""
MOST_BYTES_PER_TOKEN = 32
"""Of a text as a whole; a single token may be longer."""


def charge(
    said: Usage | None,
    reserved: Reservation,
    asked: ModelRequest,
    sent_bytes: int,
    message: Message,
    *,
    came_bytes: int,
    whole: bool,
) -> tuple[Usage, bool]:
    """What a call used, and whether that is an estimate; ``said`` is what the provider counted."""
    seen = _bytes_of(message)
    estimate = Usage(-(-sent_bytes // BYTES_PER_TOKEN), -(-seen // BYTES_PER_TOKEN))
    if said is None:
        found = estimate
    else:
        most = max(reserved.output_tokens, came_bytes)
        most_input = reserved.input_tokens + MOST_MEDIA_TOKENS * bool(asked.media)
        given = sum(_bytes_of(one) for one in asked.messages)
        found = replace(
            said,
            input_tokens=_plausible(said.input_tokens, given, most_input, estimate.input_tokens),
            output_tokens=_plausible(said.output_tokens, seen, most, estimate.output_tokens),
        )
    if not whole:
        found = replace(found, output_tokens=max(found.output_tokens, reserved.output_tokens))
    return found, found != said


def _plausible(count: int, seen_bytes: int, most: int, estimate: int) -> int:
    """``count`` if it can be true, else the estimate, or the most that it can be."""
    if count * MOST_BYTES_PER_TOKEN < seen_bytes:
        return estimate
    return min(count, most)


def _bytes_of(message: Message) -> int:
    """How many bytes of text a message has."""
    said = len(message.text.encode()) + len(message.reasoning.encode())
    said += sum(len(call.name) + len(call.arguments.encode()) for call in message.calls)
    return said + sum(len(result.text.encode()) for result in message.results)
