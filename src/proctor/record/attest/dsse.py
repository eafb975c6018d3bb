"""Envelopes of DSSE (Dead Simple Signing Envelope, version 1): a payload, its type and one signature over both.

The signature covers the pre-authentication encoding

    DSSEv1 SP len(type) SP type SP len(payload) SP payload

with lengths in bytes as decimal numbers. An envelope here is exactly its canonical JSON with one signature, and its
base64 is the standard alphabet with padding, so that no byte of it can change without a notice. Pure.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from proctor.base.canonical import canonical
from proctor.base.errors import BrokenSeal
from proctor.record.rundir import parse_json

PAYLOAD_TYPE = "application/vnd.in-toto+json"


@dataclass(frozen=True)
class Envelope:
    """A payload of :data:`PAYLOAD_TYPE` with its signature, and the id of the key that is said to have made it."""

    payload: bytes
    keyid: str
    signature: bytes


def signed_bytes(payload: bytes, payload_type: str = PAYLOAD_TYPE) -> bytes:
    """What a signature over ``payload`` covers."""
    kind = payload_type.encode()
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)


def envelope_value(envelope: Envelope) -> dict[str, Any]:
    """The envelope as JSON."""
    return {
        "payload": base64.b64encode(envelope.payload).decode(),
        "payloadType": PAYLOAD_TYPE,
        "signatures": [{"keyid": envelope.keyid, "sig": base64.b64encode(envelope.signature).decode()}],
    }


def envelope_bytes(envelope: Envelope) -> bytes:
    """The file that holds ``envelope``."""
    return canonical(envelope_value(envelope))


def parse_envelope(data: bytes, where: str) -> Envelope:
    """The envelope in ``data``; :class:`BrokenSeal` when it is none."""
    return read_envelope(parse_json(data, where), where)


def read_envelope(value: Any, where: str) -> Envelope:
    """The envelope that ``value`` says, with nothing else in it."""
    try:
        (signature,) = value["signatures"]
        found = Envelope(_decoded(value["payload"]), str(signature["keyid"]), _decoded(signature["sig"]))
    except (KeyError, TypeError, ValueError):
        raise BrokenSeal("this is not an envelope with one signature", where=where) from None
    if not isinstance(value, Mapping) or envelope_value(found) != value:
        raise BrokenSeal("the envelope holds something else than a statement and its signature", where=where)
    return found


def _decoded(text: Any) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError(str(error)) from None
