"""Canonical bytes (RFC 8785) and the digests over them.

Only values with a single encoding are accepted: strings that are valid Unicode, booleans, null, integers within 2^53,
lists and objects with ASCII keys. For those, sorted compact JSON *is* RFC 8785; numbers with a fraction travel as
decimal strings. Everything that is hashed goes through :func:`canonical`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import orjson

Json = None | bool | int | str | list[Any] | tuple[Any, ...] | Mapping[str, Any]

SAFE_INTEGER = 2**53 - 1
MAX_DEPTH = 64


NotJson = orjson.JSONDecodeError
""":func:`parse` and :func:`parse_canonical` raise this ``ValueError`` for bytes that are not JSON."""


class NotCanonical(TypeError):
    """A value that has no canonical form here; always a mistake of the caller."""


def canonical(value: Json) -> bytes:
    """The canonical bytes of ``value``."""
    try:
        return orjson.dumps(_checked(value, 0), option=orjson.OPT_SORT_KEYS)
    except orjson.JSONEncodeError as error:
        raise NotCanonical(str(error)) from None


def sha256(data: bytes) -> str:
    """``sha256:`` and the hexadecimal digest of ``data``."""
    return "sha256:" + hashlib.sha256(data).hexdigest()


def digest(value: Json) -> str:
    """The digest of the canonical bytes of ``value``."""
    return sha256(canonical(value))


def parse(data: bytes) -> Any:
    """The value that JSON ``data`` holds; ``ValueError`` when it is not JSON."""
    return orjson.loads(data)


def parse_canonical(data: bytes) -> Any:
    """The value of ``data``, refused with ``ValueError`` unless ``data`` is its canonical form."""
    value = orjson.loads(data)
    try:
        again = canonical(value)
    except NotCanonical as error:
        raise ValueError(str(error)) from None
    if again != data:
        raise ValueError("not in canonical form")
    return value


def _checked(value: Any, depth: int) -> Any:
    """``value`` with plain containers, or :class:`NotCanonical`."""
    kind = type(value)
    if kind is str or value is None or kind is bool:
        return value
    if kind is int:
        if -SAFE_INTEGER <= value <= SAFE_INTEGER:
            return value
        raise NotCanonical(f"integer outside 2^53: {value}")
    if depth >= MAX_DEPTH:
        raise NotCanonical("nested too deeply")
    if kind is dict:
        for key, inner in value.items():
            if type(key) is not str or not key.isascii():
                raise NotCanonical(f"keys must be ASCII strings: {key!r}")
            inner_kind = type(inner)
            if inner_kind is not str and inner_kind is not bool and inner is not None:
                return {name: _checked(item, depth + 1) for name, item in _ascii_items(value)}
        return value
    if kind is list or kind is tuple:
        return [_checked(item, depth + 1) for item in value]
    if isinstance(value, Mapping):
        return _checked(dict(value), depth)
    raise NotCanonical(f"{kind.__name__} has no canonical form")


def _ascii_items(value: dict[Any, Any]) -> Any:
    for key in value:
        if type(key) is not str or not key.isascii():
            raise NotCanonical(f"keys must be ASCII strings: {key!r}")
    return value.items()
