"""Reading numbers and texts out of payloads whose writer may be of another version.

What is missing, of another type or out of bounds reads as ``None`` or as nothing; a fold never fails on an event.
Durations come as decimal strings of seconds and leave as whole nanoseconds.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

NANOSECONDS = 1_000_000_000
_DECIMAL = re.compile(r"[0-9]{1,15}(?:\.[0-9]{1,18})?")
_LARGEST = 2**63
_MOST_WORDS = 4096


def integer(payload: Mapping[str, Any], key: str) -> int | None:
    """A number that is at least 0."""
    value = payload.get(key)
    if type(value) is int and 0 <= value < _LARGEST:
        return value
    return None


def text(payload: Mapping[str, Any], key: str) -> str:
    """A text, or the empty one."""
    value = payload.get(key)
    return value if isinstance(value, str) else ""


def text_list(payload: Mapping[str, Any], key: str) -> tuple[str, ...]:
    """A list of texts, such as a command line."""
    value = payload.get(key)
    if isinstance(value, (list, tuple)):
        return tuple(word for word in value[:_MOST_WORDS] if isinstance(word, str))
    return ()


def inner(payload: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """A nested object, or an empty one."""
    value = payload.get(key)
    return value if isinstance(value, Mapping) else {}


def decimal(payload: Mapping[str, Any], key: str) -> Decimal | None:
    """An exact number that is at least 0, from a decimal string or a whole number."""
    value = payload.get(key)
    if isinstance(value, str) and _DECIMAL.fullmatch(value):
        return Decimal(value)
    whole = integer(payload, key)
    return None if whole is None else Decimal(whole)


def nanoseconds(payload: Mapping[str, Any], key: str) -> int | None:
    """A duration in seconds as whole nanoseconds."""
    value = decimal(payload, key)
    return None if value is None else int(value * NANOSECONDS)


def moment_ns(value: str) -> int:
    """The time of an event; 0 when it is not a number."""
    return int(value) if value.isascii() and value.isdigit() and len(value) <= 19 else 0


def seconds_of(duration_ns: int) -> str:
    """Nanoseconds as the decimal string of seconds that records hold, with nothing lost but trailing zeros."""
    whole, rest = divmod(duration_ns, NANOSECONDS)
    return f"{whole}.{rest:09d}".rstrip("0").rstrip(".") if rest else str(whole)
