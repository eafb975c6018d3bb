"""Lines and headers are canonical JSON, and every field is under the hash."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any

import orjson
import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from proctor.base.canonical import NotCanonical, canonical, parse_canonical
from proctor.record.trace.event import (
    ACTORS,
    GENESIS,
    Event,
    event_header,
    header_bytes,
    line_bytes,
    parse_payload,
    payload_bytes,
    payload_digest,
)

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
KEYS = st.text(st.characters(max_codepoint=127), max_size=8)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)
PAYLOADS = st.dictionaries(KEYS, VALUES, max_size=6)
HEX = "0123456789abcdef"
EVENTS = st.builds(
    Event,
    seq=st.integers(0, 2**53 - 1),
    t=st.integers(0, 2**62).map(str),
    type=st.sampled_from(["run.started", "briefing"]),
    actor=st.sampled_from(ACTORS),
    payload=PAYLOADS,
    salt=st.text(HEX, min_size=32, max_size=32),
    hash=st.text(HEX, min_size=64, max_size=64),
)


@given(EVENTS)
def test_a_line_is_canonical_json_of_the_event(event: Event) -> None:
    line = line_bytes(event)
    value = {name: getattr(event, name) for name in ("actor", "hash", "payload", "salt", "seq", "t", "type")}
    assert line == canonical(value) + b"\n" == rfc8785.dumps(value) + b"\n"
    assert Event(**orjson.loads(line)) == event


@given(EVENTS)
def test_a_header_is_canonical_json_over_the_salted_digest(event: Event) -> None:
    header = event_header(event, GENESIS)
    digest = hashlib.sha256(bytes.fromhex(event.salt) + rfc8785.dumps(dict(event.payload))).hexdigest()
    assert header == rfc8785.dumps(
        {"actor": event.actor, "digest": digest, "prev": GENESIS, "seq": event.seq, "t": event.t, "type": event.type}
    )


@given(EVENTS, PAYLOADS)
def test_every_field_is_under_the_hash(event: Event, other: dict[str, Any]) -> None:
    header = event_header(event, GENESIS)
    changed = [
        replace(event, seq=event.seq + 1),
        replace(event, t=event.t + "0"),
        replace(event, type="run.fault"),
        replace(event, actor="harness" if event.actor != "harness" else "agent"),
        replace(event, salt=event.salt[::-1] + "" if event.salt != event.salt[::-1] else "f" * 31 + "0"),
    ]
    if canonical(other) != canonical(event.payload):
        changed.append(replace(event, payload=other))
    assert all(event_header(one, GENESIS) != header for one in changed)
    assert event_header(event, "1" * 64) != header


def test_a_payload_can_go_while_the_header_stays() -> None:
    event = Event(0, "1", "briefing", "harness", {"text": "secret"}, "0" * 32, "")
    digest = payload_digest(bytes(16), canonical({"text": "secret"}))
    assert event_header(event, GENESIS) == header_bytes("harness", digest, GENESIS, 0, "1", "briefing")


def test_an_event_is_frozen_data() -> None:
    event = Event(0, "1", "briefing", "harness", {}, "", "")
    with pytest.raises(AttributeError):
        event.seq = 1  # type: ignore[misc]
    assert event == replace(event)
    assert "briefing" in repr(event)


@given(PAYLOADS)
def test_the_fast_path_gives_the_bytes_of_the_encoder(payload: dict[str, Any]) -> None:
    body = payload_bytes(payload)
    assert body == canonical(payload)
    assert parse_payload(body) == parse_canonical(body)
    assert payload_bytes(parse_payload(body)) == body


def nested(depth: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(depth - 1):
        value = {"a": value}
    return value


def test_depth_is_bounded_in_both_directions() -> None:
    assert parse_payload(payload_bytes(nested(64))) == nested(64)
    with pytest.raises(NotCanonical):
        payload_bytes(nested(65))
    with pytest.raises(ValueError, match="deep"):
        parse_payload(orjson.dumps(nested(65)))


class Text(str):
    """A text of another class."""


@pytest.mark.parametrize(
    "value", [1.0, float("nan"), 2**53, -(2**53), b"x", {1: 2}, {"\u00e9": 1}, "\ud800", {"a"}, Text("x")], ids=repr
)
def test_what_has_no_canonical_form_is_refused(value: Any) -> None:
    for payload in ({"a": value}, {"a": [value]}, {"a": {"b": value}}):
        with pytest.raises(NotCanonical):
            payload_bytes(payload)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"null",
        b'{"a":1.0}',
        b'{"a":1e3}',
        b'{"a":9007199254740992}',
        b'{"a":123456789012345678901234567890}',
        b'{"a":NaN}',
        b'{"a":Infinity}',
        b'{"a":-0}',
        b'{"a": 1}',
        b'{"b":1,"a":1}',
        b'{"a":1,"a":1}',
        b'{"a":"\\u0041"}',
        b'{"a":"\\/"}',
        b'{"a":"\xff"}',
        b'{"a":"\xed\xa0\x80"}',
        b'{"\xc3\xa9":1}',
        b'{"a":1}\n',
        b'{"a":1}{}',
        b'{"a":' + b"[" * 5000 + b"]" * 5000 + b"}",
        b'{"a":' * 100_000,
    ],
    ids=lambda body: body[:20].decode("latin-1"),
)
def test_hostile_bodies_are_refused(body: bytes) -> None:
    with pytest.raises(ValueError):
        parse_payload(body)
