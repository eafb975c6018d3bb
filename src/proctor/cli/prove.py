"""``proctor prove``: show one event of a run without the rest, and check such a proof."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from proctor.base.errors import InfrastructureFault, UsageFault
from proctor.base.files import read_bounded, write_whole
from proctor.cli.exit_codes import require_evidence
from proctor.cli.options import Renamed, complete_runs
from proctor.cli.output import as_json, print_json, printable
from proctor.cli.wiring import key_file, run_store
from proctor.record.signing.keys import load_public
from proctor.record.signing.proof import PROOF_BYTES, check_proof, prove
from proctor.record.trace.event import line_bytes


@click.command(epilog="Example: proctor prove 20260307T120000 --event 12 --out proof.json")
@click.argument("run", shell_complete=complete_runs, required=False)
@click.option("--event", type=click.IntRange(0), default=None, help="The number of the event.")
@click.option(
    "--out",
    cls=Renamed,
    former=["--to"],
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write the proof to FILE instead of printing it.",
)
@click.option(
    "--check", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="Check this proof; no RUN is needed."
)
@click.option("--key", default="", help="With --check: the public key that must have signed the run.")
@as_json
def command(run: str | None, event: int | None, out: Path | None, check: Path | None, key: str, json_: bool) -> int:
    """Prove that an event is part of a run, or check a proof.

    A proof contains the event, its header, the Merkle path to the root, the seal, and the attestation if there is one.
    With --check the exit code is 4 if the proof is not valid.
    """
    if check is not None:
        if run is not None or event is not None or out is not None:
            raise UsageFault(
                "--check needs only a proof: leave out RUN, --event and --out",
                hint="proctor prove --check FILE --key KEY",
            )
        return _check(check, key, json_)
    if run is None or event is None:
        raise UsageFault("name a run and an event", hint="proctor prove RUN --event N, or proctor prove --check FILE")
    if key:
        raise UsageFault("--key can only be combined with --check", hint="a run is signed by `proctor attest`")
    found = run_store().find(run)
    require_evidence(found)
    proof = prove(found, event)
    if out is None:
        sys.stdout.buffer.write(proof)
    else:
        write_whole(out, proof)
        if json_:
            print_json({"proof": str(out), "bytes": len(proof)})
        else:
            click.echo(f"{out}: {len(proof)} bytes")
    return 0


def _check(path: Path, key: str, json_: bool) -> int:
    public = None
    if key:
        public = load_public(key_file(key, ".pub"))
    try:
        data = read_bounded(path, PROOF_BYTES)
    except InfrastructureFault as error:
        raise UsageFault(error.message, where=str(path)) from None
    proven = check_proof(data, path.name, public)
    if json_:
        print_json(
            {
                "event": proven.event.seq,
                "type": proven.event.type,
                "count": proven.count,
                "seal": proven.seal,
                "run": proven.run,
                "keyid": proven.keyid,
            }
        )
        return 0
    click.echo(printable(line_bytes(proven.event).decode().rstrip()))
    click.echo(f"event {proven.event.seq} of {proven.count} under the seal {proven.seal}")
    if proven.keyid:
        click.echo(printable(f"  run {proven.run}, signed by {proven.keyid}"))
    else:
        click.echo("  compare the seal with one noted elsewhere, or give --key")
    return 0
