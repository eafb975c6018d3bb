"""``proctor retain``: move a run to another retention tier, with an approval."""

from __future__ import annotations

from pathlib import Path

import click

from proctor.base.clock import SystemClock
from proctor.base.errors import BrokenSeal
from proctor.cli.options import complete_runs
from proctor.cli.output import as_json, counted, print_json, printable
from proctor.cli.wiring import run_store
from proctor.record.retain import retain
from proctor.record.seal import load_seal
from proctor.record.signing.operator_identity import load_identity
from proctor.record.verify import verify


@click.command(epilog="Example: proctor retain last --tier long-term --approve jo --why 'case closed'")
@click.argument("run", shell_complete=complete_runs)
@click.option("--tier", type=click.Choice(["long-term"]), required=True, help="The retention tier.")
@click.option("--approve", "approved_by", required=True, help="The name of the person who approves.")
@click.option("--why", required=True, help="The reason, which is recorded in the run's retention log.")
@click.option("--identity", type=click.Path(path_type=Path), help="The approver's private identity, to sign the act.")
@as_json
def command(run: str, tier: str, approved_by: str, why: str, identity: Path | None, json_: bool) -> None:
    """Remove the contents of a run for good; keep its results.

    Removes the patch, logs, blobs and payloads of the sealed RUN. `proctor verify` then calls it partial. The report,
    results, digests and manifest stay, so that every statistic can still count the run. A second call changes nothing
    in the recorded approval; it only finishes a removal that a crash interrupted.
    """
    found = run_store().find(run)
    result = verify(found)
    if not result.sound:
        problem = result.problems[0]
        raise BrokenSeal(
            f"only a run that verifies can be moved: {problem.message}",
            where=f"{found.path.name}/{problem.where}",
            hint=f"proctor verify {found.path.name}",
        )
    signer = load_identity(identity) if identity else None
    done = retain(found, load_seal(found), tier, approved_by, why, SystemClock().wall_ns(), signer)
    if json_:
        fields = {"run": found.path.name, "tier": done.tier, "files": sorted(done.files), "events": done.events}
        print_json({**fields, "at": done.at, "approved_by": done.approved_by, "before": result.retained is not None})
    else:
        message = f"{counted(len(done.files), 'file')} and the payloads of {counted(done.events, 'event')} are removed"
        already = "already " if result.retained else ""
        click.echo(printable(f"{found.path.name}: {already}{done}; {message}"))
