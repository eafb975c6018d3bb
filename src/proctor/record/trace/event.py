"""One event of the trace: its fields, its payload, its canonical line, and the header that its hash covers.

    line    canonical JSON of {actor, hash, payload, salt, seq, t, type} and a newline
    digest  SHA-256 of the salt's 16 bytes followed by the canonical payload
    header  canonical JSON of {actor, digest, prev, seq, t, type}
    hash    SHA-256 of the header; ``prev`` of the first event is 64 zeros

All digests are lower-case hexadecimal. ``seq`` counts from 0; ``t`` is nanoseconds since 1970 as a decimal string. A
payload enters the hash only through its salted digest, so that it can be removed later while the rest still verifies.
Lines and headers are put together from parts because every part has one spelling: the result is canonical JSON, which
the tests compare with the encoder. Nearly all payloads are plain ASCII data, for which the JSON library gives the
canonical form at once; any other payload goes through ``base.canonical``. Pure.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
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
    """The payload whose canonical form is ``body``; ``ValueError`` if it is not canonical."""
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


ACTORS = ("agent", "harness", "monitor", "operator")
GENESIS = "0" * 64
"""The hash before the first event."""

SALT_BYTES = 16
EVENT_BYTES = 32 << 20
"""The most that one line may hold, its newline included; the writer refuses more, the reader stops there."""


@dataclass(frozen=True)
class Event:
    """One finished event."""

    seq: int
    t: str
    type: str
    actor: str
    payload: Mapping[str, Any]
    salt: str
    hash: str


def payload_digest(salt: bytes, payload: bytes) -> str:
    """The salted digest of the canonical bytes of a payload."""
    return hashlib.sha256(salt + payload).hexdigest()


def header_bytes(actor: str, digest: str, prev: str, seq: int, t: str, kind: str) -> bytes:
    """What the hash of an event covers, and what the leaves of the Merkle tree are."""
    return f'{{"actor":"{actor}","digest":"{digest}","prev":"{prev}","seq":{seq},"t":"{t}","type":"{kind}"}}'.encode()


def assemble_line(actor: str, hash_text: str, payload: bytes, salt: str, seq: int, t: str, kind: str) -> bytes:
    """The line of an event whose payload is already canonical bytes."""
    before = f'{{"actor":"{actor}","hash":"{hash_text}","payload":'.encode()
    after = f',"salt":"{salt}","seq":{seq},"t":"{t}","type":"{kind}"}}\n'.encode()
    return before + payload + after


def line_bytes(event: Event) -> bytes:
    """The line that ``event`` has in the log."""
    body = payload_bytes(event.payload)
    return assemble_line(event.actor, event.hash, body, event.salt, event.seq, event.t, event.type)


def event_header(event: Event, prev: str) -> bytes:
    """The header of ``event`` after an event with the hash ``prev``."""
    digest = payload_digest(bytes.fromhex(event.salt), payload_bytes(event.payload))
    return header_bytes(event.actor, digest, prev, event.seq, event.t, event.type)
