"""``proctor verify``: check that a run's evidence is whole, and who signed it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from proctor.base.errors import BrokenSeal, ProctorError
from proctor.cli.exit_codes import UNDECIDED
from proctor.cli.options import complete_runs
from proctor.cli.output import as_json, counted, examples, print_json, printable
from proctor.cli.rescore import notes
from proctor.cli.terminal import echo, painted
from proctor.cli.wiring import key_file, run_store
from proctor.conduct.plug_ins import notes_of, took_part
from proctor.conduct.recompute import recompute
from proctor.record.retain import NAME as RETENTION
from proctor.record.retain import RemovedEvidence
from proctor.record.run_directory import Problem, RunDirectory, is_held
from proctor.record.signing.attestation import check_attestation, check_timestamp
from proctor.record.signing.keys import load_public
from proctor.record.signing.operator_identity import COMPARISON, Person, load_person

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey


@click.command(epilog=examples("verify last", "verify 20260307T120000-0123456789 --key lab.pub"))
@click.argument("runs", shell_complete=complete_runs, nargs=-1, required=True)
@click.option(
    "--key", default="", help="The public key that must have signed the runs: a file, or the name of a key of the home."
)
@click.option(
    "--authority",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="The certificate of the authority that must have time-stamped the attestations.",
)
@click.option(
    "--approver",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="The public identity that must have approved and signed a retention act.",
)
@click.option(
    "--operator",
    "operators",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    multiple=True,
    help="A public identity of an operator who may sign decisions; can be given several times.",
)
@as_json
def command(
    runs: tuple[str, ...],
    key: str,
    authority: Path | None,
    approver: Path | None,
    operators: tuple[Path, ...],
    json_: bool,
) -> int:
    """Check that the evidence of runs is complete and unchanged.

    Every byte of RUNS is compared with their seals. The exit code is 4 if anything differs. A run in progress has no
    seal yet; for such a run the exit code is 3.

    Every value that follows from others is computed again and compared: the contract's id, the report, decisions of
    checks, counts, digests and costs. docs/evidence.md lists them.

    A run is partial if everything that is missing was removed by an approved retention act. With --approver the act
    must be signed by that identity. With --operator the decisions of operators must be signed by one of these
    identities; without it they count as signed by unknown keys, since an identity can be made with any name.

    A copy of a run is accepted under any directory name that is not the id of another run. With --key the run must have
    an attestation that is signed by that key and describes this directory.
    """
    public = None
    if key:
        public = load_public(key_file(key, ".pub"))
    person = load_person(approver) if approver else None
    known = {load_person(path).sign for path in operators}
    code = 0
    for name in runs:
        run = run_store().find(name)
        recomputed = recompute(run)
        result, scored = recomputed.verification, recomputed.rescoring
        signed = _attestation(run, public, authority)
        unapproved = _unapproved(result.retained, person)
        if unapproved:
            result = replace(result, status="broken", problems=(*result.problems, Problem(RETENTION, unapproved)))
        unknown = [(event, one) for event, one in recomputed.signers if one.sign not in known]
        if known and unknown:
            found = (Problem(f"events.jsonl#{event.seq}", _unknown(one), COMPARISON) for event, one in unknown)
            result = replace(result, status="broken", problems=(*result.problems, *found))
        sound = result.sound and not signed.get("problem")
        in_progress = result.status == "unsealed" and is_held(run)
        code = max(code, 0 if sound else UNDECIDED if in_progress else 4)
        if json_:
            problems = [{"where": p.where, "message": p.message, "comparison": p.code} for p in result.problems]
            counts = {"events": result.events, "seal": result.digest, "attestation": signed or None}
            counts["other_rules"] = list(scored.other_rules) if scored else []
            counts["operators"] = [
                {"event": event.seq, "name": one.name, "key": one.sign, "known": one.sign in known}
                for event, one in recomputed.signers
            ]
            counts["retained"] = _retained(result.retained, result.not_removed)
            counts["plugins"] = list(took_part(_manifest(run)))
            print_json(
                {"run": run.path.name, "id": result.run_id, "status": result.status, "problems": problems, **counts}
            )
            continue
        copied = f", a copy of {result.run_id}" if result.run_id not in ("", run.path.name) else ""
        events = printable(f"{counted(result.events, 'event')}{copied}")
        echo(f"{printable(run.path.name)}: {painted(result.status)}, {events}")
        if result.digest:
            click.echo(f"  seal {result.digest}")
        if result.retained:
            kept = result.retained
            how = f"signed with key {kept.signed_by}" if kept.signed_by else "not signed"
            click.echo(printable(f"  {kept.tier} since {kept.at}, approved by {kept.approved_by} ({how}): {kept.why}"))
            click.echo(
                f"  removed: {counted(len(kept.files), 'file')}, the payloads of {counted(kept.events, 'event')}"
            )
        if result.not_removed:
            still = ", ".join(result.not_removed)
            click.echo(printable(f"  not removed yet: {still}; repeat the same proctor retain command to finish it"))
        for line in (*(notes(replace(scored, different=())) if scored else ()), *notes_of(_manifest(run))):
            click.echo(printable(f"  {line}"))
        for problem in result.problems:
            click.echo(printable(f"  {problem.where}: {problem.message}"))
        for one in dict.fromkeys(one for _, one in unknown if not known):
            click.echo(printable(f"  operator {_unknown(one)}; give --operator"))
        for line in _words(signed):
            click.echo(printable(f"  {line}"))
    return code


def _manifest(run: RunDirectory) -> Mapping[str, Any]:
    """The manifest of ``run``; nothing where it cannot be read, which the verification says."""
    try:
        found: dict[str, Any] = run.read_json(run.manifest)
        took_part(found)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, ProctorError):
        return {}
    return found


def _attestation(run: RunDirectory, key: Ed25519PublicKey | None, authority: Path | None) -> dict[str, Any]:
    """The result for the attestation of ``run``; nothing if there is none and none is required."""
    if key is None and authority is None and not run.attestation.exists():
        return {}
    found: dict[str, Any] = {"keyid": "", "checked": False, "timestamp": "", "problem": ""}
    try:
        found["keyid"] = check_attestation(run, key).keyid
        found["checked"] = key is not None
        if authority is not None:
            found["timestamp"] = check_timestamp(run, authority)
    except BrokenSeal as error:
        found["problem"] = str(error)
    return found


def _unapproved(kept: RemovedEvidence | None, person: Person | None) -> str:
    """Why a retention act is not the one that ``person`` approved; empty if it is, or if there is none."""
    if kept is None or person is None or kept.signed_by == person.sign:
        return ""
    return f"was signed with another key than that of {person.name}" if kept.signed_by else "the approval is not signed"


def _unknown(signer: Person) -> str:
    return f"{signer.name}: signed by an unknown key, {signer.sign}"


def _retained(kept: RemovedEvidence | None, still: tuple[str, ...]) -> dict[str, Any] | None:
    """A retention act for programs."""
    if kept is None:
        return None
    entry = {"tier": kept.tier, "approved_by": kept.approved_by, "why": kept.why, "at": kept.at}
    counts = {"files": len(kept.files), "events": kept.events, "not_removed": list(still)}
    return {**entry, "signed_by": kept.signed_by, **counts}


def _words(signed: dict[str, Any]) -> list[str]:
    if not signed:
        return []
    if signed["problem"]:
        return [signed["problem"]]
    lines = [f"signed by {signed['keyid']}" if signed["checked"] else "attestation not checked: give --key"]
    return [*lines, f"stamped {signed['timestamp']}"] if signed["timestamp"] else lines
