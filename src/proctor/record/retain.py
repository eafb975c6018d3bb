"""Retention: what may be removed from a sealed run, who approved it, and how the rest still verifies.

    full        everything, as it was sealed
    long-term   outcomes, digests, identities and metrics: the manifest, the contract, the list of changes, the results,
                the report, the seal, and of most events their header alone. The patch, logs, blobs and the payloads of
                events with their salts are gone.

An act is a record in ``retention.jsonl`` beside the sealed run, chained to the seal's digest: the tier, who approved it
and why, what was removed, and the digest of the log that stays. It may be signed; then the signature must hold. The
record is durable before anything is removed, so that a crash leaves an act that can be finished by calling it again.
What was removed is proven to have existed: the seal has each file's digest, the chain each payload's. A tier removes
neither more nor less than it says: an act cannot choose single files or events.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from proctor.base.canonical import canonical
from proctor.base.clock import utc_text
from proctor.base.errors import BrokenSeal, UsageFault
from proctor.base.files import sync_directory, write_whole
from proctor.record.chained_log import ChainedLog, Entry
from proctor.record.run_directory import RunDirectory
from proctor.record.schema_versions import RETENTION, check_version
from proctor.record.seal import Seal, load_seal
from proctor.record.signing.operator_identity import Identity, read_person
from proctor.record.trace.event import payload_bytes, payload_digest
from proctor.record.trace.reader import iterate_events

NAME = "retention.jsonl"
PURPOSE = "proctor.retention"
TIERS = ("long-term",)
TEXT_CHARACTERS = 500
KEPT_EVENTS = frozenset(
    {
        *("run.started", "run.identity", "run.finished", "patch.extracted", "patch.applied"),
        *("cost.projected", "safety.checked", "secrets.redacted"),
    }
)
"""Events whose payloads are outcomes, digests and sums."""

_FIELDS = {*("kind", "schema", "tier", "approved_by", "why", "at", "seal", "files", "events", "log")}
_TIME = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z")

STILL = "proctor verify, show, trace, cost, compare, review, runs, query and reports still work"
"""What can be done with a run whose payloads were removed."""


@dataclass(frozen=True)
class RemovedEvidence:
    """What a retention act removed: files by name, and the log that may replace the sealed one."""

    tier: str
    approved_by: str
    why: str
    at: str
    signed_by: str
    files: frozenset[str]
    events: int
    log_bytes: int
    log_sha256: str

    def __str__(self) -> str:
        return f"{self.tier} since {self.at}, approved by {self.approved_by}: {self.why}"


def retention_of(run: RunDirectory) -> RemovedEvidence | None:
    """The valid act of ``run``, with or without a seal; ``None`` if there is none."""
    return read_retention(run, load_seal(run)) if os.path.lexists(run.path / NAME) else None


def require_payloads(run: RunDirectory, purpose: str) -> None:
    """Refuse a run if a retention act removed what ``purpose`` needs."""
    act = retention_of(run)
    if act is not None:
        raise removed_evidence(run, act, purpose)


def removed_evidence(run: RunDirectory, act: RemovedEvidence, purpose: str) -> UsageFault:
    """The message for commands that need payloads, a patch or logs that were removed."""
    return UsageFault(f"payloads of this run were removed, so {purpose} ({act})", where=run.path.name, hint=STILL)


def read_retention(run: RunDirectory, seal: Seal) -> RemovedEvidence | None:
    """The valid act of ``run``; ``None`` if there is none, :class:`BrokenSeal` if the log is not valid."""
    entries = _log(run, seal).read()
    if not entries:
        if os.path.lexists(run.path / NAME):
            raise BrokenSeal("is empty", where=NAME)
        return None
    if len(entries) > 1:
        raise BrokenSeal("contains more than one act", where=NAME)
    record = dict(entries[0].record)
    check_version(RETENTION, record, f"{NAME}#0")
    signed = "signer" in record or "signature" in record
    try:
        signer = str(record.pop("signer")) if signed else ""
        signature = str(record.pop("signature")) if signed else ""
        if signed and not read_person(signer).signed(PURPOSE, record, signature):
            raise BrokenSeal("the signature of the approval is not valid", where=f"{NAME}#0")
        if signed and read_person(signer).name != record["approved_by"]:
            raise BrokenSeal("is not signed by the person who approved it", where=f"{NAME}#0")
        if record["kind"] != RETENTION.kind or record["tier"] not in TIERS or record["seal"] != seal.digest:
            raise BrokenSeal("is not a retention act of this run", where=f"{NAME}#0")
        _check_shape(record)
        log, files = record["log"], frozenset(map(str, record["files"]))
        if files != seal.files.keys() - _kept_files(seal):
            raise BrokenSeal("removes other files than its tier does", where=f"{NAME}#0")
        return RemovedEvidence(
            tier=str(record["tier"]),
            approved_by=str(record["approved_by"]),
            why=str(record["why"]),
            at=str(record["at"]),
            signed_by=read_person(signer).sign if signer else "",
            files=files,
            events=int(record["events"]),
            log_bytes=int(log["bytes"]),
            log_sha256=str(log["sha256"]),
        )
    except (KeyError, TypeError, ValueError, UsageFault):
        raise BrokenSeal("lacks a field of a retention act", where=f"{NAME}#0") from None


def retain(
    run: RunDirectory, seal: Seal, tier: str, approved_by: str, why: str, now_ns: int, identity: Identity | None = None
) -> RemovedEvidence:
    """Move a run that verifies to ``tier``: note the approval, then remove."""
    for option, text in (("--approve", approved_by), ("--why", why)):
        if not text.strip() or len(text) > TEXT_CHARACTERS:
            raise UsageFault(f"needs between 1 and {TEXT_CHARACTERS} characters", where=option)
    if identity is not None and identity.person.name != approved_by:
        raise UsageFault(f"the identity is that of {identity.person.name}", where="--approve")
    done = read_retention(run, seal)
    if done is None:
        lines, removed = _stripped(run)
        record: dict[str, Any] = {
            **RETENTION.head(),
            "tier": tier,
            "approved_by": approved_by,
            "why": why,
            "at": utc_text(now_ns),
            "seal": seal.digest,
            "files": sorted(seal.files.keys() - _kept_files(seal)),
            "events": removed,
            "log": {"bytes": len(lines), "sha256": sha256(lines).hexdigest()},
        }
        if identity is not None:
            signature = identity.sign(PURPOSE, record)
            record |= {"signer": str(identity.person), "signature": signature}
        _log(run, seal).decide(lambda entries: _only(record, entries, run))
        os.chmod(run.path / NAME, 0o644)
        done = read_retention(run, seal)
        assert done is not None
        write_whole(run.events, lines)
    elif run.events.stat().st_size != done.log_bytes:
        write_whole(run.events, _stripped(run)[0])
    for name in sorted(done.files):
        (run.path / name).unlink(missing_ok=True)
    for directory in {(run.path / name).parent for name in done.files}:
        sync_directory(directory)
    return done


def _only(record: Mapping[str, Any], entries: list[Entry], run: RunDirectory) -> Mapping[str, Any]:
    """``record``, if it is the first: a second act would make the run invalid permanently."""
    if entries:
        raise UsageFault(
            "another process has just moved the run", where=run.path.name, hint="proctor verify shows the approval"
        )
    return record


def _check_shape(record: Mapping[str, Any]) -> None:
    """Refuse a record that :func:`retain` could not have written."""
    log = record["log"]
    counts = (record["events"], log["bytes"])
    texts = (record["approved_by"], record["why"])
    if set(record) != _FIELDS or set(log) != {"bytes", "sha256"}:
        raise ValueError("other fields than those of an act")
    if any(type(count) is not int or count < 0 for count in counts):
        raise ValueError("not a count")
    if not all(isinstance(text, str) and text.strip() and len(text) <= TEXT_CHARACTERS for text in texts):
        raise ValueError("the approver or the reason is missing")
    if not isinstance(record["at"], str) or not _TIME.fullmatch(record["at"]):
        raise ValueError("not a time")
    if not isinstance(record["files"], list) or record["files"] != sorted(set(record["files"])):
        raise ValueError("not a list of files")


def _log(run: RunDirectory, seal: Seal) -> ChainedLog:
    return ChainedLog(run.path / NAME, anchor=seal.digest.removeprefix("sha256:"))


def _kept_files(seal: Seal) -> frozenset[str]:
    """The files that every tier keeps: all but the patch, logs and blobs."""
    removed = ("blobs/", "acceptance/logs/", "workspace/final.patch")
    return frozenset(name for name in seal.files if not name.startswith(removed))


def _stripped(run: RunDirectory) -> tuple[bytes, int]:
    """The log without the payloads that the tier does not keep, and how many those are."""
    lines = list(_lines(run))
    return b"".join(line for line, _ in lines), sum(removed for _, removed in lines)


def _lines(run: RunDirectory) -> Iterator[tuple[bytes, bool]]:
    with open(run.events, "rb") as file:
        for event, line in zip(iterate_events(run.events), file, strict=True):
            if event.type in KEPT_EVENTS:
                yield line, False
                continue
            header = {
                "actor": event.actor,
                "digest": payload_digest(bytes.fromhex(event.salt), payload_bytes(event.payload)),
                "hash": event.hash,
                "seq": event.seq,
                "t": event.t,
                "type": event.type,
            }
            yield canonical(header) + b"\n", True
