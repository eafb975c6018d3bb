"""A run's attestation: an in-toto statement in a DSSE envelope, signed, and optionally time-stamped.

The statement (in-toto Statement v1) is a pure function of the run directory, so that a verifier builds it again and
compares. Its subjects are every file that the seal lists, with the digests of the seal, and the seal itself. The
predicate ``proctor-run`` says which run, contract and agent it was, how it ended, and the seal's own digest and root of
the trace, so that one event can be proven with this statement alone.

The envelope (Dead Simple Signing Envelope, version 1) holds the statement, its type and one signature over both:

    DSSEv1 SP len(type) SP type SP len(payload) SP payload

with lengths in bytes as decimal numbers. It is exactly its canonical JSON, and its base64 is the standard alphabet with
padding, so that no byte of it can change unnoticed.

The envelope is ``attestation.json`` beside the seal; the seal does not cover it, its signature does. Signing again with
the same key gives the same bytes. A time stamp of RFC 3161 on it is kept as ``attestation.tsr``, as the authority sent
it; the ``openssl`` program checks it against a certificate that the verifier trusts.
"""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

from proctor.base.canonical import canonical, parse
from proctor.base.errors import BrokenSeal, NewerSchema, UsageFault
from proctor.base.files import read_bounded, write_whole
from proctor.base.process import run as run_program
from proctor.record.retain import require_payloads
from proctor.record.run_directory import JSON_BYTES, RunDirectory, parse_json
from proctor.record.seal import Seal, read_seal
from proctor.record.signing.keys import key_id, signature_holds
from proctor.record.verify import verify

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey


PAYLOAD_TYPE = "application/vnd.in-toto+json"


@dataclass(frozen=True)
class Envelope:
    """A payload of :data:`PAYLOAD_TYPE` with its signature, and the id of the key that claims to have made it."""

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
    """The envelope in ``data``; :class:`BrokenSeal` if it is not an envelope."""
    return read_envelope(parse_json(data, where), where)


def read_envelope(value: Any, where: str) -> Envelope:
    """The envelope in ``value``, which must contain nothing else."""
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


STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
SCHEMA = 1
_PREDICATE = "urn:proctor:run:v"
PREDICATE_TYPE = f"{_PREDICATE}{SCHEMA}"


def statement_bytes(run: RunDirectory) -> bytes:
    """The canonical bytes of the statement about a sealed run."""
    sealed = run.read(run.seal, JSON_BYTES)
    seal = read_seal(sealed)
    subjects = {**{path: file.sha256 for path, file in seal.files.items()}, "seal.json": sha256(sealed).hexdigest()}
    return canonical(
        {
            "_type": STATEMENT_TYPE,
            "subject": [{"name": path, "digest": {"sha256": subjects[path]}} for path in sorted(subjects)],
            "predicateType": PREDICATE_TYPE,
            "predicate": _predicate(run, seal),
        }
    )


def check_predicate(payload: bytes, where: str) -> None:
    """Raise :class:`~proctor.base.errors.NewerSchema` for a statement of a newer form."""
    try:
        named = str(parse(payload)["predicateType"])
    except (ValueError, KeyError, TypeError):
        return
    number = named.removeprefix(_PREDICATE)
    if named.startswith(_PREDICATE) and number.isascii() and number.isdigit() and int(number) > SCHEMA:
        raise NewerSchema(int(number), SCHEMA, where=where)


def seal_facts(seal: Seal) -> dict[str, Any]:
    """The part of the predicate about the seal, on which a proof of one event depends."""
    return {"digest": seal.digest, "events": {"count": seal.count, "head": seal.head, "root": seal.root}}


def _predicate(run: RunDirectory, seal: Seal) -> dict[str, Any]:
    manifest, report = _sealed_json(run, seal, "manifest.json"), _sealed_json(run, seal, "report.json")
    return {
        "run": manifest.get("run", ""),
        "contract": manifest.get("contract", {}),
        "repository": manifest.get("repository", {}),
        "agent": _part(manifest.get("agent"), "name", "kind", "digest"),
        "harness": _part(manifest.get("harness"), "version", "digest"),
        "started": _part(manifest.get("started"), "text").get("text", ""),
        "status": report.get("status", ""),
        "seal": seal_facts(seal),
    }


def _sealed_json(run: RunDirectory, seal: Seal, name: str) -> Mapping[str, Any]:
    data = run.read(run.path / name, JSON_BYTES)
    if name not in seal.files or sha256(data).hexdigest() != seal.files[name].sha256:
        raise BrokenSeal("its content was changed", where=name)
    value = run.read_json(run.path / name)
    if not isinstance(value, Mapping):
        raise BrokenSeal("not an object", where=name)
    return value


def _part(value: Any, *names: str) -> dict[str, Any]:
    return {name: value.get(name, "") for name in names} if isinstance(value, Mapping) else {}


TOKEN_BYTES = 1 << 20
OPENSSL_SECONDS = 60


def keep_timestamp(run: RunDirectory, token: Path, authority: Path) -> str:
    """Check the response ``token`` and store it next to the attestation of ``run``; returns its time."""
    try:
        data = read_bounded(token, TOKEN_BYTES)
    except OSError as error:
        raise UsageFault(f"the time stamp cannot be read: {error.strerror}", where=str(token)) from None
    if not os.path.lexists(run.attestation):
        raise UsageFault("a time stamp is for an attestation, and there is none", where=str(run.path))
    stamped = _checked(run, token, authority)
    write_whole(run.timestamp, data)
    return stamped


def check_timestamp(run: RunDirectory, authority: Path) -> str:
    """The time of the attestation of ``run``; :class:`BrokenSeal` if the token is not valid."""
    if not os.path.lexists(run.timestamp):
        raise BrokenSeal("missing: this attestation has no time stamp", where=run.name(run.timestamp))
    run.read(run.timestamp, TOKEN_BYTES)
    return _checked(run, run.timestamp, authority)


def _checked(run: RunDirectory, token: Path, authority: Path) -> str:
    if not authority.is_file():
        raise UsageFault("there is no such certificate", where=str(authority))
    code, output = _openssl("-verify", "-data", run.attestation, "-in", token, "-CAfile", authority)
    if code:
        reason = next((line for line in output.splitlines() if "error:" in line), output).rpartition(":")[2].strip()
        raise BrokenSeal(f"the time stamp is not valid: {reason[:200] or 'openssl refused it'}", where=token.name)
    _, shown = _openssl("-reply", "-in", token, "-text")
    stamped = next((line for line in shown.splitlines() if line.startswith("Time stamp: ")), "")
    return stamped.removeprefix("Time stamp: ")


def _openssl(*arguments: str | Path) -> tuple[int, str]:
    done = run_program(
        ["openssl", "ts", *arguments],
        environment={"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "LC_ALL": "C"},
        timeout_seconds=OPENSSL_SECONDS,
    )
    return done.exit_code, (done.stdout + done.stderr).decode("utf-8", "replace")


def require_verified(run: RunDirectory, *statuses: str) -> None:
    """Refuse a run that does not verify as ``intact``, or as one of ``statuses`` besides."""
    found = verify(run)
    if found.status in ("intact", *statuses):
        return
    if not found.problems:
        raise BrokenSeal(f"the run is {found.status}", where=run.path.name)
    problem = found.problems[0]
    raise BrokenSeal(f"the run is {found.status}: {problem.message}", where=f"{run.path.name}/{problem.where}")


def attest(run: RunDirectory, key: Ed25519PrivateKey) -> Envelope:
    """Sign the statement about ``run`` and store it next to the seal; only an intact run is signed."""
    require_verified(run, "partial")
    require_payloads(run, "the removed content can no longer be checked before signing")
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
        raise BrokenSeal("missing: this run is not signed", where=run.name(run.attestation))
    return parse_envelope(run.read(run.attestation, JSON_BYTES), run.name(run.attestation))


def check_signature(envelope: Envelope, key: Ed25519PublicKey, where: str) -> None:
    """Refuse an envelope that ``key`` did not sign."""
    if envelope.keyid != key_id(key):
        raise BrokenSeal(f"signed by another key: {envelope.keyid}", where=where)
    if not signature_holds(key, envelope.signature, signed_bytes(envelope.payload)):
        raise BrokenSeal("its signature is not valid", where=where)


def check_attestation(run: RunDirectory, key: Ed25519PublicKey | None) -> Envelope:
    """The attestation of ``run``, whose statement is about this very directory; signed by ``key`` where one is given.

    ``verify`` compares the files with the seal; this function compares the seal with the statement.
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
    """The first subject or field that differs."""
    try:
        stated: Any = parse(envelope.payload)
        found = parse(expected)
        for one, other in zip_longest(stated["subject"], found["subject"]):
            if one != other:
                return f"the subject {(one or other)['name']}"
        names = (name for name in found["predicate"] if found["predicate"][name] != stated["predicate"].get(name))
        return f"predicate.{next(names)}"
    except (ValueError, KeyError, TypeError, AttributeError, StopIteration):
        return "it is not a statement about a run"
