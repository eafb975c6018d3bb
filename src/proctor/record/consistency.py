"""Check that the records of a sealed run agree with each other, without the rules of the judge.

Each comparison is a small pure function that yields problems and has a name in :data:`COMPARISONS`. All of them read
the recorded JSON and not a model of it, so they work for every version of a record: a field that an earlier Proctor did
not write is not compared. ``judge.evidence_consistency`` compares what only the judge can compute again.

A run whose secrets were replaced keeps digests of the originals. Comparisons that need the originals skip records that
contain a placeholder.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from proctor.base.canonical import canonical, digest
from proctor.base.clock import utc_text
from proctor.base.json_records import OTHER_FORM
from proctor.contract.digest import recorded_content_id
from proctor.record.redact import MARK
from proctor.record.run_directory import Problem
from proctor.record.seal import SealedFile
from proctor.record.trace.event import Event

TRACE = "events.jsonl"
NOTED = ("run.started", "run.identity", "run.finished", "agent.started", "patch.extracted", "secrets.redacted")
"""The events that are compared: the last of each type, and all of ``agent.started``."""


class Summary:
    """The parts of a trace that the comparisons need, collected event by event, so the trace is not kept in memory."""

    def __init__(self) -> None:
        self.events: dict[str, Event] = {}
        self.last_type = ""

    def add(self, event: Event) -> None:
        """Add one event; an event whose payload was removed is ignored."""
        self.last_type = event.type
        if event.type in NOTED and event.salt:
            self.events[event.type] = event

    def payload(self, name: str) -> tuple[Mapping[str, Any], str]:
        """The payload of the last event of a type, and its place; an empty payload if there is none."""
        event = self.events.get(name)
        return (event.payload, f"{TRACE}#{event.seq}") if event else ({}, TRACE)

    @property
    def redacted(self) -> bool:
        """Whether secrets were replaced in what was recorded."""
        return bool(self.payload("secrets.redacted")[0].get("secrets"))


@dataclass(frozen=True)
class Records:
    """The records of one run: its JSON files (empty if missing), the sealed patch, and a summary of the trace."""

    manifest: Mapping[str, Any]
    contract: Mapping[str, Any]
    report: Mapping[str, Any]
    changes: Mapping[str, Any]
    patch: SealedFile | None
    summary: Summary

    @property
    def readable(self) -> bool:
        """Whether manifest and contract are as they were before secrets were replaced."""
        if not self.summary.redacted:
            return True
        return MARK not in canonical([self.manifest, self.contract])


Comparison = Callable[[Records], Iterator[Problem]]


def contract_id(records: Records) -> Iterator[Problem]:
    """The contract id follows from contract.json, and all records name the same id."""
    named = _at(records.manifest, "contract", "id")
    if records.contract and records.readable:
        found = recorded_content_id(records.contract)
        if named != found:
            yield Problem("contract.json", f"its content id is {found}, and manifest.json says {named}")
    if isinstance(named, str):
        yield from _equal(
            "manifest.json", "contract.version", _at(records.manifest, "contract", "version"), named[7:19]
        )
    bound = _at(records.manifest, "configuration", "contract")
    if bound is not None:
        yield from _equal("manifest.json", "configuration.contract", bound, named)


def contract_parts(records: Records) -> Iterator[Problem]:
    """What the manifest repeats from the contract is what contract.json says."""
    if not records.contract or not records.readable:
        return
    manifest, contract = records.manifest, records.contract
    seed = _at(contract, "environment", "seed")
    expected = {
        ("contract", "name"): contract.get("name"),
        ("checks",): [{"id": _at(one, "id"), "command": _at(one, "run")} for one in _list(contract, "checks")],
        ("setup", "commands"): [_at(one, "run") for one in _list(contract, "setup")],
        ("inputs",): [
            {
                "name": one.get("name"),
                "file": file.get("name"),
                "sha256": file.get("sha256"),
                "for": one.get("audience"),
            }
            for one in _list(contract, "inputs")
            for file in _list(_at(one, "source"), "files")
        ],
        ("limits",): contract.get("budget"),
        ("seeds", "observed"): seed,
        ("repository", "identity"): _repository(contract),
        ("repository", "submodules"): [
            {"path": one.get("path"), "commit": one.get("commit")}
            for one in _list(_at(contract, "repository"), "submodules")
        ],
        ("repository", "kind"): "git" if "commit" in (_at(contract, "repository") or {}) else "archive",
    }
    for path, value in expected.items():
        yield from _equal("manifest.json", ".".join(path), _at(manifest, *path), value, "contract.json")
    declared = _at(contract, "environment", "variables") or {}
    variables = _at(manifest, "environment", "variables") or {}
    for name, value in declared.items():
        yield from _equal("manifest.json", f"environment.variables.{name}", variables.get(name), value, "contract.json")


def manifest_parts(records: Records) -> Iterator[Problem]:
    """Values that the manifest contains twice are the same."""
    manifest = records.manifest
    variables = _at(manifest, "environment", "variables") or {}
    for name in ("PYTHONHASHSEED", "SOURCE_DATE_EPOCH"):
        if name in (_at(manifest, "seeds") or {}):
            yield from _equal("manifest.json", f"seeds.{name}", manifest["seeds"][name], variables.get(name))
    if variables:
        yield from _equal("manifest.json", "locale", manifest.get("locale"), variables.get("LC_ALL", "C"))
    identity = _at(manifest, "sandbox", "identity") or {}
    for name, version in (_at(manifest, "toolchain") or {}).items():
        yield from _equal("manifest.json", f"toolchain.{name}", version, identity.get(name))
    if "digest" in identity:
        observed = digest({name: value for name, value in identity.items() if name != "digest"})
        yield from _equal("manifest.json", "sandbox.identity.digest", identity["digest"], observed)
    if _at(manifest, "setup", "layer_digest") and not _at(manifest, "setup", "commands"):
        tree = _at(manifest, "repository", "tree_digest")
        yield from _equal("manifest.json", "setup.layer_digest", manifest["setup"]["layer_digest"], tree)
    nanoseconds = _at(manifest, "started", "wall_ns")
    if isinstance(nanoseconds, str) and nanoseconds.isdigit() and len(nanoseconds) < 20:
        yield from _equal("manifest.json", "started.text", _at(manifest, "started", "text"), utc_text(int(nanoseconds)))
    prices = _at(manifest, "configuration", "watch", "prices")
    if isinstance(_at(manifest, "configuration", "watch"), Mapping):
        yield from _equal("manifest.json", "price_table", manifest.get("price_table"), _at(prices, "id"))


def first_event(records: Records) -> Iterator[Problem]:
    """The first event names the run, contract, agent and boot of the manifest."""
    started, where = records.summary.payload("run.started")
    expected = {
        "run": ("run",),
        "contract": ("contract", "id"),
        "agent": ("agent", "name"),
        "boot_id": ("started", "boot_id"),
    }
    for name, path in expected.items() if started else ():
        yield from _equal(where, name, started.get(name), _at(records.manifest, *path), "manifest.json")


def agent(records: Records) -> Iterator[Problem]:
    """The agent that started is the one in the manifest."""
    started, where = records.summary.payload("agent.started")
    for name in ("name", "kind", "command") if started else ():
        yield from _equal(where, name, started.get(name), _at(records.manifest, "agent", name), "manifest.json")


def workspace_identity(records: Records) -> Iterator[Problem]:
    """The verdict on the workspace follows from the expected and the observed identity of the manifest's layer."""
    identity, where = records.summary.payload("run.identity")
    if not identity:
        return
    expected, observed = identity.get("expected"), identity.get("observed")
    yield from _equal(where, "match", identity.get("match"), expected == observed)
    layer = _at(records.manifest, "setup", "layer")
    if isinstance(expected, Mapping) and layer not in expected:
        yield Problem(where, f"expected does not name the layer {layer} of manifest.json")


def status(records: Records) -> Iterator[Problem]:
    """The last event has the status of the report."""
    finished, where = records.summary.payload("run.finished")
    if finished and records.summary.last_type != "run.finished":
        yield Problem(where, "events follow the end of the run")
    if not finished and records.report:
        yield Problem(TRACE, "no event has the status of report.json")
    elif finished:
        yield from _equal(where, "status", finished.get("status"), records.report.get("status"), "report.json")


def patch(records: Records) -> Iterator[Problem]:
    """The event about the patch agrees with final.patch and changes.json."""
    taken, where = records.summary.payload("patch.extracted")
    if not taken or records.patch is None:
        return
    if not records.summary.redacted:
        named = f"sha256:{records.patch.sha256}" if ":" in str(taken.get("sha256")) else records.patch.sha256
        yield from _equal(where, "sha256", taken.get("sha256"), named, "workspace/final.patch")
    yield from _equal(where, "bytes", taken.get("bytes"), records.patch.bytes, "workspace/final.patch")
    if records.changes:
        listed = _list(records.changes, "changes")
        yield from _equal(where, "files", taken.get("files"), len(listed), "workspace/changes.json")
        yield from _equal(
            where, "dropped", taken.get("dropped"), records.changes.get("dropped"), "workspace/changes.json"
        )


COMPARISONS: Mapping[str, Comparison] = {
    "contract-id": contract_id,
    "contract-parts": contract_parts,
    "manifest-parts": manifest_parts,
    "first-event": first_event,
    "agent": agent,
    "workspace-identity": workspace_identity,
    "status": status,
    "patch": patch,
}


def inconsistencies(records: Records) -> Iterator[Problem]:
    """Every disagreement, with the name of the comparison that found it.

    If a comparison cannot read a record, this is a problem of that comparison.
    """
    for name, compare in COMPARISONS.items():
        try:
            for problem in compare(records):
                yield Problem(problem.where, problem.message, name)
        except OTHER_FORM as error:
            yield Problem(".", f"the records cannot be compared: {type(error).__name__}: {error}", name)


def _equal(where: str, field: str, found: Any, expected: Any, source: str = "") -> Iterator[Problem]:
    """A problem unless the two are the same JSON value."""
    if canonical(found) != canonical(expected):
        follows = f"{source} gives" if source else "the rest of the record gives"
        yield Problem(where, f"{field} is {_short(found)}, and {follows} {_short(expected)}")


def _short(value: Any) -> str:
    text = canonical(value).decode()
    return text if len(text) <= 100 else text[:100] + "..."


def _at(value: Any, *path: str) -> Any:
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def _list(value: Any, name: str) -> Sequence[Mapping[str, Any]]:
    """The objects of the list under ``name``, without items that are not objects."""
    found = _at(value, name)
    return [one for one in found if isinstance(one, Mapping)] if isinstance(found, list | tuple) else []


def _repository(contract: Mapping[str, Any]) -> Any:
    """The commit, or the digest of the archive."""
    commit = _at(contract, "repository", "commit")
    files = _list(_at(contract, "repository", "source"), "files")
    return commit if commit is not None else files[0].get("sha256") if files else None
