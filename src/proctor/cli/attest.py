"""``proctor attest``: sign a run."""

from __future__ import annotations

from pathlib import Path

import click

from proctor.base.errors import UsageFault
from proctor.cli.options import complete_runs
from proctor.cli.output import as_json, print_json
from proctor.cli.wiring import key_file, run_store
from proctor.record.signing.attestation import attest, keep_timestamp, load_attestation
from proctor.record.signing.keys import load_private


@click.command(epilog="Example: proctor attest last --key lab")
@click.argument("run", shell_complete=complete_runs)
@click.option("--key", default="", help="The private key: a file, or the name of a key of the home.")
@click.option(
    "--timestamp",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Add this RFC 3161 response to a query over attestation.json.",
)
@click.option(
    "--authority",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="The certificate of the authority that made the time stamp, in PEM.",
)
@as_json
def command(run: str, key: str, timestamp: Path | None, authority: Path | None, json_: bool) -> None:
    """Sign a run.

    Signs a statement about RUN with a key, or adds a time stamp to it. The run is verified first. The statement is an
    in-toto Statement v1 in a DSSE envelope, stored as attestation.json next to the seal.
    """
    if not key and timestamp is None:
        raise UsageFault("nothing to do", hint="--key signs the run, --timestamp adds a time stamp to its attestation")
    if (timestamp is None) != (authority is None):
        raise UsageFault("--timestamp and --authority belong together", hint="give both")
    found = run_store().find(run)
    stamped = ""
    if key:
        envelope = attest(found, load_private(key_file(key, ".key")))
    if timestamp is not None and authority is not None:
        stamped = keep_timestamp(found, timestamp, authority)
        envelope = load_attestation(found)
    if json_:
        print_json(
            {
                "run": found.path.name,
                "keyid": envelope.keyid,
                "attestation": str(found.attestation),
                "timestamp": stamped,
            }
        )
        return
    click.echo(f"{found.path.name}: signed by {envelope.keyid}\n  {found.attestation}")
    if stamped:
        click.echo(f"  stamped {stamped}")
