"""``proctor retain``: move a run to another retention tier, with an approval."""

from __future__ import annotations

from pathlib import Path

import click

from proctor.cli.output import as_json, counted, print_json, printable


@click.command(epilog="Example: proctor retain 20260307 --tier long-term --approve jo --why 'case closed'")
@click.argument("run")
@click.option("--tier", type=click.Choice(["long-term"]), required=True, help="How little is kept.")
@click.option("--approve", "approved_by", required=True, help="Who approves.")
@click.option("--why", required=True, help="Why it may be removed; it stands in the run's retention log.")
@click.option("--identity", type=click.Path(path_type=Path), help="The approver's private identity, to sign the act.")
@as_json
def command(run: str, tier: str, approved_by: str, why: str, identity: Path | None, json_: bool) -> None:
    """Remove the patch, logs, blobs and payloads of a sealed RUN for good; the rest still verifies, as partial.

    The report, results, digests and manifest stay, so that every statistic can still count the run. An act that was
    approved before stands as it is; calling it again only finishes what a crash cut off.
    """
    from proctor.base.clock import SystemClock
    from proctor.base.errors import BrokenSeal
    from proctor.cli.wiring import shelf
    from proctor.record.identity import load_identity
    from proctor.record.retain import retain
    from proctor.record.seal import load_seal
    from proctor.record.verify import verify

    found = shelf().find(run)
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
        told = {"run": found.path.name, "tier": done.tier, "files": sorted(done.files), "events": done.events}
        print_json({**told, "at": done.at, "approved_by": done.approved_by, "before": result.retained is not None})
    else:
        words = f"{counted(len(done.files), 'file')} and the payloads of {counted(done.events, 'event')} are gone"
        already = "already " if result.retained else ""
        click.echo(printable(f"{found.path.name}: {already}{done}; {words}"))
