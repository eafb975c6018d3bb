"""The chain as a state machine: lines go in one by one, events come out, the first break stops it.

A line is accepted when it is the canonical form of an event, its number is the next one, its time is later than the
one before, and its hash covers the previous hash and its own header. So an edit, a removal, a repetition and a swap
are each found at the first line that they touch. What the chain cannot see is a cut tail or a log rewritten from some
event to its end: the count, head and root in the seal detect that. Pure: no file is touched here. The first event
names the form of the trace; one of a newer form is refused as such.

A retention act leaves ``{actor, digest, hash, seq, t, type}`` of an event: the payload and its salt are removed, and
the digest still proves what the payload was. Only a chain with ``removed`` accepts such lines.
"""

from __future__ import annotations

import re
from hashlib import sha256
from typing import Any

from proctor.base.errors import BrokenSeal
from proctor.record.schema_versions import TRACE, check_version
from proctor.record.trace.event import ACTORS, GENESIS, Event, header_bytes, parse_payload, payload_digest
from proctor.record.trace.merkle import Frontier

_LINE = re.compile(
    rb'\{"actor":"(%s)","hash":"([0-9a-f]{64})","payload":(\{.*\}),"salt":"([0-9a-f]{32})",'
    rb'"seq":(0|[1-9][0-9]{0,15}),"t":"(0|[1-9][0-9]{0,18})","type":"([a-z][a-z_.]{0,63})"\}\n'
    % "|".join(ACTORS).encode(),
    re.DOTALL,
)
_REMOVED = re.compile(
    rb'\{"actor":"(%s)","digest":"([0-9a-f]{64})","hash":"([0-9a-f]{64})",'
    rb'"seq":(0|[1-9][0-9]{0,15}),"t":"(0|[1-9][0-9]{0,18})","type":"([a-z][a-z_.]{0,63})"\}\n'
    % "|".join(ACTORS).encode()
)


class Chain:
    """The state after some events: how many, the last header with its hash and time, the Merkle tree of all headers."""

    def __init__(self, *, removed: bool = False) -> None:
        self.count = 0
        self.head = GENESIS
        self.header = b""
        self._may_be_removed = removed
        self._time = -1
        self._tree = Frontier()

    def root(self) -> str:
        """The Merkle root over the headers so far."""
        return self._tree.root().hex()

    def take(self, line: bytes) -> Event:
        """The event that ``line`` holds, if it is the next one; :class:`BrokenSeal` names the event otherwise."""
        parts = _LINE.fullmatch(line)
        if parts is None:
            return self._take_removed(line)
        actor, hash_bytes, body, salt, number, t_bytes, kind = parts.groups()
        try:
            payload = parse_payload(body)
        except ValueError:
            raise self._broken("the payload is not canonical JSON") from None
        digest = payload_digest(bytes.fromhex(salt.decode()), body)
        return self._follow(actor, digest, hash_bytes, number, t_bytes, kind, payload, salt.decode())

    def _take_removed(self, line: bytes) -> Event:
        """The event of a line that a retention act left."""
        parts = _REMOVED.fullmatch(line)
        if parts is None:
            raise self._broken("the line is not an event in canonical form")
        if not self._may_be_removed:
            raise self._broken("its payload was removed, and no retention act of the run accounts for that")
        actor, digest, hash_bytes, number, t_bytes, kind = parts.groups()
        return self._follow(actor, digest.decode(), hash_bytes, number, t_bytes, kind, {}, "")

    def _follow(
        self,
        actor: bytes,
        digest: str,
        hash_bytes: bytes,
        number: bytes,
        t_bytes: bytes,
        kind: bytes,
        payload: dict[str, Any],
        salt: str,
    ) -> Event:
        """The event with these parts, if it follows from the one before."""
        seq, hash_text, t = self.count, hash_bytes.decode(), t_bytes.decode()
        if int(number) != seq:
            raise self._broken(f"the line holds event {int(number)}: events are missing, repeated or out of order")
        time = int(t)
        if time <= self._time:
            raise self._broken("its time is not later than that of the event before")
        who, name = actor.decode(), kind.decode()
        header = header_bytes(who, digest, self.head, seq, t, name)
        if sha256(header).hexdigest() != hash_text:
            raise self._broken("its hash does not match: the event or the one before it was changed")
        if seq == 0 and name == "run.started":
            check_version(TRACE, payload, "events.jsonl")
        self._tree.add(header)
        self.head, self.header, self._time, self.count = hash_text, header, time, seq + 1
        return Event(seq, t, name, who, payload, salt, hash_text)

    def _broken(self, message: str) -> BrokenSeal:
        return BrokenSeal(message, where=f"events.jsonl#{self.count}")


def check_alone(line: bytes, header: bytes) -> Event:
    """The event of one line without the rest of its chain, when ``header`` is its header; :class:`BrokenSeal` if not.

    The hash before it is not checked; a Merkle path from the header to a known root does that.
    """
    parts = _LINE.fullmatch(line)
    if parts is None:
        raise BrokenSeal("the line is not an event in canonical form", where="event")
    actor, hash_bytes, body, salt, number, t, kind = (part.decode() for part in parts.groups())
    try:
        payload = parse_payload(body.encode())
        prev = str(parse_payload(header)["prev"])
    except (ValueError, KeyError):
        raise BrokenSeal("the event or its header is not canonical JSON", where="event") from None
    expected = header_bytes(actor, payload_digest(bytes.fromhex(salt), body.encode()), prev, int(number), t, kind)
    if header != expected or sha256(header).hexdigest() != hash_bytes:
        raise BrokenSeal("the event and its header do not belong together", where=f"event {number}")
    return Event(int(number), t, kind, actor, payload, salt, hash_bytes)
