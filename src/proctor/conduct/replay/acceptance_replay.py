"""The second half of a run again: the recorded patch, judged in fresh sandboxes, check by check.

Nothing of the agent or its model takes part. The evidence must verify, and the contract must be the one of the run;
where it, the repository, the sandbox or the tool chain is another, the fields that differ are named.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from proctor.base.canonical import canonical
from proctor.base.errors import BrokenSeal, UsageFault
from proctor.base.json_records import to_json
from proctor.conduct.machine_setup import Machine
from proctor.conduct.replay.recorded_commands import is_redacted
from proctor.conduct.run_manifest import manifest
from proctor.contract.digest import content_id, resolved
from proctor.contract.load import load_contract
from proctor.contract.model import Check
from proctor.execute.agents.interface import AgentDescription
from proctor.execute.prepare import PreparedBase
from proctor.judge.checks.acceptance import accept
from proctor.judge.checks.judge_context import JudgeContext
from proctor.judge.manifest_differences import Difference, differences
from proctor.judge.run_evidence import PATCH_BYTES, Evidence, read_evidence
from proctor.judge.run_verdict import HARNESS
from proctor.record.redact import MARK, Redactor
from proctor.record.retain import require_payloads
from proctor.record.run_directory import RunDirectory
from proctor.record.signing.attestation import require_verified
from proctor.record.trace.writer import TraceWriter
from proctor.record.vault import Vault

PATCH = "patch"
"""What the outcome of applying the patch is listed as, before all checks."""


@dataclass(frozen=True)
class Base:
    """What a run is repeated on: its evidence, the prepared contract, and where both are not as recorded.

    ``prepared`` is missing where the contract is another: nothing is repeated then.
    """

    evidence: Evidence
    prepared: PreparedBase | None
    differences: tuple[Difference, ...]


@dataclass(frozen=True)
class Rejudged:
    """One check: the recorded outcome, the outcome now, and which tests fail differently."""

    check: str
    recorded: str
    now: str
    tests: tuple[str, ...] = ()
    machine_fault: bool = False
    """Whether the machine kept the check from a verdict now."""

    @property
    def same(self) -> bool:
        return self.recorded == self.now and not self.tests


def find_base(machine: Machine, run: RunDirectory, place: Path | None = None) -> Base:
    """Prepare the base of ``run``; ``place`` is the present directory of its contract, if it was moved."""
    require_whole(run)
    evidence = read_evidence(run)
    recorded = evidence.manifest
    try:
        place = place or Path(recorded["configuration"]["contract_path"])
        expected = str(recorded["contract"]["id"])
    except (KeyError, TypeError):
        raise BrokenSeal("the manifest does not name the contract of the run", where=run.path.name) from None
    if not place.exists():
        hint = "if it was moved, give its new path with --contract"
        raise UsageFault("the contract of the run no longer exists at this path", where=str(place), hint=hint)
    contract = load_contract(place)
    found = content_id(contract)
    if found != expected:
        now = {**recorded, "contract": {**recorded["contract"], "id": found}}
        contracts = (run.read_json(run.contract), as_recorded(machine, evidence, resolved(contract)))
        return Base(evidence, None, _deciding(differences(recorded, now, contracts)))
    machine.require([contract])
    prepared = machine.prepare_recorded(contract)
    bound = as_recorded(machine, evidence, _bound_now(machine, prepared, recorded))
    return Base(evidence, prepared, _deciding(differences(recorded, bound)))


def as_recorded(machine: Machine, evidence: Evidence, value: Any) -> Any:
    """``value`` with the placeholders that a redacted run of this home has for secrets; without its vault, as it is."""
    if not is_redacted(evidence) or not machine.home.vault.is_dir():
        return value
    redactor = Redactor(Vault(machine.home.vault).key, lambda name, kind, secret: None)
    redactor.take_over(canonical(evidence.manifest).decode())
    return redactor.value(value)


def require_whole(run: RunDirectory) -> None:
    """Refuse a run that does not verify, and one of which a retention act removed what a repetition needs."""
    require_verified(run, "partial")
    require_payloads(run, "it cannot be repeated")


def accept_again(machine: Machine, run: RunDirectory, base: Base) -> tuple[Rejudged, ...]:
    """Judge the recorded patch of ``run`` again."""
    if base.evidence.patch is None:
        raise UsageFault("the run ended before there was a patch to judge", where=run.path.name)
    if base.prepared is None:
        return ()
    patch = run.read(run.patch, PATCH_BYTES)
    with machine.scratch("replay") as scratch:
        again = RunDirectory(scratch / "again").create()
        again.write_json(again.manifest, base.evidence.manifest, sync=False)
        again.write_json(again.contract, run.read_json(run.contract), sync=False)
        with TraceWriter.create(again.events, machine.clock, machine.entropy) as trace:
            bench = JudgeContext(
                prepared=base.prepared,
                backend=machine.backend(base.prepared.contract),
                scratch=scratch,
                trace=trace,
                run=again,
                clock=machine.clock,
                entropy=machine.entropy,
                slot=machine.slots.hold,
            )
            accept(bench, patch)
        rows = _held_against(base.evidence, read_evidence(again))
    if not rows[0].same and has_hidden_patch(base):
        raise UsageFault(
            "the patch contained a secret, which is not recorded, and does not apply without it", where=run.path.name
        )
    return rows


def has_hidden_patch(base: Base) -> bool:
    """Whether the recorded patch has placeholders for secrets that the patch of the run had."""
    return is_redacted(base.evidence) and MARK in (base.evidence.patch or b"")


def _bound_now(machine: Machine, prepared: PreparedBase, recorded: Mapping[str, Any]) -> dict[str, Any]:
    """The manifest that a run would have here and now, with the agent and the configuration of the recorded one."""
    nobody = AgentDescription("", "")
    now = manifest(
        machine, prepared, nobody, str(recorded["run"]), recorded["configuration"], recorded.get("price_table")
    )
    return {**to_json(now), "agent": recorded["agent"]}


def _deciding(found: tuple[Difference, ...]) -> tuple[Difference, ...]:
    return tuple(item for item in found if item.decides)


def _held_against(recorded: Evidence, again: Evidence) -> tuple[Rejudged, ...]:
    rows = [Rejudged(PATCH, _applied(recorded), _applied(again))]
    for check in recorded.contract.checks:
        before, after = _failing(recorded, check.id), _failing(again, check.id)
        was, now = _decided(recorded, check.id), _decided(again, check.id)
        rows.append(Rejudged(check.id, was, now, tuple(sorted(before ^ after)), _is_machine_fault(again, check)))
    return tuple(rows)


def _applied(evidence: Evidence) -> str:
    event = evidence.last("patch.applied")
    return str(event.payload["outcome"]) if event else "not reached"


def _decided(evidence: Evidence, check: str) -> str:
    for event in evidence.of("check.decided", "check.blocked"):
        if event.payload["check"] == check:
            return " ".join(filter(None, (str(event.payload.get("outcome", "blocked")), _reason(event.payload))))
    return "not reached"


def _is_machine_fault(evidence: Evidence, check: Check) -> bool:
    decided = evidence.decision(check)
    return decided is not None and decided.payload.get("attribution") == HARNESS


def _reason(payload: Mapping[str, Any]) -> str:
    reason = str(payload.get("reason", ""))
    return f"({reason})" if reason else ""


def _failing(evidence: Evidence, check: str) -> set[str]:
    """The tests that failed in some attempt on the patched tree."""
    return {
        str(test)
        for event in evidence.of("check.finished")
        if event.payload["check"] == check and event.payload["tree"] == "patched" and not event.payload.get("set_aside")
        for test in event.payload["failing"]
    }
