"""``proctor prove``: show one event of a run without the rest, and check what somebody else shows."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from proctor.cli.evidence import require_evidence
from proctor.cli.output import as_json, print_json, printable


@click.command(epilog="Example: proctor prove 20260307T120000 --event 12 --to proof.json")
@click.argument("run", required=False)
@click.option("--event", type=click.IntRange(0), default=None, help="The number of the event.")
@click.option("--to", type=click.Path(dir_okay=False, path_type=Path), help="Write here instead of printing.")
@click.option(
    "--check", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="Check this proof; no RUN is needed."
)
@click.option("--key", default="", help="With --check: the public key that must have signed the run.")
@as_json
def command(run: str | None, event: int | None, to: Path | None, check: Path | None, key: str, json_: bool) -> int:
    """Write the proof that an event is part of RUN, or check one. A proof that does not hold exits with 4.

    A proof holds the event, its header, the Merkle path to the root, the seal and the attestation if there is one.
    """
    from proctor.base.errors import UsageFault

    if check is not None:
        if run is not None or event is not None or to is not None:
            raise UsageFault("--check takes a proof and nothing of a run", hint="proctor prove --check FILE --key KEY")
        return _check(check, key, json_)
    if run is None or event is None:
        raise UsageFault("which event of which run?", hint="proctor prove RUN --event N, or proctor prove --check FILE")
    if key:
        raise UsageFault("--key goes with --check", hint="a run is signed by `proctor attest`")
    from proctor.base.files import write_whole
    from proctor.cli.wiring import shelf
    from proctor.record.attest.proof import prove

    found = shelf().find(run)
    require_evidence(found)
    proof = prove(found, event)
    if to is None:
        sys.stdout.buffer.write(proof)
    else:
        write_whole(to, proof)
        if json_:
            print_json({"proof": str(to), "bytes": len(proof)})
        else:
            click.echo(f"{to}: {len(proof)} bytes")
    return 0


def _check(path: Path, key: str, json_: bool) -> int:
    from proctor.base.errors import InfrastructureFault, UsageFault
    from proctor.base.files import read_bounded
    from proctor.cli.wiring import key_file
    from proctor.record.attest.proof import PROOF_BYTES, check_proof
    from proctor.record.trace.event import line_bytes

    public = None
    if key:
        from proctor.record.attest.keys import load_public

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
