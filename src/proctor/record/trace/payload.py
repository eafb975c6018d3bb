"""Payloads to canonical bytes and back, on the path that every event takes.

The result is that of ``base.canonical``, which stays the authority: payloads of plain dictionaries and lists, which is
nearly all of them, are only looked through here and encoded as they are; anything else goes to the encoder, which
copies or refuses it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from proctor.base.canonical import MAX_DEPTH, SAFE_INTEGER, canonical, parse_canonical


def payload_bytes(payload: Mapping[str, Any]) -> bytes:
    """The canonical bytes of ``payload``."""
    if type(payload) is dict and _plain(payload, MAX_DEPTH - 1):
        try:
            return orjson.dumps(payload, option=orjson.OPT_SORT_KEYS)
        except orjson.JSONEncodeError:
            pass
    return canonical(payload)


def parse_payload(body: bytes) -> dict[str, Any]:
    """The payload that ``body`` is the canonical form of; ``ValueError`` when it is none."""
    payload = orjson.loads(body)
    if type(payload) is not dict:
        raise ValueError("not an object")
    if _plain(payload, MAX_DEPTH - 1) and orjson.dumps(payload, option=orjson.OPT_SORT_KEYS) == body:
        return payload
    parse_canonical(body)
    return payload


def _plain(value: Any, deeper: int) -> bool:
    """Whether ``value``, a dictionary or a list, can be encoded as it is; a wrong "no" costs only time."""
    inside = value
    if type(value) is dict:
        try:
            if not "".join(value).isascii():
                return False
        except TypeError:
            return False
        inside = value.values()
    for item in inside:
        kind = type(item)
        if kind is str or kind is bool or item is None:
            continue
        if kind is int:
            if -SAFE_INTEGER <= item <= SAFE_INTEGER:
                continue
            return False
        if (kind is dict or kind is list or kind is tuple) and deeper and _plain(item, deeper - 1):
            continue
        return False
    return True
