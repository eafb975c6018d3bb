"""The proof that one event is part of a sealed run, without the rest of the run.

    event    the event as its line in the log holds it
    header   what its hash covers: actor, salted digest of the payload, previous hash, number, time, type
    path     the Merkle path of RFC 6962 from that header to the root, lowest first
    seal     the seal of the run, which gives the count of events and the root, under its own digest
    attestation   the signed statement about the run, where there is one: it names the same seal

To check a proof, compare the seal's digest with one that was noted elsewhere, or verify the attestation with a public
key.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from proctor.base.canonical import canonical, parse
from proctor.base.errors import BrokenSeal, UsageFault
from proctor.record.retain import removed_evidence, retention_of
from proctor.record.run_directory import RunDirectory, parse_json
from proctor.record.seal import load_seal, read_seal
from proctor.record.signing.attestation import (
    PREDICATE_TYPE,
    STATEMENT_TYPE,
    check_attestation,
    check_signature,
    envelope_value,
    read_envelope,
    seal_facts,
)
from proctor.record.trace.chain import Chain, check_alone
from proctor.record.trace.event import Event, line_bytes
from proctor.record.trace.merkle import check_inclusion, inclusion_proof
from proctor.record.trace.reader import follow_chain

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

KIND = "proctor.proof"
SCHEMA = 1
PROOF_BYTES = 128 << 20


@dataclass(frozen=True)
class Proven:
    """What a proof shows: the event, of how many, under which seal, of which run, signed by which key.

    ``run`` and ``keyid`` are empty if no attestation was checked with a key.
    """

    event: Event
    count: int
    seal: str
    run: str = ""
    keyid: str = ""


def prove(run: RunDirectory, number: int) -> bytes:
    """The canonical bytes of the proof for event ``number`` of a sealed run."""
    if not os.path.lexists(run.seal):
        raise BrokenSeal("the run has no seal, so nothing can be proven with it", where=run.path.name)
    seal = load_seal(run)
    if not 0 <= number < seal.count:
        raise UsageFault(f"the run has no event {number}: it has 0 to {seal.count - 1}", where=run.path.name)
    act = retention_of(run)
    chain, headers, wanted = Chain(removed=act is not None), list[bytes](), None
    for event in follow_chain(run.events, chain):
        headers.append(chain.header)
        wanted = event if event.seq == number else wanted
    if chain.count != seal.count or chain.head != seal.head or wanted is None:
        raise BrokenSeal("the events are not those of the seal", where=f"{run.path.name}/events.jsonl")
    if act is not None and not wanted.salt:
        raise removed_evidence(run, act, f"event {number} cannot be shown")
    value: dict[str, Any] = {
        "schema": SCHEMA,
        "kind": KIND,
        "event": parse(line_bytes(wanted)),
        "header": parse(headers[number]),
        "path": [step.hex() for step in inclusion_proof(headers, number)],
        "seal": run.read_json(run.seal),
    }
    if os.path.lexists(run.attestation):
        value["attestation"] = envelope_value(check_attestation(run, None))
    return canonical(value)


def check_proof(data: bytes, where: str, key: Ed25519PublicKey | None = None) -> Proven:
    """The content of the proof in ``data``; :class:`BrokenSeal` names the part that is not valid."""
    value = parse_json(data, where)
    if not isinstance(value, Mapping) or value.get("kind") != KIND or value.get("schema") != SCHEMA:
        raise BrokenSeal("this is not a proof that this version reads", where=where)
    known = {"schema", "kind", "event", "header", "path", "seal", "attestation"}
    if set(value) - known or known - set(value) - {"attestation"}:
        raise BrokenSeal("the proof has other parts than a proof has", where=where)
    seal = read_seal(canonical(value["seal"]))
    header = canonical(value["header"])
    event = check_alone(canonical(value["event"]) + b"\n", header)
    try:
        path = [bytes.fromhex(step) for step in value["path"]]
        exact = [step.hex() for step in path] == value["path"]
        root = bytes.fromhex(seal.root)
    except (TypeError, ValueError):
        exact, root = False, b""
    if not exact or not check_inclusion(header, event.seq, seal.count, path, root):
        raise BrokenSeal(f"event {event.seq} does not lead to the root of the seal", where=f"{where}: path")
    if key is None:
        return Proven(event, seal.count, seal.digest)
    if "attestation" not in value:
        raise BrokenSeal("the proof has no attestation to verify with a key", where=where)
    envelope = read_envelope(value["attestation"], f"{where}: attestation")
    check_signature(envelope, key, f"{where}: attestation")
    return Proven(
        event, seal.count, seal.digest, _stated_run(envelope.payload, seal_facts(seal), where), envelope.keyid
    )


def _stated_run(payload: bytes, facts: Mapping[str, Any], where: str) -> str:
    """The run of a signed statement, which must be that of the seal."""
    statement = parse_json(payload, f"{where}: attestation")
    try:
        kinds = (statement["_type"], statement["predicateType"])
        same = kinds == (STATEMENT_TYPE, PREDICATE_TYPE) and statement["predicate"]["seal"] == facts
        run = str(statement["predicate"]["run"])
    except (KeyError, TypeError):
        same, run = False, ""
    if not same:
        raise BrokenSeal("the attestation is about another seal", where=f"{where}: attestation")
    return run
