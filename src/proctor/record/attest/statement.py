"""What is signed about a run: an in-toto Statement v1 whose subjects are the files of its directory.

The statement is a pure function of the run directory, so that a verifier builds it again and compares. Subjects are
every file that the seal lists, with the digests of the seal, and the seal itself. The predicate ``proctor-run`` says
which run, contract and agent it was, how it ended, and the seal's own digest and root of the trace, so that one event
can be proven with this statement alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from proctor.base.canonical import canonical, parse
from proctor.base.errors import BrokenSeal, NewerSchema
from proctor.record.rundir import JSON_BYTES, RunDirectory
from proctor.record.seal import Seal, read_seal

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
    """What the predicate says of the seal, and what a proof of one event rests on."""
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
