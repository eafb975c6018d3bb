"""Payloads to canonical bytes and back, on the path that every event takes.

The result is that of ``base.canonical``, which stays the authority: a payload of plain dictionaries, lists, texts and
integers, all in ASCII, is what nearly all of them are, and the JSON library gives its canonical form at once.
Anything else goes to the encoder, which copies or refuses it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from proctor.base.canonical import MAX_DEPTH, canonical, parse_canonical

_OPTIONS = orjson.OPT_SORT_KEYS | orjson.OPT_STRICT_INTEGER
_LEAVES = frozenset({str, int, bool, type(None)})


def payload_bytes(payload: Mapping[str, Any]) -> bytes:
    """The canonical bytes of ``payload``."""
    if type(payload) is dict and _plain(payload.values(), MAX_DEPTH - 1):
        try:
            body = orjson.dumps(payload, option=_OPTIONS)
        except orjson.JSONEncodeError:
            return canonical(payload)
        if body.isascii():
            return body
    return canonical(payload)


def parse_payload(body: bytes) -> dict[str, Any]:
    """The payload that ``body`` is the canonical form of; ``ValueError`` when it is none."""
    payload = orjson.loads(body)
    if type(payload) is not dict:
        raise ValueError("not an object")
    if not body.isascii() or not _plain(payload.values(), MAX_DEPTH - 1) or not _same(payload, body):
        parse_canonical(body)
    return payload


def _plain(inside: Iterable[Any], deeper: int) -> bool:
    """Whether nothing but plain data is ``inside``; a wrong "no" costs only time."""
    for item in inside:
        kind = type(item)
        if kind in _LEAVES:
            continue
        if kind is dict:
            if deeper and _plain(item.values(), deeper - 1):
                continue
        elif (kind is list or kind is tuple) and deeper and _plain(item, deeper - 1):
            continue
        return False
    return True


def _same(payload: dict[str, Any], body: bytes) -> bool:
    try:
        return orjson.dumps(payload, option=_OPTIONS) == body
    except orjson.JSONEncodeError:
        return False
