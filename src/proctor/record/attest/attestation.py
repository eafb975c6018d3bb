"""A run's attestation: made from an intact run and a private key, checked with the directory and the public key alone.

It lies beside the seal as ``attestation.json``; the seal does not cover it, its signature does. Signing again with the
same key gives the same bytes, since neither time nor chance enters.
"""

from __future__ import annotations

import os
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from proctor.base.canonical import parse
from proctor.base.errors import BrokenSeal, UsageFault
from proctor.base.files import write_whole
from proctor.record.attest.dsse import Envelope, envelope_bytes, parse_envelope, signed_bytes
from proctor.record.attest.keys import key_id, signature_holds
from proctor.record.attest.statement import check_predicate, statement_bytes
from proctor.record.retain import require_payloads
from proctor.record.rundir import JSON_BYTES, RunDirectory
from proctor.record.verify import verify

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey


def require(run: RunDirectory, *statuses: str) -> None:
    """Refuse a run that does not verify as ``intact``, or as one of ``statuses`` besides."""
    found = verify(run)
    if found.status in ("intact", *statuses):
        return
    if not found.problems:
        raise BrokenSeal(f"the run is {found.status}", where=run.path.name)
    problem = found.problems[0]
    raise BrokenSeal(f"the run is {found.status}: {problem.message}", where=f"{run.path.name}/{problem.where}")


def attest(run: RunDirectory, key: Ed25519PrivateKey) -> Envelope:
    """Sign the statement about ``run`` and leave it beside the seal; only an intact run is signed."""
    require(run, "partial")
    require_payloads(run, "nobody can see any more what would be signed")
    payload = statement_bytes(run)
    envelope = Envelope(payload, key_id(key.public_key()), key.sign(signed_bytes(payload)))
    data = envelope_bytes(envelope)
    if os.path.lexists(run.attestation):
        if run.read(run.attestation, JSON_BYTES) == data:
            return envelope
        load_attestation(run)
        raise UsageFault(
            "the run has an attestation already",
            where=str(run.attestation),
            hint="keep it, or move it away before you sign with another key",
        )
    write_whole(run.attestation, data)
    return envelope


def load_attestation(run: RunDirectory) -> Envelope:
    """The envelope beside the seal of ``run``."""
    if not os.path.lexists(run.attestation):
        raise BrokenSeal("missing: nobody signed this run", where=run.name(run.attestation))
    return parse_envelope(run.read(run.attestation, JSON_BYTES), run.name(run.attestation))


def check_signature(envelope: Envelope, key: Ed25519PublicKey, where: str) -> None:
    """Refuse an envelope that ``key`` did not sign."""
    if envelope.keyid != key_id(key):
        raise BrokenSeal(f"signed by another key: {envelope.keyid}", where=where)
    if not signature_holds(key, envelope.signature, signed_bytes(envelope.payload)):
        raise BrokenSeal("its signature does not hold", where=where)


def check_attestation(run: RunDirectory, key: Ed25519PublicKey | None) -> Envelope:
    """The attestation of ``run``, whose statement is about this very directory; signed by ``key`` where one is given.

    The files themselves are held against the seal by ``verify``; this holds the seal against the statement.
    """
    envelope = load_attestation(run)
    where = run.name(run.attestation)
    if key is not None:
        check_signature(envelope, key, where)
    check_predicate(envelope.payload, where)
    expected = statement_bytes(run)
    if envelope.payload != expected:
        raise BrokenSeal(f"states something else than the directory: {_difference(envelope, expected)}", where=where)
    return envelope


def _difference(envelope: Envelope, expected: bytes) -> str:
    """The first subject or field that differs, in words."""
    try:
        stated: Any = parse(envelope.payload)
        found = parse(expected)
        for one, other in zip_longest(stated["subject"], found["subject"]):
            if one != other:
                return f"the subject {(one or other)['name']}"
        names = (name for name in found["predicate"] if found["predicate"][name] != stated["predicate"].get(name))
        return f"predicate.{next(names)}"
    except (ValueError, KeyError, TypeError, AttributeError, StopIteration):
        return "it is no statement about a run"
